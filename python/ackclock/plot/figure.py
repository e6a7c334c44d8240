"""A result's charts one below the other: shown in a notebook as SVG, written as SVG, PDF, PNG, CSV,
HTML or JSON.
"""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.plot import svg_text, vega
from ackclock.plot.theme import on_dark_paper
from ackclock.plot.time_series import Panel

FORMATS = (".svg", ".pdf", ".png", ".csv", ".html", ".json")
TITLE_COLUMNS = 110
SCALE = 2.0
"""Pixels of a PNG for each pixel of the drawing."""


class Plot:
    """Charts on common paper. The last expression of a notebook's cell shows it.

    Needs the extra `plot` (altair and vl-convert); nothing is fetched.
    """

    def __init__(
        self,
        charts: Sequence[Panel | vega.Specification | Mapping[str, Any]],
        title: str = "",
        conditions: str = "",
        *,
        dark: bool = False,
    ) -> None:
        """Take panels over time, or Vega-Lite specifications, in the order in which they are drawn.
        ``conditions`` stand below the title, smaller; ``dark`` is for dark paper.

        Raises:
            ValueError: there is nothing to draw.
        """
        if not charts:
            raise ValueError("nothing to draw: the run recorded no series (sample = 0 s)")
        self.title = title
        self.conditions = conditions
        self.dark = dark
        self.left_out = ""
        """What there is no room for, as a sentence."""
        drawn = (vega.time_chart(chart) if isinstance(chart, Panel) else chart for chart in charts)
        self.charts = [one if isinstance(one, vega.Specification) else vega.Specification(one) for one in drawn]

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification of all charts."""
        below = {"subtitle": textwrap.wrap(self.conditions, TITLE_COLUMNS)} if self.conditions else {}
        title = {"title": {"text": self.title, **below}} if self.title else {}
        spec: dict[str, Any] = {
            **title,
            "vconcat": [chart.without("config", "padding", "datasets").tree for chart in self.charts],
            "resolve": {"scale": dict.fromkeys(("color", "strokeDash", "shape"), "independent")},
            # Vega-Lite finds named data sets at the top of a specification only.
            "datasets": {name: rows for chart in self.charts for name, rows in chart.datasets.items()},
            "config": {**vega.CONFIG, "font": svg_text.FONT},
            "background": "white",
        }
        return on_dark_paper(spec) if self.dark else spec

    def to_csv(self) -> str:
        """The drawn values: the rows of every chart, with a column for each field; of several
        charts, the first column has the chart's number.
        """
        tables = [list(chart.rows()) for chart in self.charts]
        several = len(tables) > 1
        rows = [{"chart": number, **row} if several else row for number, table in enumerate(tables, 1) for row in table]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_svg(self) -> str:
        """The drawing as SVG. Its text stays text and has the same widths with any font."""
        import vl_convert

        return svg_text.with_lengths(str(vl_convert.vegalite_to_svg(self.spec)))

    def save(self, path: Path | str) -> Path:
        """Write the drawing; the suffix is the format: .svg, .pdf, .png, .csv (the drawn values),
        .html (zoomable, with its script) or .json (Vega-Lite).

        Raises:
            InputError: another suffix.
        """
        import vl_convert

        from ackclock.storage.atomic_files import atomic_write

        target = Path(path)
        match target.suffix.lower():
            case ".svg":
                data = self.to_svg().encode()
            case ".pdf":
                data = vl_convert.vegalite_to_pdf(self.spec)
            case ".png":
                data = vl_convert.vegalite_to_png(self.spec, scale=SCALE)
            case ".csv":
                data = self.to_csv().encode()
            case ".html":
                data = vl_convert.vegalite_to_html(self.spec, bundle=True).encode()
            case ".json":
                data = json.dumps(self.spec).encode()
            case suffix:
                raise InputError(f'the suffix "{suffix}"', ", ".join(FORMATS), key="path")
        atomic_write(target, data)
        return target

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return (
            f"Plot of {len(self.charts)} charts: {self.title}" if self.title else f"Plot of {len(self.charts)} charts"
        )
