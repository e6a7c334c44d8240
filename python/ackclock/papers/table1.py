"""Table 1 of ``asymmetry`` run here: the packaged scenarios, both networks, four return paths, every seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from ackclock.cells import Cell, CellResult, Progress, Store, run_cells
from ackclock.papers.scenarios import scenario_path
from ackclock.scenario.draft import read_draft
from ackclock.statistics import Interval, interval
from ackclock.sweeping import check_points

NETWORKS: dict[str, str] = {"V1": "asymmetry-table1", "V2": "asymmetry-table1-fitted"}
"""The networks by name: as the authors published it, and with two numbers fitted."""


class Table1Runs:
    """Calling it gives throughput in Mb/s by network and return path ("9.6", "28.8", " C" with header compression).

    The runs are made at the first call, all together, and kept in ``folder`` when there is one.
    """

    def __init__(self, seeds: Sequence[int], workers: int | None, folder: Path | None, progress: Progress | None) -> None:
        self._seeds = seeds
        self._workers = workers
        self._store = Store(folder) if folder else None
        self._progress = progress

    def __call__(self) -> Mapping[str, Mapping[str, Interval]]:
        return self._table

    @cached_property
    def _table(self) -> dict[str, dict[str, Interval]]:
        places = [
            (network, _return_path(point), Cell(scenario, seed, {"network": network, **point}))
            for network, name in NETWORKS.items()
            for point, scenario in check_points(read_draft(scenario_path(name)), self._seeds)
            for seed in scenario.seeds
        ]
        cells = [cell for _, _, cell in places]
        done = run_cells(cells, workers=self._workers, store=self._store, progress=self._progress)
        measured: dict[str, dict[str, list[float]]] = {}
        for (network, path, _), result in zip(places, done, strict=True):
            measured.setdefault(network, {}).setdefault(path, []).append(_mbps(result))
        return {network: {path: interval(of) for path, of in paths.items()} for network, paths in measured.items()}


def _return_path(point: Mapping[str, object]) -> str:
    compressed = " C" if point["hop.return.framing"] == "cslip" else ""
    return str(point["hop.return.rate"]).removesuffix(" kb/s") + compressed


def _mbps(result: CellResult) -> float:
    # The paper counts packets of 1000 bytes, headers included, over the whole 50 s.
    return float(result.summary["flows"][0]["throughput_bps"]) / 1e6
