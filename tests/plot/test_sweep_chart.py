"""Charts over a swept value: labels of the x axis."""

from typing import Any

import pytest

from ackclock.plot.sweep_chart import swept
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
