"""Figures of a report by name, and reports in a browser's windows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from ackclock.plot import Frames, Plot, panels_of_run
from ackclock.plot.theme import DARK, PALETTE
from ackclock.report import figures
from ackclock.report.page import Chart, Page
from ackclock.report.render import html
from ackclock.report.run_input import RunInput
from ackclock.simulation import report_page as simulation
from ackclock.simulation import sweep_page as sweep
from ackclock.simulation.sweep_curves import numbers_of
from studies.pictures.chromium import Chromium, program
from tests.support.synthetic import flow, hops, scenario, series, summary

pytestmark = pytest.mark.finding("U21")
LONG = 60


def _page() -> Page:
    names = [f"flow-{i}" for i in range(LONG)]
    return simulation.page(
        RunInput({**scenario(), "title": "A link"}),
        [summary([flow(name) for name in names]), summary([flow(name) for name in names], seed=2)],
        panels_of_run(Frames(series(["a", "b"]), hops())),
    )


def _sweep(values: list[Any]) -> Page:
    metrics = {"goodput_bps": {"mean": 8e6, "lo": 7e6, "hi": 9e6, "sd": 1.0, "n": 2}}
    cells = [
        {"params": {"hop.air.rate": value, "tcp.variant": variant}, "n": 2, "metrics": metrics}
        for value in values
        for variant in ("reno", "cubic")
    ]
    return sweep.page({"cells": cells}, RunInput(scenario()), [])


def test_figures_of_a_page_have_names_of_their_titles() -> None:
    found = figures(_page())
    assert list(found) == ["congestion-window", "round-trip-time", "goodput", "queue-at-each-hop"]


def test_figure_states_its_conditions_below_its_title() -> None:
    svg = figures(_page())["goodput"].to_svg()
    assert f"A link; {LONG} flows (cubic), 20 s, 2 seeds" in svg


def test_plot_as_csv_has_the_drawn_values_without_labels() -> None:
    panel = panels_of_run(Frames(series(["a", 'b, "c"']), hops()))[0]
    rows = list(csv.DictReader(io.StringIO(Plot([panel]).to_csv())))
    assert len(rows) == sum(len(line.times) for line in panel.lines)
    assert {row["line"] for row in rows} == {"a", 'b, "c"'}
    assert float(rows[0]["value"]) == pytest.approx(panel.lines[0].values[0], rel=1e-4)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["256 kb/s", "1 Mb/s", "4 Mb/s"], ([0.256, 1.0, 4.0], "Mb/s")),
        (["5 ms", "50 ms", "0.5 s"], ([5.0, 50.0, 500.0], "ms")),
        ([1e-5, 1e-3, 0.1], ([1e-5, 1e-3, 0.1], "")),
        ([{"kind": "bernoulli", "mean": m} for m in (0.1, 0.2, 0.3)], ([0.1, 0.2, 0.3], "")),
        (["reno", "cubic", "bbr"], None),
        ([True, False, True], None),
        ([1, 2], None),
    ],
)
def test_swept_values_are_numbers_in_one_unit(values: list[Any], found: Any) -> None:
    assert numbers_of(values) == found


def test_sweep_over_a_number_has_a_curve_before_its_table() -> None:
    page = _sweep(["1 Mb/s", "2 Mb/s", "8 Mb/s"])
    first = page.sections[0].blocks[0]
    assert isinstance(first, Chart) and first.title == "Goodput over rate of air"
    assert next(iter(figures(page))) == "goodput-over-rate-of-air"
    assert [section.title for section in page.sections][:2] == ["Over the swept values", "Points"]
    assert _sweep(["1 Mb/s", "2 Mb/s"]).sections[0].title == "Points"


def test_every_colour_of_lines_has_one_for_dark_paper() -> None:
    assert set(PALETTE) <= set(DARK)
    assert min(_contrast(dark, "#14191f") for light, dark in DARK.items() if light in PALETTE) >= 4.5


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.skipif(program() is None, reason="no chromium here to open a report with")
def test_report_in_a_browser_overflows_nowhere_and_sorts_filters_and_saves(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(_page()), "utf-8")
    with Chromium() as browser:
        for width in (390, 2560):
            with browser.open(path, width, dark=width == 390) as tab:
                assert tab.seen().faults == []
        with browser.open(path, 1280) as tab:
            shown = "document.querySelectorAll('#flows tbody tr:not([hidden])').length"
            assert tab.value(shown) == 12
            tab.value("document.querySelector('#flows button.more').click()")
            assert tab.value(shown) == LONG
            tab.value(
                "(i => { i.value = 'flow-3'; i.dispatchEvent(new Event('input')); })(document.querySelector('#flows input'))"
            )
            assert tab.value(shown) == 11
            name = "document.querySelector('#flows tbody tr:not([hidden]) td').firstChild.textContent"
            tab.value("document.querySelector('#flows th button').click()")
            assert tab.value(name) == "flow-3"
            tab.value("document.querySelector('#flows th button').click()")
            assert tab.value(name) == "flow-39"
            for format, start in (("svg", "<svg"), ("csv", "time_s,value,line")):
                assert tab.value(f"ackclockFile('goodput', '{format}').then(f => f.text())").startswith(start)
            assert tab.value("ackclockFile('goodput', 'png').then(f => f.type)") == "image/png"
            assert tab.value("ackclockFile('flows', 'csv').then(f => f.text())").startswith("Flow,Goodput (Mb/s)")
            assert tab.seen().faults == []
