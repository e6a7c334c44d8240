"""An analysis as tables for people at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ackclock.report.numbers import rate
from ackclock.show import ms, percent

MOST = 50  # rows; --json and --out have all
_COLUMNS = ["goodput", "segments", "re-\nsent", "fast", "time-\nouts", "probes", "not\nneeded", "out of\norder"]
_TIMES = ["RTT ms\nmin", "\nmean", "\np95", "in flight\nmax"]


def analysis_tables(document: Mapping[str, Any]) -> list[Table]:
    """Flows by direction, then what held them."""
    tables = [_flows(document)]
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
                table.add_row(str(flow["flow"]), way, flow[ends[0]], flow[ends[1]], *_figures(flow[way]))
    return table


def _figures(way: Mapping[str, Any]) -> list[str]:
    rtt = way["rtt_ms"]
    return [
        rate(way["goodput_bps"]),
        str(way["segments"]),
        percent(way["retransmission_rate"]),
        str(way["fast_retransmits"]),
        str(way["rto_retransmits"] + way["go_back_n_retransmits"]),
        str(way["tlp_retransmits"]),
        str(way["spurious_retransmits"]),
        str(way["out_of_order"]),
        ms(rtt["min"]),
        ms(rtt["mean"]),
        ms(rtt["p95"]),
        f"{way['outstanding_bytes']['max']} B",
    ]


def _findings(document: Mapping[str, Any]) -> Table | None:
    table = _table("What held them")
    for column in ("flow", "way", "finding", "share of time", "evidence"):
        table.add_column(column, overflow="fold")
    largest = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MOST]
    for flow in sorted(largest, key=lambda flow: int(flow["flow"])):
        for said in flow["diagnosis"]:
            table.add_row(str(flow["flow"]), said["direction"], said["finding"], percent(said["share"]), said["evidence"])
    return table if table.row_count else None
