"""The built site: links that lead nowhere, files from other hosts, and llms.txt."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from docsite import pages


class Page(HTMLParser):
    """The links and identifiers of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.identifiers: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.identifiers |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values.get("href", ""))
        elif "src" in values:
            self.loaded.append(values["src"])


def faults(site: Path) -> list[str]:
    """Links within the site without a target, and files that a page would load from another
    host.
    """
    files = [path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] != "source"]
    pages = {path: Page(path.read_text("utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: loads {one}" for one in page.loaded if re.match(r"(?:[a-z]+:)?//", one)]
        for link in [*page.links, *page.loaded]:
            target, anchor = urldefrag(link)
            if re.match(r"[a-z]+:|//", link) or link == "#":
                continue
            there = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            if not there.exists():
                found.append(f"{name}: {link} does not exist")
            elif anchor and there in pages and unquote(anchor) not in pages[there].identifiers:
                found.append(f"{name}: {link} has no such title")
    for sheet in sorted(site.rglob("*.css")):
        loads = re.findall(r"(?:@import|url\()\s*['\"]?((?:https?:)?//[^'\")\s]+)", sheet.read_text("utf-8"))
        found += [f"{sheet.relative_to(site)}: loads {one}" for one in loads]
    return found


def write_schemas(site: Path) -> None:
    """Write the JSON Schema of each document, to which the reference links."""
    from ackclock.documents import DOCUMENTS, document_schema

    folder = site / "schemas"
    folder.mkdir(exist_ok=True)
    for command in DOCUMENTS:
        text = json.dumps(document_schema(command), indent=2)
        (folder / f"{command}.schema.json").write_text(f"{text}\n", "utf-8")


def write_llms(site: Path) -> None:
    """Copy each page's Markdown source, and write llms.txt, the list of them with their first
    sentence (llmstxt.org).
    """
    lines = [
        "# ackclock",
        "",
        "> A laboratory for TCP over access links: how will TCP behave here, why, and what should I change?",
        "",
        "## Pages",
        "",
    ]
    lines += [f"- [{page.title}]({page.address}): {page.summary}" for page in pages.pages()]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
