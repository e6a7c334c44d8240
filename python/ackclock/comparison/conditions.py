"""Conditions under which the recommendation may be another: other jitter beside a medium's frames,
and other values of the link's keys that have no source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.link.frame_grid import FrameGrid
from ackclock.input.link.hop import Hop
from ackclock.input.scenario.assumptions import assumptions
from ackclock.statistics import Ratio

if TYPE_CHECKING:
    from ackclock.documents.compare import UnderCondition as UnderConditionDocument

NOT_TRIED = "Not tried in this first look"
"""What the note about conditions that were left out begins with."""
RIVALS = 2
"""Number of the best choices of other variants, queues and ACK policies that run under a condition
beside the recommended one."""
MAX_SHARE = 0.2
"""Estimated CPU time of the runs under conditions, as a share of the comparison's own runs."""
FULL_SEEDS = 3
"""Number of seeds without a first look, whatever they take."""
MIN_SEEDS = 2
"""With fewer seeds no condition runs in a first look."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A change of the path.

    Attributes:
        what: that has another value, as a subject.
        value: as text.
        point: values by dotted path.
    """

    what: str
    value: str
    point: Mapping[str, Any]

    @property
    def text(self) -> str:
        """As a clause after "where"."""
        return f"{self.what} is {self.value}"


@dataclass(frozen=True, slots=True)
class UnderCondition:
    """The recommended choice beside another one under a condition.

    Attributes:
        condition: its clause.
        than: the label of the other choice.
        gain: the ratio of the recommended one's score to the other's.
        harms: whether the other one is beyond the bound of harm there; None: not tested.
    """

    condition: str
    than: str
    gain: Ratio
    harms: bool | None

    @property
    def flips(self) -> bool:
        """Whether the other choice would be recommended."""
        return self.gain.is_loss and not self.harms

    def as_json(self) -> UnderConditionDocument:
        """An entry of `judgement.conditions` in ``compare``'s JSON document."""
        gain = self.gain.as_json()
        return {"condition": self.condition, "than": self.than, "gain": gain, "harms": self.harms, "flips": self.flips}


def conditions(link: object, hops: Sequence[Hop]) -> list[Condition]:
    """Those of a link, given by name or file or otherwise, and its hops. Raises InputError."""
    grid = FrameGrid.of(hops)
    assumed = assumptions(link) if isinstance(link, str | Path) else []
    return [
        *(Condition(*of) for of in (grid.points() if grid else ())),
        *(Condition(f"`{a.key}`, whose value has no source,", str(a.value), {a.key: a.value}) for a in assumed),
    ]


def rivals(order: Sequence[str], recommended: str, kind_of: Callable[[str], object]) -> list[str]:
    """The best choices of other kinds than the recommended one and than each other.

    `order` are labels, best score first.
    """
    first: dict[object, str] = {kind_of(recommended): recommended}
    for label in order:
        first.setdefault(kind_of(label), label)
    return [label for label in first.values() if label != recommended][:RIVALS]


def seeds_under(cpu_s: float, cells_cpu_s: float, available: int, *, is_first_look: bool) -> int:
    """The number of seeds under conditions, whose estimated CPU time for each seed is `cpu_s`: what
    `MAX_SHARE` allows, without a first look `FULL_SEEDS` at least; 0 for none.
    """
    allowed = int(MAX_SHARE * cells_cpu_s / cpu_s)
    if is_first_look and allowed < MIN_SEEDS:
        return 0
    return min(available, allowed if is_first_look else max(allowed, FULL_SEEDS))


def not_tried(given: Sequence[Condition]) -> str:
    """The note about conditions that would take too much CPU time of a first look."""
    values: dict[str, list[str]] = {}
    for condition in given:
        values.setdefault(condition.what, []).append(condition.value)
    where = ", or ".join(f"{what} is {' or '.join(of)}" for what, of in values.items())
    return f"{NOT_TRIED}: whether the recommendation holds where {where}."
