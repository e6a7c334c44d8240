"""The report of a reproduction: the paper's claims and our results, by verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.format import significant
from ackclock.papers import report_tables
from ackclock.papers.causes import Predictions, withdrawn_causes
from ackclock.papers.experiments import known
from ackclock.papers.live import report_page as live_page
from ackclock.papers.readings import outcomes, readings_of
from ackclock.papers.standings import MEANINGS, WORDS
from ackclock.papers.terminal_tables import format_cause, format_predictions
from ackclock.plot.sweep_chart import swept
from ackclock.report.page import Cell, Chart, Column, Page, Section, Table
from ackclock.report.run_input import Environment, read_environment
from ackclock.storage.run_kind import REPRODUCE
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.papers.documents import ClaimDocument, ReproductionDocument

_VERDICTS = (
    (
        "fails",
        "Fails",
        "bad",
        "Ours and the paper's differ by more than the claim's tolerance, or the stated order is not there.",
    ),
    ("holds", "Holds", "good", "Computed or simulated here, and within the claim's tolerance of the paper's figure."),
    (
        "calibration",
        "Calibration",
        "muted",
        "Settings of the experiment, or figures that the settings were chosen by: agreement proves nothing.",
    ),
    (
        "not_tested",
        "Not tested",
        "muted",
        "No verdict, with the reason. These claims are evidence neither for nor against the paper.",
    ),
)


def page(document: ReproductionDocument, environment: Environment | None = None) -> Page:
    """The page of ``reproduce``'s JSON document."""
    if "live" in document:
        return live_page.page(document, environment)
    totals, claims = document["totals"], document["claims"]
    simulated = _score(claims, "simulation")
    independent = _score([claim for claim in claims if claim["gated"]], "simulation")
    summed = _score(claims, "arithmetic")
    one_seed = " This is one seed, a first look." if len(document.get("seeds", ())) == 1 else ""
    compared = any(claim["ns2_agrees"] is not None for claim in claims)
    sided = sum(claim["verdict"] == "fails" and claim["ns2_agrees"] is True for claim in claims)
    drawn = report_tables.section(document["paper"], claims)
    sections = [each for each in (_standings(document), drawn) if each]
    if figures := document.get("figures"):
        blocks = [Chart(figure["title"], figure["reading"], swept(figure)) for figure in figures]
        lead = (
            "Solid: ours, means with 95 % intervals where there is more than one run. Dashed: "
            "numbers that the paper's text states. The line above a figure is what the paper "
            "states about its own."
        )
        sections.append(Section("The paper's figures", blocks, lead))
    if read := _readings(document["paper"]):
        sections.append(read)
    for verdict, title, tone, lead in _VERDICTS:
        of = [claim for claim in claims if claim["verdict"] == verdict]
        if of:
            sections.append(
                Section(
                    f"{title} ({len(of)})",
                    [
                        _table(
                            of,
                            tone,
                            has_verdicts=verdict in ("holds", "fails") or any(claim["ours"] for claim in of),
                            compared=compared,
                            seeds=len(document.get("seeds", ())),
                        )
                    ],
                    lead,
                )
            )
    version = (environment or {}).get("ackclock", "")
    return Page(
        title=f"Reproduction: {document['paper']}",
        subtitle=f"{len(claims)} claims" + (f", ackclock {version}" if version else ""),
        answer=f"{simulated[0]} of the {sum(simulated)} simulated claims hold"
        + _crude_share(document)
        + (
            f", and {independent[0]} of the {sum(independent)} that do not depend on the paper's own network."
            if independent != simulated
            else "."
        )
        + one_seed,
        because=(
            f"{summed[0]} of {sum(summed)} further claims hold by arithmetic on the paper's own numbers, which "
            f"no simulation can refute. Of the simulated claims, {simulated[1]} fail{_causes(document)}"
            + (f", and in {sided} of these an independent simulator, ns-2, agrees with ours; " if sided else "; ")
            + f"{totals['calibration']} are calibration (settings, or figures that settings were "
            f"chosen by) and prove nothing; not tested: {totals['not_tested']}. Every claim is "
            "listed with its reason."
        ),
        sections=sections,
        notes=[
            (
                "The columns of ns-2 state whether an independent simulator (ns-2 2.35, our own "
                "runs) agrees: ours is within 10 % of the spread of ns-2's values over both "
                "networks."
            )
        ]
        if compared
        else [],
        kind="reproduce",
    )


def _crude_share(document: ReproductionDocument) -> str:
    counts = document.get("standings")
    return f" ({counts['holds_crude']} of them in crude models of the link, too)" if counts else ""


def _causes(document: ReproductionDocument) -> str:
    """The failing claims by the class of their cause, as a clause; nothing in an older document."""
    counts = document.get("standings")
    if not counts:
        return ""
    kinds = ("shown by a prediction", "suggested by chosen experiments", "another reading", "unexplained")
    numbers = (counts[kind] for kind in ("shown", "suggested", "other_reading", "unexplained"))
    return " (" + ", ".join(f"{number} {words}" for number, words in zip(numbers, kinds, strict=True)) + ")"


