"""Results read back from run folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, describe_path
from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.plot.figure import Plot


class FolderResult(Result):
    """A finished sweep, comparison or reproduction, read from its run folder by `ackclock.open`."""

    def __init__(self, folder: Path, kind: str, document: Mapping[str, Any]) -> None:
        self._folder = folder
        self.kind = kind
        self._document = dict(document)

    @property
    def document(self) -> dict[str, Any]:
        """The document that the command printed with `--json`."""
        return {**self._document, "folder": str(self._folder)}

    @property
    def folder(self) -> Path | None:
        """The run folder."""
        return self._folder

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The Parquet tables of the run folder, by file name."""
        import polars as pl

        return {path.stem: pl.read_parquet(path, glob=False) for path in sorted(self._folder.glob("*.parquet"))}

    @property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow."""
        import polars as pl

        return pl.read_parquet(self._folder / "flows.parquet", glob=False)

    def plot(self) -> Plot:
        """The runs that the report draws, laid over each other."""
        from ackclock.plot.figure import Plot
        from ackclock.report.run import panels_of

        panels = panels_of(self._folder, self._document)
        return Plot(panels, self._title()) if panels else super().plot()

    def _title(self) -> str:
        named = self._document.get("title") or self._document.get("paper") or ""
        return f"{self.kind} {named}".strip() + f" in {self._folder}"

    def _tables(self) -> Iterable[Table]:
        from ackclock.cli.tables import document_tables

        return document_tables(self.kind, self._document)


def open_folder(folder: Path) -> Result:
    """The finished run in a folder. Raises InputError if there is none."""
    if (folder / "analysis.json").is_file():
        from ackclock.analysis.folder import read_folder

        return read_folder(folder)
    if (folder / "measurement.json").is_file():
        from ackclock.measurement.folder import read_folder as read_measurement

        return read_measurement(folder)
    if (folder / "emulation.json").is_file():
        from ackclock.emulation.run import open_emulation

        return open_emulation(folder)
    for name, kind in (("reproduce.json", "reproduce"), ("compare.json", "compare"), ("sweep.json", "sweep")):
        if (folder / name).is_file():
            return FolderResult(folder, kind, json.loads((folder / name).read_text("utf-8")))
    if (folder / "summary.json").is_file():
        from ackclock.input.scenario.draft import read_draft
        from ackclock.simulation.run import open_run

        scenario = read_draft(folder / "scenario.toml").check()
        return open_run(folder, scenario, scenario.title or str(folder))
    environment = folder / "environment.json"
    if environment.is_file() and (run := json.loads(environment.read_text("utf-8")).get("run")):
        statement = f"an unfinished {run['kind']}"
        raise InputError.problem(statement, "run the same command again, which continues it", file=str(folder))
    raise InputError(describe_path(folder), "a run folder, such as those in runs/", file=str(folder))
