"""The kinds of run folder, each with its document."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunKind:
    """A command that writes run folders, and the document of its finished folder."""

    command: str
    document: str


REPRODUCE = RunKind("reproduce", "reproduce.json")
ON_LINK = RunKind("reproduce --on", "on_link.json")
ANALYZE = RunKind("analyze", "analysis.json")
MEASURE = RunKind("measure", "measurement.json")
SCHEDULE = RunKind("measure --every", "schedule.json")
EMULATE = RunKind("emulate", "emulation.json")
COMPARE = RunKind("compare", "compare.json")
SWEEP = RunKind("sweep", "sweep.json")
SIMULATE = RunKind("simulate", "summary.json")
ADVISE = RunKind("advise", "advice.json")
HUNT = RunKind("hunt", "hunt.json")
KINDS = (REPRODUCE, ON_LINK, ANALYZE, MEASURE, SCHEDULE, EMULATE, COMPARE, SWEEP, SIMULATE, ADVISE, HUNT)
"""A folder with several of the documents is of the first kind."""


def kind_among(names: Container[str]) -> RunKind | None:
    """The kind of a folder with files of these names; None without a document."""
    return next((kind for kind in KINDS if kind.document in names), None)


def kind_of(folder: Path) -> RunKind | None:
    """The kind of a finished run folder; None for an unfinished run and for any other folder."""
    return kind_among({path.name for path in folder.iterdir() if path.is_file()} if folder.is_dir() else ())
