"""A case made as simple as it can be while it still breaks in the same way: each setting is moved
toward its simplest value while most of the objective's excess stays, the mechanism, and the need
for what the case needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ackclock.hunting.evaluation import Evaluator, Outcome
from ackclock.hunting.space import ABSENT, Choice, Constant, Leaf, Losses, Range, Setting, Settings, Space

KEPT = 0.8
"""The part of the excess over the simplest case that must stay."""
HALVINGS = 3
"""Steps of a search for the number that is nearest to the simplest one."""
PASSES = 3


Part = tuple[str, int]
"""A choice or a number, by its name and 0, or a lost packet, by the name of its list and its index
among the direction's packets."""


@dataclass(frozen=True)
class Shrunk:
    """A case as simple as it can be.

    Attributes:
        needs: the leaves whose settings are not the simplest, in order.
    """

    settings: Settings
    outcome: Outcome
    needs: tuple[str, ...]


def simplest(space: Space, base: Callable[[str], object]) -> dict[str, Setting]:
    """The simplest setting of each leaf: the range's `simple`, else the scenario's own value, which
    `base` gives by path, else the first choice, no losses, or the middle of the range.
    """
    found: dict[str, Setting] = {}
    for name, leaf in space.leaves.items():
        if isinstance(leaf, Losses):
            found[name] = ()
        elif isinstance(leaf, Choice):
            found[name] = _own_choice(space, leaf, base)
        else:
            # An option that is a range has the value of its key.
            own = leaf.simple if leaf.simple is not None else leaf.read(base(re.sub(r"\[\d+\]$", "", name)))
            found[name] = leaf.rounded(own, 9) if own is not None else leaf.decode((0.5,))
    return found


def _own_choice(space: Space, leaf: Choice, base: Callable[[str], object]) -> int:
    """The option that the scenario has itself; the first one if it has none of them."""
    if leaf.name not in space.keys:
        return 0
    own = base(leaf.name)
    values = [option.value if isinstance(option, Constant) else option for option in leaf.options]
    wanted = ABSENT if own is None else own
    return values.index(wanted) if wanted in values else 0


class Shrinking:
    """Makes cases of an objective simple."""

    def __init__(self, evaluator: Evaluator, simple: Mapping[str, Setting], base: Outcome) -> None:
        self.evaluator = evaluator
        self.space = evaluator.table.space
        self.simple = simple
        self.base = base

    def shrink(self, settings: Settings, outcome: Outcome) -> Shrunk:
        """The simplest case on the way from a broken one. Raises RunFailed."""
        needed = tuple(part for part in self._parts(settings) if self._is_needed(settings, part))
        attempt = _Attempt(self, dict(settings), outcome, self._floor(outcome), needed)
        for _ in range(PASSES):
            before = attempt.settings
            for leaf in self._order(attempt.settings):
                if attempt.settings[leaf.name] == self.simple[leaf.name] or not self._has(leaf, attempt.settings):
                    continue
                if attempt.to(leaf, self.simple[leaf.name], self._inside(leaf)):
                    continue
                if attempt.to(leaf, self.simple[leaf.name]):
                    continue
                if isinstance(leaf, Losses):
                    self._fewer(leaf, attempt)
                elif isinstance(leaf, Range):
                    self._nearer(leaf, attempt)
            if attempt.settings == before:
                break
        best = attempt.settings
        needs = (leaf.name for leaf in self.space.active(best) if best[leaf.name] != self.simple[leaf.name])
        return Shrunk(best, attempt.outcome, tuple(needs))

    def _parts(self, settings: Settings) -> Iterator[Part]:
        """The choices and numbers that are not the simplest ones, and the lost packets."""
        for leaf in self.space.active(settings):
            own = settings[leaf.name]
            if isinstance(own, tuple):
                yield from ((leaf.name, packet) for packet in own)
            elif own != self.simple[leaf.name]:
                yield leaf.name, 0

    def _is_needed(self, settings: Settings, part: Part) -> bool:
        """Whether a case does not break without a part."""
        name, packet = part
        own = settings[name]
        if isinstance(own, tuple):
            without: Settings = {**settings, name: tuple(one for one in own if one != packet)}
        else:
            without = {**settings, name: self.simple[name], **self._inside(self.space.leaves[name])}
        outcome = self.evaluator.one(without)
        return not (
            outcome.counts and outcome.value is not None and self.evaluator.table.objective.is_broken(outcome.value)
        )

    def keeps_need(self, settings: Settings, parts: Sequence[Part]) -> bool:
        """Whether a case still needs each of these parts: one that another cause breaks as well is
        another case.
        """
        return all(self._is_needed(settings, part) for part in parts)

    def _inside(self, leaf: Leaf) -> Settings:
        """The simplest settings inside a choice's simplest option."""
        return {name: own for name, own in self.simple.items() if name.startswith(f"{leaf.name}[")}

    def _has(self, leaf: Leaf, settings: Settings) -> bool:
        return any(one.name == leaf.name for one in self.space.active(settings))

    def _floor(self, outcome: Outcome) -> float:
        """The badness that must stay."""
        objective = self.evaluator.table.objective
        assert outcome.value is not None
        own, lowest = objective.badness(outcome.value), objective.badness(objective.breaks)
        base = objective.badness(self.base.value) if self.base.value is not None else lowest
        return max(lowest, base + KEPT * (own - base)) if own > base else lowest

    def _order(self, settings: Settings) -> list[Leaf]:
        """Choices first, which remove whole parts; then losses, then numbers."""
        leaves = self.space.active(settings)
        return [leaf for kind in (Choice, Losses, Range) for leaf in leaves if isinstance(leaf, kind)]

    def _fewer(self, leaf: Losses, attempt: _Attempt) -> None:
        """Remove what lost packets can be removed one by one."""
        place = 0
        while True:
            packets = attempt.settings[leaf.name]
            assert isinstance(packets, tuple)
            if place >= len(packets) or len(packets) == 1:
                return
            if not attempt.to(leaf, packets[:place] + packets[place + 1 :]):
                place += 1

    def _nearer(self, leaf: Range, attempt: _Attempt) -> None:
        """Move a number toward the simplest one, then write it with fewer digits."""
        near, far = leaf.at(attempt.settings[leaf.name]), leaf.at(self.simple[leaf.name])
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            if attempt.to(leaf, leaf.decode((middle,))):
                near = middle
            else:
                far = middle
        for digits in (1, 2):
            own = attempt.settings[leaf.name]
            assert not isinstance(own, tuple)
            if attempt.to(leaf, leaf.rounded(own, digits)):
                return


@dataclass
class _Attempt:
    """A case that is being made simple, and the badness, the mechanism and the needed parts that it
    must keep.
    """

    shrinking: Shrinking
    settings: dict[str, Setting]
    outcome: Outcome
    floor: float
    needed: tuple[Part, ...]

    def to(self, leaf: Leaf, setting: Setting, others: Settings = MappingProxyType({})) -> bool:
        """Whether the case still breaks with this setting and these others, which it then has."""
        evaluator = self.shrinking.evaluator
        tried = {**self.settings, leaf.name: setting, **others}
        outcome = evaluator.one(tried)
        if not outcome.counts or outcome.value is None or outcome.mechanism != self.outcome.mechanism:
            return False
        if evaluator.table.objective.badness(outcome.value) < self.floor:
            return False
        if not self.shrinking.keeps_need(tried, self.needed):
            return False
        self.settings, self.outcome = tried, outcome
        return True
