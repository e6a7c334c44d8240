"""The charts' Vega-Lite specifications are valid: the product builds them without validation."""

from typing import Any

import pytest

from ackclock.plot import vega
from ackclock.plot.time_series import Line, Panel

pytest.importorskip("altair")

FELT: vega.FeltRow = {"side": "As it is", "value": 4.1, "text": "As it is: 4.1 s", "met": False}
INTERVALS = {"goodput": 5.0, "goodput_lo": 4.0, "goodput_hi": 6.0, "rtt": 40.0, "rtt_lo": 39.0, "rtt_hi": 41.0}


def _panel(style: str) -> Panel:
    lines = (Line("cubic", [0.0, 1.0], [1.0, 2.0]), Line("reno", [0.0, 1.0], [1.0, 3.0]))
    return Panel("cwnd", "Congestion window", "KB", "", lines, style)


@pytest.mark.parametrize(
    "spec",
    [
        *(vega.time_chart(_panel(style)) for style in ("", "steps", "samples")),
        vega.trade_off([{"label": "cubic 64 KiB", "variant": "cubic", **INTERVALS}]),
        vega.bars([{"label": "cubic", "mean": 5.0, "lo": 4.0, "hi": 6.0, "model": 5.5}], "Goodput (Mb/s)"),
        vega.before_and_after([("Page", 0.0, float("inf"), [FELT, {**FELT, "value": None}])]),
        vega.histogram([("0", 3), ("1", 4)], "Losses", "Bursts"),
    ],
    ids=["lines", "steps", "samples", "trade-off", "bars", "before and after", "histogram"],
)
def test_specification_is_valid_vega_lite(spec: vega.Specification) -> None:
    import altair

    kinds: dict[str, Any] = {"layer": altair.LayerChart, "vconcat": altair.VConcatChart}
    chart = next((kinds[key] for key in kinds if key in spec.tree), altair.Chart)
    chart.from_dict(dict(spec.tree), validate=True)


def test_rows_leave_out_the_names_at_the_ends_when_lines_have_some() -> None:
    rows = list(vega.time_chart(_panel("")).rows())
    assert [(row["line"], row["time_s"], row["value"]) for row in rows[:2]] == [
        ("cubic", "0", "1"),
        ("cubic", "1", "2"),
    ]
    assert len(rows) == 4


def test_rows_of_a_named_data_set_are_found_once_when_layers_share_it() -> None:
    bars: list[vega.Bar] = [{"label": "cubic", "mean": 5.0, "lo": 4.0, "hi": 6.0}]
    assert list(vega.bars(bars, "Goodput (Mb/s)").rows()) == bars


def _texts(spec: vega.Specification) -> list[str]:
    marks = [layer for layer in spec.tree["layer"] if layer["mark"]["type"] == "text"]
    return [str(row["name"]) for layer in marks for row in spec.datasets[layer["data"]["name"]]]


@pytest.mark.finding("U33")
def test_recommended_point_is_named_when_others_are_better_in_one_figure() -> None:
    def row(label: str, goodput: float, rtt: float) -> vega.ConfigurationPoint:
        ends = {"goodput_lo": goodput, "goodput_hi": goodput, "rtt_lo": rtt, "rtt_hi": rtt}
        return {"label": label, "variant": label.partition(",")[0], "goodput": goodput, "rtt": rtt, **ends}

    rows = [row("cubic, auto buffers", 15.0, 160.0), row("bbr3, auto buffers", 14.9, 40.0), row("reno, 64 KiB", 2, 50)]
    spec = vega.trade_off(rows, "bbr3, auto buffers")
    assert _texts(spec) == ["recommended:\nbbr3\nauto buffers", "cubic\nauto buffers"]
    assert sum(layer["mark"].get("size") == 230 for layer in spec.tree["layer"]) == 1
    assert "recommended" not in " ".join(_texts(vega.trade_off(rows)))
