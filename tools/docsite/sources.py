"""Pages with the text of the source files that documents link to."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

from symbols import DEFINITIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (Path(__file__).parent / "source.html").read_text("utf-8")
_linked: set[Path] = set()


def address(path: Path, text: str) -> str:
    """The address of a file's page from the top of the site, at the symbol that the link's text
    names. The page is built at the end.
    """
    if not path.exists() or not path.is_relative_to(ROOT):
        raise ValueError(f"{path} does not exist in the repository")
    _linked.add(path)
    line = _line(path, text)
    return f"source/{path.relative_to(ROOT).as_posix()}.html" + (f"#line-{line}" if line else "")


def _line(path: Path, text: str) -> int | None:
    if not text.startswith("`") or path.is_dir() or path.suffix not in DEFINITIONS:
        return None
    name = re.split(r"::|\.", text.strip("`").removesuffix("()"))[-1]
    if not name.isidentifier():
        return None
    content = path.read_text("utf-8")
    found = re.search(DEFINITIONS[path.suffix].format(name=re.escape(name)), content, re.MULTILINE)
    return content.count("\n", 0, found.start()) + 1 if found else None


def write(site: Path) -> None:
    """Write the pages of the linked files into a built site."""
    for path in sorted(_linked):
        name = path.relative_to(ROOT).as_posix()
        page = site / "source" / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        top = os.path.relpath(site, page.parent)
        text = PAGE.replace("{title}", html.escape(name)).replace("{top}", top)
        page.write_text(text.replace("{body}", _folder(path) if path.is_dir() else _file(path)), "utf-8")


def _folder(path: Path) -> str:
    names = sorted(one.name + "/" * one.is_dir() for one in path.iterdir() if one.name[0] not in "._")
    return "<ul>" + "".join(f"<li><code>{html.escape(name)}</code></li>" for name in names) + "</ul>"


def _file(path: Path) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import TextLexer, get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(linenos="inline", lineanchors="line", cssclass="highlight source-listing")
    return str(highlight(path.read_text("utf-8", "replace"), lexer, formatter))
