"""The report of an analysis: what was found, the figures behind it, and what each flow looked like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.analysis.clocks import format_clock, known_clocks
from ackclock.analysis.diagnosis.flow_context import FlowContext, flow_context, many, size
from ackclock.analysis.truncation import truncations
from ackclock.format import rate
from ackclock.plot import vega
from ackclock.plot.capture import end, panels
from ackclock.plot.sequence import sequence
from ackclock.report.capture_tables import between_table, flows_table, handshakes_table, limits_table
from ackclock.report.page import Block, Cell, Chart, Column, Facts, Page, Section, Sequences, Table

if TYPE_CHECKING:
    from ackclock.analysis.run import Analysis

MOST_DRAWN = 6
"""Directions drawn; the tables have all flows up to `MOST_LISTED`."""
MOST_LISTED = 50
_ENOUGH_BYTES = 3000
_SENDERS_OWN = ("rtt", "outstanding")
"""Panels of what is nearly nothing at the receiver's end, where ACKs leave as data comes."""


def page(done: Analysis) -> Page:
    """The page of one analysis, with plots where it has its series."""
    document = done.document
    flows = sorted(document["flows"], key=lambda flow: -int(flow["bytes"]))[:MOST_LISTED]
    flows.sort(key=lambda flow: int(flow["flow"]))
    shown = {**document, "flows": flows}
    other = document.get("second")
    sections = [
        Section("Findings", _findings(shown)),
        Section("Flows", [flows_table(shown)]),
        Section("What set the pace", [limits_table(shown)]),
    ]
    if other is not None:
        sections.append(Section("Between the captures", [between_table(shown)], _clock(document["clock"])))
    sections += _drawn(done, shown)
    if flows:
        sections.append(Section("Beginnings and ends", [handshakes_table(shown)]))
    sections.append(Section("The capture" if other is None else "The captures", [_facts(document)]))
    name = Path(document["capture"]).name + (f" and {Path(other['capture']).name}" if other is not None else "")
    answer, because = _answer(shown)
    return Page(
        title=f"What happened in {name}",
        subtitle=f"{_in_each(document, 'packets', ' and ')} packets, {many(len(document['flows']), 'flow')}, {document['duration_s']:.1f} s",
        answer=answer,
        because=because,
        sections=sections,
        notes=["Rates are over the whole flow, handshake included. docs/analyze.md says how each figure is defined."],
    )


def _answer(document: Mapping[str, Any]) -> tuple[str, str]:
    """The largest direction's rate and what held it most."""
    ways = [(flow, way) for flow in document["flows"] for way in ("a2b", "b2a")]
    if not ways:
        return "There is no TCP flow in this capture.", ""
    flow, way = max(ways, key=lambda pair: int(pair[0][pair[1]]["unique_bytes"]))
    figures = flow[way]
    ends = (flow["client"], flow["server"]) if way == "a2b" else (flow["server"], flow["client"])
    answer = (
        f"The largest transfer, {size(figures['unique_bytes'])} from {ends[0]} to {ends[1]}, ran at {rate(figures['goodput_bps'])} "
        f"for {flow['duration_s']:.1f} s."
    )
    about = [finding for finding in flow["diagnosis"] if finding["direction"] == way]
    timed = [finding for finding in about if finding["share"] is not None]
    lead = max(timed, key=lambda finding: finding["share"], default=None) or next(iter(about), None)
    return answer, "" if lead is None else f"{lead['evidence']} {lead['advice']}".strip()


def _findings(document: Mapping[str, Any]) -> list[Block]:
    columns = [Column("Flow", room="ends"), Column("Share of time", numeric=True), Column("What was found", room="wide")]
    rows = [
        [
            Cell(f"{flow['flow']} {said['direction']}", said["finding"].replace("_", " ")),
            Cell("" if said["share"] is None else f"{100 * said['share']:.0f} %"),
            Cell(said["evidence"], said["advice"]),
        ]
        for flow in document["flows"]
        for said in flow["diagnosis"]
    ]
    if not rows:
        return [Facts([("Nothing to say", "No direction carried enough data to tell what held it.")])]
    reading = (
        "a2b is the client's data, b2a the server's. The share is of the direction's time from its first data on; findings without one are "
        "about something else than time. What would help stands below each finding."
    )
    return [Table(columns, rows, reading)]


def _clock(clock: Mapping[str, Any] | None) -> str:
    if clock is None:
        return "No two steady clocks explain the packets of both directions, so delays and losses cannot be told."
    if said := known_clocks(clock):
        return f"{said[0].upper()}{said[1:]}."
    return f"The second capture's clock is {format_clock(clock)}."


