"""A reproduction as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from ackclock.papers.standings import WORDS, Standing, crude_verdicts, failing_cause
from ackclock.terminal import text_table

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.papers.causes import CauseKind, Predictions
    from ackclock.papers.documents import PredictionCounts
    from ackclock.papers.evidence import By, ClaimResult, Verdict
    from ackclock.papers.reproduce import Reproduction


def by_reason(claims: Iterable[ClaimResult]) -> dict[str, list[str]]:
    """The claims' ids by the reason of their verdict, in order of first occurrence."""
    why: dict[str, list[str]] = {}
    for claim_result in claims:
        why.setdefault(claim_result.why, []).append(claim_result.claim.id)
    return why


def format_totals(totals_by: Mapping[By, Mapping[Verdict, int]], totals: Mapping[Verdict, int], seeds: int) -> str:
    """The score in words: claims with a verdict by origin, then those without; and "one seed" where
    there was one.
    """
    parts = []
    for by, words in _ORIGINS.items():
        found = totals_by.get(by, {})
        if tested := found.get("holds", 0) + found.get("fails", 0):
            parts.append(f"{found['holds']} of {tested} {words} hold")
    return (
        f"{'; '.join(parts) or 'no claim was tested'}; {totals['calibration']} calibration, "
        f"{totals['not_tested']} not tested" + (" (one seed)" if seeds == 1 else "")
    )


def format_standings(standings: Mapping[Standing, int], made: Predictions) -> str:
    """How the simulated claims hold, why they fail, and how much of that was predicted."""
    holding, failing = (
        ", ".join(f"{standings[kind]} {words}" for kind, words in kinds.items()) for kinds in (_HOLDING, _FAILING)
    )
    return f"{holding}; of those that fail: {failing}. {format_predictions(made)}"


_HOLDING: dict[Standing, str] = {
    "holds": "hold and need the model",
    "holds_crude": "hold in crude models, too",
}
_FAILING: dict[Standing, str] = {
    "shown": "cause shown",
    "suggested": "suggested",
    "other_reading": "another reading",
    "unexplained": "unexplained",
}


def format_predictions(made: Predictions) -> str:
    """The share of predictions among experiments, in words."""
    if not made.experiments:
        return "No experiment on a cause ran"
    share = f"Predicted: {made.predicted} of {made.experiments} experiments on causes"
    return share + (f", {made.true} came true" if made.predicted else "")


_ORIGINS: dict[By, str] = {
    "simulation": "simulated claims",
    "measurement": "measured claims",
    "arithmetic": "claims that are arithmetic on the paper's numbers",
}


def format_ours(claim_result: ClaimResult) -> str:
    """Our figure with the claim's unit; a dash without one."""
    ours = claim_result.evidence.ours if claim_result.evidence else None
    quantity = claim_result.claim.quantity()
    return f"{ours.mean:.4g} {quantity.unit if quantity else ''}".strip() if ours else "-"


class ClaimGroup(TypedDict):
    """Claims that are not tested, with the reason."""

    claims: list[str]
    why: str


class PaperSummary(TypedDict):
    """The number of a paper's claims by verdict."""

    paper: str
    claims: int
    calibrated: int
    holding: int
    failing: int
    simulated: dict[str, int]
    arithmetic: dict[str, int]
    standings: dict[Standing, int]
    predictions: PredictionCounts
    gated: dict[str, int]
    not_tested: int
    why_not: list[ClaimGroup]


def summary(done: Sequence[Reproduction]) -> list[PaperSummary]:
    """An entry for each paper: numbers of claims by verdict, and the reasons of those not
    tested.
    """
    entries: list[PaperSummary] = []
    for each in done:
        why = by_reason(claim_result for claim_result in each.claims if claim_result.verdict == "not_tested")
        totals, apart = each.totals, each.totals_by
        entries.append(
            {
                "paper": each.paper,
                "claims": len(each.claims),
                "calibrated": totals["calibration"],
                "holding": totals["holds"],
                "failing": totals["fails"],
                "simulated": {verdict: apart["simulation"][verdict] for verdict in ("holds", "fails")},
                "arithmetic": {verdict: apart["arithmetic"][verdict] for verdict in ("holds", "fails")},
                "standings": each.standings,
                "predictions": each.predictions.as_json(),
                "gated": each.gated,
                "not_tested": totals["not_tested"],
                "why_not": [{"claims": ids, "why": reason} for reason, ids in why.items()],
            }
        )
    return entries


