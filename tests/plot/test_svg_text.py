"""Text of a drawing keeps the width that it was laid out with, in any font."""

from __future__ import annotations

import re

import pytest

from ackclock.plot.figure import Plot
from ackclock.plot.svg_text import text_width, with_lengths
from ackclock.plot.sweep_chart import CurvePoint, Curves, swept

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

NAMES = ("cubic with 64 KiB", "reno with 64 KiB", "bbr3 with 64 KiB")


def _svg() -> str:
    rows: list[CurvePoint] = [
        {"line": name, "x": x, "y": 1.0, "lo": 0.9, "hi": 1.1} for name in NAMES for x in (1.0, 2.0)
    ]
    figure: Curves = {"x": "Rate (Mb/s)", "y": "Goodput (Mb/s)", "log_x": False, "rows": rows}
    return Plot([swept(figure)], "A title").to_svg()


@pytest.mark.finding("U43")
def test_each_text_has_its_length() -> None:
    texts = re.findall(r"<text [^>]*>", _svg())
    assert len(texts) > 10
    assert all("textLength=" in text for text in texts)


def test_width_is_that_of_the_drawing_program() -> None:
    import vl_convert

    text = "The quick brown fox, (JUMPS) over {50 %}: 3.4 <= x"
    for weight in ("normal", 600):
        title = {"text": text, "anchor": "start", "fontSize": 100, "font": "Liberation Sans", "fontWeight": weight}
        spec = {"data": {"values": [{}]}, "mark": "point", "width": 20, "height": 20, "title": title}
        width = float(re.search(r'viewBox="0 0 (\d+)', vl_convert.vegalite_to_svg(spec))[1])
        assert width == pytest.approx(text_width(text, 100, bold=weight == 600), abs=12)


def test_text_is_left_as_it_is_when_a_width_is_unknown() -> None:
    unknown = '<text font-size="10px">\N{SNOWMAN}</text>'
    assert with_lengths(unknown) == unknown
    assert text_width("\N{SNOWMAN}", 10) is None
