"""A reproduction as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.papers.reproduce import Reproduction


def summary_table(done: Sequence[Reproduction]) -> Table:
    """All papers, a line each: what was claimed, what became of it; then why claims were not tested, and how many for each reason."""
    from rich.table import Table

    table = Table(title="The papers, claim by claim", title_justify="left", box=None, pad_edge=False)
    for column in (
        "paper",
        "claims",
        "calibrated",
        "holding",
        "failing",
        "of them gated: holding",
        "failing",
        "not tested",
        "why not",
    ):
        table.add_column(column, justify="left" if column in ("paper", "why not") else "right", no_wrap=column == "paper")
    for each in done:
        totals, gated = each.totals, each.gated
        why = Counter(judged.why for judged in each.claims if judged.verdict == "not_tested")
        table.add_row(
            each.paper,
            str(len(each.claims)),
            *(str(totals[verdict]) for verdict in ("calibration", "holds", "fails")),
            str(gated["holds"]),
            str(gated["fails"]),
            str(totals["not_tested"]),
            "; ".join(f"{count}: {reason}" for reason, count in why.most_common()),
        )
    return table


def verdict_table(done: Reproduction) -> Table:
    """The claims that have a verdict, then how many have none."""
    from rich.table import Table

    totals = done.totals
    title = (
        f"{done.paper}: {totals['holds']} hold, {totals['fails']} fail, {totals['calibration']} are calibration, "
        f"{totals['not_tested']} not tested"
    )
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("claim", "where", "metric", "paper", "ours", "tolerance", "verdict", "ns-2 agrees", "why"):
        table.add_column(column, no_wrap=column in ("claim", "verdict"))
    for judged in done.claims:
        if judged.verdict not in ("holds", "fails"):
            continue
        ours = judged.evidence.ours if judged.evidence else None
        quantity = judged.claim.quantity()
        unit = quantity.unit if quantity else ""
        table.add_row(
            judged.claim.id,
            judged.claim.where,
            judged.claim.metric,
            judged.claim.value,
            f"{ours.mean:.4g} {unit}".strip() if ours else "-",
            judged.claim.tolerance,
            judged.verdict,
            {True: "yes", False: "no", None: "-"}[judged.ns2_agrees],
            judged.why,
        )
    return table
