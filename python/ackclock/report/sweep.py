"""The report of a sweep: metrics of each point with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock.format import rate, three
from ackclock.plot import vega
from ackclock.report.cells import metric_cell
from ackclock.report.link_path import link_path
from ackclock.report.page import Cell, Chart, Column, Page, Section, Table
from ackclock.report.sections import run_section, time_section
from ackclock.report.throughput_models import bar, bars_reading

if TYPE_CHECKING:
    from ackclock.plot.time_series import Panel

Document = Mapping[str, Any]


def label(params: Mapping[str, Any]) -> str:
    """The swept values of a point, short: the last part of each path and its value."""
    return ", ".join(f"{key.rpartition('.')[2]} {_value(value)}" for key, value in params.items())


def _value(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list | bool) else str(value)


def page(
    document: Document,
    scenario: Mapping[str, Any],
    panels: Sequence[Panel],
    environment: Document | None = None,
    toml: str = "",
) -> Page:
    """The page of ``sweep``'s JSON document; ``scenario`` is its first point."""
    cells = document["cells"]
    best = max(cells, key=lambda cell: _goodput(cell) or 0.0)
    worst = min(cells, key=lambda cell: _goodput(cell) or 0.0)
    return Page(
        title=f"Sweep: {scenario.get('title') or 'scenario'}",
        subtitle=f"{len(cells)} points, {cells[0]['n']} seeds each, {scenario['duration']} a run",
        answer=(
            f"Most goodput: {rate(_goodput(best))} with {label(best['params'])}; least: {rate(_goodput(worst))} with "
            f"{label(worst['params'])}."
        ),
        because=_because(best),
        sections=[
            Section("Points", [_table(cells), _chart(cells)]),
            time_section(panels, "some of the points, lowest seed"),
            Section("The link at the first point", [link_path(scenario["hop"])]),
            run_section(scenario, environment, toml),
        ],
        notes=["Means over seeds with the 95 % interval of the mean below."],
    )


def _goodput(cell: Document) -> float | None:
    found = cell["metrics"].get("goodput_bps", {}).get("mean")
    return float(found) if found is not None else None


def _because(cell: Document) -> str:
    rtt = cell["metrics"].get("rtt_p95_ms", {}).get("mean")
    return f"Its 95th percentile of the RTT is {three(float(rtt))} ms." if rtt is not None else ""


def _table(cells: Sequence[Document]) -> Table:
    keys = list(cells[0]["params"])
    columns = [
        *(Column(key) for key in keys),
        Column("n", numeric=True),
        Column("Goodput (Mb/s)", numeric=True),
        Column("p95 RTT (ms)", numeric=True),
        Column("Retransmitted (%)", numeric=True),
        Column("Timeouts", numeric=True),
        Column("Jain", numeric=True),
    ]
    rows = [
        [
            *(Cell(_value(cell["params"][key])) for key in keys),
            Cell(str(cell["n"])),
            metric_cell(cell["metrics"].get("goodput_bps"), 1e-6),
            metric_cell(cell["metrics"].get("rtt_p95_ms")),
            metric_cell(cell["metrics"].get("retransmission_rate"), 100.0),
            metric_cell(cell["metrics"].get("timeouts")),
            metric_cell(cell["metrics"].get("jain")),
        ]
        for cell in cells
    ]
    return Table(columns, rows, "One line per combination of the swept values, in the order they were given.")


def _chart(cells: Sequence[Document]) -> Chart:
    rows = [row for cell in cells if (row := bar(label(cell["params"]), cell["metrics"]))]
    reading = bars_reading(rows, "Dots are means over seeds, lines their 95 % intervals.")
    return Chart("Goodput at every point", reading, vega.bars(rows, "Goodput (Mb/s)"))
