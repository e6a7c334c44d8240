"""The scripts of our own suite and of the public ones, and their verdicts.

`suites.toml` has the names and categories of the public suites' scripts. The scripts themselves are
not part of ackclock: `ACKCLOCK_PACKETDRILL` names the folders that hold them, separated by ':'.
`causes.toml` says in our words why a script fails or is unsupported.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ackclock.errors import InputError
from ackclock.packetdrill import ScriptResult, Verdict, run_script, scripts_in

HOST = "linux-6"
OWN = Path(__file__).parents[2] / "tests" / "packetdrill"
VARIABLE = "ACKCLOCK_PACKETDRILL"
UNEXPLAINED = "unexplained"

RowVerdict = Literal["passes", "fails", "unsupported", "unreadable", "absent"]


@dataclass(frozen=True)
class Row:
    """The verdict on a script.

    Attributes:
        name: the path of the script below its suite, without `.pkt`.
        category: what of TCP the script is about.
        verdict: "absent" if no folder has the script.
        before: the last verdict on an absent script.
        cause: why it fails or is unsupported; empty otherwise.
        host: the host stack that it ran against.
        dialogue: the script without comments and commands, to recognize equal scripts.
    """

    name: str
    category: str
    verdict: RowVerdict
    cause: str = ""
    host: str = HOST
    dialogue: str = ""
    before: str = ""


@dataclass(frozen=True)
class Suite:
    """A suite of scripts: names by category, and those left out by reason."""

    key: str
    title: str
    path: str
    scripts: Mapping[str, Sequence[str]]
    left_out: Mapping[str, Sequence[str]]

    def names(self) -> Iterator[tuple[str, str]]:
        """Every name in scope, with its category."""
        for category, names in self.scripts.items():
            for name in names:
                yield name, category


def public_suites() -> tuple[list[Suite], dict[str, str]]:
    """The suites of `suites.toml`, and why scripts are left out, by reason's name."""
    document = _toml("suites.toml")
    reasons = document.pop("reasons")
    suites = [
        Suite(key, entry["title"], entry["path"], entry["scripts"], entry["left_out"])
        for key, entry in document.items()
    ]
    return suites, reasons


def causes() -> dict[str, dict[str, str]]:
    """Why scripts fail or are unsupported, in our words: by suite and name."""
    return _toml("causes.toml")


def folders(variable: str | None = None) -> list[Path]:
    """The folders that `ACKCLOCK_PACKETDRILL` names."""
    value = os.environ.get(VARIABLE, "") if variable is None else variable
    return [Path(part) for part in value.split(os.pathsep) if part]


def find(suites: Sequence[Suite], where: Sequence[Path]) -> dict[tuple[str, str], Path]:
    """The file of each name in the folders.

    A file belongs to the name that agrees with the longest end of its path, so that
    `accecn/fallback/x.pkt` is not taken for `x.pkt` of another suite.
    """
    names = [(suite.key, name) for suite in suites for name, _ in suite.names()]
    names += [(suite.key, name) for suite in suites for left in suite.left_out.values() for name in left]
    by_last: dict[str, list[tuple[str, str]]] = {}
    for key, name in names:
        by_last.setdefault(name.rsplit("/", 1)[-1], []).append((key, name))
    found: dict[tuple[str, str], Path] = {}
    for folder in where:
        for path in sorted(folder.rglob("*.pkt")):
            ends = path.with_suffix("").parts
            fits = [
                (key, name)
                for key, name in by_last.get(ends[-1], ())
                if ends[-name.count("/") - 1 :] == (*name.split("/"),)
            ]
            if fits:
                found.setdefault(max(fits, key=lambda fit: fit[1].count("/")), path)
    return found


def unlisted(where: Sequence[Path], found: Mapping[tuple[str, str], Path]) -> list[Path]:
    """The scripts below the folders that belong to no name of `suites.toml`."""
    listed = set(found.values())
    return [path for folder in where for path in sorted(folder.rglob("*.pkt")) if path not in listed]


def unlisted_rows(paths: Sequence[Path]) -> list[Row]:
    """A row for each of these scripts; the category and the name's first part are its folder."""
    rows = []
    for path in paths:
        verdict, reason = _run(path, HOST)
        cause = "" if verdict == "passes" else reason
        rows.append(Row(f"{path.parent.name}/{path.stem}", path.parent.name, verdict, cause))
    return rows


def public_rows(
    suite: Suite,
    found: Mapping[tuple[str, str], Path],
    why: Mapping[str, str],
    before: Mapping[str, str] = MappingProxyType({}),
) -> list[Row]:
    """A row for each script in scope, in the order of `suites.toml`. `before`: verdicts of an
    earlier page by name, for absent scripts.
    """
    rows = []
    for name, category in suite.names():
        path = found.get((suite.key, name))
        if path is None:
            last = before.get(name, "")
            rows.append(Row(name, category, "absent", why.get(name, "") if last == "fails" else "", before=last))
            continue
        verdict, reason = _run(path, HOST)
        cause = "" if verdict == "passes" else why.get(name, reason)
        rows.append(Row(name, category, verdict, cause, dialogue=dialogue(path.read_text("utf-8", "replace"))))
    return rows


def own_rows(folder: Path = OWN) -> list[Row]:
    """A row for each of our own scripts; the category is its folder."""
    rows = []
    for path in scripts_in(folder):
        host = header(path, "host", HOST)
        verdict, reason = _run(path, host, tcp_keys(path))
        cause = "" if verdict == "passes" else header(path, "fails", reason)
        name = str(path.relative_to(folder).with_suffix(""))
        rows.append(Row(name, path.parent.name, verdict, cause, host))
    return rows


def header(script: Path, name: str, default: str = "") -> str:
    """The text of a script's line `// NAME: TEXT`."""
    found = re.search(rf"^// {name}: (.+)$", script.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else default


def tcp_keys(script: Path) -> dict[str, Any]:
    """The keys of a [tcp] table that a script names in its line `// tcp: KEY = VALUE, ..`."""
    return tomllib.loads(f"tcp = {{ {header(script, 'tcp')} }}")["tcp"]


def dialogue(script: str) -> str:
    """A script without comments, commands' paths and spaces."""
    text = re.sub(r"//.*", "", script)
    text = re.sub(r"(\.\./)+common/|\./", "", text)
    return "".join(text.split())


def _run(path: Path, host: str, tcp: Mapping[str, Any] | None = None) -> tuple[Verdict, str]:
    try:
        result = run_script(path, host, tcp=tcp)
    except InputError:
        return "unsupported", "the script is not of the language that ackclock reads"
    return result.verdict, _reason(result)


def _reason(result: ScriptResult) -> str:
    """Why the script is unsupported, with the setting's name; a failure needs a cause of ours."""
    if result.verdict != "unsupported":
        return UNEXPLAINED
    sysctl = re.search(r"\btcp_\w+", result.statement)
    return f"{result.why} ({sysctl[0]})" if sysctl and "sysctl" in result.why else result.why


def _toml(name: str) -> dict[str, Any]:
    with (Path(__file__).parent / name).open("rb") as file:
        return tomllib.load(file)
