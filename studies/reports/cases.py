"""The cases of public reports, and what the program answers: `cases.toml` beside `files`."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.cli import run

HERE = Path(__file__).parent
FILES = HERE / "files"
VERDICTS = ("right", "partly", "wrong", "cannot be expressed")
DOCUMENT: Mapping[str, tuple[str, ...]] = {
    "analyze": ("--json", "--quiet"),
    "fit": ("--json", "--quiet"),
    "import": ("--json",),
    "simulate": ("--json", "--quiet", "--no-report"),
    "sweep": ("--json", "--quiet", "--no-report"),
}
"""The options with which a command prints its document and nothing else."""


@dataclass(frozen=True)
class Figure:
    """A figure of an answer.

    Attributes:
        command: the number of the command whose document has it.
        at: the way to it: keys, numbers of entries, and tables that select an entry by its values.
        factor: of a number, before it is compared and shown.
        accepted: the range of a number, or what a text contains.
    """

    name: str
    at: Sequence[Any]
    accepted: Sequence[float] | str
    command: int = 0
    factor: float = 1.0

    def read(self, documents: Sequence[Any]) -> float | str:
        """The figure. Raises KeyError if a document has no such value."""
        found = documents[self.command]
        for step in self.at:
            found = _selected(found, step) if isinstance(step, Mapping) else found[step]
        return found if isinstance(found, str) else float(found) * self.factor

    def is_accepted(self, value: float | str) -> bool:
        """Whether the known answer is this one."""
        if isinstance(self.accepted, str) or isinstance(value, str):
            return str(self.accepted) in str(value)
        low, high = self.accepted
        return low <= value <= high


def _selected(entries: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    for entry in entries:
        if all({**entry, **entry.get("params", {})}.get(key) == value for key, value in wanted.items()):
            return entry
    raise KeyError(f"no entry with {dict(wanted)}")


@dataclass(frozen=True)
class Case:
    """A report.

    Attributes:
        sources: names and numbers of the public reports.
        problem, known: the question and its accepted answer, in our own words.
        commands: what a user types beside the files.
        answer: the program's, with the names of figures in braces.
        verdict: one of VERDICTS, if all figures are accepted.
        reason: why it is not right.
        renew: when to answer again.
        sample: whether the gate runs it.
    """

    sources: Sequence[str]
    problem: str
    known: str
    commands: Sequence[str]
    answer: str
    verdict: str = "right"
    reason: str = ""
    renew: str = ""
    sample: bool = False
    figure: Sequence[Figure] = field(default_factory=tuple)


@dataclass(frozen=True)
class Answered:
    """A case with its answer and verdict; `misses` are figures that the known answer excludes."""

    case: Case
    answer: str
    verdict: str
    misses: Sequence[str]


def cases() -> list[Case]:
    """Those of cases.toml."""
    tables = tomllib.loads((HERE / "cases.toml").read_text("utf-8"))["case"]
    return [Case(**{**table, "figure": [Figure(**one) for one in table.get("figure", [])]}) for table in tables]


def answered(case: Case) -> Answered:
    """The answer as it is today. Raises RuntimeError if a command fails."""
    documents = _documents(case.commands)
    values = {figure.name: figure.read(documents) for figure in case.figure}
    misses = [
        f"{figure.name}: {values[figure.name]}, accepted {figure.accepted}"
        for figure in case.figure
        if not figure.is_accepted(values[figure.name])
    ]
    return Answered(case, case.answer.format(**values), "wrong" if misses else case.verdict, misses)


def _documents(commands: Sequence[str]) -> list[Any]:
    """What the commands print as JSON, typed one after another in a copy of the files."""
    found = []
    with _scratch():
        for command in commands:
            _, name, *words = shlex.split(command)
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()) as errors:
                status = run([name, *words, *DOCUMENT[name]])
            if status != 0:
                raise RuntimeError(f"{command}: {errors.getvalue()}")
            found.append(json.loads(output.getvalue()))
    return found


@contextlib.contextmanager
def _scratch() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(shutil.copytree(FILES, Path(folder) / "files")):
        yield
