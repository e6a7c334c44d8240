"""The counts of tools/size.py on sources whose figures are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import size
from size import import_graph, json_reads, longest_chain, net_lines, untyped_mappings

STUB = "def catalogue() -> str: ...\nclass Report:\n    def head(self) -> str: ...\n    def count(self) -> int: ...\n"


@pytest.mark.parametrize(
    ("text", "written", "used"),
    [
        ("x: dict[str, Any]\ny: Mapping[str, object]", 2, 2),
        ("x: dict[str, int]\ny: list[Any]\nz: dict[int, Any]", 0, 0),
        ("def f(x: typing.Mapping[str, typing.Any]) -> list[dict[str, Any]]: ...", 2, 2),
        ("Plan = dict[str, Any]", 1, 0),
        ("Plan = dict[str, Any]\ndef f(x: Plan) -> Plan: ...", 1, 2),
        ("Plan = dict[str, Any]\nPair = tuple[Plan, Plan]\nx: Pair", 1, 2),
        ("Plan: TypeAlias = dict[str, Any]\nx: Plan", 1, 1),
        ("Plan = NewType('Plan', dict[str, Any])\nx: Plan", 1, 1),
        ("Plan = dict[str, int]\nx: Plan", 0, 0),
        ("from ackclock.a import Plan as Other\nx: Other", 0, 1),
        ("from ackclock.a import absent as Plan\nx: Plan", 0, 0),
        ("from elsewhere import Plan\nx: Plan", 0, 0),
    ],
)
def test_untyped_mapping_counts_as_written_and_at_each_use_of_an_alias(text: str, written: int, used: int) -> None:
    sources = {"ackclock.a": "Plan = dict[str, Any]", "ackclock.b": text}
    assert untyped_mappings(sources)["ackclock.b"] == (written, used)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return json.loads(_native.catalogue())", "native"),
        ("return json.loads(report.head())", "native"),
        ("text = report.head()\n    return json.loads(text)", "native"),
        ("return [json.loads(one) for one in map(str, report.head())]", "native"),
        ("return json.loads(report.count())", "other"),
        ("return json.loads(path.read_text())", "file"),
        ("with open(path) as file:\n        return json.load(file)", "file"),
        ("return map(json.loads, texts)", "other"),
        ("return json.loads(head)", "other"),
        ("return json.loads(os.head())", "other"),
    ],
)
def test_json_read_has_the_kind_of_its_argument(body: str, kind: str) -> None:
    text = f"import os, json\ndef other():\n    texts = report.head()\ndef read(head):\n    {body}\n"
    (read,) = json_reads({"ackclock.a": text}, STUB)
    assert (read.kind, read.function) == (kind, "read")


def test_longest_chain_follows_late_imports_and_counts_a_package_once() -> None:
    sources = {
        "ackclock.cli.app": "def run():\n    from ackclock.api import run",
        "ackclock.api": "from ackclock.cli_names import NAME\nfrom ackclock import _native, errors",
        "ackclock.cli_names": "from ackclock.storage.a import A",
        "ackclock.storage.a": "from ackclock.storage.b import B",
        "ackclock.storage.b": "import ackclock.errors",
        "ackclock.errors": "import json",
        "ackclock": "",
    }
    assert longest_chain(import_graph(sources)) == ["cli", "api", "cli_names", "storage", "errors"]


def test_circle_of_imports_has_no_longest_chain() -> None:
    with pytest.raises(ValueError, match="a, b: imports in a circle"):
        longest_chain({"a": {"b"}, "b": {"a"}, "c": set()})


def test_net_lines_leave_out_evidence_and_count_changed_lines_of_moved_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def committed(**files: int) -> str:
        for name, lines in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"line {number} of {name}\n" for number in range(lines)))
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        git("add", "-A")
        git(*identity, "commit", "-q", "-m", "x")
        return git("rev-parse", "HEAD")

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    base = committed(**{"a.py": 20, "docs__page.md": 40, "gone.rs": 7})
    git("mv", "a.py", "b.py")
    (tmp_path / "b.py").write_text((tmp_path / "b.py").read_text() + "one more\n")
    (tmp_path / "docs/evidence").mkdir()
    git("mv", "docs/page.md", "docs/evidence/page.md")
    git("rm", "-q", "gone.rs")
    changed = committed(**{"docs__evidence__new.md": 9, "new.rs": 5})
    monkeypatch.setattr(size, "ROOT", tmp_path)
    assert net_lines(base, changed) == {".py": 1, ".rs": -2}
