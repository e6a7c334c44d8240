"""A live reproduction as tables for the terminal: verdicts beside the simulator's, untested claims,
the emulator's audit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.format import date_of
from ackclock.papers.live.reproduction import LiveReproduction, sides
from ackclock.papers.terminal_tables import by_reason, format_ours, format_totals

if TYPE_CHECKING:
    from rich.table import Table


def live_tables(done: LiveReproduction) -> list[Table]:
    """The tables, in order."""
    return [_verdicts(done), *_untested(done), _audit(done)]


def _verdicts(done: LiveReproduction) -> Table:
    from rich.table import Table

    score = format_totals(done.totals_by, done.totals, 0)
    table = Table(title=f"{done.paper}, live: {score}", title_justify="left", box=None, pad_edge=False)
    for column in (
        "claim",
        "metric",
        "setting",
        "paper",
        "live",
        "simulated",
        "tolerance",
        "verdict live",
        "simulated",
        "why",
    ):
        table.add_column(column, no_wrap=column in ("claim", "verdict live"))
    for live, simulated in sides(done):
        if live.evidence is None:
            continue
        claim = live.claim
        table.add_row(
            claim.id,
            claim.metric,
            claim.parameters,
            claim.value,
            format_ours(live),
            format_ours(simulated),
            claim.tolerance,
            live.verdict,
            simulated.verdict,
            live.why if live.verdict != "calibration" else "",
        )
    return table


def _untested(done: LiveReproduction) -> list[Table]:
    from rich.table import Table

    why = by_reason(claim for claim in done.claims if claim.evidence is None)
    table = Table(title="Without a live figure", title_justify="left", box=None, pad_edge=False)
    table.add_column("claims", max_width=60)
    table.add_column("why")
    for reason, ids in why.items():
        table.add_row(", ".join(ids), reason)
    return [table] if table.row_count else []


def _audit(done: LiveReproduction) -> Table:
    from rich.table import Table

    table = Table(title="The emulator's audit of each run", title_justify="left", box=None, pad_edge=False)
    for column in (
        "run",
        "s",
        "grade",
        "release error us: p50",
        "p99",
        "most",
        "late",
        "lost",
        "date",
        "load",
        "steal",
    ):
        table.add_column(column, justify="left" if column in ("run", "grade", "date") else "right")
    for run in done.runs["runs"] if done.runs else ():
        error = run["release_error_us"]
        figures = [f"{error[key]:.0f}" for key in ("p50", "p99", "max")]
        grade = run["grade"] if run["valid"] else f"invalid: {run['why']}"
        counts = [str(run["deadline_misses"]), str(run["unintended_drops"])]
        machine = [date_of(run["started"]), f"{run['load']:.1f}", f"{run['steal_percent']:.1f} %"]
        table.add_row("; ".join(run["places"]), f"{run['seconds']:.0f}", grade, *figures, *counts, *machine)
    for text in (*done.runs["failed"], *done.runs["notes"]) if done.runs else ():
        table.add_row(text)
    return table
