"""The report of an emulation: validity, hops, fates of packets, and the connections in the
captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import polars as pl

from ackclock.emulation.terminal_tables import bounded, configured, process_times, wait_share
from ackclock.emulation.timeline import timeline
from ackclock.format import milliseconds, percent, rate
from ackclock.limitations import LATE, facts_of
from ackclock.report.link_path import link_path
from ackclock.report.page import Block, Cell, Column, Facts, Page, Section, Table
from ackclock.report.run_input import RunInput, ScenarioTables, read_input
from ackclock.report.sections import run_section, time_section

if TYPE_CHECKING:
    from ackclock.documents.emulate import EmulationAudit
    from ackclock.emulation.run import Emulation
    from ackclock.plot.time_series import Panel

MAX_CLIENTS = 20
ANSWERS = {
    "exact": "Exact: the link determined the time of each packet.",
    "usable": "Usable: {why}.",
    "unused": "Unused: {why}.",
    "invalid": "INVALID: {why}.",
}
"""The first sentence by grade."""


def page(done: Emulation, panels: Sequence[Panel], given: RunInput) -> Page:
    """The page of one emulation."""
    document = done.document
    answer = ANSWERS[document["grade"]].format(why=document["why"])
    error = document["release_error_us"]
    because = (
        f"The release error of {document['packets_out']} packets has a median of "
        f"{_us(error['p50'])}, a 99th percentile of {_us(error['p99'])} and a maximum of "
        f"{_us(error['max'])}; {document['unintended_drops']} packets were lost outside the link."
    )
    return Page(
        title=f"Emulation of {document['link']}",
        subtitle=f"{document['seconds']:.1f} s, {_command(document)}, grade {document['grade']}",
        answer=answer,
        because=because,
        sections=[
            *([Section("Rate and delay", [drawn])] if (drawn := timeline(done.fates, done.captures)) else []),
            Section("Hops", [_hops(document)]),
            Section("Packets", _packets(done.fates)),
            Section("Connections", _connections(done.flows)),
            Section("The emulator's errors", [_clients(document), _machine(document)]),
            time_section(panels, "the queues of the link, and simulated flows if there are any"),
            Section("The link", [link_path(given.scenario["hop"], given.scenario.get("tunnel", ()))]),
            replace(
                run_section(replace(given, scenario=_as_run(given.scenario, document))),
                lead="The link's random numbers are reproducible; the packets of real hosts are not.",
            ),
        ],
        notes=[
            (
                "Captures have network time: a packet from a host has the kernel's RX timestamp, a "
                "packet to a host its planned release. `ackclock analyze captures/server.pcapng "
                "captures/client.pcapng` analyzes each connection."
            ),
            *(f"{note[:1].upper()}{note[1:]}." for note in document.get("notes", ())),
        ],
        kind="emulate",
        facts=facts_of(given.scenario["hop"]) | {LATE},
    )


def _as_run(scenario: ScenarioTables, document: EmulationAudit) -> ScenarioTables:
    """The scenario with the time that it ran; host stack and segments are those of simulated
    flows.
    """
    simulated = [flow for flow in scenario.get("flow", []) if flow.get("workload", {}).get("kind") != "live"]
    return {
        **scenario,
        "duration": f"{document['seconds']:.1f} s",
        "flow": simulated,
        "tcp": scenario.get("tcp", {}) if simulated else {},
    }


def folder_page(folder: Path) -> Page:
    """The page of an emulation by its run folder."""
    from ackclock.emulation.run import open_emulation
    from ackclock.plot.time_series import frames_in, panels_of_run

    given = read_input(folder)
    panels = panels_of_run(frames_in(folder)) if (folder / "hops.parquet").is_file() else []
    return page(open_emulation(folder), panels, given)


def _command(document: EmulationAudit) -> str:
    """The command, in a line of a title."""
    return shorten(" ".join(document["command"]["argv"]), 90, placeholder=" ..") or "no command"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} µs"


def _numeric(*titles: str) -> list[Column]:
    return [Column(title, numeric=True) for title in titles]


def _hops(document: EmulationAudit) -> Table:
    columns = [
        Column("Hop"),
        *_numeric("Configured", "Achieved", "Queue delay, mean", "Dropped", "Marked", "Delivered"),
    ]
    rows = [
        [
            Cell(hop["hop"], hop["direction"]),
            Cell(configured(hop)),
            Cell(rate(hop["achieved_bps"]) if hop["achieved_bps"] else ""),
            Cell("" if hop["queue_delay_ms_mean"] is None else milliseconds(hop["queue_delay_ms_mean"])),
            *(Cell(str(number)) for number in (hop["drops"], hop["marks"], hop["delivered"])),
        ]
        for hop in document["hops"]
    ]
    return Table(
        columns, rows, "In path order, a row per direction. The achieved rate is the rate while the hop was busy."
    )


def _packets(fates: pl.DataFrame) -> list[Block]:
    if fates.is_empty():
        return [Facts([("Nothing", "No packet crossed the link, or no log was kept.")])]
    counted = fates.group_by("flow", "from", "fate", "hop").agg(pl.len().alias("n"), pl.col("bytes").sum())
    total = fates.group_by("flow", "from").agg(pl.len().alias("all"))
    rows = [
        [
            Cell(row["flow"], f"from the {row['from']}"),
            Cell(row["fate"].replace("_", " "), "" if row["hop"] is None else f"at {row['hop']}"),
            Cell(str(row["n"])),
            Cell(percent(row["n"] / row["all"])),
        ]
        for row in counted.join(total, on=["flow", "from"])
        .sort("flow", "from", "n", descending=[False, False, True])
        .to_dicts()
    ]
    columns = [Column("Flow"), Column("Fate"), *_numeric("Packets", "Share")]
    return [Table(columns, rows, "Packets that entered the link, by fate. fates.parquet has one row per packet.")]


def _connections(flows: pl.DataFrame) -> list[Block]:
    if flows.is_empty():
        return [Facts([("TCP", "The captures show no TCP connection.")])]
    columns = [Column("Connection", room="ends"), *_numeric("Goodput down", "Goodput up", "RTT mean", "Retransmitted")]
    rows = []
    for row in flows.head(50).to_dicts():
        down, up = (row.get(f"{direction}_goodput_bps") or 0.0 for direction in ("b2a", "a2b"))
        rtt = row.get("a2b_rtt_ms_mean" if up > down else "b2a_rtt_ms_mean")
        rows.append(
            [
                Cell(row["client"], f"to {row['server']}"),
                Cell(rate(down)),
                Cell(rate(up)),
                Cell("" if rtt is None else milliseconds(rtt)),
                Cell(str((row.get("a2b_retransmitted_segments") or 0) + (row.get("b2a_retransmitted_segments") or 0))),
            ]
        )
    return [
        Table(
            columns,
            rows,
            "By an analysis of the captures; flows.parquet has all columns. The first end opened the connection. "
            "RTT of the direction with more payload.",
        )
    ]


def _clients(document: EmulationAudit) -> Table:
    columns = [
        Column("Client"),
        *_numeric("Error of goodput at most", "of p95 RTT"),
        *_numeric("Release error p50", "p99", "max", "Input lateness p99", "Late", "Lost"),
    ]
    rows = [
        [
            Cell(
                str(client["client"] + 1),
                client["grade"] if client["valid"] else client["why"],
                "" if client["valid"] else "bad",
            ),
            *(Cell(bounded(client["bound"][key])) for key in ("goodput", "rtt_p95")),
            *(Cell(_us(client["release_error_us"][key])) for key in ("p50", "p99", "max")),
            Cell(_us(client["input_lateness_us"]["p99"])),
            Cell(str(client["deadline_misses"])),
            Cell(str(client["unintended_drops"])),
        ]
        for client in document["clients"][:MAX_CLIENTS]
    ]
    note = (
        "Release error: transmission minus due time. Input lateness: entry into the network minus arrival. "
        "The bounds follow from a replay of the release times."
    )
    return Table(columns, rows, note)


def _machine(document: EmulationAudit) -> Facts:
    return Facts(
        [
            ("Load, 1 minute", f"{document['load']:.2f}"),
            ("CPU time stolen by the hypervisor", f"{document['steal_percent']:.1f} %"),
            *(
                (f"Processes of the {end}, without a CPU", f"{times['wait_s']:.2f} s; one thread {wait_share(times)}")
                for end, times in process_times(document)
            ),
            ("Timer error of the machine, p99", _us(document["timer_p99_us"])),
            ("Seed", str(document["seed"])),
            ("Packets from hosts, and to them", f"{document['packets_in']}, {document['packets_out']}"),
        ]
    )
