"""A page as a self-contained HTML file: styles, scripts and data inside, no external resources."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ackclock.report.page import Chart, Page, Sequences

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|(?:[kKMGT]i?)?(?:b/s|B)|[num]?s|min|dB|ppm)(?!\w))")


def html(page: Page) -> str:
    """Render ``page``. Text is escaped; the chart script is inlined once, and only when the page
    has a chart.

    Raises:
        ImportError: the page has charts and vl-convert is not installed.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ackclock.report"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else _unbroken(value),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]
    ids = {id(chart): f"chart-{i}" for i, chart in enumerate(charts, 1)}
    script = ""
    if charts:
        from ackclock.plot.vega import script as chart_script

        script = chart_script()
    graphs = [block for section in page.sections for block in section.blocks if isinstance(block, Sequences)]
    graph_ids = {id(block): f"graph-{i}" for i, block in enumerate(graphs, 1)}
    if graphs:
        from ackclock.plot.sequence import script as sequence_script

        script += sequence_script()
    return environment.get_template("page.html.j2").render(
        page=page,
        graph_id=lambda block: graph_ids[id(block)],
        graphs=Markup(_safe_json({graph_ids[id(block)]: _drawing(block) for block in graphs})),
        chart_id=lambda chart: ids[id(chart)],
        # Specifications and script are ours and already safe inside a script element; escaping
        # would break them.
        specs=Markup(_safe_json({ids[id(chart)]: chart.spec for chart in charts})),
        script=Markup(script),
    )


def _unbroken(text: str) -> str:
    """Text whose lines do not break between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def _drawing(block: Sequences) -> dict[str, Any]:
    return {"data": block.graph.data, "views": [[start, end] for _, start, end in block.graph.views]}


def _safe_json(value: Mapping[str, Any]) -> str:
    # Inside a script element only "</" and "<!--" could end or confuse it; names come from users'
    # files.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
