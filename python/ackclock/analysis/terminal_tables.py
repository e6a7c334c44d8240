"""An analysis as tables for people at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ackclock.analysis.clocks import format_clock, known_clocks
from ackclock.analysis.diagnosis.bottleneck import has_queue
from ackclock.analysis.diagnosis.flow_context import FlowContext, flow_context, size
from ackclock.format import column_ms, column_percent, rate

MOST = 50  # rows; --json and --out have all
_COLUMNS = ["goodput", "segments", "re-\nsent", "fast", "time-\nouts", "after\nthem", "probes", "not\nneeded", "out of\norder"]
_TIMES = ["RTT ms\nmin", "\nmean", "\np95", "in flight\nmax"]


def analysis_tables(document: Mapping[str, Any]) -> list[Table]:
    """Flows by direction, then what held them."""
    tables = [_flows(document)]
    if timed := _timeouts(document):
        tables.append(timed)
    if "second" in document:
        tables.append(_between(document))
    if findings := _findings(document):
        tables.append(findings)
    return tables


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")


def _flows(document: Mapping[str, Any]) -> Table:
    flows = document["flows"]
    bad = f", {document['malformed']} malformed" if document["malformed"] else ""
    cut = f"; the {MOST} largest of {len(flows)} flows" if len(flows) > MOST else ""
    table = _table(f"{document['capture']}: {document['packets']} packets{bad}{cut}")
    for column in ("flow", "way", "from", "to"):
        table.add_column(column, overflow="fold")
    for column in (*_COLUMNS, *_TIMES):
        table.add_column(column, justify="right", no_wrap=True)
    largest = sorted(flows, key=lambda flow: -int(flow["bytes"]))[:MOST]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for way, ends in (("a2b", ("client", "server")), ("b2a", ("server", "client"))):
            if flow[way]["segments"]:
                table.add_row(str(flow["flow"]), way, flow[ends[0]], flow[ends[1]], *_figures(flow_context(document, flow, way)))
    return table


def _figures(seen: FlowContext) -> list[str]:
    """From the capture near the sender; with one at the far end, round trips and flight are not the sender's and stay blank."""
    way = seen.figures
    rtt = way["rtt_ms"] if not seen.far else dict.fromkeys(("min", "mean", "p95"))
    return [
        rate(way["goodput_bps"]),
        str(way["segments"]),
        column_percent(way["retransmission_rate"]),
        str(way["fast_retransmits"]),
        str(way["rto_retransmits"]),
        str(way["go_back_n_retransmits"]),
        str(way["tlp_retransmits"]),
        str(seen.not_needed),
        str(way["out_of_order"]),
        column_ms(rtt["min"]),
        column_ms(rtt["mean"]),
        column_ms(rtt["p95"]),
        size(way["outstanding_bytes"]["max"]) if not seen.far else "-",
    ]


def _timeouts(document: Mapping[str, Any]) -> Table | None:
    """Timeouts in a recovery that duplicate ACKs had begun, and papers/README.md 7.7's test of whether timeouts are spurious."""
    table = _table("Pairs of a fast retransmission and a timeout, and timeouts whose segment was acknowledged too soon")
    for column in ("flow", "way"):
        table.add_column(column)
    for column in ("time-\nouts", "in\npairs", "of one\nsegment", "pairs not\nneeded", "ACK before\nleast RTT"):
        table.add_column(column, justify="right", no_wrap=True)
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MOST]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for way in ("a2b", "b2a"):
            figures = flow_context(document, flow, way).figures
            repairs, early = figures["repairs"], figures["spurious"]["early_timeouts"]
            if repairs["pairs"] or early:
                kinds = (repairs[key] for key in ("timeouts", "pairs", "fast_then_timeout", "pairs_not_needed"))
                table.add_row(str(flow["flow"]), way, *map(str, kinds), str(early))
    return table if table.row_count else None


def _between(document: Mapping[str, Any]) -> Table:
    clock = document["clock"]
    said = "no two steady clocks explain both directions"
    if clock is not None:
        said = known_clocks(clock) or f"its clock is {format_clock(clock)}"
    table = _table(f"Joined with {document['second']['capture']}: {said}")
    for column in ("flow", "way"):
        table.add_column(column)
    for column in ("delay ms\nmin", "\np50", "\nmax", "lost", "loss", "not\ncaptured", "bursts", "buffer\nKB"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("cause of loss", overflow="fold")
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MOST]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for way in ("a2b", "b2a"):
            if "lost" in flow[way]:
                table.add_row(str(flow["flow"]), way, *_crossing(flow[way]))
    return table


def _crossing(way: Mapping[str, Any]) -> list[str]:
    delay, lost, bursts, buffer = (way[key] for key in ("one_way_delay_ms", "lost", "loss_bursts", "bottleneck_buffer_bytes"))
    held = buffer["max_based"] if buffer["filled"] or has_queue(buffer) else None
    return [
        *(column_ms(delay[key]) for key in ("min", "p50", "max")),
        str(lost["between_captures"]),
        column_percent(way["loss_rate"]),
        str(lost["capture_drops_receiver"] + lost["capture_drops_sender"]),
        str(bursts["above_50"] + bursts["above_80"] + bursts["all_lost"]),
        "" if held is None else f"{'' if buffer['filled'] else 'over '}{held / 1000:.0f}",
        f"{way['loss_cause']['verdict']}: {way['loss_cause']['evidence']}" if lost["between_captures"] else "",
    ]


def _findings(document: Mapping[str, Any]) -> Table | None:
    table = _table("What held them")
    for column in ("flow", "way", "finding", "share of time", "evidence, and what would help"):
        table.add_column(column, overflow="fold")
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MOST]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for said in flow["diagnosis"]:
            told = said["evidence"] + (f"\n-> {said['advice']}" if said["advice"] else "")
            table.add_row(str(flow["flow"]), said["direction"], said["finding"], column_percent(said["share"]), told)
    return table if table.row_count else None
