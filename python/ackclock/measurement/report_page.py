"""The report of a measurement: a summary of the path, then each test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ackclock.documents.parts import DIRECTIONS, OPPOSITE
from ackclock.format import percent, rate
from ackclock.format import size as size_text
from ackclock.measurement.queue_sentences import sentences
from ackclock.measurement.terminal_tables import (
    added_delays,
    answer,
    beside_rows,
    delay_cells,
    loss,
    ms,
    notes,
    path_cells,
    queue_cells,
    queue_words,
    rpm_text,
    spread,
    transfer_cells,
)
from ackclock.measurement.timeline import timeline
from ackclock.plot import vega
from ackclock.plot.theme import MAX_LINES
from ackclock.plot.time_series import POINTS, Line, Panel
from ackclock.report.page import Block, Cell, Chart, Column, Facts, Listing, Page, Section, Table
from ackclock.statistics.summary_stats import stats_of

if TYPE_CHECKING:
    from ackclock.documents.measure import Measurement as MeasurementDocument
    from ackclock.measurement.result import Measurement

NO_BREAK = "\u2011"
"""A non-breaking hyphen."""


def page(completed: Measurement) -> Page:
    """The page of a measurement."""
    document = completed.document
    drawn = timeline(completed)
    sections = [
        Section("Over time", [drawn] if drawn else []),
        Section("Path", _blocks(_path(document))),
        Section("Delay", _blocks(_delay(document), _delay_charts(completed, "delay"))),
        Section("Capacity and buffer", _blocks(_capacity(document), _delay_charts(completed, "capacity"))),
        Section("Below the capacity", _blocks(_steps(document))),
        Section("TCP", _blocks(_flows(document), _flow_charts(completed))),
        Section("One direction beside the other", _blocks(_bidirectional(document), _beside_charts(completed))),
        Section("Latency under load", _blocks(_latency(document))),
        Section("Transfers", _blocks(_transfers(document))),
        Section("The measurement", [_facts(document), Listing("Document", json.dumps(document, indent=2))]),
    ]
    labels = (f"{name} = {value}" for name, value in document.get("labels", {}).items())
    return Page(
        title=f"The path to {document['host']}",
        subtitle=", ".join((document["started"], f"{document['seconds']:.0f} s", *labels)),
        answer=answer(document),
        because=_because(document),
        sections=[section for section in sections if section.blocks],
        notes=[
            "down is from the server to the client. Every figure includes the effect of other traffic on the path at "
            "the time."
        ],
        kind="measure",
    )


def _blocks(table: Table, charts: Iterator[Chart] | None = None) -> list[Block]:
    return [*([table] if table.rows else []), *(charts or ())]


def _because(document: MeasurementDocument) -> str:
    parts = []
    found = [s for d, figures in document["capacity"].items() for s in sentences(d, figures["queue"])]
    found = [*notes(document), *found]
    for direction, figures in document["latency_under_load"].items():
        if rpm := figures["responsiveness"]:
            parts.append(f"a full path {direction} has {rpm_text(rpm)} RTTs per minute")
    for direction, shaping in document["shaping"].items():
        if shaping["verdict"] == "TCP is shaped, UDP is not":
            share = f"{rate(shaping['tcp_bps'])} of {rate(shaping['udp_bps'])}"
            parts.append(f"{direction}, TCP is shaped and UDP is not: concurrent connections got {share}")
    text = "; ".join(parts)
    return " ".join([*found, *([f"{text[:1].upper()}{text[1:]}."] if text else [])])


def _columns(words: str, figures: str) -> list[Column]:
    named = [Column(word, room="medium" if word == "Test" else "") for word in words.split(",")]
    return named + [Column(name, numeric=True) for name in figures.split(",")]


def _table(words: str, figures: str, rows: list[list[str]], reading: str) -> Table:
    return Table(_columns(words, figures), [[Cell(text) for text in row] for row in rows], reading)


def _path(document: MeasurementDocument) -> Table:
    rows = [[str(hop["hop"]), *path_cells(hop), hop["capacity"]["why"]] for hop in document.get("path") or ()]
    reading = (
        "TTL-limited probes of different sizes to each hop. The minimum RTT grows with the size by "
        "the transmission time on every link, so the difference of two hops' slopes gives the "
        "capacity of the link between them. Frames, grants and token buckets violate this model; "
        "the capacity is then omitted."
    )
    return _table("Hop,Address", "RTT min (ms),p50,Lost,Capacity,95 % interval,Why", rows, reading)


def _delay(document: MeasurementDocument) -> Table:
    rows = [[direction, *delay_cells(figures)] for direction, figures in (document["delay"] or {}).items()]
    reading = (
        "20 bytes every 40 ms. Variation is exact to the clocks' resolution. Two-way traffic "
        "bounds the minimum delay of one direction; the next column assumes equal minimum delays "
        "of both directions."
    )
    columns = "Minimum between (ms),If symmetric (ms),Variation p50 (ms),p95 (ms),max (ms),Lost"
    return _table("Direction", columns, rows, reading)


def _capacity(document: MeasurementDocument) -> Table:
    rows = []
    for direction, result in document["capacity"].items():
        minimum = "at least " if result["at_least"] else ""
        median, p99 = stats_of(result["sent"]["sent_gap_us"], "p50", "p99")
        actual = "-" if median is None or p99 is None else f"{median:.0f} .. {p99:.0f}"
        rows.append(
            [
                direction,
                *queue_words(result["queue"]),
                minimum + rate(result["rate_bps"]),
                spread(result["queue"]["rate"]),
                rate(result["sent"]["sent_bps"]),
                f"{result['sent']['asked_gap_us']:.0f}, {actual}",
                *queue_cells(result["queue"]),
                loss(result["sent"]),
            ]
        )
    reading = (
        "Evenly paced UDP above the path's rate. The capacity is the IP rate that the link carries "
        "while a queue stands, with the datagrams lost after the queue, and its 5th and 95th "
        "percentile in windows of a second. A buffer is stated only for a droptail queue that "
        "overflowed. Otherwise, the queueing delays are those that TCP meets and those of a stream "
        "that does not yield. Gaps between two datagrams: the requested one, and the median and the "
        "99th percentile of the actual ones."
    )
    columns = "Capacity,Windows of 1 s p5 .. p95,Sent,Gap (µs),Buffer (KB),Queue of TCP (ms),of the stream (ms),Lost"
    return _table("Direction,Queue,Losses", columns, rows, reading)


def _steps(document: MeasurementDocument) -> Table:
    rows = [
        [
            figures["direction"],
            "-" if figures["share"] is None else percent(figures["share"]),
            rate(figures["sent_bps"]),
            rate(figures["received_bps"]),
            *map(ms, stats_of(figures["delay_variation_ms"], "p50", "p95")),
            loss(figures),
        ]
        for figures in document["steps"]
    ]
    reading = (
        "Evenly paced UDP at shares of the capacity or at given rates. Below the capacity, losses "
        "are not due to a full queue. "
        "Intervals are 95 %, wider for bursty losses."
    )
    return _table("Direction", "Share,Sent,Received,Variation p50 (ms),p95 (ms),Lost", rows, reading)


def _flows(document: MeasurementDocument) -> Table:
    rows = []
    for flow in document["flows"]:
        sender, receiver = flow["given"]["sender"], flow["given"]["receiver"]
        buffers = [sender and sender["send_buffer"], receiver and receiver["receive_buffer"]]
        rows.append(
            [
                flow["flow"].replace("-", NO_BREAK),
                flow["failed"] or flow["label"],
                flow["variant"] or "-",
                rate(flow["goodput_bps"]),
                *map(ms, stats_of(flow["rtt_ms"], "min", "mean", "p95")),
                percent(flow["retransmission_rate"]),
                flow["asked"]["buffer"],
                *("-" if size is None else f"{size / 1024:.0f}" for size in buffers),
            ]
        )
    reading = (
        "Goodput is the rate of received payload over the whole time, handshake included. RTTs are "
        "the sender's SRTT. Buffers are the kernel's values: twice a requested size, or autotuned."
    )
    figures = "Goodput,RTT min (ms),mean,p95,Retransmitted,Requested buffer,Send (KiB),Receive (KiB)"
    return _table("Flow,Test,Variant", figures, rows, reading)


def _bidirectional(document: MeasurementDocument) -> Table:
    rows = [[name, *cells] for pair in document.get("bidirectional", ()) for name, cells in beside_rows(pair)]
    reading = (
        "The second transfer starts an offset after the first one and ends as much before it. "
        "Goodput is by the receiver's bytes at the ends of each phase, RTT the median of the sender's SRTT."
    )
    figures = "Goodput before,during,after,RTT p50 before (ms),during,after"
    return _table("Transfer", figures, rows, reading)


def _beside_charts(completed: Measurement) -> Iterator[Chart]:
    """Goodput over time of each pair, in windows of a twentieth of its duration, at least 0.2 s."""
    for pair in completed.document.get("bidirectional", ()):
        lines = []
        both = completed.series.filter(pl.col("test").is_in([pair["test"], pair["test"] + 1]) & ~pl.col("sends"))
        start = both["time_s"].min()
        for test, direction in ((pair["test"], pair["first"]), (pair["test"] + 1, None)):
            rows = both.filter(pl.col("test") == test).drop_nulls("bytes").sort("time_s")
            if rows.height < 2 or start is None:
                continue
            first, last = rows["time_s"][0], rows["time_s"][-1]
            times = np.arange(first, last, max(0.2, (last - first) / 20))
            steps = np.diff(np.interp(times, rows["time_s"], rows["bytes"])) * 8e-6 / np.diff(times)
            name = direction or (OPPOSITE[pair["first"]])
            lines.append(Line(name, (times[1:] - start).tolist(), steps.tolist()))
        if lines:
            reading = "Payload that the receiver read."
            yield Chart(
                "Goodput of both directions",
                reading,
                vega.time_chart(Panel("goodput", "Goodput", "Mb/s", reading, tuple(lines))),
            )


def _latency(document: MeasurementDocument) -> Table:
    rows = []
    for direction, figures in document["latency_under_load"].items():
        probes = (figures["handshake_ms"], figures["exchange_ms"], figures["on_load_ms"])
        times = [*(stats_of(probe, "p50")[0] for probe in probes), *added_delays(figures)]
        goodput, rpm = rate(figures["load"]["goodput_bps"]), rpm_text(figures["responsiveness"])
        rows.append([direction, goodput, rpm, *map(ms, times)])
    reading = (
        "While TCP fills the path in one direction: a handshake and a one-byte exchange on new "
        "connections, RTTs on the connections of the load, and the delay that is added to "
        "datagrams in each direction. RTTs per minute as in draft-ietf-ippm-responsiveness-08, "
        "without TLS and HTTP."
    )
    columns = "Goodput,RTTs/min,Handshake p50 (ms),Exchange p50,On load p50,Added down p95,Added up p95"
    return _table("Load", columns, rows, reading)


def _transfers(document: MeasurementDocument) -> Table:
    rows = [[figures["direction"], figures["size"], *transfer_cells(figures)] for figures in document["transfers"]]
    reading = "From the first SYN to the last byte's arrival."
    return _table("Direction,Size", "Completed,Time p50 (ms),min,max,Handshake p50", rows, reading)


def _delay_charts(completed: Measurement, kind: str) -> Iterator[Chart]:
    """Delays over time of the delay test, or of the last run of each direction's capacity test."""
    document = completed.document
    numbers = [
        figures["test"] for figures in document["tests"] if figures["kind"] == kind and figures.get("shown", True)
    ]
    lines = []
    for number in numbers:
        for direction in DIRECTIONS:
            rows = completed.delays.filter((pl.col("test") == number) & (pl.col("direction") == direction)).drop_nulls()
            if rows.height and (kind == "delay" or direction == _direction_of(document, number)):
                start = rows["sent_s"].min()
                base = rows["delay_ms"].min()
                thin = rows.gather_every(max(1, rows.height // POINTS))
                times, values = (thin["sent_s"] - start).to_list(), (thin["delay_ms"] - base).to_list()
                lines.append(Line(direction, times, values))
    if lines:
        reading = "Delay above the minimum of its direction: queueing delay."
        yield Chart(
            "Queueing delay",
            reading,
            vega.time_chart(Panel("delay", "Queueing delay", "ms", reading, tuple(lines[:MAX_LINES]))),
        )


def _direction_of(document: MeasurementDocument, number: int) -> str | None:
    return next((str(figures["way"]) for figures in document["tests"] if figures["test"] == number), None)


def _flow_charts(completed: Measurement) -> Iterator[Chart]:
    """Window and RTT of the single bulk transfers."""
    flows = [flow for flow in completed.document["flows"] if flow["purpose"] == "tcp"][:MAX_LINES]
    panels = (("Congestion window", "KiB", "cwnd_bytes", 1 / 1024), ("RTT", "ms", "srtt_ms", 1.0))
    for title, unit, column, scale in panels:
        lines = []
        for flow in flows:
            rows = completed.series.filter((pl.col("flow") == flow["flow"]) & pl.col("sends")).drop_nulls(column)
            if rows.height:
                thin = rows.gather_every(max(1, rows.height // POINTS))
                start = thin["time_s"][0]
                lines.append(Line(flow["label"], (thin["time_s"] - start).to_list(), (thin[column] * scale).to_list()))
        if lines:
            reading = "From the sender's kernel."
            yield Chart(title, reading, vega.time_chart(Panel(column, title, unit, reading, tuple(lines))))


def _facts(document: MeasurementDocument) -> Facts:
    clock, far = document["clock"], document["far_end"]
    items = []
    if far:
        items.append(("Server", f"{document['address']}, ackclock {far['version']}, {far['system']}"))
        items.append(("The server's congestion controls", ", ".join(far["congestion"])))
    items.append(("Datagrams that the system did not send", str(document["unsent_datagrams"])))
    if size := document.get("bytes"):
        items.append(("Bytes on the path", f"{size_text(size['used'])} of at most {size_text(size['max'])}"))
    if clock:
        low, high = clock["offset_interval_ms"]
        steered = "; both clocks are disciplined, which narrows it" if clock["steered"] else ""
        items.append(("The server's clock is ahead by", f"{low:.3f} to {high:.3f} ms{steered}"))
        items.append(("The server's clock is fast by", f"{clock['skew_ppm']:.1f} ppm"))
    return Facts(items)
