"""The papers' tables in their own layout, each cell with our value, the paper's and ns-2's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.format import significant
from ackclock.papers.asymmetry.figures import FAST
from ackclock.papers.experiments import known
from ackclock.report.page import Cell, Column, Section, Table

if TYPE_CHECKING:
    from ackclock.papers.documents import ClaimDocument


@dataclass(frozen=True, slots=True)
class Layout:
    """A printed table: the columns' heads, the first one over the rows' names, and each row's
    claims.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]


def _ids(first: int, *steps: int) -> list[str]:
    return [f"P1-{first + step:03d}" for step in (0, *steps)]


_THREE = ("Reno", "Reno+ACC", "Reno+AF")
_LAYOUTS: dict[str, Sequence[Layout]] = {
    "asymmetry": (
        Layout(
            "Table 1: one transfer, Mb/s",
            ("Return, kb/s", *_THREE),
            [(path, _ids(18 + 3 * row, 1, 2)) for row, path in enumerate(("9.6", "9.6 C", "28.8", "28.8 C"))],
        ),
        Layout(
            "Table 2: two transfers, 28.8 C",
            ("", *_THREE),
            [("Total, Mb/s", _ids(33, 1, 2)), ("Fairness index", _ids(36, 1, 2))],
        ),
        Layout(
            "Table 3: one transfer in each direction, 28.8 C, kb/s",
            ("Scheme", "Forward", "Reverse"),
            [
                (scheme, _ids(41 + 2 * row, 1))
                for row, scheme in enumerate(
                    ("Reno (the paper's mode)", "ACC", "ACC + acks-first", "AF", "AF + acks-first", "RED only for data")
                )
            ],
        ),
        Layout(
            "Figure 9: 200 KB over one hop, the paper's one trace of the real network (not judged)",
            ("", "Reno"),
            [
                ("Timeouts / fast retransmissions", _ids(73)),
                ("Idle, % of the time", _ids(74)),
                ("RTT mean, s", _ids(75)),
                ("RTT sd, s", _ids(76)),
            ],
        ),
        Layout(
            "Figures 10 and 11: one transfer over packet radios",
            ("", "Reno", "AF"),
            [
                ("2 hops, kb/s", _ids(82, 1)),
                ("3 hops, kb/s", _ids(85, 1)),
                ("RTT over 2 hops, mean, s", _ids(78, 2)),
                ("RTT over 2 hops, sd, s", _ids(79, 2)),
            ],
        ),
        Layout(
            "Figure 12: fairness over one packet-radio hop, Reno",
            ("Connections", "Jain's index"),
            [("2", _ids(121)), ("12", _ids(120))],
        ),
        Layout(
            "Table 5: one packet-radio hop, kb/s of all connections",
            ("Connections", "Reno", "AF"),
            [
                ("1", _ids(90, 1)),
                *((str(count), _ids(88 + 4 * row, 2)) for row, count in enumerate((2, 4, 6, 8, 10, 12), start=1)),
            ],
        ),
    )
}


def section(paper: str, claims: Sequence[ClaimDocument]) -> Section | None:
    """The paper's tables, or None where none is laid out."""
    by_id = {claim["id"]: claim for claim in claims}
    tables = [_table(layout, by_id) for layout in _LAYOUTS.get(paper, ())]
    if not tables:
        return None
    lead = (
        "In each cell ours, below it the paper's value and ns-2's on both networks. Green: within "
        "the claim's tolerance of the paper."
    )
    return Section("The paper's tables", tables, lead)


def _table(layout: Layout, claims: Mapping[str, ClaimDocument]) -> Table:
    columns = [Column(layout.heads[0]), *(Column(head, numeric=True) for head in layout.heads[1:])]
    rows = [[Cell(name), *(_cell(claims[claim]) for claim in ids)] for name, ids in layout.rows]
    return Table(columns, rows, layout.title)


def _cell(claim: ClaimDocument) -> Cell:
    ours = claim["ours"]
    if ours and (second := (claim.get("also") or {}).get(FAST)):
        text = " / ".join(significant(known(of["mean"]), 2) for of in (ours, second))
        return Cell(text, f"paper {claim['paper_value']}", "muted")
    beside = f"paper {known(claim['paper_number']):.6g}"
    if ns2 := claim.get("ns2"):
        beside += f", ns-2 {' / '.join(f'{value:.6g}' for value in ns2.values())}"
    text = significant(ours["mean"], 4) if ours and ours["mean"] is not None else "-"
    return Cell(text, beside, {"holds": "good", "fails": "bad"}.get(claim["verdict"], "muted"))
