"""The report of a paper's design on another link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.format import many
from ackclock.papers.on_link.terminal_tables import link_text
from ackclock.papers.on_link.words import MEANINGS, VERDICTS, answered, compared, stated
from ackclock.report.page import Cell, Column, Page, Section, Table
from ackclock.report.run_input import Environment, read_environment
from ackclock.storage.run_kind import ON_LINK
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.reproduce import AskedQuestion, PaperOnLink, Survival

_TONES: dict[Survival, str] = {
    "survives": "good",
    "smaller": "",
    "larger": "",
    "gone": "bad",
    "reversed": "bad",
    "undecided": "muted",
}


def page(document: PaperOnLink, environment: Environment | None = None) -> Page:
    """The page of the document of ``reproduce PAPER --on LINK --json``."""
    on, sentence = document["on"], document["sentence"]
    seeds = many(len(document["seeds"]), "seed")
    version = (environment or {}).get("ackclock", "")
    asked = Section(
        "Statement by statement",
        [_questions(document), _meanings(document)],
        "The paper's hosts, variants, flows and sizes, on this link. Intervals hold together with 95 % confidence; "
        "a difference counts only where its interval excludes none.",
    )
    stays = Table(
        [Column("Experiment", room="medium"), Column("Why", room="wide")],
        [[Cell(", ".join(entry["names"])), Cell(entry["why"])] for entry in document["not_transferred"]],
    )
    sections = [asked] if document["questions"] else []
    if document["not_transferred"]:
        sections.append(Section("Not on this link", [stays], "What of the paper cannot be asked here, and why."))
    return Page(
        title=f"{document['paper']} on {on['name']}",
        subtitle=f"{on['title']}; {seeds}" + (f", ackclock {version}" if version else ""),
        answer=sentence["today"],
        because=f"The paper ({sentence['where']}): {sentence['paper']} The link: {link_text(on)}.",
        sections=sections,
        kind="reproduce",
    )


def _questions(document: PaperOnLink) -> Table:
    columns = [Column("Statement", room="medium"), Column("Paper"), Column("Here"), Column("Verdict")]
    return Table([*columns, Column("Limited by", room="wide")], [_row(one) for one in document["questions"]])


def _row(question: AskedQuestion) -> list[Cell]:
    return [
        Cell(question["text"], ", ".join(question["claims"])),
        Cell(stated(question), question["measure"]),
        Cell(answered(question), "; ".join(compared(question))),
        Cell(VERDICTS[question["verdict"]], tone=_TONES[question["verdict"]]),
        Cell(question["today"]["why"]),
    ]


def _meanings(document: PaperOnLink) -> Table:
    seen = {question["verdict"] for question in document["questions"]}
    rows = [[Cell(VERDICTS[verdict]), Cell(text)] for verdict, text in MEANINGS.items() if verdict in seen]
    return Table([Column("Verdict"), Column("Meaning", room="wide")], rows)


def folder_page(folder: Path) -> Page:
    """The page of a paper on another link by its run folder."""
    document: PaperOnLink = read_json(folder / ON_LINK.document)
    return page(document, read_environment(folder))
