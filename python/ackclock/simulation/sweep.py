"""`sweep`: every combination of a scenario's [sweep] with every seed, on all cores; an interrupted
sweep continues.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.scenario.draft import Draft
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import resolved, scenario_hash
from ackclock.notebook import Progress
from ackclock.result import Result
from ackclock.simulation import run_files
from ackclock.simulation.metrics import metrics_json
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs
from ackclock.storage import atomic_files, run_kind
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel
    from ackclock.report.page import Page


@dataclass(frozen=True)
class SweepPoint:
    """One combination of swept values, with a run for each seed."""

    params: Mapping[str, Any]
    scenario: Scenario
    results: tuple[RunResult, ...]

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Mean, lo, hi (95 % interval) and sd over the seeds, by metric."""
        return metrics_json(result.summary for result in self.results)


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The result of a sweep. `folder` is None without a run folder."""

    points: tuple[SweepPoint, ...]
    folder: Path | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The document `ackclock sweep --json` prints."""
        points = [{"params": dict(p.params), "n": len(p.results), "metrics": p.metrics} for p in self.points]
        return {"cells": points, **({"folder": str(self.folder)} if self.folder else {})}

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each point, seed and flow, with the swept values and the name of the run's
        folder as columns.
        """
        results = [(point, result) for point in self.points for result in point.results]
        extra = [{**_columns(point.params), "cell": result.spec.key} for point, result in results]
        return run_files.flows_frame([result.summary for _, result in results], extra)

    @property
    def metrics(self) -> pl.DataFrame:
        """One row for each point: swept values, n, and `<metric>`, `<metric>_lo`, `<metric>_hi`,
        `<metric>_sd`.
        """
        import polars as pl

        rows = []
        for point in self.points:
            row: dict[str, Any] = {**_columns(point.params), "n": len(point.results)}
            for name, value in point.metrics.items():
                row[name] = value["mean"]
                row.update({f"{name}_{part}": value[part] for part in ("lo", "hi", "sd")})
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`metrics` and `flows`."""
        return {"metrics": self.metrics, "flows": self.flows}

    def plot(self) -> Plot:
        """Runs of some of the points (lowest seed), evenly picked and laid over each other."""
        from ackclock.plot.figure import Plot

        return Plot(self._panels(), self.points[0].scenario.title)

    def _panels(self) -> list[Panel]:
        from ackclock.plot.time_series import Frames, panels_of_runs
        from ackclock.simulation.sweep_page import label, picked

        first = {label(point.params): min(point.results, key=lambda one: one.seed) for point in picked(self.points)}
        return panels_of_runs({name: Frames(one.series, one.hops) for name, one in first.items()})

    def _page(self) -> Page:
        from ackclock.simulation import sweep_page

        if self.folder is not None:
            return sweep_page.folder_page(self.folder)
        return sweep_page.page(self.document, resolved(self.points[0].scenario), self._panels())

    def _title(self) -> str:
        return f"{len(self.points)} points, {len(self.points[0].results)} seeds each"

    def _tables(self) -> list[Table]:
        from ackclock.simulation.terminal_tables import sweep_table

        return [sweep_table(self)]


def _columns(params: Mapping[str, Any]) -> dict[str, Any]:
    """Swept values as table columns; tables and lists become JSON."""
    return {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in params.items()}


def check_points(draft: Draft, seeds: Sequence[int] | None = None) -> list[tuple[dict[str, Any], Scenario]]:
    """The checked scenario of every point. Raises InputError before any run."""
    checked = [(dict(point), draft.check(point)) for point in draft.points()]
    if seeds is not None:
        checked = [(point, scenario.model_copy(update={"seeds": tuple(seeds)})) for point, scenario in checked]
    return checked


def sweep_draft(
    draft: Draft,
    *,
    folder: Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Check a scenario's sweep and run it."""
    points = check_points(draft)
    return sweep_checked(draft, points, folder=folder, force=force, workers=workers, dask=dask, progress=progress)


def sweep_checked(
    draft: Draft,
    checked: Sequence[tuple[dict[str, Any], Scenario]],
    *,
    folder: Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run checked points.

    With a `folder`, stored results are reused and each new one is stored when its run ends.
    """
    specs = [RunSpec(scenario, seed, params) for params, scenario in checked for seed in scenario.seeds]
    with opened(folder, identity(checked), seeds=checked[0][1].seeds, force=force) as run:
        store = RunStore(folder) if folder else None
        results = iter(run_specs(specs, workers=workers, store=store, progress=progress, dask=dask))
        points = tuple(
            SweepPoint(params, scenario, tuple(next(results) for _ in scenario.seeds)) for params, scenario in checked
        )
        sweep = Sweep(points, folder)
        if run:
            _write(run.path, sweep, checked[0][1], draft.document.data.get("sweep", {}))
            run.finish()
    return sweep


def identity(checked: Sequence[tuple[Mapping[str, Any], Scenario]]) -> Identity:
    """The identity of a sweep: its points."""
    return Identity.of("sweep", [[dict(params), scenario_hash(scenario)] for params, scenario in checked])


def sweep_folder(checked: Sequence[tuple[Mapping[str, Any], Scenario]]) -> Path:
    """`runs/<hash>`: the folder of a sweep without `out`."""
    return identity(checked).default_folder()


def _write(folder: Path, sweep: Sweep, first: Scenario, swept: Mapping[str, Any]) -> None:
    """Write the sweep's files."""
    run_files.write_scenario(folder, first, extra={"sweep": dict(swept)})
    atomic_files.write_parquet(folder / "flows.parquet", sweep.flows)
    atomic_files.write_json(folder / run_kind.SWEEP.document, {"cells": sweep.document["cells"]})
