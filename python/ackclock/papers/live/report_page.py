"""The report of a live reproduction: measured and simulated results of claims, and the emulator's
audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.format import date_of, significant
from ackclock.report.page import Cell, Column, Page, Section, Table
from ackclock.report.run_input import Environment

if TYPE_CHECKING:
    from ackclock.papers.documents import ClaimDocument, LiveRow, ReproductionDocument, ShownFigure

_TONE = {"holds": "good", "fails": "bad", "calibration": "muted", "not_tested": "muted"}
_VERDICT_TEXTS = {"holds": "holds", "fails": "fails", "calibration": "calibration", "not_tested": "not tested"}


def page(document: ReproductionDocument, environment: Environment | None = None) -> Page:
    """The page of ``reproduce --live``'s JSON document."""
    totals, claims, live = document["totals"], document["claims"], document["live"]
    seen = [claim for claim in claims if claim["ours"] is not None or claim["verdict"] in ("holds", "fails")]
    rest = [claim for claim in claims if claim not in seen]
    alike = sum(
        claim["verdict"] == claim["simulated"]["verdict"] for claim in seen if claim["verdict"] in ("holds", "fails")
    )
    tested = totals["holds"] + totals["fails"]
    version = (environment or {}).get("ackclock", "")
    invalid = sum(not run["valid"] for run in live["runs"])
    holding = f"{totals['holds']} of the {tested} claims tested by real traffic hold; {alike} of them come out as in"
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in live["notes"])
    sections = [
        Section(
            "Claim by claim",
            [_claims(seen)] if seen else [],
            "The same evaluators over what was measured, and over one seed of the simulator.",
        ),
        Section(
            f"Not tested live ({len(rest)})",
            [_untested(rest)] if rest else [],
            "Claims that real traffic cannot show, or that this machine could not run.",
        ),
        Section(
            "The emulator's audit",
            [_audit(live["runs"])] if live["runs"] else [],
            "Release error of packets against the times of the link, in microseconds.",
        ),
    ]
    return Page(
        title=f"Reproduction, live: {document['paper']}",
        subtitle=f"{len(claims)} claims" + (f", ackclock {version}" if version else ""),
        answer=f"{holding} the simulator." if tested else "No claim was tested by real traffic.",
        because=(
            f"{len(live['runs'])} emulations of at most {live['longest_s']:.0f} s or the duration "
            f"of their course, {live['repeats']} per experiment; {invalid} failed the emulator's "
            f"audit and support no verdict. {totals['calibration']} claims are calibration, "
            f"{totals['not_tested']} are not tested live.{notes}"
        ),
        sections=[section for section in sections if section.blocks],
        kind="reproduce",
    )


def setting(claim: ClaimDocument) -> str:
    """The variant and the parameters of a claim, where it has any."""
    return "; ".join(part for part in (claim["variant"], claim["parameters"]) if part not in ("", "-"))


def _claims(claims: Sequence[ClaimDocument]) -> Table:
    columns = [Column("Claim"), Column("What", room="medium"), Column("Paper"), Column("Live", numeric=True)]
    columns += [Column("Simulated", numeric=True), Column("Tolerance"), Column("Verdicts"), Column("Why", room="wide")]
    rows = []
    for claim in claims:
        verdict, other = claim["verdict"], claim["simulated"]["verdict"]
        rows.append(
            [
                Cell(claim["id"], claim["where"], _TONE[verdict]),
                Cell(claim["metric"], setting(claim)),
                Cell(claim["paper_value"]),
                _number(claim["ours"], claim["unit"]),
                _number(claim["simulated"]["ours"], claim["unit"]),
                Cell(claim["tolerance"]),
                Cell(f"live {_VERDICT_TEXTS[verdict]}", f"simulated {_VERDICT_TEXTS[other]}", _TONE[verdict]),
                Cell(claim["why"]),
            ]
        )
    return Table(columns, rows)


def _number(ours: ShownFigure | None, unit: str) -> Cell:
    if ours is None or ours["mean"] is None:
        return Cell("-", tone="muted")
    return Cell(f"{significant(ours['mean'], 4)} {unit}".strip())


def _untested(claims: Sequence[ClaimDocument]) -> Table:
    why: dict[str, list[str]] = {}
    for claim in claims:
        why.setdefault(claim["why"], []).append(claim["id"])
    return Table(
        [Column("Claims", room="medium"), Column("Why", room="wide")],
        [[Cell(", ".join(ids)), Cell(text)] for text, ids in why.items()],
    )


def _audit(runs: Sequence[LiveRow]) -> Table:
    columns = [
        Column("Run", room="wide"),
        *(Column(name, numeric=True) for name in ("s", "p50", "p99", "max", "late", "lost", "load", "steal")),
    ]
    columns.append(Column("Grade", room="medium"))
    rows = []
    for run in runs:
        error = run["release_error_us"]
        figures = [f"{run['seconds']:.0f}", *(f"{error[key]:.0f}" for key in ("p50", "p99", "max"))]
        figures += [str(run["deadline_misses"]), str(run["unintended_drops"])]
        figures += [f"{run['load']:.1f}", f"{run['steal_percent']:.1f} %"]
        grade = Cell(run["grade"], tone="good") if run["valid"] else Cell("invalid", run["why"], "bad")
        rows.append([Cell("; ".join(run["places"]), date_of(run["started"])), *map(Cell, figures), grade])
    return Table(columns, rows)
