"""`python -m studies.papers.today [FILE]`: what survives of the five papers on two links of today,
as Markdown.

`make papers-today` writes it to docs. today.toml has the predictions, which were committed before
the first run, and the sentence on each paper, whose figures are those of the runs. Runs are kept
below a folder and reused. With `--minutes` the command ends with status 3 when that time is over
before all runs exist, with a page of the papers that are done; the same command continues.
"""

from __future__ import annotations

import re
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, cast

from ackclock.notebook import Progress
from ackclock.papers.claims import PAPERS
from ackclock.papers.on_link.design import design_of
from ackclock.papers.on_link.placement import Placement
from ackclock.papers.on_link.run import PutOnLink, answers, left_out, link_entry, placed, reproduce_on
from ackclock.papers.on_link.terminal_tables import link_text
from ackclock.papers.on_link.words import VERDICTS, answered, figure, stated
from ackclock.papers.reproduce import FULL_SEEDS
from ackclock.simulation.runner import RunSpec, RunStore
from studies.papers.outcomes import OutOfTime
from studies.papers.parts import OUT_OF_TIME, deadline, markdown_table, parser

if TYPE_CHECKING:
    from ackclock.documents.reproduce import AskedQuestion, PaperOnLink

LINKS = ("nr-uplink", "docsis-3.1")
KEPT = Path("runs/papers-today")
LONGEST = "wimax-simulated"
"""It runs last: its windows are not limited by the hosts."""
FIGURE = re.compile(r"\{(?P<link>[^:{}]+):(?P<question>[^:{}]+)(?::(?P<side>point|base))?\}")
"""In a sentence: `{LINK:QUESTION}` is the answer, with `:point` or `:base` a figure."""

PaperOnLinks = Mapping[str, "PaperOnLink"]
"""A paper's documents by link."""
Documents = Mapping[str, PaperOnLinks]
"""By paper."""


@cache
def written() -> dict[str, Any]:
    """today.toml."""
    return tomllib.loads(Path(__file__).with_name("today.toml").read_text("utf-8"))


def predicted(link: str, paper: str, question: str) -> str:
    """The predicted verdict."""
    return cast("str", written()[link][paper][question])


def documents(kept: Path, until: float | None, workers: int | None, only: Sequence[str]) -> dict[str, PaperOnLinks]:
    """The documents of each paper on each link, from runs below a folder; those for which the time
    was too short have the statements whose runs exist.
    """
    found: dict[str, dict[str, PaperOnLink]] = {}
    for paper in sorted(only, key=lambda paper: (paper == LONGEST, list(PAPERS).index(paper))):
        for link in LINKS:
            folder = kept / link / paper
            try:
                document = _document(folder, link, paper, until, workers)
            except OutOfTime:
                document = _kept_document(folder, link, paper)
            if document["questions"]:
                found.setdefault(paper, {})[link] = document
    return {paper: found[paper] for paper in PAPERS if paper in found}


def _document(folder: Path, link: str, paper: str, until: float | None, workers: int | None) -> PaperOnLink:
    done = reproduce_on(paper, link, out=folder, workers=workers, progress=_limited(until))
    return done.document


def _kept_document(folder: Path, link: str, paper: str) -> PaperOnLink:
    """A document of the statements whose runs exist."""
    place, store = Placement(design_of(paper), link), RunStore(folder)
    scenarios, refused = placed(place)
    stored = {
        name: [store.find(RunSpec(scenario, seed, {"point": name})) for seed in FULL_SEEDS]
        for name, scenario in scenarios.items()
    }
    found = {name: [run for run in runs if run] for name, runs in stored.items() if all(runs)}
    answered_here = answers(place.design, found)
    return PutOnLink(
        place.design, link_entry(place), answered_here, left_out(place.design, refused), FULL_SEEDS
    ).document


def is_complete(paper: str, document: PaperOnLink) -> bool:
    """Whether a document has every statement that the link can have."""
    left = {name for entry in document["not_transferred"] for name in entry["names"]}
    return len(document["questions"]) == sum(one.id not in left for one in design_of(paper).questions)


def _limited(until: float | None) -> Progress:
    """A progress that raises OutOfTime after `until`, a reading of `time.monotonic`."""

    def progress(done: int, total: int, label: str) -> None:
        if until is not None and done < total and time.monotonic() > until:
            raise OutOfTime

    return progress


def question_of(document: PaperOnLink, name: str) -> AskedQuestion | None:
    """A question of a document; None while its runs do not exist."""
    return next((one for one in document["questions"] if one["id"] == name), None)


