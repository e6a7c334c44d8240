"""Panels above each other on one time axis, differences, and the Pareto front."""

from __future__ import annotations

import json
import math
import re
import warnings

import polars as pl
import pytest

from ackclock.plot import Plot, vega
from ackclock.plot.capture import envelope
from ackclock.plot.time_axis import stacked
from ackclock.plot.time_series import Line, Panel

pytest.importorskip("altair")


def _panel(title: str) -> Panel:
    lines = (Line("down", [0.0, 1.0], [1.0, 2.0]), Line("up", [0.0, 2.5], [1.0, 3.0]))
    return Panel(title.lower(), title, "Mb/s", "", lines)


def test_stacked_panels_have_one_time_axis_and_one_zoom() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = stacked([_panel("Rate"), _panel("Delay")], [(0.5, 1.0, "capacity down")])
    assert len(spec.tree["params"]) == 1 and len(spec.tree["params"][0]["views"]) == 2
    domains = json.dumps(spec.tree).count('"domain": [0, 2.5]')
    assert domains == 2
    drawn = Plot([spec], "Over time").to_svg()
    assert "capacity down" in drawn and "Delay (Mb/s)" in drawn


def test_line_has_a_break_where_a_second_has_no_value() -> None:
    frame = pl.DataFrame({"time_s": [0.0, 0.5, 4.0, 4.5], "delay_ms": [10.0, 20.0, 30.0, 40.0]})
    assert envelope("down", frame, "delay_ms", 1.0).values == [10.0, 20.0, 30.0, 40.0]
    line = envelope("down", frame, "delay_ms", 1.0, 1.0)
    assert line.times == [0.0, 0.5, 0.5, 4.0, 4.5] and math.isnan(line.values[2])
    spec = stacked([Panel("delay", "Delay", "ms", "", (line,))], (), 5.0)
    paths = re.findall(r'aria-roledescription="line mark"[^>]*? d="([^"]*)"', Plot([spec], "Delay").to_svg())
    assert [path.count("M") for path in paths] == [2], paths


def test_pareto_front_joins_points_that_no_other_surpasses_in_both() -> None:
    rows: list[vega.ChangePoint] = [
        {"change": name, "role": "tried", "name": "", "goodput": goodput, "rtt": rtt}
        for name, goodput, rtt in (("a", 5.0, 40.0), ("b", 6.0, 50.0), ("worse than b", 5.5, 60.0), ("c", 7.0, 90.0))
    ]
    front = next(layer for layer in vega.pareto(rows).tree["layer"] if layer["mark"]["type"] == "line")
    data = vega.pareto(rows).datasets[front["data"]["name"]]
    assert [row["goodput"] for row in data] == [5.0, 6.0, 7.0]


def test_differences_keep_their_order_and_a_symmetric_axis() -> None:
    rows: list[vega.DifferenceRow] = [
        {"label": name, "verdict": "differs", "mean": m, "lo": m - 1, "hi": m + 1} for name, m in (("x", -8), ("y", 2))
    ]
    text = json.dumps(vega.differences(rows).tree)
    assert '"domain": [-9, 9]' in text and '"sort": ["x", "y"]' in text
