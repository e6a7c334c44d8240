"""`simulate`: every seed of a scenario, into one run folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import resolved, scenario_hash
from ackclock.notebook import Progress
from ackclock.result import Result
from ackclock.simulation import run_files
from ackclock.simulation.metrics import metrics_json
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs
from ackclock.storage import atomic_files, run_kind
from ackclock.storage.run_folder import Identity, RunFolder
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.parts import Metrics
    from ackclock.documents.simulate import ExplainedRun, Household
    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel
    from ackclock.report.page import Page


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """The result of a simulation: a summary for each seed, and tables over all seeds.

    Attributes:
        summaries: one document for each seed, as `simulate --json` prints it.
        flows: one row for each seed and flow.
        series: one row for each seed, flow and sample.
        hops: one row for each seed, hop, direction, station and sample. Columns as in the Parquet
            files: rates in bits/s, RTT in ms, times in s.
        folder: the run folder; None without one.
    """

    scenario: Scenario
    name: str
    summaries: tuple[ExplainedRun, ...]
    series: pl.DataFrame
    hops: pl.DataFrame
    folder: Path | None = None

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each seed and flow: the fields of the JSON document, nested names joined by
        underscores.
        """
        return run_files.flows_frame(self.summaries)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each part of the scenario that is likely not meant."""
        from ackclock.input.scenario.warnings import warnings

        return warnings(self.scenario)

    @property
    def metrics(self) -> Metrics:
        """Mean, lo, hi (95 % interval) and sd over the seeds, by metric."""
        return metrics_json(self.summaries)

    @property
    def document(self) -> dict[str, Any]:
        """The document `ackclock simulate --json` prints."""
        documents = [{"scenario": self.name, **summary} for summary in self.summaries]
        if len(documents) == 1:
            document = documents[0]
        else:
            document = {
                "scenario": self.name,
                "runs": documents,
                "summary": {"n": len(documents), "metrics": self.metrics},
            }
        if self.household:
            document = {**document, "household": self.household}
        return {**document, "folder": str(self.folder)} if self.folder else document

    @property
    def household(self) -> Household | None:
        """The targets of a household; None of another scenario."""
        from ackclock.simulation.household import is_household, judgement

        return judgement(self.summaries) if is_household(self.summaries[0]) else None

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`flows`, `series` and `hops`."""
        return {"flows": self.flows, "series": self.series, "hops": self.hops}

    def plot(self) -> Plot:
        """The four time series (cwnd, RTT, goodput, queue) of the lowest seed."""
        from ackclock.plot.figure import Plot

        return Plot(self._panels(), self.scenario.title)

    def _panels(self) -> list[Panel]:
        from ackclock.plot.time_series import Frames, panels_of_run
        from ackclock.simulation.model_tables import model_levels

        return panels_of_run(Frames(self.series, self.hops), model_levels(self.summaries[0]))

    def _page(self) -> Page:
        from ackclock.report.run_input import RunInput
        from ackclock.simulation import report_page

        if self.folder is not None:
            return report_page.folder_page(self.folder)
        return report_page.page(RunInput.of(resolved(self.scenario)), self.summaries, self._panels())

    def _title(self) -> str:
        from ackclock.input.units import show_time

        flows, seeds = len(self.summaries[0]["flows"]), len(self.summaries)
        counts = (
            f"{flows} flow{'s' * (flows != 1)}, {seeds} seed{'s' * (seeds != 1)}, {show_time(self.scenario.duration)}"
        )
        return f"{self.scenario.title or self.name}: {counts}"

    def _tables(self) -> list[Table]:
        from ackclock.simulation.terminal_tables import simulation_tables

        return simulation_tables(self)

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.limitations import scenario_facts, sentence
        from ackclock.simulation.screen import screen

        return screen(self.summaries, self.household, sentence("simulate", scenario_facts(resolved(self.scenario))))


def simulate_scenario(
    scenario: Scenario,
    *,
    name: str = "",
    folder: Path | None = None,
    force: bool = False,
    captures: str | None = None,
    offloads: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Run every seed of a scenario.

    With a `folder`, stored results are reused and all results are stored. `offloads` merges the
    captured segments as the hosts' GSO, TSO and GRO do.
    """
    name = name or scenario.title or "scenario"
    specs = [RunSpec(scenario, seed, captures=captures, offloads=offloads) for seed in scenario.seeds]
    if folder is None:
        return _simulation(scenario, name, run_specs(specs, workers=workers, progress=progress))
    with RunFolder(folder, identity(scenario), seeds=scenario.seeds, force=force) as run:
        if run.finished and all(spec.captures_exist(folder / "captures", _prefix(spec, specs)) for spec in specs):
            shutil.rmtree(folder / "cells", ignore_errors=True)
            return open_run(folder, scenario, name)
        results = run_specs(specs, workers=workers, store=RunStore(folder), progress=progress)
        simulation = _simulation(scenario, name, results, folder)
        _finish(run, simulation, results)
        return simulation


def _simulation(scenario: Scenario, name: str, results: Sequence[RunResult], folder: Path | None = None) -> Simulation:
    series, hops = joined(results)
    return Simulation(scenario, name, tuple(result.summary for result in results), series, hops, folder)


def joined(results: Sequence[RunResult]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The series and the hops of several runs, concatenated."""
    import polars as pl

    return pl.concat([result.series for result in results]), pl.concat([result.hops for result in results])


def identity(scenario: Scenario) -> Identity:
    """The identity of a simulation: its scenario.

    Captures are no part of it and may be added to a finished run.
    """
    return Identity("simulate", scenario_hash(scenario))


def default_folder(scenario: Scenario) -> Path:
    """`runs/<hash>`: the folder of a run without `out`."""
    return identity(scenario).default_folder()


def open_run(folder: Path, scenario: Scenario, name: str) -> Simulation:
    """Read a finished run."""
    summaries = read_json(folder / run_kind.SIMULATE.document)
    series, hops = (read_table(folder / f"{table}.parquet") for table in ("series", "hops"))
    return Simulation(scenario, name, tuple(summaries), series, hops, folder)


def _finish(run: RunFolder, simulation: Simulation, results: Sequence[RunResult]) -> None:
    """Write the run folder's files.

    `run.finish` writes environment.json last, which marks the folder as finished.
    """
    folder = run.path
    if run.finished:  # captures are added
        run.reopen()
    run_files.write_scenario(folder, simulation.scenario)
    atomic_files.write_parquet(folder / "flows.parquet", simulation.flows)
    atomic_files.write_parquet(folder / "series.parquet", simulation.series)
    atomic_files.write_parquet(folder / "hops.parquet", simulation.hops)
    atomic_files.write_json(folder / run_kind.SIMULATE.document, simulation.summaries)
    _gather_captures(folder, results)
    run.finish()
    shutil.rmtree(folder / "cells")


def _gather_captures(folder: Path, results: Sequence[RunResult]) -> None:
    for result in results:
        if result.spec.captures and result.folder:
            (folder / "captures").mkdir(exist_ok=True)
            prefix = _prefix(result.spec, results)
            for capture in sorted((result.folder / "captures").iterdir()):
                capture.rename(folder / "captures" / f"{prefix}{capture.name}")


def _prefix(spec: RunSpec, of: Sequence[object]) -> str:
    """What the names of a run's captures begin with, among several runs."""
    return "" if len(of) == 1 else f"seed{spec.seed}-"
