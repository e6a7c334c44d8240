"""Text of an SVG drawing with the width that it was laid out with.

A viewer without the drawing's font takes another one, which may be wider: names of a legend would
lie on each other. `textLength` (SVG 2, section 11.6) has the viewer fit each text into its width;
the text stays text.
"""

from __future__ import annotations

import re
from html import unescape

FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
"""The font of files: the first three have the same widths, and vl-convert has the first."""
_FIRST = 32
_REGULAR = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 "
    "584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 "
    "333 611 556 778 556 556 500 389 280 389 584"
)
_FURTHER = {"\N{EN DASH}": 556, "\N{MINUS SIGN}": 584, "\N{MULTIPLICATION SIGN}": 584, "\N{HORIZONTAL ELLIPSIS}": 1000}
"""Widths beyond ASCII, equal in both weights."""
_HEAVY = 600
_TEXT = re.compile(r"<text (?P<attributes>[^>]*)>(?P<text>[^<]+)</text>")
_SIZE = re.compile(r'font-size="([\d.]+)px"')
_WEIGHT = re.compile(r'font-weight="(bold|\d+)"')


def with_lengths(svg: str) -> str:
    """The drawing with a `textLength` at each text whose characters have a known width.

    >>> with_lengths('<text font-size="10px">RTT (ms)</text>')
    '<text font-size="10px" textLength="42.2" lengthAdjust="spacingAndGlyphs">RTT (ms)</text>'
    """
    return _TEXT.sub(_with_length, svg)


def _with_length(found: re.Match[str]) -> str:
    attributes, text = found["attributes"], found["text"]
    size, weight = _SIZE.search(attributes), _WEIGHT.search(attributes)
    if size is None or (length := text_width(unescape(text), float(size[1]), bold=_is_heavy(weight))) is None:
        return found[0]
    return f'<text {attributes} textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{text}</text>'


def _is_heavy(weight: re.Match[str] | None) -> bool:
    return weight is not None and (weight[1] == "bold" or int(weight[1]) >= _HEAVY)


def text_width(text: str, size: float, *, bold: bool = False) -> float | None:
    """The width of a line in the font of files, in the unit of ``size``; None if it has another
    character than the known ones. The widths are those of Helvetica and its equals (Adobe's font
    metrics), in thousandths of the size.
    """
    widths = _WIDTHS[bold]
    known = [widths.get(character) for character in text]
    return None if None in known else 1e-3 * size * sum(width or 0 for width in known)


_WIDTHS = [
    {chr(code): int(width) for code, width in enumerate(widths.split(), _FIRST)} | _FURTHER
    for widths in (_REGULAR, _BOLD)
]
