"""Results and reports of run folders, by the kind of the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ackclock.errors import InputError, RunFailed, describe_path
from ackclock.folder_damage import damage_named
from ackclock.report.page import Page
from ackclock.report.run_input import read_environment
from ackclock.result import REPORT, Result
from ackclock.storage.remote_folder import shown
from ackclock.storage.run_folder import FINISHED
from ackclock.storage.run_kind import (
    ADVISE,
    ANALYZE,
    COMPARE,
    EMULATE,
    HUNT,
    KINDS,
    MEASURE,
    ON_LINK,
    REPRODUCE,
    SCHEDULE,
    SIMULATE,
    SWEEP,
    RunKind,
    kind_of,
)
from ackclock.storage.stored_files import damaged, read_json, scan_table

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.compare import Comparison as ComparisonDocument
    from ackclock.documents.reproduce import PaperOnLink
    from ackclock.documents.simulate import Sweep as SweepDocument
    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel


class FolderResult(Result):
    """A finished sweep, comparison or reproduction, read from its run folder by `ackclock.open`."""

    def __init__(self, folder: Path, kind: RunKind) -> None:
        self._folder = folder
        self._kind = kind
        self._document: dict[str, Any] = read_json(folder / kind.document)

    @property
    def kind(self) -> str:
        """The command: "sweep", "compare" or "reproduce"."""
        return self._kind.command

    @property
    def document(self) -> dict[str, Any]:
        """The document that the command printed with `--json`."""
        return {**self._document, "folder": shown(self._folder)}

    @property
    def folder(self) -> Path | None:
        """The run folder."""
        return self._folder

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The Parquet tables of the run folder by file name, those of its dataset by folder."""
        return {name: scan.collect() for name, scan in self._scans().items()}

    @property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow."""
        return self._scans()["flows"].collect()

    def plot(self) -> Plot:
        """The runs that the report draws, laid over each other."""
        from ackclock.plot.figure import Plot

        panels = self._panels()
        return Plot(panels, self._title()) if panels else super().plot()

    def _panels(self) -> list[Panel]:
        if self._kind == COMPARE:
            from ackclock.plot.time_series import panels_of_dataset

            return panels_of_dataset(self._folder, self._document["shown"])
        if self._kind == SWEEP:
            from ackclock.simulation.sweep_page import folder_panels

            return folder_panels(self._folder, cast("SweepDocument", self._document))
        return []

    def _page(self) -> Page:
        return page_of(self._folder)

    def _title(self) -> str:
        named = self._document.get("title") or self._document.get("paper") or ""
        return f"{self.kind} {named}".strip() + f" in {shown(self._folder)}"

    def _tables(self) -> Iterable[Table]:
        if self._kind == COMPARE:
            from ackclock.comparison.terminal_tables import short_ranking_table

            return [short_ranking_table(self._document["cells"], self._document["ranking"])]
        if self._kind == SWEEP:
            from ackclock.simulation.terminal_tables import points_table

            return [points_table(self._document)]
        if self._kind == ON_LINK:
            from ackclock.papers.on_link.terminal_tables import answer_tables

            return answer_tables(cast("PaperOnLink", self._document))
        from ackclock.papers.terminal_tables import totals_table

        return [totals_table(self._document["totals"], self._document.get("totals_by", {}))]

    def screen(self) -> tuple[list[Table], list[str]]:
        if self._kind == COMPARE:
            from ackclock.comparison.screen import screen

            return screen(cast("ComparisonDocument", self._document))
        if self._kind == SWEEP:
            from ackclock.simulation.sweep_screen import sweep_screen

            return sweep_screen(self._document)
        return super().screen()

    def _frame_rows(self) -> Mapping[str, int]:
        import polars as pl

        return {name: int(scan.select(pl.len()).collect().item()) for name, scan in self._scans().items()}

    def _scans(self) -> dict[str, pl.LazyFrame]:
        from ackclock.storage.dataset_files import INDEX, TABLES, scan

        files = {path.stem: scan_table(path) for path in sorted(self._folder.glob("*.parquet"))}
        tables = TABLES if (self._folder / INDEX).is_file() else ()
        return files | {name: scan(self._folder, name) for name in tables}


def open_folder(folder: Path) -> Result:
    """The finished run in a folder. Raises InputError if there is none, or a file is damaged."""
    with damage_named(folder):
        return _RESULTS[_finished(folder)](folder)


def page_of(folder: Path) -> Page:
    """The report's content of a run folder or of a schedule's folder. Raises InputError if it
    holds no finished run, or a file is damaged.
    """
    with damage_named(folder):
        if kind_of(folder) == SCHEDULE:
            from ackclock.measurement.schedule_page import schedule_page

            return schedule_page(folder)
        return _PAGES[_finished(folder)](folder)


def write_report(folder: Path | str) -> Path:
    """Write the HTML report of a run folder (of any command that makes one).

    Returns the file's path.

    Raises:
        InputError: the folder holds no finished run.
        ImportError: the extra `report` is not installed.
    """
    from ackclock.report.render import html
    from ackclock.storage.atomic_files import atomic_write

    target = Path(folder) / REPORT
    with damage_named(Path(folder)):
        atomic_write(target, html(page_of(Path(folder))).encode())
    return target


def write_files(folder: Path, format_: str, *, dark: bool = False) -> list[Path]:
    """Write the figures (svg, pdf, png) of a run's report, for dark paper if asked for, or its
    tables (csv), as files of their own into the run folder; return the paths.

    Raises:
        InputError: another format, or the folder holds no finished run.
        RunFailed: the run has no figure, or the extra `report` is not installed.
    """
    from ackclock.report.files import check_format, figure_files, table_files

    check_format(format_)
    if format_ == "csv":
        with damage_named(folder):
            return table_files(open_folder(folder).frames, folder)
    try:
        page = page_of(folder)
    except ImportError as error:
        raise RunFailed(
            f"figures require altair and vl-convert ({error})", "pip install 'ackclock[report]'", option="--format"
        ) from None
    with damage_named(folder):
        return figure_files(page, folder, format_, dark=dark)


def _finished(folder: Path) -> RunKind:
    """The kind of a finished run folder with results; otherwise raises InputError."""
    kind = kind_of(folder)
    if kind == SCHEDULE:
        statement = f"{folder} holds the schedule of several measurements"
        raise InputError.problem(statement, "name the folder of one measurement in it", file=str(folder))
    if kind is not None:
        return kind
    if run := read_environment(folder).get("run"):
        if run["state"] == FINISHED and (lost := _document_of(run["kind"])):
            raise damaged(folder / lost, "the file is missing from the run folder")
        statement = f"{folder} holds an unfinished {run['kind']}"
        raise InputError.problem(statement, "run the same command again, which continues it", file=str(folder))
    if (folder / "scenario.toml").is_file():
        raise InputError.problem(
            "no run in it has finished", "run its command again with the same --out", file=str(folder)
        )
    raise InputError(describe_path(folder), "a run folder, such as those in runs/", file=str(folder), code="run-folder")


def _document_of(command: str) -> str | None:
    return next((kind.document for kind in KINDS if kind.command == command), None)


def _analysis(folder: Path) -> Result:
    from ackclock.analysis.folder import read_folder

    return read_folder(folder)


def _advice(folder: Path) -> Result:
    from ackclock.advice.result import read_folder

    return read_folder(folder)


def _hunt(folder: Path) -> Result:
    from ackclock.hunting.result import read_folder

    return read_folder(folder)


def _measurement(folder: Path) -> Result:
    from ackclock.measurement.folder import read_folder

    return read_folder(folder)


def _emulation(folder: Path) -> Result:
    from ackclock.emulation.run import open_emulation

    return open_emulation(folder)


def _simulation(folder: Path) -> Result:
    from ackclock.input.scenario.draft import read_draft
    from ackclock.simulation.run import open_run

    scenario = read_draft(folder / "scenario.toml").check()
    return open_run(folder, scenario, scenario.title or str(folder))


def _emulation_page(folder: Path) -> Page:
    from ackclock.emulation.report_page import folder_page

    return folder_page(folder)


def _simulation_page(folder: Path) -> Page:
    from ackclock.simulation.report_page import folder_page

    return folder_page(folder)


def _comparison_page(folder: Path) -> Page:
    from ackclock.comparison.report_page import folder_page

    return folder_page(folder)


def _sweep_page(folder: Path) -> Page:
    from ackclock.simulation.sweep_page import folder_page

    return folder_page(folder)


def _on_link_page(folder: Path) -> Page:
    from ackclock.papers.on_link.report_page import folder_page

    return folder_page(folder)


def _paper_page(folder: Path) -> Page:
    from ackclock.papers.report_page import folder_page

    return folder_page(folder)


_RESULTS: dict[RunKind, Callable[[Path], Result]] = {
    REPRODUCE: lambda folder: FolderResult(folder, REPRODUCE),
    ON_LINK: lambda folder: FolderResult(folder, ON_LINK),
    ANALYZE: _analysis,
    MEASURE: _measurement,
    EMULATE: _emulation,
    COMPARE: lambda folder: FolderResult(folder, COMPARE),
    SWEEP: lambda folder: FolderResult(folder, SWEEP),
    SIMULATE: _simulation,
    ADVISE: _advice,
    HUNT: _hunt,
}
# Not the results' own pages: a report needs the files only, not the program of a run's congestion
# control in Python.
_PAGES: dict[RunKind, Callable[[Path], Page]] = {
    REPRODUCE: _paper_page,
    ON_LINK: _on_link_page,
    ANALYZE: lambda folder: _analysis(folder)._page(),
    MEASURE: lambda folder: _measurement(folder)._page(),
    EMULATE: _emulation_page,
    COMPARE: _comparison_page,
    SWEEP: _sweep_page,
    SIMULATE: _simulation_page,
    ADVISE: lambda folder: _advice(folder)._page(),
    HUNT: lambda folder: _hunt(folder)._page(),
}
