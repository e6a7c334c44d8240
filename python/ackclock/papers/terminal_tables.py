"""A reproduction as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.papers.evidence import ClaimResult, Verdict
    from ackclock.papers.reproduce import Reproduction


def by_reason(claims: Iterable[ClaimResult]) -> dict[str, list[str]]:
    """The claims' ids by the reason of their verdict, in order of first occurrence."""
    why: dict[str, list[str]] = {}
    for claim_result in claims:
        why.setdefault(claim_result.why, []).append(claim_result.claim.id)
    return why


def format_totals(totals: Mapping[Verdict, int]) -> str:
    """The number of claims by verdict, in words."""
    return (
        f"{totals['holds']} hold, {totals['fails']} fail, {totals['calibration']} are calibration, "
        f"{totals['not_tested']} not tested"
    )


def format_ours(claim_result: ClaimResult) -> str:
    """Our figure with the claim's unit; a dash without one."""
    ours = claim_result.evidence.ours if claim_result.evidence else None
    quantity = claim_result.claim.quantity()
    return f"{ours.mean:.4g} {quantity.unit if quantity else ''}".strip() if ours else "-"


def summary(done: Sequence[Reproduction]) -> list[dict[str, Any]]:
    """An entry for each paper: numbers of claims by verdict, and the reasons of those not
    tested.
    """
    entries = []
    for each in done:
        why = by_reason(claim_result for claim_result in each.claims if claim_result.verdict == "not_tested")
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
    """A row for each paper, then the claims that were not tested, with reasons."""
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
    ):
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
    """The claims with a verdict; the title has the number of those without."""
    from rich.table import Table

    table = Table(title=f"{done.paper}: {format_totals(done.totals)}", title_justify="left", box=None, pad_edge=False)
    for column in ("claim", "where", "metric", "paper", "ours", "tolerance", "verdict", "ns-2 agrees", "why"):
        table.add_column(column, no_wrap=column in ("claim", "verdict"))
    for claim_result in done.claims:
        if claim_result.verdict not in ("holds", "fails"):
            continue
        table.add_row(
            claim_result.claim.id,
            claim_result.claim.where,
            claim_result.claim.metric,
            claim_result.claim.value,
            format_ours(claim_result),
            claim_result.claim.tolerance,
            claim_result.verdict,
            {True: "yes", False: "no", None: "-"}[claim_result.ns2_agrees],
            claim_result.why,
        )
    return table


def totals_table(document: Mapping[str, Any]) -> Table:
    """The number of claims by verdict, from the document of a reproduction."""
    from ackclock.terminal import text_table

    table = text_table("Claims", ["verdict"], ["claims"])
    for verdict, count in document["totals"].items():
        table.add_row(verdict, str(count))
    return table
