"""The space that a hunt searches: ranges, choices and loss lists, as leaves with a coordinate each.

A searcher works on points of the unit cube; a case is one setting of each leaf; a point of a
scenario has the values by dotted path, as a sweep's. Only the settings are kept: equal settings are
equal cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ackclock import _native
from ackclock.errors import InvalidValue
from ackclock.format import setting_text
from ackclock.input.scenario.draft import Point
from ackclock.input.units import rate_bps, show_rate, show_size, show_time, size_bytes, time_ps

ABSENT = "absent"
"""The choice that leaves a key out."""
DIGITS = 3
"""Significant digits of a drawn number."""

Setting = float | int | tuple[int, ...]
"""A leaf's setting: a number in its base unit, the index of a choice, or the lost packets."""
Settings = Mapping[str, Setting]
"""The setting of each leaf by its name."""


@dataclass(frozen=True)
class Unit:
    """How the numbers of a range are read and written."""

    name: str
    read: Callable[[str], float]
    show: Callable[[int], str]
    whole: bool = True


QUANTITIES = {
    unit.name: unit
    for unit in (
        Unit("rate", rate_bps, show_rate),
        Unit("time", time_ps, show_time),
        Unit("size", size_bytes, show_size),
    )
}


@dataclass(frozen=True)
class Range:
    """A number from `low` to `high`, in the base unit of its quantity."""

    name: str
    low: float
    high: float
    log: bool
    quantity: Unit | None
    whole: bool
    simple: float | None = None
    steps: tuple[float, ...] = (0.0,)

    def decode(self, unit: Sequence[float]) -> Setting:
        share = min(max(unit[0], 0.0), 1.0)
        span = self.high - self.low
        return self.rounded(self.low * (self.high / self.low) ** share if self.log else self.low + share * span, DIGITS)

    def at(self, setting: Setting) -> float:
        """The coordinate of a setting."""
        assert not isinstance(setting, tuple)
        if self.high <= self.low:
            return 0.0
        if self.log:
            return math.log(max(setting, self.low) / self.low) / math.log(self.high / self.low)
        return (setting - self.low) / (self.high - self.low)

    def rounded(self, value: float, digits: int) -> float | int:
        """The number with so many significant digits, within the range."""
        if value and math.isfinite(value):
            value = float(f"{value:.{digits - 1}e}")
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else value

    def distance(self, one: Setting, other: Setting) -> float:
        return min(1.0, abs(self.at(one) - self.at(other)))

    def shown(self, setting: Setting) -> Any:
        """The value as a scenario has it."""
        assert not isinstance(setting, tuple)
        return self.quantity.show(round(setting)) if self.quantity else setting

    def read(self, value: Any) -> float | None:
        """A scenario's value as a setting; None for one of another form."""
        if self.quantity is None:
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        try:
            return self.quantity.read(value) if isinstance(value, str) else None
        except InvalidValue:
            return None


@dataclass(frozen=True)
class Choice:
    """One of several options, each a part of a scenario that may have leaves itself."""

    name: str
    options: tuple[Node, ...]

    @property
    def steps(self) -> tuple[float, ...]:
        # Two options: a coordinate of 0 or 1. More: a coordinate each, the largest is chosen, so
        # that no option lies between two others.
        return (1.0,) if len(self.options) == 2 else (0.0,) * len(self.options) if len(self.options) > 2 else ()

    def decode(self, unit: Sequence[float]) -> Setting:
        if len(unit) <= 1:
            return int(bool(unit) and unit[0] >= 0.5)
        return max(range(len(unit)), key=lambda index: unit[index])

    def distance(self, one: Setting, other: Setting) -> float:
        return float(one != other)


@dataclass(frozen=True)
class Losses:
    """A list of up to `max_count` lost packets among the first `within`.

    The first packet and the gaps to the next ones are on a log scale: packets in a row, and a
    retransmission a round trip later, are as near as single losses.
    """

    name: str
    max_count: int
    within: int
    of: str = "data"

    @property
    def steps(self) -> tuple[float, ...]:
        return (1.0 / self.max_count, *(0.0,) * self.max_count)

    def decode(self, unit: Sequence[float]) -> Setting:
        count = round(self.max_count * min(max(unit[0], 0.0), 1.0))
        gaps = (max(1, round(self.within ** min(max(share, 0.0), 1.0))) for share in unit[1 : count + 1])
        return tuple(packet for packet in accumulate(gaps) if packet <= self.within)

    def distance(self, one: Setting, other: Setting) -> float:
        assert isinstance(one, tuple) and isinstance(other, tuple)
        if len(one) != len(other):
            return 1.0
        apart = [abs(math.log(a / b)) for a, b in zip(one, other, strict=True)]
        return min(1.0, sum(apart) / len(apart) / math.log(self.within)) if apart else 0.0

    def shown(self, setting: Setting) -> Any:
        """The value as a scenario has it; without packets the key is left out."""
        assert isinstance(setting, tuple)
        if not setting:
            return ABSENT
        return {"kind": "list", "packets": list(setting), **({"of": self.of} if self.of != "data" else {})}


