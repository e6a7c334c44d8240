"""The report of an analysis: findings, figures, and charts of each flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from ackclock.analysis.clocks import format_clock, known_clocks
from ackclock.analysis.direction_view import SIDES, DirectionView, DirectionViews
from ackclock.analysis.report_tables import between_table, flows_table, handshakes_table, limits_table, udp_table
from ackclock.analysis.summary import capture_lines, connections_line, top_rows, verdict_line
from ackclock.analysis.truncation import truncations
from ackclock.format import many, percent, rate, size
from ackclock.plot import vega
from ackclock.plot.capture import end, panels
from ackclock.plot.sequence import sequence
from ackclock.report.page import Block, Cell, Chart, Column, Facts, Page, Section, Sequences, Table

if TYPE_CHECKING:
    from ackclock.analysis.run import Analysis
    from ackclock.documents.engine import AckGaps, ClockReport, Report

MAX_DRAWN = 6
"""Maximum number of directions with charts; the tables have all flows up to `MAX_LISTED`."""
MAX_LISTED = 50
_ENOUGH_BYTES = 3000
_SENDERS_OWN = ("rtt", "outstanding")
"""Panels without meaning at the receiver's end, where ACKs follow data at once."""


def page(analysis: Analysis) -> Page:
    """The page of an analysis, with charts if it has its series."""
    source = analysis.source
    document = source.part(source.worst(MAX_LISTED))
    listed = len(source.numbers)
    other = document.get("second")
    sections = _summary(document)
    sections += [
        Section("Findings", _findings(document)),
        Section("Flows", [flows_table(document)], _shown(len(document["flows"]), listed)),
        Section("Limits", [limits_table(document)]),
    ]
    if other is not None:
        sections.append(Section("Between the captures", [between_table(document)], _clock(document["clock"])))
    sections += _drawn(analysis, document)
    if udp := source.largest_udp(MAX_LISTED):
        sections.append(
            Section("UDP flows", [udp_table(udp)], "" if len(udp) < MAX_LISTED else f"The {MAX_LISTED} largest.")
        )
    if listed:
        sections.append(Section("Handshake and end", [handshakes_table(document)]))
    sections.append(Section("The capture" if other is None else "The captures", [_facts(document)]))
    name = Path(document["capture"]).name + (f" and {Path(other['capture']).name}" if other is not None else "")
    answer, because = _answer(document)
    return Page(
        title=f"Analysis of {name}",
        subtitle=f"{_in_each(document, 'packets', ' and ')} packets, "
        f"{many(listed, 'flow')}, {document['duration_s']:.1f} s",
        answer=answer,
        because=because,
        sections=sections,
        notes=[
            "Rates are over the whole flow, handshake included. The page on `analyze` of the documentation defines each figure."
        ],
        kind="analyze",
    )


def _summary(document: Report) -> list[Section]:
    """The verdict, the connections, and the hosts and ports with most bytes."""
    summary = document.get("summary")
    if not summary:
        return []
    columns = [
        Column("", room="medium"),
        *(Column(title, numeric=True) for title in ("Flows", "Bytes", "Retransmitted", "Time lost")),
    ]
    rows = [
        [
            Cell(row["name"], grouping),
            Cell(str(row["flows"])),
            Cell(size(row["bytes"])),
            Cell(str(row["retransmitted_segments"])),
            Cell(f"{row['time_lost_s']:.3f} s"),
        ]
        for grouping in ("host", "port")
        for row in top_rows(summary, grouping, "bytes")
    ]
    reading = "Time lost is that of loss recovery in both directions, and of SYNs without an answer."
    lines = [
        ("Verdict", verdict_line(summary)),
        ("For the customer", summary["customer"]),
        ("For the operator", summary["operator"]),
        ("Connections", connections_line(summary)),
    ]
    lines += [(name[0].upper() + name[1:], line) for name, line in capture_lines(document)]
    facts = Facts(lines)
    return [Section("Summary", [facts, Table(columns, rows, reading)])]


def _shown(shown: int, listed: int) -> str:
    """A sentence about flows that the tables leave out."""
    if shown == listed:
        return ""
    return f"The tables and findings are those of the {shown} worst of {listed} flows; the JSON and flows.parquet have all."


def _answer(document: Report) -> tuple[str, str]:
    """The largest direction's rate, and its main limit."""
    directions = [(flow, direction) for flow in document["flows"] for direction in SIDES]
    if not directions:
        return "There is no TCP flow in this capture.", ""
    flow, direction = max(directions, key=lambda pair: pair[0][pair[1]]["unique_bytes"])
    figures = DirectionViews(document).of(flow, direction).figures
    ends = (flow["client"], flow["server"]) if direction == "a2b" else (flow["server"], flow["client"])
    answer = (
        f"The largest transfer, {size(figures['unique_bytes'])} from {ends[0]} to {ends[1]}, ran at "
        f"{rate(figures['goodput_bps'])} for {flow['duration_s']:.1f} s."
    )
    about = [finding for finding in flow["diagnosis"] if finding["direction"] == direction]
    timed = [(share, finding) for finding in about if (share := finding["share"]) is not None]
    largest = max(timed, key=lambda one: one[0], default=None)
    lead = largest[1] if largest else next(iter(about), None)
    return answer, "" if lead is None else f"{lead['evidence']} {lead['advice']}".strip()


def _findings(document: Report) -> list[Block]:
    columns = [Column("Flow", room="ends"), Column("Share of time", numeric=True), Column("Finding", room="wide")]
    rows = [
        [
            Cell(f"{flow['flow']} {finding['direction']}", finding["finding"].replace("_", " ")),
            Cell("" if finding["share"] is None else percent(finding["share"])),
            Cell(finding["evidence"], finding["advice"]),
        ]
        for flow in document["flows"]
        for finding in flow["diagnosis"]
    ]
    if not rows:
        return [Facts([("No findings", "No direction has enough data for a diagnosis.")])]
    reading = (
        "a2b is data of the client, b2a data of the server. The share is the share of the "
        "direction's time after its first data; a finding that is not about time has none. The "
        "advice is below each finding."
    )
    return [Table(columns, rows, reading)]


