"""Whether a paper's statement survives on another link: its ratio beside ours with the interval
over the seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ackclock.documents.reproduce import Survival
from ackclock.statistics import Ratio

SAME = 0.05
"""Relative differences below this are no difference in practice."""
ALIKE = 0.10
"""Two schemes that a paper calls similar differ by less than this, as in claims.csv."""
LEVEL_FACTOR = 2.0
"""A level is that of the paper within this factor; smaller and larger begin there."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A scheme's figure over another's: the paper's ratio, or only whether it is above 1."""

    more: bool
    ratio: float | None = None

    @classmethod
    def of(cls, ratio: float) -> Difference:
        """The difference of a printed ratio, which is not 1."""
        return cls(ratio > 1.0, ratio)

    @property
    def effect(self) -> float | None:
        """The logarithm of the ratio, without its sign; None for an ordering without a figure."""
        return abs(math.log(self.ratio)) if self.ratio is not None else None

    @property
    def same(self) -> float:
        """The relative change below which there is no difference: `SAME`, or half of a smaller one
        of the paper.
        """
        return min(SAME, abs(self.ratio - 1.0) / 2.0) if self.ratio is not None else SAME


@dataclass(frozen=True, slots=True)
class Alike:
    """Two schemes with the same figure, within a relative difference."""

    within: float = ALIKE


@dataclass(frozen=True, slots=True)
class Bound:
    """A figure above or below a value."""

    above: bool
    value: float


@dataclass(frozen=True, slots=True)
class Level:
    """A figure of about a value."""

    value: float


Expected = Difference | Alike | Bound | Level
"""What a paper states."""


def survival(expected: Expected, ours: Ratio) -> Survival:
    """What becomes of a paper's statement by our ratio: of the scheme's figure to that of its
    base, or to the value of a bound or a level.

    A difference counts only where the interval excludes 1, and an absence of one only where the
    whole interval is within the margin; between them the seeds leave it "undecided". One seed
    decides nothing.

    >>> survival(Difference.of(1.96), Ratio(1.02, 0.99, 1.04, 0.2, 10))
    'gone'
    >>> survival(Difference.of(1.96), Ratio(0.85, 0.60, 1.20, 0.3, 10))
    'undecided'
    """
    if ours.n < 2 or not ours.lo <= ours.hi:
        return "undecided"
    match expected:
        case Difference():
            return _difference(expected, ours)
        case Alike():
            return _alike(expected, ours)
        case Bound():
            beyond, short = (ours.lo >= 1.0, ours.hi < 1.0) if expected.above else (ours.hi <= 1.0, ours.lo > 1.0)
            return "survives" if beyond else "gone" if short else "undecided"
        case Level():
            return _level(ours)


def _difference(expected: Difference, ours: Ratio) -> Survival:
    sign = 1.0 if expected.more else -1.0
    if (ours.lo > 1.0 or ours.hi < 1.0) and abs(ours.value - 1.0) >= expected.same:
        if sign * (ours.value - 1.0) < 0.0:
            return "reversed"
        low, high = sorted(sign * _log(edge) for edge in (ours.lo, ours.hi))
        if expected.effect is not None and high < expected.effect / 2.0:
            return "smaller"
        if expected.effect is not None and low > 2.0 * expected.effect:
            return "larger"
        return "survives"
    return "gone" if _within(ours, expected.same) else "undecided"


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf


def _alike(expected: Alike, ours: Ratio) -> Survival:
    if _within(ours, expected.within):
        return "survives"
    differs = (ours.lo > 1.0 or ours.hi < 1.0) and abs(ours.value - 1.0) > expected.within
    return "gone" if differs else "undecided"


def _level(ours: Ratio) -> Survival:
    low, high = 1.0 / LEVEL_FACTOR, LEVEL_FACTOR
    if ours.hi < low:
        return "smaller" if ours.value > 0.0 else "gone"
    if ours.lo > high:
        return "larger"
    return "survives" if low <= ours.lo and ours.hi <= high else "undecided"


def _within(ours: Ratio, margin: float) -> bool:
    return 1.0 - margin <= ours.lo and ours.hi <= 1.0 + margin
