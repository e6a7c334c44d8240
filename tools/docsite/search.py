"""The index of the site's search: the words of each page by where they stand. `_static/search.js`
ranks pages by it, in the browser and in the test.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docsite import pages

WORD = re.compile(r"[^\W_]+(?:[-_.'][^\W_]+)*")
MARKUP = re.compile(r"<!--.*?-->|<[^>\n]+>|^```.*$|^:[a-z]+:.*$|\]\([^)\s]*\)|\{[a-z-]+\}", re.MULTILINE | re.DOTALL)
FIELDS = ("title", "summary", "heads", "body")


@dataclass(frozen=True)
class Entry:
    """A page as the search has it: address, title, first sentence, headings, and its text."""

    address: str
    title: str
    summary: str
    heads: tuple[str, ...]
    body: str

    def counts(self) -> dict[str, Counter[str]]:
        """How often each word stands in each field."""
        texts = (self.title, self.summary, "\n".join(self.heads), self.body)
        return {field: Counter(words(text)) for field, text in zip(FIELDS, texts, strict=True)}


def words(text: str) -> list[str]:
    """The words of a text in lower case; of one with hyphens its parts, too."""
    found = []
    for word in WORD.findall(text.lower()):
        parts = re.split(r"[-_.']", word)
        found += [word, *parts] if len(parts) > 1 else [word]
    return found


def entries() -> list[Entry]:
    """The pages of the site, but the first one, which has all words of a menu."""
    found = []
    for page in pages.pages():
        if page.name == "index.md":
            continue
        text = MARKUP.sub(" ", page.text)
        heads = tuple(re.findall(r"^##+ (.*)$", page.text, re.MULTILINE))
        found.append(Entry(page.address, page.title, page.summary, heads, text))
    return found


def index(of: list[Entry]) -> dict[str, Any]:
    """What search.js reads: pages with their titles, and for each word `[page, in title, in
    summary, in headings, in body, ...]`.
    """
    table: dict[str, list[int]] = {}
    lengths = []
    for number, entry in enumerate(of):
        counts = entry.counts()
        lengths.append([sum(counts[field].values()) for field in FIELDS])
        for word in sorted(set().union(*counts.values())):
            table.setdefault(word, []).extend([number, *(counts[field][word] for field in FIELDS)])
    shown = [{"address": e.address, "title": e.title, "summary": e.summary, "heads": list(e.heads)} for e in of]
    return {"pages": shown, "lengths": lengths, "words": table}


def write(site: Path) -> None:
    """Write the index into a built site, as a script: a page from a file may load no JSON."""
    text = json.dumps(index(entries()), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    (site / "_static" / "search-index.js").write_text(f"const SEARCH_INDEX = {text};\n", "utf-8")
