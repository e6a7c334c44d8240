"""A reproduction as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.papers.reproduce import Reproduction


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
