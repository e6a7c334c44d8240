"""A figure of ours and one of an oracle, with the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["relative", "equal", "at least"]


@dataclass(frozen=True)
class Figure:
    """`kind` says what `limit` bounds: the relative difference, nothing (the two are equal), or
    ours from below.
    """

    case: str
    name: str
    ours: float
    oracle: float | None
    limit: float
    kind: Kind = "relative"
    unit: str = ""

    @property
    def difference(self) -> float | None:
        """(ours - oracle) / oracle."""
        if self.oracle is None:
            return None
        if self.oracle == 0:
            return 0.0 if self.ours == 0 else float("inf")
        return self.ours / self.oracle - 1

    @property
    def holds(self) -> bool:
        if self.kind == "at least":
            return self.ours >= self.limit
        if self.kind == "equal":
            return self.ours == self.oracle
        difference = self.difference
        return difference is not None and abs(difference) <= self.limit

    @property
    def allowed(self) -> str:
        """The limit in words."""
        if self.kind == "at least":
            return f"at least {_number(self.limit, self.unit)}"
        return "equal" if self.kind == "equal" else f"within {self.limit:.0%}"

    def cells(self) -> tuple[str, ...]:
        """A row of the table: case, figure, ours, oracle, difference, allowed, verdict."""
        oracle = "" if self.oracle is None else _number(self.oracle, self.unit)
        difference = "" if self.kind != "relative" or self.difference is None else f"{self.difference:+.1%}"
        verdict = "holds" if self.holds else "misses"
        return (self.case, self.name, _number(self.ours, self.unit), oracle, difference, self.allowed, verdict)

    def __str__(self) -> str:
        _, name, ours, oracle, difference, allowed, verdict = self.cells()
        return f"{name}: ours {ours}, oracle {oracle or '-'} {difference} ({allowed}): {verdict}"


def _number(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value:.1%}"
    text = f"{value:.0f}" if float(value).is_integer() else f"{value:.3f}"
    return f"{text} {unit}".rstrip()


HEADINGS = ("case", "figure", "ours", "oracle", "difference", "allowed", "verdict")


def markdown(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = [HEADINGS, *(figure.cells() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


@dataclass(frozen=True)
class Check:
    """A row of a test's table: a case, and what measures its figures.

    `known` names figures that miss, and why.
    """

    case: str
    figures: Callable[[], Sequence[Figure]]
    known: tuple[tuple[str, str], ...] = ()

    def verify(self) -> None:
        """Fails unless every figure holds, or misses for a reason that is written down."""
        known = dict(self.known)
        figures = self.figures()
        wrong = [str(figure) for figure in figures if figure.holds == (figure.name in known)]
        assert not wrong, "\n".join([self.case, *wrong])
