"""A measurement as tables for people at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from ackclock.format import column_percent, rate, three

DIRECTIONS = ("down", "up")


def _table(title: str, words: tuple[str, ...], figures: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for word in words:
        table.add_column(word)
    for figure in figures:
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def ms(value: float | None) -> str:
    """Milliseconds to three digits."""
    return "-" if value is None else three(value)


def measurement_tables(document: Mapping[str, Any]) -> list[Table]:
    """What was measured, a table for each kind of test."""
    made = [
        _path(document),
        _delay(document),
        _capacity(document),
        _steps(document),
        _flows(document),
        _latency(document),
        _transfers(document),
    ]
    return [table for table in made if table.row_count]


def _path(document: Mapping[str, Any]) -> Table:
    table = _table(
        "Path, by probes that expire on the way", ("hop", "address"), ("RTT ms min", "p50", "lost", "capacity", "95 % interval")
    )
    for hop in document.get("path") or ():
        table.add_row(str(hop["hop"]), *path_cells(hop))
    return table


def path_cells(hop: Mapping[str, Any]) -> list[str]:
    """Address, round trips, loss, and the capacity of the link before it with its interval, or why there is none."""
    found = hop["capacity"]
    interval = f"{rate(found['lo'])} .. {rate(found['hi']) if found['hi'] else 'any'}" if found["lo"] else "-"
    capacity = rate(found["bps"]) if found["valid"] else "-"
    return [
        ", ".join(hop["addresses"]),
        *(ms(hop["rtt_ms"][key]) for key in ("min", "p50")),
        column_percent(hop["loss_rate"]),
        capacity,
        interval if found["valid"] else "not valid",
    ]


def _delay(document: Mapping[str, Any]) -> Table:
    table = _table(
        "One-way delay, 20 bytes every 40 ms",
        ("way",),
        ("least between", "if ways are equal", "variation p50", "p95", "max ms", "lost"),
    )
    for way, seen in (document["delay"] or {}).items():
        table.add_row(way, *delay_cells(seen))
    return table


def delay_cells(seen: Mapping[str, Any]) -> list[str]:
    """Least delay's bounds and symmetric value, variation, loss."""
    bounds, delays, more = seen["least_delay_interval_ms"], seen["one_way_delay_ms"], seen["delay_variation_ms"]
    between = "-" if bounds is None else f"{ms(max(0.0, bounds[0]))} .. {ms(bounds[1])}"
    least = "-" if delays is None else ms(delays["min"])
    figures = ["-"] * 3 if more is None else [ms(more[key]) for key in ("p50", "p95", "max")]
    return [between, least, *figures, loss(seen)]


def loss(seen: Mapping[str, Any]) -> str:
    """A loss rate with its interval."""
    share = seen["loss"]
    return (
        "-"
        if share is None
        else f"{column_percent(share['rate'])} ({column_percent(share['lo'])} .. {column_percent(share['hi'])})"
    )


def _capacity(document: Mapping[str, Any]) -> Table:
    table = _table(
        "Capacity and buffer, by evenly paced UDP", ("way",), ("capacity", "sent", "buffer bytes", "largest", "overflowed")
    )
    for way, seen in document["capacity"].items():
        size = seen["buffer_bytes"]
        least = ">= " if seen["at_least"] else ""
        sizes = ["-" if size[key] is None else f"{size[key]:.0f}" for key in ("min_based", "max_based")]
        sent = rate(seen["sent"]["sent_bps"])
        table.add_row(way, least + rate(seen["rate_bps"]), sent, *sizes, "yes" if seen["overflowed"] else "no")
    return table


def _steps(document: Mapping[str, Any]) -> Table:
    table = _table("Evenly paced UDP below the capacity", ("way", "share"), ("sent", "received", "variation p95 ms", "lost"))
    for seen in document["steps"]:
        more = seen["delay_variation_ms"]
        p95 = "-" if more is None else ms(more["p95"])
        table.add_row(
            seen["direction"], column_percent(seen["share"]), rate(seen["sent_bps"]), rate(seen["received_bps"]), p95, loss(seen)
        )
    return table


def _flows(document: Mapping[str, Any]) -> Table:
    table = _table(
        "TCP", ("test", "variant", "way"), ("goodput", "RTT ms min", "mean", "p95", "re-sent", "send buffer", "receive buffer")
    )
    for flow in document["flows"]:
        rtt = flow["rtt_ms"] or {}
        given = [(flow["given"][end] or {}).get(key) for end, key in (("sender", "send_buffer"), ("receiver", "receive_buffer"))]
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


def _latency(document: Mapping[str, Any]) -> Table:
    table = _table(
        "Latency while TCP fills the path",
        ("load",),
        ("goodput", "round trips/min", "handshake p50 ms", "on load p50", "down p95", "up p95"),
    )
    for way, seen in document["latency_under_load"].items():
        rpm = seen["responsiveness"]
        trips = [(seen[key] or {}).get("p50") for key in ("handshake_ms", "on_load_ms")]
        more = [((seen["delay"].get(w) or {}).get("delay_variation_ms") or {}).get("p95") for w in DIRECTIONS]
        table.add_row(
            way, rate(seen["load"]["goodput_bps"]), "-" if rpm is None else f"{rpm['rpm']:.0f}", *map(ms, [*trips, *more])
        )
    return table


def _transfers(document: Mapping[str, Any]) -> Table:
    table = _table("Transfers one after another", ("size", "way"), ("completed", "time p50 ms", "min", "max", "handshake p50"))
    for seen in document["transfers"]:
        times, hands = seen["completion_ms"] or {}, seen["handshake_ms"] or {}
        done = f"{seen['completed']} of {seen['completed'] + seen['failed']}"
        table.add_row(
            seen["size"], seen["direction"], done, *(ms(times.get(k)) for k in ("p50", "min", "max")), ms(hands.get("p50"))
        )
    return table


def stamp_table(found: Mapping[str, Any]) -> Table:
    """What a STAMP reflector showed, a row for the round trip and one for each way."""
    mode = "authenticated" if found["authenticated"] else "unauthenticated"
    title = f"STAMP, {mode}: {found['received']} of {found['sent']} probes answered"
    table = _table(title, ("what",), ("least ms", "p50", "p95", "max"))
    trip = found["round_trip_ms"] or {}
    table.add_row("round trip", *(ms(trip.get(key)) for key in ("min", "p50", "p95", "max")))
    for seen in found["ways"]:
        more, bounds = seen["delay_variation_ms"] or {}, seen["least_delay_interval_ms"]
        least = "-" if bounds is None else f"{ms(max(0.0, bounds[0]))} .. {ms(bounds[1])}"
        table.add_row(f"{seen['direction']}, above its least", least, *(ms(more.get(key)) for key in ("p50", "p95", "max")))
    return table
