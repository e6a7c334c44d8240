"""`sweep`: every combination of a scenario's [sweep] with every seed, on all cores; an interrupted
sweep continues.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ackclock.input.scenario.draft import Draft
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import resolved
from ackclock.notebook import Progress
from ackclock.result import Result
from ackclock.simulation import run_files
from ackclock.simulation.chunk_runner import estimate, run_missing
from ackclock.simulation.dataset import Dataset, DatasetRun
from ackclock.simulation.metrics import metrics_of, of_run_with_jain
from ackclock.simulation.run_estimate import RunEstimate
from ackclock.simulation.run_list import RunList
from ackclock.simulation.sweep_points import SweepPoints
from ackclock.storage import atomic_files, dataset_files, run_kind
from ackclock.storage.remote_folder import shown
from ackclock.storage.run_folder import opened
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.parts import Metrics
    from ackclock.documents.simulate import Sweep as SweepDocument
    from ackclock.documents.simulate import SweepCell
    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel
    from ackclock.report.page import Page

WARNED_POINTS = 100
"""Number of the first points whose scenarios have warnings: a sweep may have millions."""


@dataclass(frozen=True)
class SweepPoint:
    """One combination of swept values, with a run for each seed.

    Attributes:
        params: the swept values by dotted path.
        metrics: mean, lo, hi (95 % interval) and sd over the seeds, by metric; rates in bits/s,
            times in ms.
        results: the runs, in the order of the seeds; their tables are read on access.
    """

    params: Mapping[str, Any]
    metrics: Metrics
    results: tuple[DatasetRun, ...]

    @property
    def scenario(self) -> Scenario:
        """The checked scenario of the point."""
        return self.results[0].spec.scenario


class StoredPoints(Sequence[SweepPoint]):
    """The points of a finished sweep in a run folder; their metrics are read on access."""

    def __init__(self, data: Dataset) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data.runs.params)

    @overload
    def __getitem__(self, index: int) -> SweepPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SweepPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> SweepPoint | tuple[SweepPoint, ...]:
        return self._points[index]

    @cached_property
    def _points(self) -> tuple[SweepPoint, ...]:
        assert self._data.folder is not None
        cells = read_json(self._data.folder / run_kind.SWEEP.document)["cells"]
        return _points(self._data, (cell["metrics"] for cell in cells))


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The result of a sweep. `folder` is None without a run folder.

    Attributes:
        points: the points, in order.
        data: the runs of the sweep: `data.table("runs")` and others.
    """

    points: Sequence[SweepPoint]
    data: Dataset
    folder: Path | None = None

    @property
    def document(self) -> SweepDocument:
        """The document `ackclock sweep --json` prints."""
        points: list[SweepCell] = [
            {"params": dict(p.params), "n": len(p.results), "metrics": p.metrics} for p in self.points
        ]
        document: SweepDocument = {"cells": points, "digest": self.data.digest()}
        return {**document, "folder": shown(self.folder)} if self.folder else document

    def document_text(self) -> bytes:
        """`document` as the command prints it: of a run folder, the text of its sweep.json."""
        if self.folder is None:
            return json.dumps(self.document, indent=2).encode()
        text = (self.folder / run_kind.SWEEP.document).read_bytes()
        return text.removesuffix(b"\n}\n") + f',\n  "folder": {json.dumps(shown(self.folder))}\n}}'.encode()

    @property
    def runs(self) -> pl.DataFrame:
        """One row for each run: its number, the swept values, the seed, the metrics."""
        return self.data.table("runs")

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each run and flow, with the run's number, the swept values and the seed as
        columns.
        """
        return self.data.table("flows")

    @property
    def metrics(self) -> pl.DataFrame:
        """One row for each point: swept values, n, and `<metric>`, `<metric>_lo`, `<metric>_hi`,
        `<metric>_sd`.
        """
        import polars as pl

        rows = []
        for index, point in enumerate(self.points):
            row: dict[str, Any] = {**self.data.runs.columns(index), "n": len(point.results)}
            for name, value in point.metrics.items():
                row[name] = value["mean"]
                row.update({f"{name}_{part}": value[part] for part in ("lo", "hi", "sd")})
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`metrics`, `runs` and `flows`."""
        return {"metrics": self.metrics, "runs": self.runs, "flows": self.flows}

    @property
    def warnings(self) -> list[str]:
        """A sentence for each part of the first points' scenarios that is likely not meant."""
        from ackclock.input.scenario.warnings import warnings

        first = islice(self.data.runs.scenarios, WARNED_POINTS)
        return list(dict.fromkeys(text for scenario in first for text in warnings(scenario)))

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
        from ackclock.report.run_input import RunInput
        from ackclock.simulation import sweep_page

        if self.folder is not None:
            return sweep_page.folder_page(self.folder)
        return sweep_page.page(self.document, RunInput.of(resolved(self.points[0].scenario)), self._panels())

    def _title(self) -> str:
        return f"{len(self.points)} points, {len(self.points[0].results)} seeds each"

    def _tables(self) -> list[Table]:
        from ackclock.simulation.terminal_tables import points_table

        return [points_table(self.document)]

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.simulation.sweep_screen import sweep_screen

        return sweep_screen(self.document)


