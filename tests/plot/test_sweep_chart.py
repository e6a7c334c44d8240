"""Charts over a swept value: labels of the x axis."""

from typing import Any

import pytest

from ackclock.plot.sweep_chart import log_ticks, panel_columns, swept
from ackclock.plot.vega import Specification

pytest.importorskip("altair")


def figure(xs: list[float], **more: Any) -> Any:
    rows = [{"line": "CUBIC", "x": x, "y": 1.0, "lo": 0.9, "hi": 1.1} for x in xs]
    return {"x": "buffer (KB)", "y": "throughput (Mb/s)", "log_x": True, "rows": rows, **more}


def axis(spec: Specification) -> dict[str, Any]:
    found: dict[str, Any] = spec.tree["layer"][0]["encoding"]["x"]["axis"]
    return found


def test_position_has_its_name_when_it_is_no_number():
    found = axis(swept(figure([8.0, 128.0], ticks=[[128.0, "auto"]])))
    assert found["values"] == [8.0, 128.0]
    assert found["labelExpr"] == '["8", "auto"][indexof([8.0, 128.0], datum.value)]'


def test_label_has_all_digits_when_there_are_few_ticks():
    # Vega would round the labels of 8, 16 and 32 to their distance: 8, 2e+1, 3e+1.
    assert axis(swept(figure([8.0, 16.0, 32.0])))["labelExpr"] == "format(datum.value, '~g')"


def test_points_have_no_line_between_them_when_they_are_not_joined():
    apart, joined = (swept(figure([8.0, 16.0], joined=each)).tree["layer"][0]["encoding"] for each in (False, True))
    assert "detail" in apart and "detail" not in joined


def panelled(panels: int) -> Any:
    rows = [
        {"line": line, "x": x, "y": 1.0, "lo": 0.9, "hi": 1.1, "panel": f"{panel} KiB"}
        for panel in range(panels)
        for line in ("cubic", "reno")
        for x in (1.0, 2.0)
    ]
    return {"x": "Rate (Mb/s)", "y": "Goodput (Mb/s)", "log_x": False, "rows": rows, "panels": "Queue size"}


def test_panels_share_axes_when_points_have_some():
    spec = swept(panelled(4))
    assert (spec.tree["columns"], spec.tree["facet"]["title"]) == (2, "Queue size")
    assert len(list(spec.rows())) == 16
    assert altair_is_content(spec)


def altair_is_content(spec: Specification) -> bool:
    import altair

    altair.FacetChart.from_dict(dict(spec.tree), validate=True)
    return True


def test_rows_of_panels_are_filled():
    assert [panel_columns(count, 700) for count in (1, 2, 3, 4, 5, 7, 9)] == [1, 2, 3, 2, 3, 3, 3]
    assert panel_columns(9, 270) == 2  # a paper's column


def test_ticks_are_few_when_an_axis_is_logarithmic():
    assert log_ticks(30, 1500) == [50, 100, 200, 500, 1000]
    assert log_ticks(0.1, 10_000) == [0.1, 1, 10, 100, 1000, 10_000]
