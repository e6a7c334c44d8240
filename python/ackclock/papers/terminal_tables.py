"""A reproduction as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.papers.evidence import ClaimResult, Verdict
    from ackclock.papers.reproduce import Reproduction


def by_reason(claims: Iterable[ClaimResult]) -> dict[str, list[str]]:
    """The claims' ids by why they have this verdict, in the order of the first of each."""
    why: dict[str, list[str]] = {}
    for judged in claims:
        why.setdefault(judged.why, []).append(judged.claim.id)
    return why


def format_totals(totals: Mapping[Verdict, int]) -> str:
    """How many claims got which verdict, in words."""
    return f"{totals['holds']} hold, {totals['fails']} fail, {totals['calibration']} are calibration, {totals['not_tested']} not tested"


def format_ours(judged: ClaimResult) -> str:
    """Our figure with the claim's unit; a dash where there is none."""
    ours = judged.evidence.ours if judged.evidence else None
    quantity = judged.claim.quantity()
    return f"{ours.mean:.4g} {quantity.unit if quantity else ''}".strip() if ours else "-"


def summary(done: Sequence[Reproduction]) -> list[dict[str, Any]]:
    """All papers, an entry each: how many claims got which verdict, those that count, and why claims were not tested."""
    entries = []
    for each in done:
        why = by_reason(judged for judged in each.claims if judged.verdict == "not_tested")
        totals = each.totals
        entries.append(
            {
                "paper": each.paper,
                "claims": len(each.claims),
                "calibrated": totals["calibration"],
                "holding": totals["holds"],
                "failing": totals["fails"],
                "gated": each.gated,
                "not_tested": totals["not_tested"],
                "why_not": [{"claims": ids, "why": reason} for reason, ids in why.items()],
            }
        )
    return entries


def summary_tables(done: Sequence[Reproduction]) -> list[Table]:
    """All papers, a line each: what was claimed, what became of it; then the claims that were not tested, and why."""
    from rich.table import Table

    table = Table(title="The papers, claim by claim", title_justify="left", box=None, pad_edge=False)
    for column in ("paper", "claims", "calibrated", "holding", "failing", "of them gated: holding", "failing", "not tested"):
        table.add_column(column, justify="left" if column == "paper" else "right", no_wrap=column == "paper")
    untested = Table(title="Not tested", title_justify="left", box=None, pad_edge=False)
    untested.add_column("claims", max_width=40)
    untested.add_column("why")
    for entry in summary(done):
        counts = [entry[key] for key in ("claims", "calibrated", "holding", "failing")]
        counts += [entry["gated"]["holds"], entry["gated"]["fails"], entry["not_tested"]]
        table.add_row(entry["paper"], *map(str, counts))
        for group in entry["why_not"]:
            untested.add_row(", ".join(group["claims"]), group["why"])
    return [table, untested] if untested.rows else [table]


def verdict_table(done: Reproduction) -> Table:
    """The claims that have a verdict, then how many have none."""
    from rich.table import Table

    table = Table(title=f"{done.paper}: {format_totals(done.totals)}", title_justify="left", box=None, pad_edge=False)
    for column in ("claim", "where", "metric", "paper", "ours", "tolerance", "verdict", "ns-2 agrees", "why"):
        table.add_column(column, no_wrap=column in ("claim", "verdict"))
    for judged in done.claims:
        if judged.verdict not in ("holds", "fails"):
            continue
        table.add_row(
            judged.claim.id,
            judged.claim.where,
            judged.claim.metric,
            judged.claim.value,
            format_ours(judged),
            judged.claim.tolerance,
            judged.verdict,
            {True: "yes", False: "no", None: "-"}[judged.ns2_agrees],
            judged.why,
        )
    return table
