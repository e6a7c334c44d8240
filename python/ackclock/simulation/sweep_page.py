"""The report of a sweep: metrics of each point with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from ackclock.axis_titles import key_title, point_label
from ackclock.format import rate, setting, three
from ackclock.limitations import scenario_facts
from ackclock.plot import vega
from ackclock.report.cells import metric_cell
from ackclock.report.link_path import link_path
from ackclock.report.page import Cell, Chart, Column, Page, Section, Table
from ackclock.report.run_input import RunInput, read_environment, read_input
from ackclock.report.sections import run_section, time_section
from ackclock.simulation.model_tables import MAX_BARS, bar, bars_reading
from ackclock.simulation.run_list import sampled_stride
from ackclock.simulation.sweep_curves import curves
from ackclock.storage.dataset_files import INDEX
from ackclock.storage.run_kind import SWEEP
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    from ackclock.documents.simulate import Sweep, SweepCell
    from ackclock.plot.time_series import Panel

T = TypeVar("T")
MAX_POINTS = 5
"""Maximum points of a sweep in the time-series charts."""


def picked(points: Sequence[T]) -> Sequence[T]:
    """At most MAX_POINTS of the points, evenly."""
    return points[:: -(-len(points) // MAX_POINTS)]


def label(params: Mapping[str, Any]) -> str:
    """The swept values of a point, in words."""
    return point_label({path: setting(value) for path, value in params.items()})


def page(document: Sweep, given: RunInput, panels: Sequence[Panel]) -> Page:
    """The page of ``sweep``'s JSON document; the scenario given is its first point."""
    scenario = given.scenario
    cells = document["cells"]
    best = max(cells, key=lambda cell: _goodput(cell) or 0.0)
    worst = min(cells, key=lambda cell: _goodput(cell) or 0.0)
    return Page(
        title=f"Sweep: {scenario['title']}" if scenario.get("title") else "Sweep",
        subtitle=f"{len(cells)} points, {cells[0]['n']} seeds each, {scenario['duration']} per run",
        answer=(
            f"Maximum goodput: {rate(_goodput(best))} with {label(best['params'])}; minimum: "
            f"{rate(_goodput(worst))} with {label(worst['params'])}."
        ),
        because=_because(best),
        sections=[
            *([Section("Over the swept values", drawn)] if (drawn := curves(cells)) else []),
            *([time_section(panels, "the lowest seed of some points")] if panels else []),
            Section("Points", [*([] if drawn else [_chart(cells)]), _table(cells)]),
            Section("The link at the first point", [link_path(scenario["hop"], scenario.get("tunnel", ()))]),
            run_section(given),
        ],
        notes=["Means over seeds with the 95 % interval of the mean below."],
        kind="sweep",
        facts=scenario_facts(scenario),
    )


def _goodput(cell: SweepCell) -> float | None:
    found = cell["metrics"].get("goodput_bps")
    return found and found["mean"]


def _because(cell: SweepCell) -> str:
    found = cell["metrics"].get("rtt_p95_ms")
    rtt = found and found["mean"]
    return f"At the maximum goodput the p95 RTT is {three(rtt)} ms." if rtt is not None else ""


def _table(cells: Sequence[SweepCell]) -> Table:
    keys = list(cells[0]["params"])
    columns = [
        *(Column(key_title(key)) for key in keys),
        Column("n", numeric=True),
        Column("Goodput (Mb/s)", numeric=True),
        Column("p95 RTT (ms)", numeric=True),
        Column("Retransmitted (%)", numeric=True),
        Column("Timeouts", numeric=True),
        Column("Jain", numeric=True),
    ]
    rows = [
        [
            *(Cell(setting(cell["params"][key])) for key in keys),
            Cell(str(cell["n"])),
            metric_cell(cell["metrics"].get("goodput_bps"), 1e-6),
            metric_cell(cell["metrics"].get("rtt_p95_ms")),
            metric_cell(cell["metrics"].get("retransmission_rate"), 100.0),
            metric_cell(cell["metrics"].get("timeouts")),
            metric_cell(cell["metrics"].get("jain")),
        ]
        for cell in cells
    ]
    return Table(columns, rows, "One row per combination of the swept values, in the order of the scenario.")


def _chart(cells: Sequence[SweepCell]) -> Chart:
    every = [row for cell in cells if (row := bar(label(cell["params"]), cell["metrics"]))]
    rows = sorted(every, key=lambda row: -float(row["mean"]))[:MAX_BARS]
    reading = bars_reading(rows, "Dots are means over seeds, lines their 95 % intervals.")
    title = "Goodput at every point" if len(rows) == len(every) else f"The {len(rows)} points with the highest goodput"
    return Chart(title, reading, vega.bars(rows, "Goodput (Mb/s)"))


def folder_page(folder: Path) -> Page:
    """The page of a sweep by its run folder."""
    document = read_json(folder / SWEEP.document)
    return page(document, read_input(folder), folder_panels(folder, document))


def folder_panels(folder: Path, document: Sweep) -> list[Panel]:
    """The panels of one seed of some evenly picked points."""
    from ackclock.plot.time_series import panels_of_dataset

    return panels_of_dataset(folder, _shown(folder, document["cells"]))


def _shown(folder: Path, cells: Sequence[SweepCell]) -> dict[str, int | str]:
    """The lowest seed's run of some points, by label: its number in the dataset, in a folder of an
    earlier version the name of its folder.
    """
    if not (folder / INDEX).is_file():
        return {label(cell["params"]): _cell_folder(folder, cell) for cell in picked(cells)}
    seeds = read_environment(folder)["seeds"]
    stride = sampled_stride(len(cells))
    points = [index - index % stride for index in picked(range(len(cells)))]
    return {label(cells[i]["params"]): i * len(seeds) + seeds.index(min(seeds)) for i in points}


def _cell_folder(folder: Path, cell: SweepCell) -> str:
    rows = read_table(folder / "flows.parquet")
    for key, value in cell["params"].items():
        text = json.dumps(value) if isinstance(value, dict | list) else value
        rows = rows.filter(pl.col(key) == text)
    return str(rows.sort("seed")["cell"][0])
