"""A measurement as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ackclock.format import column_percent, rate, rate_range, three
from ackclock.terminal import text_table

DIRECTIONS = ("down", "up")


def ms(value: float | None) -> str:
    """Milliseconds with three significant digits."""
    return "-" if value is None else three(value)


def measurement_tables(document: Mapping[str, Any]) -> list[Table]:
    """A table for each kind of test."""
    tables = [
        _path(document),
        _delay(document),
        _capacity(document),
        _steps(document),
        _flows(document),
        _bidirectional(document),
        _latency(document),
        _transfers(document),
    ]
    return [table for table in tables if table.row_count]


def _path(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "Path, by TTL-limited probes",
        ("hop", "address"),
        ("RTT ms\nmin", "\np50", "lost", "capacity", "95 %\ninterval"),
    )
    for hop in document.get("path") or ():
        table.add_row(str(hop["hop"]), *path_cells(hop))
    return table


def path_cells(hop: Mapping[str, Any]) -> list[str]:
    """Address, RTT, loss, and the capacity of the link before the hop with its interval, or the
    reason of its absence.
    """
    document = hop["capacity"]
    interval = (
        f"{rate(document['lo'])} .. {rate(document['hi']) if document['hi'] else 'any'}" if document["lo"] else "-"
    )
    capacity = rate(document["bps"]) if document["valid"] else "-"
    return [
        ", ".join(hop["addresses"]),
        *(ms(hop["rtt_ms"][key]) for key in ("min", "p50")),
        column_percent(hop["loss_rate"]),
        capacity,
        interval if document["valid"] else "not valid",
    ]


def _delay(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "One-way delay, 20 bytes every 40 ms",
        ("direction",),
        ("minimum ms\nbetween", "\nif symmetric", "variation ms\np50", "\np95", "\nmax", "lost"),
    )
    for direction, figures in (document["delay"] or {}).items():
        table.add_row(direction, *delay_cells(figures))
    return table


def delay_cells(figures: Mapping[str, Any]) -> list[str]:
    """Bounds of the minimum delay, its value for symmetric delays, delay variation, loss."""
    bounds, delays, variation = (
        figures["least_delay_interval_ms"],
        figures["one_way_delay_ms"],
        figures["delay_variation_ms"],
    )
    between = "-" if bounds is None else f"{ms(max(0.0, bounds[0]))} .. {ms(bounds[1])}"
    minimum = "-" if delays is None else ms(delays["min"])
    cells = ["-"] * 3 if variation is None else [ms(variation[key]) for key in ("p50", "p95", "max")]
    return [between, minimum, *cells, loss(figures)]


def loss(figures: Mapping[str, Any]) -> str:
    """A loss rate with its interval."""
    share = figures["loss"]
    return (
        "-"
        if share is None
        else f"{column_percent(share['rate'])} ({column_percent(share['lo'])} .. {column_percent(share['hi'])})"
    )


def _capacity(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "Capacity and queue, by evenly paced UDP",
        ("direction", "queue", "losses"),
        ("capacity", "windows of 1 s\np5 .. p95", "sent", "buffer\nkB", "queue ms\nof TCP", "\nof stream"),
    )
    for direction, figures in document["capacity"].items():
        minimum = ">= " if figures["at_least"] else ""
        table.add_row(
            direction,
            *queue_words(figures["queue"]),
            minimum + rate(figures["rate_bps"]),
            spread(figures["queue"]["rate"]),
            rate(figures["sent"]["sent_bps"]),
            *queue_cells(figures["queue"]),
        )
    return table


def queue_words(queue: Mapping[str, Any]) -> tuple[str, str]:
    """Kind of the queue, origin of the losses."""
    return queue["kind"], queue["losses"]


def spread(found: Mapping[str, Any] | None) -> str:
    """The 5th and 95th percentile of a rate."""
    return "-" if found is None else rate_range(found["p5_bps"], found["p95_bps"])


def queue_cells(queue: Mapping[str, Any]) -> list[str]:
    """Buffer in kB if it overflowed, queueing delays of TCP and of a stream that does not yield."""
    size, stream = queue["buffer_bytes"], ms(queue["stream_queue_ms"])
    return [
        "-" if size is None else f"{size / 1e3:.1f}",
        ms(queue["tcp_queue_ms"]),
        f">= {stream}" if queue["stream_grows"] else stream,
    ]


def _steps(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "Evenly paced UDP at given rates",
        ("direction", "share of\nthe capacity"),
        ("sent", "received", "variation ms\np95", "lost"),
    )
    for figures in document["steps"]:
        variation = figures["delay_variation_ms"]
        p95 = "-" if variation is None else ms(variation["p95"])
        table.add_row(
            figures["direction"],
            "-" if figures["share"] is None else column_percent(figures["share"]),
            rate(figures["sent_bps"]),
            rate(figures["received_bps"]),
            p95,
            loss(figures),
        )
    return table


def _flows(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "TCP",
        ("test", "variant", "direction"),
        ("goodput", "RTT ms\nmin", "\nmean", "\np95", "retrans-\nmitted", "send\nbuffer", "receive\nbuffer"),
    )
    for flow in document["flows"]:
        rtt = flow["rtt_ms"] or {}
        given = [
            (flow["given"][end] or {}).get(key)
            for end, key in (("sender", "send_buffer"), ("receiver", "receive_buffer"))
        ]
        table.add_row(
            flow["failed"] or flow["label"],
            flow["variant"] or "-",
            flow["direction"],
            rate(flow["goodput_bps"]),
            *(ms(rtt.get(key)) for key in ("min", "mean", "p95")),
            column_percent(flow["retransmission_rate"]),
            *("-" if size is None else str(size) for size in given),
        )
    return table


def _bidirectional(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "A transfer before, during and after one of the opposite direction",
        ("transfer",),
        ("goodput\nbefore", "\nduring", "\nafter", "RTT p50 ms\nbefore", "\nduring", "\nafter"),
    )
    for pair in document.get("bidirectional", ()):
        for name, cells in beside_rows(pair):
            table.add_row(name, *cells)
    return table


def beside_rows(pair: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Name, goodputs and RTTs of the phases of both transfers of a pair."""
    second = "up" if pair["first"] == "down" else "down"
    rows = []
    for name, key in ((pair["first"], "first"), (f"{second}, {pair['offset_s']:g} s later", "second")):
        phases = [pair[phase][key] or {} for phase in ("before", "during", "after")]
        cells = ["-" if p.get("goodput_bps") is None else rate(p["goodput_bps"]) for p in phases]
        rows.append((name, [*cells, *(ms(p.get("rtt_p50_ms")) for p in phases)]))
    return rows


