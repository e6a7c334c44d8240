"""A page as a self-contained HTML file: styles, scripts and data inside, no external resources."""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.limitations import of_command
from ackclock.plot.theme import DARK, colour_variables
from ackclock.report.figures import named
from ackclock.report.page import Chart, Page, Sequences
from ackclock.storage.environment import version

if TYPE_CHECKING:
    from markupsafe import Markup

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|(?:[kKMGT]i?)?(?:b/s|B)|[num]?s|min|dB|ppm)(?!\w))")

_IN_KEY = re.compile(r"(?<=[a-z0-9_]\.)(?=[a-z_]+(?:\.|\b))(?!(?:pcap|pcapng|toml|json|html)\b)")
"""Where a dotted key, such as `hop.access.delay`, may break."""

_CODE = re.compile(r"`([^`\n]+)`")

_SOURCES = {".py", ".j2", ".css", ".js", ".toml", ".csv"}
_HEAD_BYTES = 1000
"""The `generator` element stands within this many bytes of a page's beginning."""


@cache
def generator() -> str:
    """The value of a page's `generator` element: the version, and 16 hex digits over the sources
    and data of this package, which differ where a page may differ.
    """
    package = Path(__file__).parents[1]
    sources = sorted(path for path in package.rglob("*") if path.suffix in _SOURCES)
    digest = sha256()
    for path in sources:
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
    return f"ackclock {version('ackclock')} {digest.hexdigest()[:16]}"


def is_current(page: Path, results: Path) -> bool:
    """Whether the file `page` exists, was written by this very code, and not before the file
    `results`.
    """
    try:
        if page.stat().st_mtime_ns < results.stat().st_mtime_ns:
            return False
        with page.open("rb") as file:
            return f'content="{generator()}"'.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False


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
    environment.filters["code"] = _with_code
    names = {id(block): name for name, block in named(page)}
    blocks = {names[id(block)]: block for _, block in named(page)}
    charts = {name: block.spec.tree for name, block in blocks.items() if isinstance(block, Chart)}
    graphs = {
        name: {
            "data": block.graph.data,
            "views": [[start, end] for _, start, end in block.graph.views],
            "legend": block.graph.legend,
        }
        for name, block in blocks.items()
        if isinstance(block, Sequences)
    }
    scripts = []
    drawn = {"title": page.title, "conditions": page.under, "charts": charts, "graphs": graphs}
    style = {}
    if charts:
        from ackclock.plot.vega import CONFIG, LABELS
        from ackclock.plot.vega import script as chart_script

        scripts.append(chart_script())
        style = {"config": CONFIG, "labels": LABELS}
    if graphs:
        from ackclock.plot.sequence import script as sequence_script

        scripts.append(sequence_script())
    scripts.append(files("ackclock.report").joinpath("templates", "page.js").read_text("utf-8"))
    lead, folded = opening(page.answer, page.because)
    return environment.get_template("page.html.j2").render(
        page=page,
        lead=lead,
        folded=folded,
        limitations=of_command(page.kind, page.facts),
        generator=generator(),
        name_of=lambda block: names[id(block)],
        # The data of charts and the scripts are ours and already safe inside a script element;
        # escaping would break them.
        data=Markup(_safe_json({**drawn, **style, "colours": list(DARK)})),
        scripts=[Markup(script) for script in scripts],
        light=Markup(colour_variables(dark=False)),
        dark=Markup(colour_variables(dark=True)),
    )


MAX_WORDS = 80
"""Words with which a report opens: its answer, and as many sentences of the reason."""
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`\d])")


def opening(answer: str, because: str) -> tuple[str, str]:
    """The sentences of the reason that stand below the answer, and those that are folded.

    >>> opening("Use cubic.", "It fills the line. It yields to others.")
    ('It fills the line. It yields to others.', '')
    """
    room = MAX_WORDS - len(answer.split())
    sentences = _SENTENCE.split(because)
    kept = 0
    while kept < len(sentences) and (room := room - len(sentences[kept].split())) >= 0:
        kept += 1
    return " ".join(sentences[:kept]), " ".join(sentences[kept:])


def _unbroken(text: str) -> str:
    """Text whose lines do not break between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def _safe_json(value: object) -> str:
    # Inside a script element only "</" and "<!--" could end or confuse it; names come from users'
    # files.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _with_code(text: str) -> Markup:
    """A sentence as HTML: what stands between backticks is code, and dotted keys may break."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", _IN_KEY.sub("<wbr>", str(escape(_unbroken(text))))))
