"""The points of a sweep, checked on access: a finished sweep is recognised without all checks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import overload

from ackclock.input.link.trace import Recording
from ackclock.input.scenario.draft import Draft
from ackclock.input.scenario.fingerprint import fingerprint
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import recordings, scenario_hash
from ackclock.simulation.run_list import estimated_cpu_s
from ackclock.storage import user_cache
from ackclock.storage.run_folder import Identity

MAX_KEPT = 4096
"""Maximum number of checked points in memory."""


@dataclass(frozen=True)
class PointFacts:
    """What a sweep needs to know of all of its points.

    Attributes:
        digest: the scenario's hash.
        cpu_s: the estimated CPU seconds of a run.
        recordings: the recorded rates.
    """

    digest: str
    cpu_s: float
    recordings: tuple[Recording, ...]


class SweepPoints(Sequence[Scenario]):
    """The scenario of each point of a sweep.

    An access checks the point and raises InputError if it is invalid; `facts` checks all points.

    Attributes:
        params: the swept values of each point by dotted path.
        checked_s: the CPU seconds of `facts`.
    """

    def __init__(self, draft: Draft, seeds: Sequence[int] | None = None) -> None:
        self.draft = draft
        self.params = draft.points()
        self._seeds = None if seeds is None else tuple(seeds)
        self.checked_s = 0.0
        self._checked = lru_cache(MAX_KEPT)(self._check)

    def __len__(self) -> int:
        return len(self.params)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> list[Scenario]: ...
    def __getitem__(self, index: int | slice) -> Scenario | list[Scenario]:
        if isinstance(index, slice):
            return [self._checked(number) for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._checked(index % len(self))

    @cached_property
    def facts(self) -> list[PointFacts]:
        """The facts of each point. Raises InputError for the first invalid one."""
        began = time.process_time()
        facts = [PointFacts(scenario_hash(one), estimated_cpu_s(one), tuple(recordings(one))) for one in self]
        self.checked_s = time.process_time() - began
        return facts

    def cpu_s(self, point: int) -> float:
        """The estimated CPU seconds of a run of a point."""
        return self.facts[point].cpu_s

    def recordings(self) -> Iterator[Recording]:
        """The recorded rates of all points, without duplicates."""
        yield from dict.fromkeys(one for facts in self.facts for one in facts.recordings)

    def identity(self, series: str) -> Identity:
        """The identity of the sweep: its points, and whose series it keeps.

        All points are checked, unless this user's cache has the digest of an equal sweep, whose
        points were valid. Raises InputError for an invalid point.
        """

        def digest() -> bytes:
            points = [[params, facts.digest] for params, facts in zip(self.params, self.facts, strict=True)]
            return Identity.of("sweep", points if series == "sampled" else [series, points]).digest.encode()

        state = fingerprint(self.draft)
        if state is None:
            return Identity("sweep", digest().decode())
        key = f"{state} {self._seeds} {series}"
        return Identity("sweep", user_cache.kept("sweep", key, "txt", digest).decode())

    def _check(self, index: int) -> Scenario:
        scenario = self.draft.check(self.params[index])
        return scenario if self._seeds is None else scenario.with_seeds(list(self._seeds))
