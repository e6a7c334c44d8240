"""The runs of a sweep or a comparison, numbered, and their division into chunks.

Run `number` is point `number // len(seeds)` with seed `seeds[number % len(seeds)]`. A chunk is a
range of numbers that follows from the points and seeds alone: the same on every machine, for any
number of workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from ackclock.input.link.rate import mean_bps
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.plan import Plan, build_plan
from ackclock.simulation.runner import RunSpec

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun

Metrics = Callable[["ExplainedRun"], dict[str, float]]
"""The metrics of a run from its summary (docs/inside/plan.md), NaN without a value. A function of a
module: processes of a cluster import it.
"""

CHUNK_S = 4.0
"""CPU seconds of a chunk, estimated: long beside the cost of starting it, short beside a sweep that
is interrupted.
"""
CHUNK_RUNS = 1000
"""Maximum number of runs in a chunk."""
RUN_S = 0.001
"""CPU seconds of a run without packets."""
PACKET_S = 0.4e-6
"""CPU seconds for a packet at a hop, queue, link, endpoint and ACK included."""
PACKET_BITS = 12_000
UNKNOWN_BPS = 20_000_000
"""Rate of a path whose hops have no rate of their own, such as those of a shared medium."""


@dataclass(frozen=True)
class PointPart:
    """The runs of one point in a chunk: the plan, the varied values as table columns, and for each
    run its seed and whether its series are kept.
    """

    plan: Plan
    columns: Mapping[str, Any]
    runs: tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class ChunkWork:
    """Everything that a process needs to run a chunk.

    Attributes:
        first: the number of the first run.
        points: the points of the chunk, in order.
        types: the column types of the varied values.
        metrics: the metrics of a run.
    """

    first: int
    points: tuple[PointPart, ...]
    types: Mapping[str, type]
    metrics: Metrics


@dataclass(frozen=True)
class RunList:
    """Points of a sweep or configurations of a comparison, each with every seed.

    Attributes:
        params: the varied values of each point, for tables.
        scenarios: the checked scenario of each point.
        seeds: the seeds of every point.
        metrics: the metrics of a run.
        series: the runs whose time series are kept: "none", "sampled" or "all".
        cpu_s: the estimated CPU seconds of a run of a point; None: of its scenario.
        of_seed: the scenario of a point with a seed, if seeds differ in more than their random
            numbers.
    """

    params: Sequence[Mapping[str, Any]]
    scenarios: Sequence[Scenario]
    seeds: tuple[int, ...]
    metrics: Metrics
    series: str = "sampled"
    cpu_s: Callable[[int], float] | None = None
    of_seed: Callable[[Scenario, int], Scenario] | None = None

    def __len__(self) -> int:
        return len(self.params) * len(self.seeds)

    def point(self, number: int) -> int:
        """The index of a run's point."""
        return number // len(self.seeds)

    def seed(self, number: int) -> int:
        """The seed of a run."""
        return self.seeds[number % len(self.seeds)]

    def spec(self, number: int) -> RunSpec:
        """One run by its number."""
        point = self.point(number)
        scenario, seed = self.scenarios[point], self.seed(number)
        return RunSpec(self.of_seed(scenario, seed) if self.of_seed else scenario, seed, self.params[point])

    def numbers(self, point: int) -> range:
        """The numbers of a point's runs."""
        return range(point * len(self.seeds), (point + 1) * len(self.seeds))

    def point_cpu_s(self, point: int) -> float:
        """The estimated CPU seconds of a run of a point."""
        return self.cpu_s(point) if self.cpu_s else estimated_cpu_s(self.scenarios[point])

    def chunk_cpu_s(self, index: int) -> float:
        """The estimated CPU seconds of a chunk."""
        chunk = self.chunks[index]
        points = range(self.point(chunk.start), self.point(chunk[-1]) + 1)
        each = ((self.numbers(point), self.point_cpu_s(point)) for point in points)
        return sum(cost * (min(of.stop, chunk.stop) - max(of.start, chunk.start)) for of, cost in each)

    @cached_property
    def chunks(self) -> tuple[range, ...]:
        """The chunks, in order: numbers of runs whose estimated cost adds up to `CHUNK_S`."""
        bounds = [0]
        spent = 0.0
        for point in range(len(self.params)):
            cost = self.point_cpu_s(point)
            for number in self.numbers(point):
                if number > bounds[-1] and (spent + cost > CHUNK_S or number - bounds[-1] == CHUNK_RUNS):
                    bounds.append(number)
                    spent = 0.0
                spent += cost
        return tuple(range(a, b) for a, b in pairwise([*bounds, len(self)]))

    def work(self, index: int) -> ChunkWork:
        """The work of a chunk."""
        return self.work_of(self.chunks[index])

    def work_of(self, numbers: Sequence[int]) -> ChunkWork:
        """The work of some runs, in order. The tables number them from the first."""
        parts = []
        for point, mine in groupby(numbers, self.point):
            runs = tuple((self.seed(number), self.keeps_series(number)) for number in mine)
            if self.of_seed is None:
                parts.append(PointPart(build_plan(self.scenarios[point], self.seeds[0]), self.columns(point), runs))
                continue
            for run in runs:
                plan = build_plan(self.of_seed(self.scenarios[point], run[0]), run[0])
                parts.append(PointPart(plan, self.columns(point), (run,)))
        return ChunkWork(numbers[0], tuple(parts), self.param_types, self.metrics)

    def keeps_series(self, number: int) -> bool:
        """Whether the time series of a run are kept.

        Sampled: the lowest seed of each point, or of `MAX_SAMPLED` evenly picked points.
        """
        if self.series != "sampled":
            return self.series == "all"
        return self.point(number) % sampled_stride(len(self.params)) == 0 and self.seed(number) == min(self.seeds)

    @cached_property
    def param_types(self) -> dict[str, type]:
        """The column type of each varied value: one that holds the values of all points."""
        values: dict[str, set[type]] = {}
        for params in self.params:
            for key, value in params.items():
                values.setdefault(key, set()).add(type(value))
        return {key: _common(types) for key, types in values.items()}

    def columns(self, point: int) -> dict[str, Any]:
        """The varied values of a point as table columns; values of mixed types are text, tables and
        lists JSON.
        """
        params = self.params[point]
        return {key: _cell(params.get(key), type_) for key, type_ in self.param_types.items()}


MAX_SAMPLED = 250
"""Maximum number of runs whose time series a sampled dataset keeps."""
SERIES = ("none", "sampled", "all")
"""The values of `--series`."""


def sampled_stride(points: int) -> int:
    """A sampled dataset keeps the time series of every point whose index is a multiple of this."""
    return -(-points // MAX_SAMPLED)


def _common(types: set[type]) -> type:
    if len(types) == 1 and (only := next(iter(types))) in (bool, int, float, str):
        return only
    return float if types == {int, float} else str


def _cell(value: Any, type_: type) -> Any:
    if value is None or isinstance(value, type_):
        return value
    return float(value) if type_ is float else json.dumps(value)


def estimated_cpu_s(scenario: Scenario) -> float:
    """CPU seconds of one run, by its packets: within a factor of some, and the same on every
    machine.
    """
    directions = [
        min((bps for hop in scenario.hop if (bps := mean_bps(hop, direction))), default=UNKNOWN_BPS)
        for direction in ("down", "up")
    ]
    used = {flow.direction for flow in scenario.flow}
    rate = sum(bps for bps, direction in zip(directions, ("down", "up"), strict=True) if direction in used)
    packets = rate / PACKET_BITS * scenario.duration / 1e12
    return RUN_S + PACKET_S * packets * max(len(scenario.hop), 1)
