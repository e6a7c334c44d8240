"""Two workers and one: the bytes of their results must be the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from ackclock.hunting.objectives import HuntRun
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.engine import Batches, BatchOutput
from ackclock.simulation.plan import build_plan
from ackclock.simulation.run import simulate_scenario

SEEDS = (1, 2, 3)
WORKERS = (1, 2)
BATCH = 6


def difference(run: HuntRun) -> float:
    """How many results of a case differ between the numbers of workers."""
    return float(len(differing(run.scenario)))


def differing(scenario: Scenario) -> list[str]:
    """The files of the run folder, and the tables of a batch, that differ."""
    with tempfile.TemporaryDirectory(prefix="ackclock-hunt-") as folder:
        places = [Path(folder) / str(workers) for workers in WORKERS]
        for place, workers in zip(places, WORKERS, strict=True):
            simulate_scenario(scenario.with_seeds(SEEDS), folder=place, captures="pcapng", workers=workers)
        return [*_files(*places), *_tables(scenario)]


def _files(one: Path, other: Path) -> list[str]:
    """The files of two folders that are not in both with the same bytes."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*") if path.is_file()}
    return [
        str(name)
        for name in sorted(names)
        if not all((folder / name).is_file() for folder in (one, other))
        or (one / name).read_bytes() != (other / name).read_bytes()
    ]


def _tables(scenario: Scenario) -> list[str]:
    """The tables that differ of a batch of runs, which shares its threads."""
    plans = [build_plan(scenario, 1)]
    runs = [(0, seed, True) for seed in range(1, BATCH + 1)]
    one, other = (Batches(workers).run(plans, runs, 0) for workers in WORKERS)
    return [name for name in ("stored", "series", "hops") if not _table(one, name).equals(_table(other, name))]


def _table(output: BatchOutput, name: str) -> pl.DataFrame:
    table: pl.DataFrame = getattr(output, name)
    return table
