"""A result's charts one below the other: shown in a notebook as SVG, written as SVG, PDF, PNG, HTML
or JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.plot import vega
from ackclock.plot.time_series import Panel

FORMATS = (".svg", ".pdf", ".png", ".html", ".json")
SCALE = 2.0
"""Pixels of a PNG for each pixel of the drawing."""


class Plot:
    """Charts on common paper. The last expression of a notebook's cell shows it.

    Needs the extra `plot` (altair and vl-convert); nothing is fetched.
    """

    def __init__(self, charts: Sequence[Panel | Mapping[str, Any]], title: str = "") -> None:
        """Take panels over time, or Vega-Lite specifications, in the order in which they are drawn.

        Raises:
            ValueError: there is nothing to draw.
        """
        if not charts:
            raise ValueError("nothing to draw: the run recorded no series (sample = 0 s)")
        self.title = title
        specs = [vega.time_chart(chart) if isinstance(chart, Panel) else dict(chart) for chart in charts]
        self._config = specs[0].get("config", {})
        # Vega-Lite finds named data sets at the top of a specification only.
        self._datasets = {name: rows for spec in specs for name, rows in spec.get("datasets", {}).items()}
        self._charts = [
            {key: value for key, value in spec.items() if key not in ("config", "padding", "datasets")}
            for spec in specs
        ]

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification of all charts."""
        title = {"title": {"text": self.title, "anchor": "start"}} if self.title else {}
        return {
            **title,
            "vconcat": self._charts,
            "resolve": {"scale": dict.fromkeys(("color", "strokeDash", "shape"), "independent")},
            "datasets": self._datasets,
            "config": self._config,
            "background": "white",
        }

    def to_svg(self) -> str:
        """The drawing as SVG; its text stays text."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.spec))

    def save(self, path: Path | str) -> Path:
        """Write the drawing; the suffix is the format: .svg, .pdf, .png, .html (zoomable, with its
        script) or .json (Vega-Lite).

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
            f"Plot of {len(self._charts)} charts: {self.title}" if self.title else f"Plot of {len(self._charts)} charts"
        )
