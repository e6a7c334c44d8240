"""One scenario, all its seeds, into one run folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import scenario_hash
from ackclock.simulation import run_files
from ackclock.simulation.metrics import metrics_json
from ackclock.simulation.runner import Progress, RunResult, RunSpec, RunStore, run_specs
from ackclock.storage import atomic_files
from ackclock.storage.run_folder import Identity, RunFolder

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Simulation:
    """What a scenario gave: one summary per seed, and tables over all seeds.

    `flows` has one row per seed and flow, `series` one per seed, flow and sample, `hops` one per seed, hop,
    direction, station and sample; columns as in the Parquet files. `folder` is the run folder, None when nothing
    was written.
    """

    scenario: Scenario
    name: str
    summaries: tuple[dict[str, Any], ...]
    series: pl.DataFrame
    hops: pl.DataFrame
    folder: Path | None = None

    @property
    def flows(self) -> pl.DataFrame:
        """One row per seed and flow: the fields of the JSON, nested names joined by underscores."""
        return run_files.flows_frame(self.summaries)

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Every metric's mean, lo, hi and sd over the seeds (95 % interval)."""
        return metrics_json(self.summaries)

    def document(self) -> dict[str, Any]:
        """The document `ackclock simulate --json` prints."""
        one_each = [{"scenario": self.name, **summary} for summary in self.summaries]
        if len(one_each) == 1:
            document = one_each[0]
        else:
            document = {
                "scenario": self.name,
                "runs": one_each,
                "summary": {"n": len(one_each), "metrics": self.metrics},
            }
        return {**document, "folder": str(self.folder)} if self.folder else document

    def plot(self) -> Any:
        """The four time series (cwnd, RTT, goodput, queue) of the first seed as a matplotlib figure."""
        from ackclock.plot import Frames, figure, panels_of_run
        from ackclock.report.throughput_models import model_levels

        return figure(panels_of_run(Frames(self.series, self.hops), model_levels(self.summaries[0])), self.scenario.title)

    def report(self) -> Path:
        """Write `report.html` into the run folder and return its path. Needs `out` or a run from the command line."""
        if self.folder is None:
            raise ValueError("this run has no folder; pass out= to simulate")
        from ackclock.report import for_run

        return Path(for_run(self.folder))


def simulate_scenario(
    scenario: Scenario,
    *,
    name: str = "",
    folder: Path | None = None,
    force: bool = False,
    captures: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Run every seed of a scenario. With a `folder`, take up what an earlier call left there and keep everything."""
    name = name or scenario.title or "scenario"
    specs = [RunSpec(scenario, seed, captures=captures) for seed in scenario.seeds]
    if folder is None:
        return _simulation(scenario, name, run_specs(specs, workers=workers, progress=progress))
    with RunFolder(folder, identity(scenario), seeds=scenario.seeds, force=force) as run:
        if run.finished and (not captures or list((folder / "captures").glob(f"*.{captures}"))):
            shutil.rmtree(folder / "cells", ignore_errors=True)
            return open_run(folder, scenario, name)
        results = run_specs(specs, workers=workers, store=RunStore(folder), progress=progress)
        done = _simulation(scenario, name, results, folder)
        _finish(run, done, results)
        return done


def _simulation(scenario: Scenario, name: str, results: Sequence[RunResult], folder: Path | None = None) -> Simulation:
    series, hops = joined(results)
    return Simulation(scenario, name, tuple(result.summary for result in results), series, hops, folder)


def joined(results: Sequence[RunResult]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The series and hops of several cells under one another."""
    import polars as pl

    return pl.concat([result.series for result in results]), pl.concat([result.hops for result in results])


def identity(scenario: Scenario) -> Identity:
    """The identity of a simulation: its scenario. Captures are added to a finished one."""
    return Identity("simulate", scenario_hash(scenario))


def default_folder(scenario: Scenario) -> Path:
    """`runs/<hash>`: the folder of a run without `out`."""
    return identity(scenario).default_folder()


def open_run(folder: Path, scenario: Scenario, name: str) -> Simulation:
    """A finished run, read back."""
    import polars as pl

    summaries = json.loads((folder / "summary.json").read_text())
    series, hops = (pl.read_parquet(folder / f"{table}.parquet", glob=False) for table in ("series", "hops"))
    return Simulation(scenario, name, tuple(summaries), series, hops, folder)


def _finish(run: RunFolder, done: Simulation, results: Sequence[RunResult]) -> None:
    """The run folder's own files; environment.json comes last and says that it is whole."""
    folder = run.path
    if run.finished:  # captures are missing
        run.reopen()
    run_files.write_scenario(folder, done.scenario)
    atomic_files.write_parquet(folder / "flows.parquet", done.flows)
    atomic_files.write_parquet(folder / "series.parquet", done.series)
    atomic_files.write_parquet(folder / "hops.parquet", done.hops)
    atomic_files.write_json(folder / "summary.json", done.summaries)
    _gather_captures(folder, results)
    run.finish()
    shutil.rmtree(folder / "cells")


def _gather_captures(folder: Path, results: Sequence[RunResult]) -> None:
    for result in results:
        if result.spec.captures and result.folder:
            (folder / "captures").mkdir(exist_ok=True)
            before = "" if len(results) == 1 else f"seed{result.seed}-"
            for capture in sorted((result.folder / "captures").iterdir()):
                capture.rename(folder / "captures" / f"{before}{capture.name}")
