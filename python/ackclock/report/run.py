"""The report of a run folder of any command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, describe_path
from ackclock.report.page import Page
from ackclock.report.render import html
from ackclock.storage.atomic_files import atomic_write

if TYPE_CHECKING:
    from ackclock.plot.time_series import Frames, Panel

REPORT = "report.html"
DOCUMENTS = (
    "reproduce.json",
    "analysis.json",
    "measurement.json",
    "emulation.json",
    "compare.json",
    "sweep.json",
    "summary.json",
)
"""Every run folder with a report has one of these files."""
MAX_POINTS = 5
"""Maximum points of a sweep in the time-series charts."""


def for_run(path: Path | str) -> Path:
    """Write the HTML report of a run folder (of any command that makes one) and return the file's
    path.

    Raises:
        InputError: the folder holds no finished run.
        ImportError: altair or vl-convert is not installed.
    """
    folder = Path(path)
    made = page_of(folder)
    target = folder / REPORT
    atomic_write(target, html(made).encode())
    return target


def page_of(folder: Path) -> Page:
    """The report's content of a run folder."""
    environment = _read(folder / "environment.json") or {}
    run = environment.get("run", {})
    if run.get("state") == "begun" and not any((folder / name).is_file() for name in DOCUMENTS):
        statement = f"{folder} holds an unfinished {run['kind']}"
        raise InputError.problem(statement, "run the same command again, which goes on where it was interrupted")
    if document := _read(folder / "reproduce.json"):
        from ackclock.report import reproduction

        return reproduction.page(document, environment)
    if (folder / "analysis.json").is_file():
        from ackclock.analysis.folder import read_folder
        from ackclock.report import capture

        return capture.page(read_folder(folder))
    if (folder / "measurement.json").is_file():
        from ackclock.measurement.folder import read_folder as read_measurement
        from ackclock.report import measurement

        return measurement.page(read_measurement(folder))
    toml = _text(folder / "scenario.toml")
    scenario = tomllib.loads(toml)
    if (folder / "emulation.json").is_file():
        return _of_emulation(folder, scenario, environment, toml)
    if document := _read(folder / "compare.json"):
        from ackclock.report import comparison

        return comparison.page(document, _of_runs(folder, document["shown"]), environment, toml)
    if document := _read(folder / "sweep.json"):
        from ackclock.report import sweep

        return sweep.page(document, scenario, _of_runs(folder, _points(folder, document)), environment, toml)
    if summaries := _read(folder / "summary.json"):
        from ackclock.plot.time_series import panels_of_run
        from ackclock.report import simulation
        from ackclock.report.throughput_models import model_levels

        listed = summaries if isinstance(summaries, list) else [summaries]
        return simulation.page(
            scenario, listed, panels_of_run(_frames(folder), model_levels(listed[0])), environment, toml
        )
    raise InputError.problem("no run in it has finished", "run its command again with the same --out", file=str(folder))


def _of_emulation(folder: Path, scenario: dict[str, Any], environment: dict[str, Any], toml: str) -> Page:
    from ackclock.emulation.run import open_emulation
    from ackclock.plot.time_series import panels_of_run
    from ackclock.report import emulation

    panels = panels_of_run(_frames(folder)) if (folder / "hops.parquet").is_file() else []
    return emulation.page(open_emulation(folder), scenario, panels, environment, toml)


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def _text(path: Path) -> str:
    if not path.is_file():
        raise InputError(describe_path(path.parent), "a run folder, such as those in runs/", file=str(path.parent))
    return path.read_text("utf-8")


def _frames(folder: Path) -> Frames:
    import polars as pl

    from ackclock.plot.time_series import Frames

    series, hops = (pl.read_parquet(folder / f"{name}.parquet", glob=False) for name in ("series", "hops"))
    return Frames(series, hops)


def panels_of(folder: Path, document: dict[str, Any]) -> list[Panel]:
    """Panels of the runs that the report of a comparison or a sweep draws; none for other
    folders.
    """
    if "ranking" in document:
        return _of_runs(folder, document["shown"])
    return _of_runs(folder, _points(folder, document)) if "cells" in document else []


def _of_runs(folder: Path, shown: dict[str, str]) -> list[Panel]:
    from ackclock.plot.time_series import panels_of_runs

    return panels_of_runs({label: _frames(folder / "cells" / cell) for label, cell in shown.items()})


def _points(folder: Path, document: dict[str, Any]) -> dict[str, str]:
    """The folder of one seed for each of some evenly picked points of a sweep, by label."""
    import polars as pl

    from ackclock.report.sweep import label

    cells = document["cells"]
    picked = cells[:: -(-len(cells) // MAX_POINTS)]
    flows = pl.read_parquet(folder / "flows.parquet", glob=False)
    found = {}
    for cell in picked:
        rows = flows
        for key, value in cell["params"].items():
            text = json.dumps(value) if isinstance(value, dict | list) else value
            rows = rows.filter(pl.col(key) == text)
        found[label(cell["params"])] = str(rows.sort("seed")["cell"][0])
    return found
