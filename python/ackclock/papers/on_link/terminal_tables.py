"""The answers of a link to a paper's statements as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.format import many, rate, significant
from ackclock.papers.on_link.words import VERDICTS, answered, compared, stated
from ackclock.terminal import TextBelow, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.documents.reproduce import AskedQuestion, PaperOnLink, PutLink


def answer_tables(document: PaperOnLink) -> list[Table]:
    """A row for each statement, the sentences below; then what stays with the paper's network."""
    on, sentence = document["on"], document["sentence"]
    seeds = many(len(document["seeds"]), "seed")
    table = TextBelow(
        title=f"{document['paper']} on {on['name']}: {link_text(on)}; {seeds}",
        caption=f"The paper ({sentence['where']}): {sentence['paper']}\n{sentence['today']}",
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for column in ("statement", "paper", "here", "verdict"):
        table.add_column(column, no_wrap=True)
    table.add_column("why")
    for question in document["questions"]:
        verdict = VERDICTS[question["verdict"]]
        table.add_row(question["id"], stated(question), answered(question), verdict, below(question))
    if not document["not_transferred"]:
        return [table]
    stays = text_table("Not on this link", ["experiment", "why"], [])
    for entry in document["not_transferred"]:
        stays.add_row(", ".join(entry["names"]), entry["why"])
    return [table, stays]


def link_text(on: PutLink) -> str:
    """A link's rates, RTT and BDP."""
    rates = f"{rate(on['down_bps'])} down, {rate(on['up_bps'])} up"
    bdp = f", BDP {significant(on['bdp_bytes'] / 1e3, 3)} kB" if on["bdp_bytes"] is not None else ""
    return f"{rates}, {significant(on['base_rtt_ms'], 3)} ms{bdp}"


def below(question: AskedQuestion) -> str:
    """The paper's statement, then the figures that answer it."""
    return f"{question['text'][:1].upper()}{question['text'][1:]}. {figures(question)}"


def figures(question: AskedQuestion) -> str:
    """The measure of a question with its figures."""
    text = f"{question['measure']}: {', '.join(compared(question))}"
    return f"{text[:1].upper()}{text[1:]}."
