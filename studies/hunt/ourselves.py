"""What `hunt` finds against ackclock itself, as a Markdown page; `make hunt-ourselves` writes it.

`python -m studies.hunt.ourselves [--kept FOLDER] [--minutes N] [--only NAME] [FILE]`

Each campaign is a hunt in a folder of its own in FOLDER, with a budget of N minutes: the same
command continues an interrupted one, and reads a finished one. With --only the other campaigns keep
what FILE has of them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from ackclock.format import many
from ackclock.hunting import hunt
from studies.hunt.campaigns import CAMPAIGNS, Campaign
from studies.hunt.page import written_by_hand
from studies.outcome_files import write_page

if TYPE_CHECKING:
    from ackclock.documents.hunt import Hunt

MINUTES = 20.0
WIDTH = 115
KEPT = Path("runs/hunt-ourselves")
BY_HAND = "\n## What became of the finds\n"
TOP = """# What `hunt` finds against ackclock itself

Written by `make hunt-ourselves`. Each campaign searches for {minutes:g} minutes for a case in which two ways to the same
result differ ([campaigns.py](../../studies/hunt/campaigns.py)); a case is made simple as any find of
[`hunt`](../reference/hunt.md).

| compared | searched by | cases | differ | worst |
|---|---|---|---|---|
{rows}

"""


def run(campaign: Campaign, folder: Path, minutes: float) -> Hunt:
    """The document of a campaign, which is continued or read where its folder exists."""
    return hunt(campaign.hunted, minutes=minutes, out=folder / campaign.name).document


def _row(campaign: Campaign, document: Hunt) -> str:
    search, worst = document["search"], document["worst"]
    tried = search["runs"] - search["forbidden"] - search["invalid"]
    by = "CMA-ES" if search["searcher"] == "cmaes" else "random search"
    return f"| {campaign.what} | {by} | {tried} | {search['broken']} | {worst['text']} |"


def _title(campaign: Campaign) -> str:
    return f"## {campaign.what[0].upper()}{campaign.what[1:]}"


def section(campaign: Campaign, document: Hunt) -> str:
    """What a campaign found: the figure in words, then a line for each case."""
    figure = fill(
        f"The figure: {campaign.figure}. A case differs from {campaign.breaks:g} on.", WIDTH, break_on_hyphens=False
    )
    return "\n\n".join([_title(campaign), figure, _cases(document)])


def _cases(document: Hunt) -> str:
    if not document["cases"]:
        return "Nothing differed."
    lines = ["| case | figure | further seeds | needs |", "|---|---|---|---|"]
    for case in document["cases"]:
        seeds = f"{case['seeds']['broken']} of {case['seeds']['of']}"
        needs = "; ".join(case["needs"]) or "nothing: the scenario as it is"
        lines.append(f"| {case['number']} | {case['figure']['text']} | {seeds} | {needs} |")
    return "\n".join(lines)


def earlier(campaign: Campaign, text: str) -> tuple[str, str] | None:
    """The row and the section of a campaign in an earlier page; None without them."""
    row = next((line for line in text.splitlines() if line.startswith(f"| {campaign.what} |")), None)
    parts = [part.strip() for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)]
    own = next((part for part in parts if part.startswith(f"{_title(campaign)}\n")), None)
    return (row, own) if row and own else None


def page(done: Mapping[str, Hunt], minutes: float, text: str = "") -> str:
    """The page of the campaigns by name; of those that are missing, what an earlier page has."""
    both = [
        (_row(campaign, done[campaign.name]), section(campaign, done[campaign.name]))
        if campaign.name in done
        else earlier(campaign, text)
        for campaign in CAMPAIGNS
    ]
    kept = [one for one in both if one]
    return (
        TOP.format(minutes=minutes, rows="\n".join(row for row, _ in kept)) + "\n\n".join(own for _, own in kept) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path, default=KEPT, help="the folder of the campaigns")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of each campaign")
    parser.add_argument("--only", choices=[campaign.name for campaign in CAMPAIGNS], help="this campaign")
    arguments = parser.parse_args()
    done = {}
    for campaign in CAMPAIGNS:
        if arguments.only in (None, campaign.name):
            document = run(campaign, arguments.kept, arguments.minutes)
            sys.stderr.write(f"{campaign.what}: {many(document['search']['runs'], 'case')}; {document['verdict']}\n")
            done[campaign.name] = document
    file = arguments.file
    text = file.read_text("utf-8") if arguments.only and file and file.is_file() else ""
    write_page(file, page(done, arguments.minutes, text) + written_by_hand(file, BY_HAND))


if __name__ == "__main__":
    main()
