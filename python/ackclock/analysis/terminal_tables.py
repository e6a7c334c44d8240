"""An analysis as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ackclock.analysis.capture_document import CaptureDocument
from ackclock.analysis.clocks import format_clock, known_clocks
from ackclock.analysis.diagnosis.bottleneck import has_queue
from ackclock.analysis.diagnosis.capture_context import DocumentContext
from ackclock.analysis.diagnosis.flow_context import FlowContext, size
from ackclock.format import column_ms, column_percent, rate

MAX_ROWS = 50  # --json and --out have all rows
_COLUMNS = [
    "goodput",
    "segments",
    "retrans-\nmitted",
    "fast",
    "time-\nouts",
    "after\nRTO",
    "probes",
    "spu-\nrious",
    "out of\norder",
]
_TIMES = ["RTT ms\nmin", "\nmean", "\np95", "in flight\nmax"]


def source_tables(source: CaptureDocument) -> list[Table]:
    """The tables of the largest flows."""
    return analysis_tables(source.part(source.largest(MAX_ROWS)), len(source.numbers))


def analysis_tables(document: Mapping[str, Any], listed: int | None = None) -> list[Table]:
    """Flows by direction, then the findings.

    Args:
        document: the document, or a part of it.
        listed: the number of flows of the whole document.
    """
    tables = [_flows(document, len(document["flows"]) if listed is None else listed)]
    if timed := _timeouts(document):
        tables.append(timed)
    if "second" in document:
        tables.append(_between(document))
    if findings := _findings(document):
        tables.append(findings)
    return tables


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")


def _flows(document: Mapping[str, Any], listed: int) -> Table:
    flows = document["flows"]
    bad = f", {document['malformed']} malformed" if document["malformed"] else ""
    cut = f"; the {MAX_ROWS} largest of {listed} flows" if listed > MAX_ROWS else ""
    table = _table(f"{document['capture']}: {document['packets']} packets{bad}{cut}")
    for column in ("flow", "direction", "from", "to"):
        table.add_column(column, overflow="fold")
    for column in (*_COLUMNS, *_TIMES):
        table.add_column(column, justify="right", no_wrap=True)
    capture = DocumentContext(document)
    largest = sorted(flows, key=lambda flow: -int(flow["bytes"]))[:MAX_ROWS]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for direction, ends in (("a2b", ("client", "server")), ("b2a", ("server", "client"))):
            if flow[direction]["segments"]:
                table.add_row(
                    str(flow["flow"]),
                    direction,
                    flow[ends[0]],
                    flow[ends[1]],
                    *_figures(capture.flow_context(flow, direction)),
                )
    return table


def _figures(context: FlowContext) -> list[str]:
    """Figures from the capture near the sender.

    If it is not at the sender, RTT and flight are not the sender's and are left out.
    """
    direction = context.figures
    rtt = direction["rtt_ms"] if not context.far else dict.fromkeys(("min", "mean", "p95"))
    return [
        rate(direction["goodput_bps"]),
        str(direction["segments"]),
        column_percent(direction["retransmission_rate"]),
        str(direction["fast_retransmits"]),
        str(direction["rto_retransmits"]),
        str(direction["go_back_n_retransmits"]),
        str(direction["tlp_retransmits"]),
        str(context.not_needed),
        str(direction["out_of_order"]),
        column_ms(rtt["min"]),
        column_ms(rtt["mean"]),
        column_ms(rtt["p95"]),
        size(direction["outstanding_bytes"]["max"]) if not context.far else "-",
    ]


def _timeouts(document: Mapping[str, Any]) -> Table | None:
    """Timeouts in a recovery started by duplicate ACKs, and timeouts with an early ACK (papers'
    digest, 7.7).
    """
    table = _table("Pairs of a fast retransmission and a timeout, and timeouts with an early ACK")
    for column in ("flow", "direction"):
        table.add_column(column)
    for column in ("time-\nouts", "in\npairs", "of one\nsegment", "pairs\nspurious", "ACK before\nmin RTT"):
        table.add_column(column, justify="right", no_wrap=True)
    capture = DocumentContext(document)
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MAX_ROWS]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for direction in ("a2b", "b2a"):
            figures = capture.flow_context(flow, direction).figures
            repairs, early = figures["repairs"], figures["spurious"]["early_timeouts"]
            if repairs["pairs"] or early:
                counts = (repairs[key] for key in ("timeouts", "pairs", "fast_then_timeout", "pairs_not_needed"))
                table.add_row(str(flow["flow"]), direction, *map(str, counts), str(early))
    return table if table.row_count else None


def _between(document: Mapping[str, Any]) -> Table:
    clock = document["clock"]
    clocks = "no constant offset and skew explain both directions"
    if clock is not None:
        clocks = known_clocks(clock) or f"its clock is {format_clock(clock)}"
    table = _table(f"Joined with {document['second']['capture']}: {clocks}")
    for column in ("flow", "direction"):
        table.add_column(column)
    for column in ("delay ms\nmin", "\np50", "\nmax", "lost", "loss", "not\ncaptured", "bursts", "buffer\nKB"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("cause of loss", overflow="fold")
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MAX_ROWS]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for direction in ("a2b", "b2a"):
            if "lost" in flow[direction]:
                table.add_row(str(flow["flow"]), direction, *_crossing(flow[direction]))
    return table


def _crossing(direction: Mapping[str, Any]) -> list[str]:
    delay, lost, bursts, buffer = (
        direction[key] for key in ("one_way_delay_ms", "lost", "loss_bursts", "bottleneck_buffer_bytes")
    )
    buffer_bytes = buffer["max_based"] if buffer["filled"] or has_queue(buffer) else None
    return [
        *(column_ms(delay[key]) for key in ("min", "p50", "max")),
        str(lost["between_captures"]),
        column_percent(direction["loss_rate"]),
        str(lost["capture_drops_receiver"] + lost["capture_drops_sender"]),
        str(bursts["above_50"] + bursts["above_80"] + bursts["all_lost"]),
        "" if buffer_bytes is None else f"{'' if buffer['filled'] else 'over '}{buffer_bytes / 1000:.0f}",
        f"{direction['loss_cause']['verdict']}: {direction['loss_cause']['evidence']}"
        if lost["between_captures"]
        else "",
    ]


def _findings(document: Mapping[str, Any]) -> Table | None:
    table = _table("Findings")
    for column in ("flow", "direction", "finding", "share of time", "evidence and advice"):
        table.add_column(column, overflow="fold")
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MAX_ROWS]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for finding in flow["diagnosis"]:
            text = finding["evidence"] + (f"\n-> {finding['advice']}" if finding["advice"] else "")
            table.add_row(
                str(flow["flow"]), finding["direction"], finding["finding"], column_percent(finding["share"]), text
            )
    return table if table.row_count else None
