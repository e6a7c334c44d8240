"""The report of a measurement: what the path does, then how each test went."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.format import milliseconds, percent, rate
from ackclock.measurement.terminal_tables import DIRECTIONS, delay_cells, loss, ms, path_cells
from ackclock.plot import vega
from ackclock.plot.theme import MOST_LINES
from ackclock.plot.time_series import POINTS, Line, Panel
from ackclock.report.page import Block, Cell, Chart, Column, Facts, Listing, Page, Section, Table

if TYPE_CHECKING:
    from ackclock.measurement.result import Measurement

Document = Mapping[str, Any]
NO_BREAK = "\u2011"
"""A hyphen at which no line ends."""


def page(done: Measurement) -> Page:
    """The page of one measurement."""
    document = done.document
    sections = [
        Section("Path", _blocks(_path(document))),
        Section("Delay", _blocks(_delay(document), _delay_charts(done, "delay"))),
        Section("Capacity and buffer", _blocks(_capacity(document), _delay_charts(done, "capacity"))),
        Section("Below the capacity", _blocks(_steps(document))),
        Section("TCP", _blocks(_flows(document), _flow_charts(done))),
        Section("Latency under load", _blocks(_latency(document))),
        Section("Transfers", _blocks(_transfers(document))),
        Section("The measurement", [_facts(document), Listing("Document", json.dumps(document, indent=2))]),
    ]
    return Page(
        title=f"The path to {document['host']}",
        subtitle=f"{document['started']}, {document['seconds']:.0f} s",
        answer=_answer(document),
        because=_because(document),
        sections=[section for section in sections if section.blocks],
        notes=["down is from the far end to here. Every figure is of this path at this time; other traffic on it is part of it."],
    )


def _blocks(table: Table, charts: Iterator[Chart] | None = None) -> list[Block]:
    return [*([table] if table.rows else []), *(charts or ())]


def _answer(document: Document) -> str:
    found = {way: seen for way, seen in document["capacity"].items() if seen["rate_bps"]}
    if found:
        said = " and ".join(f"{'at least ' * seen['at_least']}{rate(seen['rate_bps'])} {way}" for way, seen in found.items())
        return f"The path carries {said}."
    flows = [flow for flow in document["flows"] if flow["goodput_bps"]]
    if flows:
        best = max(flows, key=lambda flow: float(flow["goodput_bps"]))
        return f"One TCP flow got at most {rate(best['goodput_bps'])} ({best['label']})."
    return "Delays were measured." if document["delay"] else "What was measured stands below."


def _because(document: Document) -> str:
    said = []
    for way, seen in document["capacity"].items():
        most = seen["buffer_bytes"]["max_based"]
        if most and seen["overflowed"] and seen["rate_bps"]:
            time = 8e3 * most / seen["rate_bps"]
            said.append(f"the buffer {way} holds {most / 1000:.0f} kB, which is {milliseconds(time)} of queue")
    for way, seen in document["latency_under_load"].items():
        if rpm := seen["responsiveness"]:
            said.append(f"a full path {way} leaves {rpm['rpm']:.0f} round trips a minute")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _columns(words: str, figures: str) -> list[Column]:
    return [Column(word) for word in words.split(",")] + [Column(name, numeric=True) for name in figures.split(",")]


def _table(words: str, figures: str, rows: list[list[str]], reading: str) -> Table:
    return Table(_columns(words, figures), [[Cell(text) for text in row] for row in rows], reading)


def _path(document: Document) -> Table:
    rows = [[str(hop["hop"]), *path_cells(hop), hop["capacity"]["why"]] for hop in document.get("path") or ()]
    reading = (
        "Probes of stepped sizes whose hop limit ends at each hop in turn. The least round trip rises with size by what every link on the way needs for a bit, so the "
        "difference of two hops' slopes is the link between them. Frames, grants and token buckets break that: then no capacity is given."
    )
    return _table("Hop,Address", "RTT min (ms),p50,Lost,Capacity,95 % interval,Why", rows, reading)


def _delay(document: Document) -> Table:
    rows = [[way, *delay_cells(seen)] for way, seen in (document["delay"] or {}).items()]
    reading = (
        "20 bytes every 40 ms. Variation is exact to the clocks' resolution. The least delay of one way cannot be told from two-way traffic: it lies between the "
        "bounds, and is the next column's value if both ways are equal, which is an assumption."
    )
    return _table("Way", "Least between (ms),If ways are equal (ms),Variation p50 (ms),p95 (ms),max (ms),Lost", rows, reading)


def _capacity(document: Document) -> Table:
    rows = []
    for way, seen in document["capacity"].items():
        size = seen["buffer_bytes"]
        gaps = seen["sent"]["sent_gap_us"] or {}
        least = "at least " if seen["at_least"] else ""
        sizes = ["-" if size[key] is None else f"{size[key] / 1000:.1f}" for key in ("min_based", "max_based")]
        spacing = f"{gaps['p50']:.0f} ({gaps['p99']:.0f})" if gaps else "-"
        asked = f"{seen['sent']['asked_gap_us']:.0f}"
        rows.append(
            [way, least + rate(seen["rate_bps"]), rate(seen["sent"]["sent_bps"]), asked, spacing, *sizes, loss(seen["sent"])]
        )
    reading = (
        "Evenly paced UDP faster than the path. The capacity is what came through while a queue stood, in IP bits. The buffer is the queueing delay at an overflow times that "
        "rate: by the least delay next to a loss, and by the greatest delay."
    )
    figures = "Capacity,Sent,Asked gap (us),Real gap p50 (p99),Buffer by min (kB),by max (kB),Lost"
    return _table("Way", figures, rows, reading)


def _steps(document: Document) -> Table:
    rows = []
    for seen in document["steps"]:
        more = seen["delay_variation_ms"] or {}
        rows.append(
            [
                seen["direction"],
                percent(seen["share"]),
                rate(seen["sent_bps"]),
                rate(seen["received_bps"]),
                ms(more.get("p50")),
                ms(more.get("p95")),
                loss(seen),
            ]
        )
    reading = "Evenly paced UDP at shares of the capacity. What is lost here is not lost to a full queue. Intervals are 95 %, wider where losses come in bursts."
    return _table("Way", "Share,Sent,Received,Variation p50 (ms),p95 (ms),Lost", rows, reading)


def _flows(document: Document) -> Table:
    rows = []
    for flow in document["flows"]:
        rtt, given = flow["rtt_ms"] or {}, flow["given"]
        buffers = [(given[end] or {}).get(key) for end, key in (("sender", "send_buffer"), ("receiver", "receive_buffer"))]
        rows.append(
            [
                flow["flow"].replace("-", NO_BREAK),
                flow["failed"] or flow["label"],
                flow["variant"] or "-",
                rate(flow["goodput_bps"]),
                *(ms(rtt.get(key)) for key in ("min", "mean", "p95")),
                percent(flow["retransmission_rate"]),
                flow["asked"]["buffer"],
                *("-" if size is None else f"{size / 1024:.0f}" for size in buffers),
            ]
        )
    reading = (
        "Goodput is what the receiving program got, over the whole time, handshake included. Round trips are the sender's smoothed ones. Buffers are as the "
        "kernel says them; it doubles what it is asked for, for its own book-keeping, and tunes them where they are auto."
    )
    figures = "Goodput,RTT min (ms),mean,p95,Re-sent,Asked buffer,Send (KiB),Receive (KiB)"
    return _table("Flow,Test,Variant", figures, rows, reading)


def _latency(document: Document) -> Table:
    rows = []
    for way, seen in document["latency_under_load"].items():
        rpm = seen["responsiveness"]
        trips = [(seen[key] or {}).get("p50") for key in ("handshake_ms", "exchange_ms", "on_load_ms")]
        more = [((seen["delay"].get(w) or {}).get("delay_variation_ms") or {}).get("p95") for w in DIRECTIONS]
        rows.append(
            [way, rate(seen["load"]["goodput_bps"]), "-" if rpm is None else f"{rpm['rpm']:.0f}", *map(ms, [*trips, *more])]
        )
    reading = (
        "While TCP fills the path one way: a handshake and a one-byte exchange on new connections, round trips on the connections that make the load, and the "
        "delay that is added to datagrams each way. Round trips a minute as in draft-ietf-ippm-responsiveness, without TLS and HTTP."
    )
    return _table(
        "Load", "Goodput,Round trips/min,Handshake p50 (ms),Exchange p50,On load p50,Added down p95,Added up p95", rows, reading
    )


def _transfers(document: Document) -> Table:
    rows = []
    for seen in document["transfers"]:
        times, hands = seen["completion_ms"] or {}, seen["handshake_ms"] or {}
        done = f"{seen['completed']} of {seen['completed'] + seen['failed']}"
        rows.append(
            [seen["direction"], seen["size"], done, *(ms(times.get(k)) for k in ("p50", "min", "max")), ms(hands.get("p50"))]
        )
    return _table(
        "Way,Size", "Completed,Time p50 (ms),min,max,Handshake p50", rows, "From the first SYN to the last byte's arrival."
    )


def _delay_charts(done: Measurement, kind: str) -> Iterator[Chart]:
    """Delays over time of the delay test, or of the last run of each way's capacity test."""
    document = done.document
    numbers = [seen["test"] for seen in document["tests"] if seen["kind"] == kind and seen.get("shown", True)]
    lines = []
    for number in numbers:
        for way in DIRECTIONS:
            rows = done.delays.filter((pl.col("test") == number) & (pl.col("direction") == way)).drop_nulls()
            if rows.height and (kind == "delay" or way == _way_of(document, number)):
                start = rows["sent_s"].min()
                base = rows["delay_ms"].min()
                thin = rows.gather_every(max(1, rows.height // POINTS))
                times, values = (thin["sent_s"] - start).to_list(), (thin["delay_ms"] - base).to_list()
                lines.append(Line(way, times, values))
    if lines:
        reading = "Delay above the least of its way: time in queues. Zero is the path itself."
        yield Chart(
            "Queueing delay",
            reading,
            vega.time_chart(Panel("delay", "Queueing delay", "ms", reading, tuple(lines[:MOST_LINES]))),
        )


def _way_of(document: Document, number: int) -> str | None:
    return next((str(seen["way"]) for seen in document["tests"] if seen["test"] == number), None)


def _flow_charts(done: Measurement) -> Iterator[Chart]:
    """Window and round trips of the single bulk transfers."""
    flows = [flow for flow in done.document["flows"] if flow["purpose"] == "tcp"][:MOST_LINES]
    panels = (("Congestion window", "KiB", "cwnd_bytes", 1 / 1024), ("Round-trip time", "ms", "srtt_ms", 1.0))
    for title, unit, column, scale in panels:
        lines = []
        for flow in flows:
            rows = done.series.filter((pl.col("flow") == flow["flow"]) & pl.col("sends")).drop_nulls(column)
            if rows.height:
                thin = rows.gather_every(max(1, rows.height // POINTS))
                start = thin["time_s"][0]
                lines.append(Line(flow["label"], (thin["time_s"] - start).to_list(), (thin[column] * scale).to_list()))
        if lines:
            reading = "As the sender's kernel has it."
            yield Chart(title, reading, vega.time_chart(Panel(column, title, unit, reading, tuple(lines))))


def _facts(document: Document) -> Facts:
    clock, far = document["clock"], document["far_end"]
    items = []
    if far:
        items.append(("Far end", f"{document['address']}, ackclock {far['version']}, {far['system']}"))
        items.append(("Congestion controls there", ", ".join(far["congestion"])))
    items += [
        ("Datagrams that a system would not send", str(document["unsent_datagrams"])),
    ]
    if clock:
        low, high = clock["offset_interval_ms"]
        steered = "; both ends' clocks are steered, which narrows it" if clock["steered"] else ""
        items.append(("The far end's clock is ahead by", f"{low:.3f} to {high:.3f} ms{steered}"))
        items.append(("It runs fast by", f"{clock['skew_ppm']:.1f} ppm"))
    return Facts(items)