def check_points(draft: Draft, seeds: Sequence[int] | None = None) -> SweepPoints:
    """The points of a scenario's sweep, with other seeds if given. Each is checked on access."""
    return SweepPoints(draft, seeds)


def run_list(points: SweepPoints, series: str = "sampled") -> RunList:
    """The runs of a sweep, numbered."""
    return RunList(points.params, points, points[0].seeds, of_run_with_jain, series, points.cpu_s)


def sweep_draft(
    draft: Draft,
    *,
    folder: Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    series: str = "sampled",
    progress: Progress | None = None,
) -> Sweep:
    """Check a scenario's sweep and run it."""
    return sweep_checked(
        check_points(draft), folder=folder, force=force, workers=workers, dask=dask, series=series, progress=progress
    )


def sweep_checked(
    checked: SweepPoints,
    *,
    folder: Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    series: str = "sampled",
    collect: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Sweep:
    """Run the points of a sweep. With a `folder`, stored chunks are reused and each new one is
    stored when it ends.

    `series` says whose time series are kept: "none", "sampled" (one seed of each point) or "all".
    `collect` are the folders of parts, whose chunks are used and must be all.

    Raises:
        InputError: a part of another sweep, or a chunk that no part has.
    """
    runs = run_list(checked, series)
    own = checked.identity(series)
    with opened(folder, own, seeds=runs.seeds, force=force) as run:
        data = Dataset(runs, folder)
        if run and run.finished and (folder_sweep := read_sweep(data)):
            data.clear()
            if progress:
                progress(len(runs), len(runs), "from an earlier run")
            return folder_sweep
        if collect:
            data.collect(collect, own)
        run_missing(data, workers=workers, progress=progress, dask=dask)
        points = _points(data, (metrics_of(rows) for rows in data.metrics()))
        sweep = Sweep(points, data, folder)
        if run:
            _write(run.path, sweep, checked)
            run.finish()
            data.clear()
    return sweep


@dataclass(frozen=True)
class SweepPart:
    """One part of a sweep that several machines run: every `of`-th chunk, from chunk `number` - 1.

    Attributes:
        runs: the runs of the part.
        chunks: the chunks of the part.
        folder: the run folder, for `sweep --collect`.
    """

    number: int
    of: int
    runs: int
    chunks: int
    folder: Path

    @property
    def document(self) -> dict[str, Any]:
        """The document `ackclock sweep --part --json` prints."""
        return {
            "part": f"{self.number}/{self.of}",
            "runs": self.runs,
            "chunks": self.chunks,
            "folder": shown(self.folder),
        }


def sweep_part(
    checked: SweepPoints,
    part: tuple[int, int],
    *,
    folder: Path,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    series: str = "sampled",
    progress: Progress | None = None,
) -> SweepPart:
    """Run part `number` of `of`, such as (2, 3), of a sweep. Finished chunks are kept."""
    number, of = part
    runs = run_list(checked, series)
    mine = range(number - 1, len(runs.chunks), of)
    with opened(folder, checked.identity(series), seeds=runs.seeds, force=force):
        run_missing(Dataset(runs, folder), chunks=mine, workers=workers, progress=progress, dask=dask)
    return SweepPart(number, of, sum(len(runs.chunks[index]) for index in mine), len(mine), folder)


def estimated(
    checked: SweepPoints, part: tuple[int, int] | None = None, *, workers: int | None = None, series: str = "sampled"
) -> RunEstimate:
    """What a sweep, or a part of it such as (2, 3), will take. Makes some of its runs.

    Raises:
        InputError: an invalid point.
        RunFailed: a run failed.
    """
    number, of = part or (1, 1)
    runs = run_list(checked, series)
    return estimate(runs, range(number - 1, len(runs.chunks), of), workers).after(checked.checked_s)


def _points(data: Dataset, metrics: Iterable[Metrics]) -> tuple[SweepPoint, ...]:
    params = data.runs.params
    return tuple(SweepPoint(params[i], of_point, data.results(i)) for i, of_point in enumerate(metrics))


def read_sweep(data: Dataset) -> Sweep | None:
    """The finished sweep in a run folder; None if the folder has another layout."""
    return Sweep(StoredPoints(data), data, data.folder) if data.joined else None


def sweep_folder(checked: SweepPoints, series: str = "sampled") -> Path:
    """`runs/<hash>`: the folder of a sweep without `out`."""
    return checked.identity(series).default_folder()


def _write(folder: Path, sweep: Sweep, checked: SweepPoints) -> None:
    """Write the sweep's files."""
    run_files.copy_traces(folder, checked.recordings())
    draft, varied = checked.draft, dict(checked.draft.document.data.get("sweep", {}))
    data = draft.as_written(sweep.data.runs.params[0], run_files.resolved_in_folder(checked[0], varied))
    run_files.write_resolved(folder, data, {"sweep": varied})
    dataset_files.Points(sweep.data.runs.seeds, sweep.data.runs.params).write(folder)
    sweep.data.join()
    document = sweep.document
    atomic_files.write_json(
        folder / run_kind.SWEEP.document, {"cells": document["cells"], "digest": document["digest"]}
    )
