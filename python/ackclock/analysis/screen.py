"""An analysis of several flows in one screen: the verdict and its sentences, the worst flows, what
was found; the rest on request.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.analysis.direction_view import SIDES, DirectionView, DirectionViews
from ackclock.analysis.summary import capture_lines, connections_line, verdict_line
from ackclock.analysis.terminal_tables import (
    FINDINGS,
    between_table,
    packets_line,
    source_tables,
    udp_findings_table,
    udp_table,
)
from ackclock.format import column_ms, column_percent, rate
from ackclock.terminal import SCREEN, TextBelow, height, text_table

if TYPE_CHECKING:
    from ackclock.analysis.capture_document import CaptureDocument
    from ackclock.documents.engine import Finding, Report, UdpFlowReport

MAX_FLOWS = 6
"""Flows that are looked at; the worst of the capture."""
MAX_NAMES = 6
"""Findings that are named without their sentence."""
WHOLE = "`--all` prints each flow, evidence and advice."


@dataclass(frozen=True)
class _Shown:
    """How much of each part is printed: flows, findings with their sentence, UDP flows, the delays
    between two captures, the operator's sentence.
    """

    flows: int = 0
    findings: int = 0
    udp: int = 0
    joined: bool = False
    operator: bool = False


_ORDER = ("flows", "findings", "flows", "udp", "joined", "findings", "operator", *("flows", "udp", "findings") * 5)
"""What is added while there is room, the most important first."""


def screen_tables(source: CaptureDocument) -> list[Table]:
    """The tables in a small terminal: one flow has its own form, of several what fits is there."""
    count, udp = len(source.numbers), int(source.head.get("udp", {}).get("flows", 0))
    if count < 2 and not udp:
        return source_tables(source)
    document = source.part(source.worst(MAX_FLOWS))
    largest = source.largest_udp(MAX_FLOWS)
    limits = {
        "flows": len(document["flows"]),
        "findings": len(_findings(document)),
        "udp": len(largest),
        "joined": "second" in document,
        "operator": count > 0,
    }
    shown = _Shown()
    for part in _ORDER:
        more = replace(shown, **{part: min(getattr(shown, part) + 1, limits[part])})
        if height(_tables(document, largest, more, count, udp)) <= SCREEN[1]:
            shown = more
    return _tables(document, largest, shown, count, udp)


def _tables(document: Report, largest: Sequence[UdpFlowReport], shown: _Shown, count: int, udp: int) -> list[Table]:
    tables = [_summary(document, count, with_operator=shown.operator)]
    if shown.flows:
        tables.append(_flows(document, shown.flows, count))
    if shown.joined:
        tables.append(between_table({**document, "flows": document["flows"][: shown.flows]}, is_short=True))
    if shown.udp:
        tables.append(udp_table(largest[: shown.udp], udp))
        if (found := udp_findings_table(largest)).row_count:
            tables.append(found)
    if findings := _findings(document):
        printed = {document["summary"]["customer"], *([document["summary"]["operator"]] if shown.operator else [])}
        tables.append(_findings_table(findings, shown.findings, printed))
    captions = [*([str(tables[-1].caption)] if tables[-1].caption else []), WHOLE]
    tables[-1].caption, tables[-1].caption_justify = "\n".join(captions), "left"
    return tables


def _summary(document: Report, count: int, *, with_operator: bool) -> Table:
    """The verdict without the sentence of its worst flow, which the customer's line has."""
    summary = document["summary"]
    table = text_table("Summary", ["", ""], [])
    table.show_header = False
    if count:
        table.add_row("verdict", verdict_line(summary).partition(" Flow ")[0])
        table.add_row("customer", summary["customer"])
        if with_operator and summary["operator"] != summary["customer"]:
            table.add_row("operator", summary["operator"])
        table.add_row("connections", connections_line(summary))
    for name, line in capture_lines(document):
        table.add_row(name, line)
    return table


def _flows(document: Report, rows: int, count: int) -> Table:
    """The first flows: ends, goodput, retransmissions and RTT of each direction with data."""
    cut = f"; {rows} of {count} flows, the worst" if count > rows else ""
    table = text_table(
        f"{packets_line(document)}{cut}",
        ["flow", "from", "to"],
        ["goodput", "retrans-\nmitted", "RTT ms\nmin", "\np95"],
    )
    views = DirectionViews(document)
    for flow in document["flows"][:rows]:
        ends = [flow["client"], flow["server"]]
        for direction in SIDES:
            # A connection without data has one row: it was refused, or had no answer.
            if flow[direction]["segments"] or (direction == "a2b" and not flow["b2a"]["segments"]):
                number = f"{flow['flow']} {direction}"
                table.add_row(
                    number, *(ends if direction == "a2b" else ends[::-1]), *_figures(views.of(flow, direction))
                )
    return table


def _figures(view: DirectionView) -> list[str]:
    """Of a capture that is not at the sender, RTT is not the sender's and is left out."""
    figures = view.figures
    rtt = dict.fromkeys(("min", "p95")) if view.far else figures["rtt_ms"]
    retransmitted = column_percent(figures["retransmission_rate"])
    return [rate(figures["goodput_bps"]), retransmitted, column_ms(rtt["min"]), column_ms(rtt["p95"])]


def _findings(document: Report) -> list[tuple[str, Finding]]:
    """The findings of the flows, each with its flows and direction ("2 a2b", "1 b2a and 3 others"):
    the one of the customer's sentence, the first of each flow, the second of each, and so on. One
    that several flows have with the same sentence is there once.
    """
    flows_of: dict[tuple[str, str, str], list[int]] = {}
    first: dict[tuple[str, str, str], tuple[int, Finding]] = {}
    for flow in document["flows"]:
        for place, finding in enumerate(flow["diagnosis"]):
            key = finding["direction"], finding["finding"], finding["sentence"]
            flows_of.setdefault(key, []).append(flow["flow"])
            first.setdefault(key, (place, finding))
    customer = document["summary"].get("customer")
    found = sorted(first.items(), key=lambda one: (one[0][2] != customer, one[1][0]))
    return [(f"{flows_of[key][0]} {key[0]}{_others(len(flows_of[key]) - 1)}", finding) for key, (_, finding) in found]


def _others(count: int) -> str:
    return f" and {count} other{'s' * (count > 1)}" if count else ""


def _findings_table(found: Sequence[tuple[str, Finding]], sentences: int, printed: Collection[str]) -> Table:
    """The first findings with their sentences, which are left out where they were printed before,
    and the names of the others.
    """
    table = TextBelow(title=FINDINGS, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in ("finding", "flow", "share of time", ""):
        table.add_column(column)
    for flows, finding in found[:sentences]:
        sentence = finding["sentence"] if finding["sentence"] not in printed else ""
        table.add_row(finding["finding"], flows, column_percent(finding["share"]), sentence)
    names = list(dict.fromkeys(finding["finding"] for _, finding in found[sentences:]))
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        table.caption = f"{'Also' if sentences else FINDINGS}: {', '.join(names[:MAX_NAMES])}{more}."
    return table