def sentence(paper: str, found: Documents) -> str:
    """The sentence on a paper, with the figures of the runs; a dash for those that are missing."""

    def replaced(place: re.Match[str]) -> str:
        document = found[paper].get(place["link"])
        question = question_of(document, place["question"]) if document else None
        if question is None:
            return "-"
        point, base = question["today"]["point"], question["today"]["base"]
        match place["side"]:
            case "base" if base is not None:
                return figure(base, question["unit"])
            case "point":
                return figure(point, question["unit"])
        return answered(question).partition(" (")[0]

    return FIGURE.sub(replaced, written()["sentence"][paper])


def part(paper: str, found: Documents) -> str:
    """The paper's part of the page."""
    links = list(found[paper])
    first = found[paper][links[0]]
    names = [one.id for one in design_of(paper).questions]
    rows = [_row(paper, name, found) for name in names if any(question_of(d, name) for d in found[paper].values())]
    stays = [[", ".join(entry["names"]), entry["why"]] for entry in first["not_transferred"]]
    paper_sentence = first["sentence"]
    heads = [
        "statement",
        "paper",
        *(f"{link}{suffix}" for link in links for suffix in ("", ": verdict", ": predicted")),
    ]
    return "\n\n".join(
        [
            f"## {paper}",
            fill(f"The paper ({paper_sentence['where']}): {paper_sentence['paper']}", 100),
            fill(f"Today: {sentence(paper, found)}", 100),
            markdown_table(heads, rows),
            markdown_table(["not on another link", "why"], stays),
        ]
    )


def _row(paper: str, name: str, found: Documents) -> list[str]:
    first = next(one for document in found[paper].values() if (one := question_of(document, name)))
    row = [f"{first['text']} ({', '.join(first['claims'])})", stated(first)]
    for link, document in found[paper].items():
        question = question_of(document, name)
        if question is None:
            row += ["-", "-", "-"]
            continue
        expected = predicted(link, paper, name)
        right = expected == question["verdict"]
        row += [
            answered(question),
            VERDICTS[question["verdict"]],
            "as found" if right else VERDICTS[cast("Any", expected)],
        ]
    return row


def score(found: Documents) -> list[list[str]]:
    """A row for each paper and link: statements by verdict, and predictions that were right."""
    rows = []
    for paper, documents in found.items():
        for link, document in documents.items():
            asked = document["questions"]
            right = sum(predicted(link, paper, one["id"]) == one["verdict"] for one in asked)
            rows.append([paper, link, *map(str, document["totals"].values()), f"{right} of {len(asked)}"])
    return rows


def page(found: Documents) -> str:
    """The whole page."""
    lead = (
        "The designs of the five papers on two links of today, by `ackclock reproduce PAPER --on LINK`: the "
        "paper's hosts, variants, flows and sizes, ten seeds. An interval holds together with the others of its "
        "paper (95 %, Holm); a difference within it is undecided, and less than 5 % is gone. The predictions "
        "were committed before the first run (studies/papers/today.toml). `make papers-today` runs all and writes "
        "this page."
    )
    links = [
        f"- {link}: {document['on']['title']} ({link_text(document['on'])})" for link, document in _on(found).items()
    ]
    totals = next(iter(_on(found).values()))["totals"]
    heads = ["paper", "link", *(VERDICTS[verdict] for verdict in totals), "predicted"]
    right, asked = _predictions(found)
    counted = f"Of {asked} predictions {right} were right."
    return (
        "\n\n".join(
            [
                "# The papers on today's links",
                fill(lead, 100),
                "\n".join(links),
                markdown_table(heads, score(found)),
                counted,
                *(part(paper, found) for paper in found),
            ]
        )
        + "\n"
    )


def _on(found: Documents) -> dict[str, PaperOnLink]:
    return {link: document for documents in found.values() for link, document in documents.items()}


def _predictions(found: Documents) -> tuple[int, int]:
    each = [
        predicted(link, paper, one["id"]) == one["verdict"]
        for paper, documents in found.items()
        for link, document in documents.items()
        for one in document["questions"]
    ]
    return sum(each), len(each)


def _has(found: Documents, paper: str, link: str) -> bool:
    return link in found.get(paper, ()) and is_complete(paper, found[paper][link])


def main() -> int:
    """Run the papers on the links, and write the page."""
    options = parser(__doc__, KEPT)
    options.add_argument("file", nargs="?", type=Path)
    asked = options.parse_args()
    until = deadline(asked.minutes)
    only = asked.only or list(PAPERS)
    found = documents(asked.kept, until, asked.workers, only)
    if found and asked.file:
        asked.file.write_text(page(found), "utf-8")
    elif found:
        print(page(found))
    if missing := [f"{paper} on {link}" for paper in only for link in LINKS if not _has(found, paper, link)]:
        print(f"not finished: {', '.join(missing)}; run the same command again", file=sys.stderr)
        return OUT_OF_TIME
    return 0


if __name__ == "__main__":
    sys.exit(main())