def _drawn(done: Analysis, document: Mapping[str, Any]) -> list[Section]:
    if done.series is None:
        return []
    ways = [flow_context(document, flow, way) for flow in document["flows"] for way in ("a2b", "b2a")]
    ways = [v for v in ways if v.figures["unique_bytes"] >= _ENOUGH_BYTES]
    largest = sorted(ways, key=lambda v: -int(v.figures["unique_bytes"]))[:MOST_DRAWN]
    return [_direction(done, v) for v in ways if v in largest]


def _direction(done: Analysis, seen: FlowContext) -> Section:
    capture = seen.crossing.get("sender_side_capture", 1)
    number = seen.flow["flow"]
    assert done.series is not None
    packets = done.series.filter((pl.col("flow") == number) & (pl.col("capture") == capture))
    sent, back = packets.filter(pl.col("way") == seen.direction), packets.filter(pl.col("way") != seen.direction)
    delays = None
    if done.delays is not None and seen.crossing:
        delays = done.delays.filter((pl.col("flow") == number) & (pl.col("way") == seen.direction))
    lost = set() if delays is None else set(delays.filter(pl.col("delay_ms").is_null())["time_s"].to_list())
    graph = sequence(sent, back, lost)
    ends = (seen.flow["client"], seen.flow["server"])
    ends = ends if seen.direction == "a2b" else ends[::-1]
    blocks: list[Block] = [Sequences("Time and sequence", _sequence_reading(seen), graph)]
    drawn = [p for p in panels(sent, back, delays) if not (seen.far and p.key in _SENDERS_OWN)]
    blocks += [Chart(p.title, p.reading, vega.time_chart(p, end(drawn))) for p in drawn]
    gaps = seen.figures["ack_interarrival_ms"]
    if gaps["count"] >= 20 and not seen.far:
        reading = (
            "How far apart the ACKs pass the capture. Evenly spaced ACKs clock the sender evenly; a heap at the left with a tail at the right is "
            "a way back that sends in turns, and releases bunches of data."
        )
        blocks.append(Chart("Gaps between ACKs", reading, vega.histogram(_gap_bars(gaps), "Gap up to (ms)", "ACKs")))
    where = "at the sender's end" if seen.at_sender else {"unknown": "somewhere on the path", "middle": "in mid-path"}.get(
        seen.place, "at the receiver's end"
    )  # fmt: skip
    lead = f"As seen {where}. Hold Shift and scroll over a chart to look closer, drag to move."
    return Section(f"Flow {number}, {ends[0]} to {ends[1]}", blocks, lead)


def _sequence_reading(seen: FlowContext) -> str:
    reading = (
        "Each mark is a segment at its place in the stream; the line below is what has been acknowledged, the one above how far the window "
        "reaches. The steeper, the faster. "
    )
    if seen.pace_seen:
        reading += "The height between data and ACK line is what is in flight, the width is the round trip. "
    else:
        reading += "Here, where data arrives, its ACK follows at once; where data runs ahead of the ACK line, a segment below it was lost before the capture. "
    crosses = ", and crosses were lost between the captures" if seen.crossing else ""
    return reading + (
        f"Marks with a dot were sent again, their colour says why{crosses}. Drag over a piece of time to look closer, double-click to go back."
    )


def _gap_bars(gaps: Mapping[str, Any]) -> list[tuple[str, int]]:
    edges = [b["up_to"] for b in gaps["histogram"]]
    return [(str(b["up_to"]) if b["up_to"] is not None else f">{edges[-2]}", b["count"]) for b in gaps["histogram"]]


def _facts(document: Mapping[str, Any]) -> Facts:
    items = [
        (title, _in_each(document, key, "; the second: "))
        for title, key in (
            ("Packets", "packets"),
            ("TCP packets", "tcp_packets"),
            ("Malformed", "malformed_kinds"),
            ("Not TCP", "skipped"),
            ("Bad checksums", "bad_checksums"),
            ("Cut short by the capture", "cut_short"),
            ("Time went backwards", "time_backwards"),
        )
    ]
    if cut := truncations(document):
        items.append(("Truncated", "; ".join(cut)))
    if document.get("series_left_out"):
        items.append(("Packets too many to plot", str(document["series_left_out"])))
    return Facts(items)


def _in_each(document: Mapping[str, Any], key: str, then: str) -> str:
    """A capture's figure or its kinds; of two captures both, the first one first."""
    return then.join(_listed(capture[key]) for capture in (document, document.get("second")) if capture is not None)


def _listed(figure: Mapping[str, int] | int) -> str:
    if isinstance(figure, int):
        return str(figure)
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in figure.items()) or "none"