def _clock(clock: ClockReport | None) -> str:
    if clock is None:
        return (
            "No constant clock offset and skew explain the packets of both directions, so delays "
            "and losses are unknown."
        )
    if finding := known_clocks(clock):
        return f"{finding[0].upper()}{finding[1:]}."
    return f"The second capture's clock is {format_clock(clock)}."


def _drawn(analysis: Analysis, document: Report) -> list[Section]:
    if not analysis.has_series:
        return []
    views = DirectionViews(document)
    directions = [views.of(flow, direction) for flow in document["flows"] for direction in SIDES]
    directions = [v for v in directions if v.figures["unique_bytes"] >= _ENOUGH_BYTES]
    largest = sorted(directions, key=lambda v: -int(v.figures["unique_bytes"]))[:MAX_DRAWN]
    series = analysis.packets({v.flow["flow"] for v in largest})
    return [_direction(analysis, series, v) for v in directions if v in largest]


def _direction(analysis: Analysis, series: pl.DataFrame, view: DirectionView) -> Section:
    """`series` has the packets of the direction's flow."""
    capture = view.capture
    number = view.flow["flow"]
    packets = series.filter((pl.col("flow") == number) & (pl.col("capture") == capture))
    sent, reverse = (
        packets.filter(pl.col("way") == view.direction),
        packets.filter(pl.col("way") != view.direction),
    )
    delays = None
    if analysis.delays is not None and view.crossing:
        delays = analysis.delays.filter((pl.col("flow") == number) & (pl.col("way") == view.direction))
    lost = set() if delays is None else set(delays.filter(pl.col("delay_ms").is_null())["time_s"].to_list())
    graph = sequence(sent, reverse, lost)
    ends = (view.flow["client"], view.flow["server"])
    ends = ends if view.direction == "a2b" else ends[::-1]
    blocks: list[Block] = [Sequences("Time-sequence graph", _sequence_reading(view), graph)]
    drawn = [p for p in panels(sent, reverse, delays) if not (view.far and p.key in _SENDERS_OWN)]
    blocks += [Chart(p.title, p.reading, vega.time_chart(p, end(drawn))) for p in drawn]
    gaps = view.figures["ack_interarrival_ms"]
    if gaps["count"] >= 20 and not view.far:
        reading = (
            "Gaps between ACKs at the capture. Many small gaps with a tail of large ones show a "
            "reverse path that transmits in bursts; bursts of ACKs release bursts of data."
        )
        blocks.append(Chart("Gaps between ACKs", reading, vega.histogram(_gap_bars(gaps), "Gap up to (ms)", "ACKs")))
    where = (
        "at the sender's end"
        if view.at_sender
        else {"unknown": "at an unknown point of the path", "middle": "in the middle of the path"}.get(
            view.place, "at the receiver's end"
        )
    )
    lead = f"Captured {where}. Hold Shift and scroll over a chart to zoom, drag to move."
    return Section(f"Flow {number}, {ends[0]} to {ends[1]}", blocks, lead)


def _sequence_reading(view: DirectionView) -> str:
    reading = (
        "A mark is a segment at its sequence number. The lower line is the acknowledged sequence "
        "number, the upper line the right edge of the receive window. The slope is the rate. "
    )
    if view.pace_seen:
        reading += (
            "The vertical distance from the data to the ACK line is the bytes in flight, the "
            "horizontal distance is the RTT. "
        )
    else:
        reading += (
            "At the receiver an ACK follows its data at once; data above the ACK line follows a "
            "segment that was lost before the capture. "
        )
    crosses = ", and crosses are packets lost between the captures" if view.crossing else ""
    return reading + (
        f"Marks with a dot are retransmissions, with a colour for each cause{crosses}. Drag over an "
        "interval to zoom, double-click to return."
    )


def _gap_bars(gaps: AckGaps) -> list[tuple[str, int]]:
    edges = [b["up_to"] for b in gaps["histogram"]]
    return [(str(b["up_to"]) if b["up_to"] is not None else f">{edges[-2]}", b["count"]) for b in gaps["histogram"]]


CaptureFigure = Literal[
    "packets", "tcp_packets", "malformed_kinds", "skipped", "bad_checksums", "cut_short", "time_backwards"
]


def _facts(document: Report) -> Facts:
    figures: tuple[tuple[str, CaptureFigure], ...] = (
        ("Packets", "packets"),
        ("TCP packets", "tcp_packets"),
        ("Malformed", "malformed_kinds"),
        ("Not TCP", "skipped"),
        ("Bad checksums", "bad_checksums"),
        ("Cut off by the capture", "cut_short"),
        ("Timestamp before the previous one", "time_backwards"),
    )
    items = [(title, _in_each(document, key, "; the second: ")) for title, key in figures]
    if cut := truncations(document):
        items.append(("Truncated", "; ".join(cut)))
    if document.get("series_left_out"):
        items.append(("Packets not plotted (too many)", str(document["series_left_out"])))
    return Facts(items)


def _in_each(document: Report, key: CaptureFigure, then: str) -> str:
    """A capture's figure or its counts by kind; of two captures both, the first one first."""
    return then.join(_listed(capture[key]) for capture in (document, document.get("second")) if capture is not None)


def _listed(figure: Mapping[str, int] | int) -> str:
    if isinstance(figure, int):
        return str(figure)
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in figure.items()) or "none"