@dataclass(frozen=True)
class Constant:
    """A value that is not searched."""

    value: Any


@dataclass(frozen=True)
class Parts:
    """A table or a list some of whose parts are searched."""

    parts: Mapping[str, Node] | tuple[Node, ...]


Leaf = Range | Choice | Losses
"""A part of a case that is set by itself. `steps` has a number for each of its coordinates: 0 where
it is continuous, else its step; `decode` gives the setting at coordinates of the unit cube, and
`distance` says how far two settings are apart, from 0 to 1.
"""
Node = Leaf | Constant | Parts


@dataclass(frozen=True)
class Space:
    """The searched keys of a scenario."""

    keys: Mapping[str, Node]
    leaves: Mapping[str, Leaf] = field(init=False)

    def __post_init__(self) -> None:
        leaves = {leaf.name: leaf for node in self.keys.values() for leaf in _leaves(node)}
        object.__setattr__(self, "leaves", leaves)

    @property
    def steps(self) -> list[float]:
        """The step of each coordinate, 0 where it is continuous."""
        return [step for leaf in self.leaves.values() for step in leaf.steps]

    def decode(self, unit: Sequence[float]) -> dict[str, Setting]:
        """The case at a point of the unit cube."""
        settings, at = {}, 0
        for name, leaf in self.leaves.items():
            settings[name] = leaf.decode(unit[at : at + len(leaf.steps)])
            at += len(leaf.steps)
        return settings

    def point(self, settings: Settings) -> Point:
        """The values of a case by dotted path, as a scenario has them; `ABSENT` for a key that is
        left out.
        """
        return {path: _shown(node, settings) for path, node in self.keys.items()}

    def active(self, settings: Settings) -> list[Leaf]:
        """The leaves that the case has: those of the chosen options."""
        return [leaf for node in self.keys.values() for leaf in _active(node, settings)]

    def distance(self, one: Settings, other: Settings) -> float:
        """How far two cases are apart, from 0 to 1: 1 where they differ in a choice."""
        names = [leaf.name for leaf in self.active(one)]
        if names != [leaf.name for leaf in self.active(other)]:
            return 1.0
        apart = [self.leaves[name].distance(one[name], other[name]) for name in names]
        if any(isinstance(self.leaves[name], Choice) and one[name] != other[name] for name in names):
            return 1.0
        return math.sqrt(sum(part * part for part in apart) / len(apart)) if apart else 0.0


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Range | Losses):
        yield node
    elif isinstance(node, Choice):
        yield node
        for option in node.options:
            yield from _leaves(option)
    elif isinstance(node, Parts):
        for part in _parts(node):
            yield from _leaves(part)


def _active(node: Node, settings: Settings) -> Iterator[Leaf]:
    if isinstance(node, Range | Losses):
        yield node
    elif isinstance(node, Choice):
        yield node
        yield from _active(node.options[_index(settings, node)], settings)
    elif isinstance(node, Parts):
        for part in _parts(node):
            yield from _active(part, settings)


def _parts(node: Parts) -> Iterator[Node]:
    yield from node.parts.values() if isinstance(node.parts, Mapping) else node.parts


def _index(settings: Settings, choice: Choice) -> int:
    index = settings[choice.name]
    assert isinstance(index, int)
    return index


def _shown(node: Node, settings: Settings) -> Any:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Choice):
        return _shown(node.options[_index(settings, node)], settings)
    if isinstance(node, Range | Losses):
        return node.shown(settings[node.name])
    if isinstance(node.parts, Mapping):
        shown = {key: _shown(part, settings) for key, part in node.parts.items()}
        return {key: value for key, value in shown.items() if value != ABSENT}
    return [_shown(part, settings) for part in node.parts]


def read_space(vary: Mapping[str, Any]) -> Space:
    """The space of [hunt.vary], which crates/scenario/src/hunt/vary.rs reads. Raises InvalidValue,
    whose key is below [hunt.vary].
    """
    return Space(_native.searched_keys(dict(vary)))


def shown_text(value: Any) -> str:
    """A value of a point for readers."""
    if value == ABSENT:
        return "none"
    if isinstance(value, dict) and value.get("kind") == "list" and "packets" in value:
        packets = value["packets"]
        return f"packet{'s' * (len(packets) > 1)} {', '.join(map(str, packets))} lost"
    return setting_text(value)