def _latency(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "Latency while TCP fills the path",
        ("load",),
        ("goodput", "RTTs/min", "handshake ms\np50", "on load ms\np50", "added ms\ndown p95", "\nup p95"),
    )
    for direction, figures in document["latency_under_load"].items():
        rpm = figures["responsiveness"]
        trips = [(figures[key] or {}).get("p50") for key in ("handshake_ms", "on_load_ms")]
        variation = [((figures["delay"].get(w) or {}).get("delay_variation_ms") or {}).get("p95") for w in DIRECTIONS]
        table.add_row(
            direction,
            rate(figures["load"]["goodput_bps"]),
            rpm_text(rpm),
            *map(ms, [*trips, *variation]),
        )
    return table


def rpm_text(found: Mapping[str, Any] | None) -> str:
    """RTTs per minute, with their interval if there are enough probes."""
    if found is None:
        return "-"
    between = "" if found["lo"] is None else f" ({found['lo']:.0f} .. {found['hi']:.0f})"
    return f"{found['rpm']:.0f}{between}"


def _transfers(document: Mapping[str, Any]) -> Table:
    table = text_table(
        "Transfers in sequence",
        ("size", "direction"),
        ("completed", "time ms\np50", "\nmin", "\nmax", "handshake ms\np50"),
    )
    for figures in document["transfers"]:
        times, handshakes = figures["completion_ms"] or {}, figures["handshake_ms"] or {}
        done = f"{figures['completed']} of {figures['completed'] + figures['failed']}"
        table.add_row(
            figures["size"],
            figures["direction"],
            done,
            *(ms(times.get(k)) for k in ("p50", "min", "max")),
            ms(handshakes.get("p50")),
        )
    return table


def stamp_table(document: Mapping[str, Any]) -> Table:
    """The result of STAMP probes: a row for the RTT and one for each direction."""
    mode = "authenticated" if document["authenticated"] else "unauthenticated"
    title = f"STAMP, {mode}: {document['received']} of {document['sent']} probes answered"
    table = text_table(title, ("what",), ("ms\nmin", "\np50", "\np95", "\nmax"))
    trip = document["round_trip_ms"] or {}
    table.add_row("RTT", *(ms(trip.get(key)) for key in ("min", "p50", "p95", "max")))
    for figures in document["ways"]:
        variation, bounds = figures["delay_variation_ms"] or {}, figures["least_delay_interval_ms"]
        minimum = "-" if bounds is None else f"{ms(max(0.0, bounds[0]))} .. {ms(bounds[1])}"
        table.add_row(
            f"{figures['direction']}, above its minimum",
            minimum,
            *(ms(variation.get(key)) for key in ("p50", "p95", "max")),
        )
    return table
