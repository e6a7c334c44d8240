"""Paths that documents name as code, and sources in comments: each is in the tree."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from tests.support import ROOT

FOLDERS = "benches|crates|docs|examples|lab|python|studies|tests|tools"
PATH = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w)")
PLACEHOLDER = re.compile(r"\bNAME\b")
"""What a recipe has in place of a name."""
HISTORY = ("CHANGELOG.md", "docs/evidence/")
"""Records of earlier trees."""
DRAWN = ("tests/tools/",)
"""Tests of tools, with trees of their own."""
COMMENT = {".rs": re.compile(r"//.*"), ".py": re.compile(r"(?s)\"\"\".*?\"\"\"|#[^\n]*"), ".toml": re.compile(r"#.*")}


@cache
def tree() -> frozenset[str]:
    """The files of the project, and their folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return frozenset(listed) | {str(folder) for file in listed for folder in PurePosixPath(file).parents}


def named(file: str, text: str) -> list[str]:
    """The paths that a file names: a document in its code, a source in its comments."""
    form = re.compile(r"`[^`]+`") if file.endswith(".md") else COMMENT[Path(file).suffix]
    return [path for part in form.findall(text) for path in PATH.findall(part) if not PLACEHOLDER.search(path)]


def missing(file: str, text: str) -> list[str]:
    """Those that are neither in the tree nor in the crate of a source."""
    crate = "/".join(file.split("/")[:2]) if file.startswith("crates/") else ""
    return [path for path in named(file, text) if not {path, f"{crate}/{path}"} & tree()]


@pytest.mark.parametrize("suffixes", [(".md",), tuple(COMMENT)], ids=["documents", "sources"])
def test_path_is_in_the_tree_when_a_file_names_it(suffixes: tuple[str, ...]) -> None:
    files = [f for f in sorted(tree()) if f.endswith(suffixes) and not f.startswith((*HISTORY, *DRAWN))]
    texts = {file: (ROOT / file).read_text("utf-8") for file in files if (ROOT / file).is_file()}
    lost = [f"{file}: {path}" for file, text in texts.items() for path in missing(file, text)]
    assert sum(len(named(file, text)) for file, text in texts.items()) > 50
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize(
    ("file", "text", "lost"),
    [
        ("docs/inside/where.md", "`crates/core/src/lib.rs`, `crates/core/src/queue`, `tests/docs`", []),
        ("docs/inside/where.md", "`crates/core/src/queues.rs` and docs/away.md", ["crates/core/src/queues.rs"]),
        ("CONTRIBUTING.md", "write `crates/core/src/queue/NAME.rs`", []),
        ("crates/core/src/lib.rs", "// tests/suite/queues.rs, docs/plan.md", ["docs/plan.md"]),
        ("python/ackclock/api.py", '"""See\ndocs/away.md."""\nx = "docs/away.md"', ["docs/away.md"]),
    ],
)
def test_path_is_missing_when_neither_tree_nor_crate_has_it(file: str, text: str, lost: list[str]) -> None:
    assert missing(file, text) == lost
