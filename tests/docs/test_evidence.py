"""The page "How do we know?": each claim's figure is in the page that its row links, and each page
of evidence has a claim.
"""

from __future__ import annotations

import re

import pytest

from tests.support import ROOT

FOLDER = ROOT / "docs" / "evidence"
CLAIMS = FOLDER / "README.md"
COUNTED = re.compile(r"\*\*(\d+)\*\* rows hold, \*\*(\d+)\*\* miss")
"""Figures that no page states: its table's last column is counted."""


def rows() -> list[tuple[str, str, str]]:
    """The claims: sentence, figure, and the link's target."""
    found = []
    for line in CLAIMS.read_text("utf-8").splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 3 and (link := re.fullmatch(r"\[[^\]]+\]\(([^)]+)\)", cells[2])):
            found.append((cells[0], cells[1], link[1]))
    return found


def section(text: str, anchor: str) -> str:
    """The part of a page below a title, to the next title of its level; without an anchor all."""
    if not anchor:
        return text
    for title in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE):
        if re.sub(r"[^\w\- ]", "", title[2].lower()).replace(" ", "-") == anchor:
            rest = text[title.end() :]
            end = re.search(rf"^#{{1,{len(title[1])}}} ", rest, re.MULTILINE)
            return rest[: end.start()] if end else rest
    raise LookupError(anchor)


def blocks(text: str) -> list[str]:
    """Rows of tables and lines of code one by one, paragraphs whole."""
    done = []
    for part in re.split(r"\n\s*\n|^```.*$", text, flags=re.MULTILINE):
        lines = part.splitlines()
        prose = not any(line.startswith("|") or re.search(r"\S {3,}\S", line) for line in lines)
        done += [" ".join(part.split())] if prose else [" ".join(line.split()) for line in lines]
    return done


def missing(figure: str, text: str) -> list[str]:
    """What of a figure is not in a page: no block has its bold text beside the words in italics."""
    if counted := COUNTED.search(figure):
        bodies = re.findall(r"^\|[-:| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
        last = [row.strip("| ").split("|")[-1].strip(" *") for body in bodies for row in body.splitlines()]
        held = sum(cell in ("holds", "yes") for cell in last)
        missed = sum(cell == "no" or cell.startswith("misses") for cell in last)
        return [] if (held, missed) == (int(counted[1]), int(counted[2])) else [f"{held} rows hold, {missed} miss"]
    bold = re.findall(r"\*\*([^*]+)\*\*", figure)
    words = re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", figure)
    wanted = [re.compile(rf"(?<![\w.,-]){re.escape(value)}(?![\w%]|[.,]\d| %)") for value in bold]
    plain = [block.replace("*", "").replace("`", "") for block in blocks(text)]
    if bold and any(all(one.search(block) for one in wanted) and all(w in block for w in words) for block in plain):
        return []
    return bold or ["no figure"]


@pytest.mark.finding("U42")
@pytest.mark.parametrize(("claim", "figure", "target"), rows())
def test_figure_of_a_claim_is_in_the_page_that_its_row_links(claim: str, figure: str, target: str) -> None:
    name, _, anchor = target.partition("#")
    assert missing(figure, section((FOLDER / name).read_text("utf-8"), anchor)) == [], claim


@pytest.mark.finding("U42")
def test_each_page_of_evidence_stands_behind_one_claim() -> None:
    linked = [target.partition("#")[0] for _, _, target in rows()]
    assert sorted(linked) == sorted(path.name for path in FOLDER.glob("*.md") if path != CLAIMS)


@pytest.mark.parametrize(
    "figure",
    [
        "**17 of 20** are right",
        "*regret, mean*: **2.5 %**",
        "**1** rows hold, **0** miss",
        "*regret*: **0.4**",
        "right",
    ],
)
def test_figure_is_missing_when_the_page_has_another(figure: str) -> None:
    page = "18 of 20 are\nright.\n\n| figure | holds |\n|---|---|\n| regret, mean | 0.4 % | holds |\n| regret, maximum | 2.5 % | misses |\n"
    assert missing(figure, page)
    assert not missing("**18 of 20** are right", page)
    assert not missing("*regret, mean*: **0.4 %**", page)
    assert not missing("**1** rows hold, **1** miss", page)


ORDER = ["Start", "Guides", "Notebooks", "Concepts", "Commands", "Files and formats", "Trust", "About"]


@pytest.mark.finding("U42")
def test_site_begins_with_start_and_has_evidence_behind_one_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert re.findall(r"^:caption: (.*)$", index, re.MULTILINE) == ORDER
    assert re.findall(r"\bevidence/[\w-]+", index) == ["evidence/README", "evidence/README"]
    assert "(reference/limitations.md)" in index
