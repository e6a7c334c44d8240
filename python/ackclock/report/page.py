"""The elements of a report page, before HTML: a headline, then sections of blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.plot.sequence import Sequence as Sequence_
    from ackclock.plot.vega import Specification


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; ``numeric`` ones are set right-aligned; ``room`` is ``medium``, ``wide``,
    ``ends`` (small lines do not wrap) or empty (as needed).
    """

    title: str
    numeric: bool = False
    room: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, a smaller second line, and a ``tone`` (good, bad, muted) that colours
    it.
    """

    text: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with an explanation above it. A row's ``emphasis`` is ``best``, ``tied`` or empty."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    reading: str = ""
    emphasis: Sequence[str] = ()
    kind: str = field(default="table", init=False)


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification with a title and an explanation. `ackclock.report.render` adds the
    page's conditions to the title.
    """

    title: str
    reading: str
    spec: Specification
    kind: str = field(default="chart", init=False)


@dataclass(frozen=True, slots=True)
class Sequences:
    """A time-sequence graph, drawn once for each of its intervals, with an explanation."""

    title: str
    reading: str
    graph: Sequence_
    kind: str = field(default="sequences", init=False)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A hop of a link: its name and its elements, one line for each direction or for both."""

    name: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Path:
    """A link in path order, server first."""

    steps: Sequence[PathStep]
    kind: str = field(default="path", init=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, in order."""

    items: Sequence[tuple[str, str]]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Verbatim text to copy, collapsed unless ``open``."""

    title: str
    text: str
    open: bool = False
    kind: str = field(default="listing", init=False)


Block = Table | Chart | Sequences | Path | Facts | Listing


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, an optional lead sentence, and blocks."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A report.

    ``answer`` is its main result in one sentence; ``because`` is the reason in another. ``kind`` is
    the command. ``conditions`` stand below the title of each figure, also of one that is saved:
    what was measured or simulated, for how long, with which seeds; by default title and subtitle.
    ``facts`` are those of `ackclock.limitations` that touch the answer.
    """

    title: str
    subtitle: str
    answer: str
    because: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    kind: str = ""
    conditions: str = ""
    facts: Collection[str] = ()

    @property
    def under(self) -> str:
        """What stands below the title of a figure."""
        return self.conditions or "; ".join(filter(None, (self.title, self.subtitle)))
