"""An emulation as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.emulation.programs import flows_of
from ackclock.format import column_ms, column_percent, joined, many, milliseconds, rate
from ackclock.limitations import LATE, RECORDING, sentence
from ackclock.simulation.terminal_tables import felt_table, household_table
from ackclock.terminal import text_table

if TYPE_CHECKING:
    from ackclock.documents.emulate import EmulationAudit
    from ackclock.documents.engine import HopReport, ProcessTimes

MAX_HOPS = 6
"""Rows of hops on a screen."""
MUCH_WAITING = 0.5
"""Share of a program's CPU time that it waits for a CPU, from which on that is said."""


def screen_tables(document: EmulationAudit) -> list[Table]:
    """What the command met: what people feel of the programs beside it, the rates, drops and delays
    of the hops that carried packets. `screen_lines` has how exact that is.
    """
    programs = [*household_table(document.get("household")), *felt_table(flows_of(document))]
    carried = [hop for hop in document["hops"] if hop["delivered"] or hop["drops"]]
    if not carried:
        return programs
    table = text_table(
        f"What crossed {document['link']}",
        ["hop", "direction"],
        ["configured", "achieved", "queue ms\nmean", "drops", "delivered"],
    )
    slowest = sorted(carried, key=lambda hop: -(hop["queue_delay_ms_mean"] or 0.0))[:MAX_HOPS]
    for hop in (hop for hop in carried if hop in slowest):
        table.add_row(
            hop["hop"],
            hop["direction"],
            configured(hop) or "-",
            rate(hop["achieved_bps"]),
            column_ms(hop["queue_delay_ms_mean"]),
            str(hop["drops"]),
            str(hop["delivered"]),
        )
    return [*programs, table]


def screen_lines(document: EmulationAudit) -> list[str]:
    """How exact the emulation was, the grade last."""
    error = document["release_error_us"]
    grade = document["grade"] if document["valid"] else "INVALID"
    lines = ["`--all` prints each hop, the processes and the times of the release."]
    busy = [
        f"the {end}'s program waited {times['wait_s']:.1f} s for a CPU and ran {times['run_s']:.1f} s"
        for end, times in process_times(document)
        if times["wait_s"] > MUCH_WAITING * max(times["run_s"], 1.0)
    ]
    if busy:
        lines.append(f"The machine was busy: {joined(busy)}.")
    facts = {RECORDING} if any(hop.get("recording") for hop in document["hops"]) else set()
    lines += sentence("emulate", facts | ({LATE} if document["grade"] not in ("exact", "unused") else set()))
    if error["p99"] is None:
        lines.append(
            "The command has no network but the link: `--server` starts a server, `--internet` connects the other end."
        )
        lines.append(f"Grade {grade}, seed {document['seed']}: no packet crossed the link.")
        return lines
    bounds = [("goodput", document["bound"]["goodput"]), ("p95 RTT", document["bound"]["rtt_p95"])]
    exact = joined([f"the {name} is exact within {bounded(share)}" for name, share in bounds if share is not None])
    lines.append(
        f"Grade {grade}, seed {document['seed']}: 99 % of the packets left within {_us(error['p99'])} us of their time, "
        f"{many(document['deadline_misses'], 'packet')} late; {exact or 'no bound of the error is known'}."
    )
    return lines


def emulation_tables(document: EmulationAudit) -> list[Table]:
    """What people feel of the programs beside the command, release errors of an emulation, its
    hops, and its processes. Times of the release errors in microseconds.
    """
    programs = [*household_table(document.get("household")), *felt_table(flows_of(document)), *_bulk(document)]
    audit = text_table(
        "Emulation",
        ["", "grade", "error bound\ngoodput", "\np95 RTT"],
        ["release error us\np50", "\np99", "\nmax", "late", "lost", "load", "steal"],
    )
    error = document["release_error_us"]
    audit.add_row(
        f"{document['link']}, seed {document['seed']}",
        document["grade"] if document["valid"] else "INVALID",
        bounded(document["bound"]["goodput"]),
        bounded(document["bound"]["rtt_p95"]),
        *(_us(error[name]) for name in ("p50", "p99", "max")),
        str(document["deadline_misses"]),
        str(document["unintended_drops"]),
        f"{document['load']:.1f}",
        f"{document['steal_percent']:.1f} %",
    )
    hops = text_table("Hops", ["hop", "direction"], ["configured", "achieved", "drops", "delivered"])
    for hop in document["hops"]:
        rates = (configured(hop) or "-", rate(hop["achieved_bps"]))
        hops.add_row(hop["hop"], hop["direction"], *rates, str(hop["drops"]), str(hop["delivered"]))
    waits = process_times(document)
    if not waits:
        return [*programs, audit, hops]
    processes = text_table("Processes", ["command"], ["CPU time", "waited for a CPU", "longest thread"])
    for end, times in waits:
        processes.add_row(end, f"{times['run_s']:.2f} s", f"{times['wait_s']:.2f} s", wait_share(times))
    return [*programs, audit, hops, processes]


def _bulk(document: EmulationAudit) -> list[Table]:
    """The download and the upload of the programs, and how late each program was."""
    rows = document.get("programs")
    if not rows:
        return []
    table = text_table("Programs", ["flow"], ["goodput", "later than 1 ms", "p99", "longest"])
    for row in rows:
        late = row["lateness"]
        times = ("-" if ms is None else milliseconds(ms) for ms in (late["p99_ms"], late["max_ms"]))
        goodput = "" if row["goodput_bps"] is None else rate(row["goodput_bps"])
        table.add_row(row["flow"], goodput, column_percent(late["late_share"]), *times)
    return [table]


def process_times(document: EmulationAudit) -> list[tuple[str, ProcessTimes]]:
    """The times of the commands' processes by end; none for an end without a command."""
    waits = document.get("cpu_wait")
    ends = (("server", waits["server"]), ("client", waits["client"])) if waits else ()
    return [(end, times) for end, times in ends if times]


def wait_share(times: ProcessTimes) -> str:
    """The share of the run in which the thread that waited longest waited for a CPU."""
    return f"{times['max_wait_percent']:.1f} % of the run"


def configured(hop: HopReport) -> str:
    """The configured rate of a hop, or where its recording started; empty without."""
    if recording := hop.get("recording"):
        return f"recorded, from {recording['start_s']:.3f} s on"
    return rate(hop["asked_bps"]) if hop["asked_bps"] else ""


def bounded(share: float | None) -> str:
    """A bound of a relative error; None is the JSON of infinity."""
    return "-" if share is None else f"{100 * share:.2g} %"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
