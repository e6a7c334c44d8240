"""The pages of the site by their sources: address, title, first sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True)
class PageSource:
    """A page's Markdown.

    Attributes:
        name: its path below docs.
        address: its path in the site.
        title: its first heading.
        summary: the first sentence of its first paragraph, without links.
        text: the Markdown.
    """

    name: str
    address: str
    title: str
    summary: str
    text: str


def pages() -> list[PageSource]:
    """All of them, in the order of their paths."""
    return [page_of(path.relative_to(DOCS), path.read_text("utf-8")) for path in sorted(DOCS.rglob("*.md"))]


def page_of(name: Path, text: str) -> PageSource:
    title = re.search(r"^# (.*)$", text, re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text[title.end() :] if title else text, flags=re.MULTILINE | re.DOTALL)
    first = re.search(r"^(?![|#<:>-]|\d\. )(\S[^\n]*\n?)+", prose, re.MULTILINE)
    sentence = re.split(r"(?<=[.?])\s", " ".join(first[0].split()))[0] if first else ""
    sentence = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence)
    address = name.with_suffix(".html").as_posix()
    return PageSource(name.as_posix(), address, title[1] if title else name.stem, sentence, text)