def _standings(document: ReproductionDocument) -> Section | None:
    """The simulated claims by standing, the share of predictions, and what was withdrawn; nothing
    for an older document.
    """
    counts, made = document.get("standings"), document.get("predictions")
    if not counts or not made:
        return None
    rows = []
    for kind, words in WORDS.items():
        ids = [claim["id"] for claim in document["claims"] if claim.get("standing") == kind]
        tone = "good" if kind == "holds" else "bad" if kind == "unexplained" else ""
        rows.append(
            [Cell(words.capitalize(), MEANINGS[kind]), Cell(str(counts[kind]), tone=tone), Cell(", ".join(ids) or "-")]
        )
    columns = [Column("Standing", room="wide"), Column("Claims", numeric=True), Column("Which", room="wide")]
    blocks = [Table(columns, rows)]
    if withdrawn := [
        [Cell(", ".join(each.claims)), Cell(each.cause), Cell(each.refuted_by)]
        for each in withdrawn_causes(document["paper"])
    ]:
        heads = [Column("Claims"), Column("Withdrawn cause", room="medium"), Column("Refuted by", room="wide")]
        blocks.append(Table(heads, withdrawn, "Causes that were reported and are refuted:"))
    lead = (
        f"{format_predictions(Predictions(**made))}. A prediction is an experiment that stood in a commit "
        "before it ran; every other was chosen among several whose outcomes were known."
    )
    return Section("How the simulated claims stand", blocks, lead)


def _readings(paper: str) -> Section | None:
    """What the paper leaves open: the choices, and the claims that each alternative changes."""
    read = readings_of(paper)
    if not read:
        return None
    rows = []
    for each in read:
        calibrated = f"calibrated on {', '.join(sorted(each.calibrated_on))}" if each.calibrated_on else ""
        rows.append([Cell(each.name), Cell(each.choice, calibrated), Cell(each.source)])
    blocks = [Table([Column("Open"), Column("Read as", room="medium"), Column("Source", room="wide")], rows)]
    changes = []
    for each in read:
        for other in each.alternatives:
            found = [row for row in outcomes(paper) if (row["reading"], row["alternative"]) == (each.name, other.name)]
            gained, lost = (
                ", ".join(row["claim"] for row in found if row["verdict"] == verdict) or "-"
                for verdict in ("holds", "fails")
            )
            changes.append([Cell(each.name), Cell(other.name), Cell(gained), Cell(lost)])
    if changes:
        heads = ("Open", "Alternative", "Hold with it only", "Fail with it only")
        columns = [Column(head, room="" if head == "Open" else "medium") for head in heads]
        blocks.append(
            Table(columns, changes, "Alternatives that were run (the page on readings of the documentation has all):")
        )
    lead = "What the paper leaves open. A claim that a choice was calibrated on is not judged."
    return Section("Readings", blocks, lead)


def _score(claims: Sequence[ClaimDocument], by: str) -> tuple[int, int]:
    """The number of claims of one origin that hold, and that fail."""
    found = [claim["verdict"] for claim in claims if claim["by"] == by]
    return found.count("holds"), found.count("fails")


def folder_page(folder: Path) -> Page:
    """The page of a reproduction by its run folder."""
    document = read_json(folder / REPRODUCE.document)
    return page(document, read_environment(folder))


def _table(claims: Sequence[ClaimDocument], tone: str, *, has_verdicts: bool, compared: bool, seeds: int) -> Table:
    """With ``has_verdicts`` the claims have figures of ours and a tolerance; those of a
    ``compared`` paper ns-2's, too. ``seeds`` is the number of seeds of the reproduction.
    """
    columns = [Column("Claim"), Column("What", room="medium"), Column("Paper", numeric=True)]
    if has_verdicts:
        columns += [Column("Ours", numeric=True), Column("Tolerance")]
        columns += [Column("ns-2 agrees")] if compared else []
    columns.append(Column("Why", room="wide"))
    rows = []
    for claim in claims:
        row = [
            Cell(claim["id"], claim["where"], tone),
            Cell(claim["metric"], live_page.setting(claim)),
            Cell(claim["paper_value"]),
        ]
        if has_verdicts:
            row += [_ours(claim, seeds), Cell(claim["tolerance"])]
            row += [Cell({True: "yes", False: "no", None: "-"}[claim["ns2_agrees"]])] if compared else []
        rows.append([*row, Cell(claim["why"], _beside(claim))])
    # Orderings are sentences, which a right-aligned column without wrapping would stretch across
    # the page.
    if any(len(claim["paper_value"]) > 24 for claim in claims):
        columns[2] = Column("Paper")
    return Table(columns, rows)


def _beside(claim: ClaimDocument) -> str:
    """The cause of a failing claim; of one that holds the crude models in which it does, too."""
    parts = [f"{claim['verdict'].capitalize()} unless {'; '.join(unless)}"] if (unless := claim.get("unless")) else []
    if cause := claim.get("cause"):
        made = [(each["commit"], each["date"]) for each in cause.get("predictions", ())]
        parts.append(format_cause(cause.get("kind"), cause["text"], made, cause["experiment"]))
    if crude := claim.get("crude"):
        parts.append("Crude models: " + ", ".join(f"{name} {verdict}" for name, verdict in crude.items()))
    return ". ".join(parts)


def _ours(claim: ClaimDocument, seeds: int) -> Cell:
    ours = claim["ours"]
    if ours is None or ours["mean"] is None:
        return Cell("-", tone="muted")
    # Four digits: the paper prints up to four, and rounding ours to fewer would hide the basis
    # of the verdict.
    text = f"{significant(ours['mean'], 4)} {claim['unit']}".strip()
    lo, hi = known(ours["lo"]), known(ours["hi"])
    wide = ours["n"] > 1 and hi - lo > 5e-4 * abs(ours["mean"])
    # Some claims have a value for each test of a day, or for each of several links.
    counted = "seeds" if ours["n"] == seeds else "values"
    return Cell(text, f"{significant(lo, 4)} to {significant(hi, 4)}, {ours['n']} {counted}" if wide else "")