def summary_tables(done: Sequence[Reproduction]) -> list[Table]:
    """A row for each paper; the simulated claims by standing, with the share of predictions; then
    the claims that were not tested, with reasons. ``sums`` are claims that are arithmetic on the
    paper's own numbers.
    """
    from rich.table import Table

    one = " (one seed)" if any(len(each.seeds) == 1 for each in done) else ""
    table = Table(title=f"The papers' claims: hold / fail{one}", title_justify="left", box=None, pad_edge=False)
    columns = ("paper", "claims", "simulated", "sums", "calibration", "not tested")
    for column in columns:
        table.add_column(column, justify="left" if column == "paper" else "right", no_wrap=column == "paper")
    heads = [*WORDS.values(), "predicted experiments"]
    standing = text_table(f"Simulated claims by standing (docs/evidence/readings.md){one}", ["paper"], heads)
    untested = Table(title="Not tested", title_justify="left", box=None, pad_edge=False)
    untested.add_column("claims", max_width=40)
    untested.add_column("why")
    for entry in summary(done):
        counted = (f"{entry[by]['holds']} / {entry[by]['fails']}" for by in ("simulated", "arithmetic"))
        counts = [entry["claims"], *counted, entry["calibrated"], entry["not_tested"]]
        table.add_row(entry["paper"], *map(str, counts))
        made = entry["predictions"]
        share = f"{made['predicted']} of {made['experiments']}, {made['true']} true"
        standing.add_row(entry["paper"], *map(str, entry["standings"].values()), share)
        for group in entry["why_not"]:
            untested.add_row(", ".join(group["claims"]), group["why"])
    return [table, standing, untested] if untested.rows else [table, standing]


def verdict_table(done: Reproduction) -> Table:
    """The claims with a verdict; the title has the number of those without."""
    from rich.table import Table

    score = format_totals(done.totals_by, done.totals, len(done.seeds))
    apart = format_standings(done.standings, done.predictions)
    table = Table(title=f"{done.paper}: {score}. Simulated: {apart}", title_justify="left", box=None, pad_edge=False)
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
            because(done.paper, claim_result),
        )
    return table


def because(paper: str, claim_result: ClaimResult) -> str:
    """The reason of a verdict; of a simulated claim with its cause, or the crude models in which
    it holds, too.
    """
    if not claim_result.simulated:
        return claim_result.why
    why = [claim_result.why] if claim_result.why else []
    if claim_result.unless:
        why.append(f"{claim_result.verdict.capitalize()} unless {'; '.join(claim_result.unless)}")
    if claim_result.verdict == "holds":
        also = [name for name, verdict in crude_verdicts(paper, claim_result.claim.id).items() if verdict == "holds"]
        return ". ".join([*why, f"Holds in a crude model, too: {', '.join(also)}"] if also else why)
    cause = failing_cause(paper, claim_result.claim.id, claim_result.unless)
    made = [(each.commit, each.date) for each in cause.predictions]
    return ". ".join([*why, format_cause(cause.kind, cause.text, made, cause.experiment)])


def format_cause(kind: CauseKind | None, text: str, made: Iterable[tuple[str, str]], page: str | None) -> str:
    """A cause in words: what it is worth, the commits and dates of its predictions, and the page
    with its experiments. The text of another class says itself what it is; an older document has
    none.
    """
    commits = ", ".join(f"{commit} on {date}" for commit, date in made)
    words = {"shown": f", shown by a prediction ({commits})", "suggested": ", suggested by chosen experiments"}
    return f"Cause{words.get(kind or '', '')}: {text}" + (f" ({page})" if page else "")


def totals_table(totals: Mapping[Verdict, int], origins: Mapping[str, Mapping[Verdict, int]]) -> Table:
    """The number of claims by verdict and origin."""
    table = text_table("Claims", ["verdict"], ["claims", *origins])
    for verdict, count in totals.items():
        table.add_row(verdict, str(count), *(str(found[verdict]) for found in origins.values()))
    return table
