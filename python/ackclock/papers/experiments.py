"""The papers' tables as experiments (``experiments.toml``): schemes on networks, every point of a scenario, every seed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock.cells import Cell, CellResult, Progress, Store, run_cells
from ackclock.papers.scenarios import scenario_path
from ackclock.scenario.draft import read_draft
from ackclock.statistics import Interval, interval

Measure = Callable[[CellResult], float]
"""One figure of one run."""


@dataclass(frozen=True, slots=True)
class Place:
    """One cell of a table: a network, a scheme and the values that the scenario sweeps."""

    network: str
    scheme: str
    point: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """The runs of an experiment, by place."""

    runs: Sequence[tuple[Place, Sequence[CellResult]]]

    def at(self, network: str, scheme: str, **swept: Any) -> Sequence[CellResult]:
        """The runs, one per seed, of one place; ``swept`` names values by the last part of their path, as in ``count=4``.

        Raises:
            KeyError: the experiment has no such place.
        """
        for place, results in self.runs:
            said = {path.rpartition(".")[2]: value for path, value in place.point.items()}
            if (place.network, place.scheme) == (network, scheme) and said.items() >= swept.items():
                return results
        raise KeyError((network, scheme, swept))

    def mean(self, measure: Measure, network: str, scheme: str, **swept: Any) -> Interval:
        """A figure's mean over the seeds of one place, with its 95 % interval."""
        return interval([measure(result) for result in self.at(network, scheme, **swept)])


@cache
def _written() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("experiments.toml").read_text("utf-8"))


def scheme(name: str) -> dict[str, Any]:
    """What a scheme says anew, by dotted path."""
    return dict(_written()["schemes"][name])


def network(name: str) -> dict[str, Any]:
    """What a network says anew, by dotted path."""
    return dict(_written()["networks"][name])


class Experiments:
    """Runs an experiment when it is first asked for. ``folder`` keeps the runs; what it already holds is not run again."""

    def __init__(
        self,
        seeds: Sequence[int],
        workers: int | None = None,
        folder: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._seeds = tuple(seeds)
        self._workers = workers
        self._store = Store(folder) if folder else None
        self._progress = progress
        self._done: dict[str, Measured] = {}

    def __call__(self, name: str) -> Measured:
        """The runs of ``[experiments.<name>]``."""
        if name not in self._done:
            self._done[name] = self._run(_places(name))
        return self._done[name]

    def _run(self, places: Sequence[tuple[Place, Any]]) -> Measured:
        cells = [
            Cell(scenario, seed, {"network": place.network, "scheme": place.scheme, **place.point})
            for place, scenario in places
            for seed in self._seeds
        ]
        results = list(run_cells(cells, workers=self._workers, store=self._store, progress=self._progress))
        each = len(self._seeds)
        return Measured([(place, results[at * each : (at + 1) * each]) for at, (place, _) in enumerate(places)])


def _places(name: str) -> list[tuple[Place, Any]]:
    experiment = _written()["experiments"][name]
    draft = read_draft(scenario_path(experiment["scenario"]))
    return [
        (Place(on, by, dict(point)), draft.check({**network(on), **point, **scheme(by)}))
        for on in experiment["networks"]
        for by in experiment["schemes"]
        for point in draft.points()
    ]


def throughput_bps(result: CellResult) -> float:
    """All flows of a run together, in bits/s. P1 counts packets of 1000 bytes, headers included."""
    return sum(flow_bps(result))


def total_mbps(result: CellResult) -> float:
    """The same in Mb/s."""
    return throughput_bps(result) / 1e6


def total_kbps(result: CellResult) -> float:
    """The same in kb/s."""
    return throughput_bps(result) / 1e3


def flow_bps(result: CellResult) -> list[float]:
    """Each flow's throughput in bits/s, over the time that the scenario measures."""
    return [float(flow["throughput_bps"]) for flow in result.summary["flows"]]


def hop_of(result: CellResult, name: str, direction: str) -> Mapping[str, Any]:
    """The summary of one direction of a hop."""
    hops: Sequence[Mapping[str, Any]] = result.summary["hops"]
    return next(hop for hop in hops if (hop["hop"], hop["direction"]) == (name, direction))
