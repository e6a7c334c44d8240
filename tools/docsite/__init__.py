"""The Sphinx extension of the site: parts of pages that the site alone has (`<!-- site: NAME -->`),
links to sources, and pages that no table of contents names. Parts that come from the program and
stand in the repository, too, are those of tools/reference.py.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docsite import parts, sources

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\((?P<target>[^)\s]+)\)")
MARKER = re.compile(r"^<!-- site: (?P<name>[a-z-]+)(?P<arguments>[^\n]*?) -->$", re.MULTILINE)
FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to a build."""
    app.connect("source-read", fill)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}


def fill(app: Sphinx, page: str, content: list[str]) -> None:
    """Replace markers by what they name, then links to files outside of the pages."""
    folder = DOCS / Path(page).parent
    text = MARKER.sub(lambda match: part(app, folder, match["name"], match["arguments"].split()), content[0])
    content[0] = outside_code(text, lambda prose: linked(prose, folder))
    if Path(page).name == "README":  # the page of a folder: its pages stand below it
        content[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def part(app: Sphinx, folder: Path, name: str, arguments: list[str]) -> str:
    """The Markdown of a marker."""
    if name == "root":
        return moved((ROOT / arguments[0]).read_text("utf-8"), folder)
    if name == "more-pages":
        return more_pages(app)
    return parts.make(name, arguments)


def moved(text: str, folder: Path) -> str:
    """A document of the root without its title, with links as from `folder`."""

    def move(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith("#"):
            return match[0]
        return f"{match['image']}[{match['text']}]({os.path.relpath(ROOT / target, folder)})"

    text = re.sub(r"\A# .*\n", "", text)
    return outside_code(text, lambda prose: LINK.sub(move, prose))


def outside_code(text: str, change: Any) -> str:
    """Apply a change to what is outside of fenced blocks."""
    done, position = [], 0
    for fence in FENCE.finditer(text):
        done += [change(text[position : fence.start()]), fence[0]]
        position = fence.end()
    return "".join([*done, change(text[position:])])


def linked(text: str, folder: Path) -> str:
    """Links to files of the repository that are no pages lead to pages with their text."""

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        if match["image"] and target.endswith(".svg"):
            return drawing(folder / target, match["text"])
        if match["image"] or not target or ":" in target.split("/")[0]:
            return match[0]
        path = Path(os.path.normpath(folder / target))
        if page := DOCUMENT_PAGES.get(os.path.relpath(path, ROOT)):
            return f"[{match['text']}]({os.path.relpath(DOCS / page, folder)}{'#' + anchor if anchor else ''})"
        if path.suffix == ".md" and path.is_relative_to(DOCS):
            return match[0]
        if path.is_relative_to(DOCS) and path.is_dir() and (path / "README.md").exists():
            return f"[{match['text']}]({os.path.relpath(path / 'README.md', folder)})"
        address = sources.address(path, match["text"])
        return f'<a class="source" href="{os.path.relpath(DOCS / "x", folder)[:-1]}{address}">{match["text"]}</a>'

    return LINK.sub(link, text)


def drawing(path: Path, caption: str) -> str:
    """A drawing as a part of the page, so that it has the colours of its theme."""
    svg = "\n".join(one for one in path.read_text("utf-8").splitlines() if one.strip())
    return f'<figure class="drawn">\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>'


DOCUMENT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "inside/contributing.md",
    "CHANGELOG.md": "reference/changelog.md",
}
"""The pages that have a document of the root."""


def more_pages(app: Sphinx) -> str:
    """A table of contents of the pages that the others leave out."""
    named: set[Path] = set()
    for path in DOCS.rglob("*.md"):
        for toctree in re.finditer(r"^```\{toctree\}\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            entries = [line.strip() for line in toctree[1].splitlines() if line.strip() and line[0] != ":"]
            for entry in entries:
                target = re.sub(r"^.*<(.*)>$", r"\1", entry).removesuffix(".md")
                named |= set(path.parent.glob(f"{target}.md"))
                if target.endswith("README"):
                    named |= set((path.parent / target).parent.glob("*.md"))
    rest = sorted(
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in DOCS.rglob("*.md")
        if path.resolve() not in {one.resolve() for one in named} and path != DOCS / "index.md"
    )
    if not rest:
        return ""
    return "\n".join(["```{toctree}", ":hidden:", ":caption: More", "", *rest, "```"])


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the pages of sources, llms.txt, the documents' schemas and the index of the search, and
    check the links of the built pages.
    """
    if error is not None or app.builder.name != "html":
        return
    from docsite import built, search

    sources.write(Path(app.outdir))
    built.write_llms(Path(app.outdir))
    built.write_schemas(Path(app.outdir))
    search.write(Path(app.outdir))
    faults = built.faults(Path(app.outdir))
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        raise SystemExit(f"{len(faults)} links of the built site lead nowhere")
