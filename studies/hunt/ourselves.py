"""What `hunt` finds against ackclock itself, as a Markdown page; `make hunt-ourselves` writes it.

`python -m studies.hunt.ourselves [--kept FOLDER] [--minutes N] [--only NAME] [FILE]`

Each campaign is a hunt in a folder of its own in FOLDER, with a budget of N minutes: the same
command continues an interrupted one, and reads a finished one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
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


def section(campaign: Campaign, document: Hunt) -> Iterator[str]:
    """What a campaign found: the figure in words, then a line for each case."""
    yield f"## {campaign.what[0].upper()}{campaign.what[1:]}\n"
    yield fill(f"The figure: {campaign.figure}. A case differs from {campaign.breaks:g} on.", WIDTH) + "\n"
    if not document["cases"]:
        yield "Nothing differed.\n"
        return
    yield "| case | figure | further seeds | needs |\n|---|---|---|---|"
    for case in document["cases"]:
        seeds = f"{case['seeds']['broken']} of {case['seeds']['of']}"
        needs = "; ".join(case["needs"]) or "nothing: the scenario as it is"
        yield f"| {case['number']} | {case['figure']['text']} | {seeds} | {needs} |"
    yield ""


def page(done: Sequence[tuple[Campaign, Hunt]], minutes: float) -> str:
    """The page of these campaigns."""
    rows = "\n".join(_row(campaign, document) for campaign, document in done)
    sections = [line for campaign, document in done for line in section(campaign, document)]
    return TOP.format(minutes=minutes, rows=rows) + "\n".join(sections).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path, default=KEPT, help="the folder of the campaigns")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of each campaign")
    parser.add_argument("--only", choices=[campaign.name for campaign in CAMPAIGNS], help="this campaign, and no page")
    arguments = parser.parse_args()
    done = []
    for campaign in CAMPAIGNS:
        if arguments.only in (None, campaign.name):
            document = run(campaign, arguments.kept, arguments.minutes)
            sys.stderr.write(f"{campaign.what}: {many(document['search']['runs'], 'case')}; {document['verdict']}\n")
            done.append((campaign, document))
    if arguments.only is None:
        write_page(arguments.file, page(done, arguments.minutes) + written_by_hand(arguments.file, BY_HAND))


if __name__ == "__main__":
    main()
