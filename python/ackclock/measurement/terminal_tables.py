"""A measurement as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.format import column_percent, range_text, rate, rate_range, three
from ackclock.format import size as size_text
from ackclock.measurement.consistency import late_sentence
from ackclock.statistics.summary_stats import stats_of
from ackclock.terminal import text_table

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionStats, StampResults
    from ackclock.documents.measure import (
        Beside,
        Hop,
        LatencyUnderLoad,
        Measurement,
        Queue,
        RateWindows,
        ResponsivenessInterval,
        TransferTimes,
    )


def ms(value: float | None) -> str:
    """Milliseconds with three significant digits."""
    return "-" if value is None else three(value)


def measurement_tables(document: Measurement) -> list[Table]:
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
        _notes(document),
    ]
    return [table for table in tables if table.row_count]


def _path(document: Measurement) -> Table:
    table = text_table(
        "Path, by TTL-limited probes",
        ("hop", "address"),
        ("RTT ms\nmin", "\np50", "lost", "capacity", "95 %\ninterval"),
    )
    for hop in document.get("path") or ():
        table.add_row(str(hop["hop"]), *path_cells(hop))
    return table


def path_cells(hop: Hop) -> list[str]:
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
        *map(ms, stats_of(hop["rtt_ms"], "min", "p50")),
        column_percent(hop["loss_rate"]),
        capacity,
        interval if document["valid"] else "not valid",
    ]


def _delay(document: Measurement) -> Table:
    table = text_table(
        "One-way delay, 20 bytes every 40 ms",
        ("direction",),
        ("minimum ms\nbetween", "\nif symmetric", "variation ms\np50", "\np95", "\nmax", "lost"),
    )
    for direction, figures in (document["delay"] or {}).items():
        table.add_row(direction, *delay_cells(figures))
    return table


def delay_cells(figures: DirectionStats) -> list[str]:
    """Bounds of the minimum delay, its value for symmetric delays, delay variation, loss."""
    cells = map(ms, [*stats_of(figures["one_way_delay_ms"], "min"), *variation(figures)])
    return [minimum_between(figures), *cells, loss(figures)]


def minimum_between(figures: DirectionStats) -> str:
    """The bounds of the minimum delay in ms."""
    bounds = figures["min_delay_interval_ms"]
    return "-" if bounds is None else range_text(ms(max(0.0, bounds[0])), ms(bounds[1]))


def variation(figures: DirectionStats) -> list[float | None]:
    """Median, p95 and maximum of the delay variation in ms."""
    return stats_of(figures["delay_variation_ms"], "p50", "p95", "max")


def loss(figures: DirectionStats) -> str:
    """A loss rate with its interval."""
    share = figures["loss"]
    if share is None:
        return "-"
    return f"{column_percent(share['rate'])} ({column_percent(share['lo'])} .. {column_percent(share['hi'])})"


def _capacity(document: Measurement) -> Table:
    table = text_table(
        "Capacity and queue, by evenly paced UDP",
        ("direction", "queue", "losses"),
        ("capacity", "windows of 1 s\np5 .. p95", "sent", "buffer\nKB", "queue ms\nof TCP", "\nof stream"),
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


def queue_words(queue: Queue) -> tuple[str, str]:
    """Kind of the queue, origin of the losses."""
    return queue["kind"], queue["losses"]


def spread(windows: RateWindows | None) -> str:
    """The 5th and 95th percentile of a rate."""
    return "-" if windows is None else rate_range(windows["p5_bps"], windows["p95_bps"])


def queue_cells(queue: Queue) -> list[str]:
    """Buffer in KB if it overflowed, queueing delays of TCP and of a stream that does not yield."""
    size, stream = queue["buffer_bytes"], ms(queue["stream_queue_ms"])
    return [
        "-" if size is None else f"{size / 1e3:.1f}",
        ms(queue["tcp_queue_ms"]),
        f">= {stream}" if queue["stream_grows"] else stream,
    ]


def _steps(document: Measurement) -> Table:
    table = text_table(
        "Evenly paced UDP at given rates",
        ("direction", "share of\nthe capacity"),
        ("sent", "received", "variation ms\np95", "lost"),
    )
    for figures in document["steps"]:
        rates = rate(figures["sent_bps"]), rate(figures["received_bps"])
        share, p95 = column_percent(figures["share"]), ms(variation(figures)[1])
        table.add_row(figures["direction"], share, *rates, p95, loss(figures))
    return table


def _flows(document: Measurement) -> Table:
    table = text_table(
        "TCP",
        ("test", "variant", "direction"),
        ("goodput", "RTT ms\nmin", "\nmean", "\np95", "retrans-\nmitted", "send\nbuffer", "receive\nbuffer"),
    )
    for flow in document["flows"]:
        sender, receiver = flow["given"]["sender"], flow["given"]["receiver"]
        given = [sender and sender["send_buffer"], receiver and receiver["receive_buffer"]]
        table.add_row(
            flow["failed"] or flow["label"],
            flow["variant"] or "-",
            flow["direction"],
            rate(flow["goodput_bps"]),
            *map(ms, stats_of(flow["rtt_ms"], "min", "mean", "p95")),
            column_percent(flow["retransmission_rate"]),
            *("-" if size is None else str(size) for size in given),
        )
    return table


def _bidirectional(document: Measurement) -> Table:
    table = text_table(
        "A transfer before, during and after one of the opposite direction",
        ("transfer",),
        ("goodput\nbefore", "\nduring", "\nafter", "RTT p50 ms\nbefore", "\nduring", "\nafter"),
    )
    for pair in document.get("bidirectional", ()):
        for name, cells in beside_rows(pair):
            table.add_row(name, *cells)
    return table


MAX_NOTES = 3


def screen_tables(document: Measurement) -> list[Table]:
    """A row for each direction, and the hops of the path where nothing else was measured."""
    table = text_table(
        f"The path to {document['host']}",
        ("direction",),
        ("capacity", "TCP\ngoodput", "minimum\ndelay ms", "buffer\nKB", "queue ms\nof TCP", "RTTs/min", "lost"),
    )
    for direction in DIRECTIONS:
        cells = _of_direction(document, direction)
        if any(cell != "-" for cell in cells):
            table.add_row(direction, *cells)
    if table.row_count:
        return [table]
    return [one for one in measurement_tables(document) if one.row_count][:1]


def _of_direction(document: Measurement, direction: Direction) -> list[str]:
    """The cells of a direction in the one table of a screen; "-" for what was not measured."""
    capacity = document["capacity"].get(direction)
    delay = (document["delay"] or {}).get(direction)
    loaded = document["latency_under_load"].get(direction)
    tcp = [flow["goodput_bps"] for flow in document["flows"] if flow["direction"] == direction and flow["goodput_bps"]]
    buffer, of_tcp = queue_cells(capacity["queue"])[:2] if capacity else ("-", "-")
    at_least = ">= " if capacity and capacity["at_least"] else ""
    return [
        at_least + rate(capacity["rate_bps"]) if capacity and capacity["rate_bps"] else "-",
        rate(max(tcp)) if tcp else "-",
        ms(stats_of(delay["one_way_delay_ms"], "min")[0]) if delay else "-",
        buffer,
        of_tcp,
        rpm_text(loaded["responsiveness"]).partition(" ")[0] if loaded else "-",
        loss(delay).partition(" (")[0] if delay else "-",
    ]


def screen_lines(document: Measurement) -> list[str]:
    """What makes figures bounds, and what the path carries last."""
    return ["`--all` prints each test.", *notes(document)[:MAX_NOTES], answer(document)]


def answer(document: Measurement) -> str:
    """What the path carries, in a sentence."""
    found = {direction: figures for direction, figures in document["capacity"].items() if figures["rate_bps"]}
    if found:
        parts = " and ".join(f"{_carried(document, direction)} {direction}" for direction in found)
        return f"The path carries {parts}."
    flows = [(flow["goodput_bps"], flow["label"]) for flow in document["flows"] if flow["goodput_bps"]]
    if flows:
        goodput, label = max(flows, key=lambda flow: flow[0])
        return f"One TCP flow had at most {rate(goodput)} ({label})."
    return "Delays were measured." if document["delay"] else "The results are below."


def _carried(document: Measurement, direction: Direction) -> str:
    """The capacity of a direction; where the stream did not fill the path, the larger of its rate
    and the best TCP flow's goodput.
    """
    figures = document["capacity"][direction]
    if not figures["at_least"]:
        return rate(figures["rate_bps"])
    tcp = [float(flow["goodput_bps"] or 0.0) for flow in document["flows"] if flow["direction"] == direction]
    best, udp = max(tcp, default=0.0), figures["rate_bps"] or 0.0
    return f"at least {rate(max(best, udp))}" + (" (by TCP)" if best > udp else "")


def beside_rows(pair: Beside) -> list[tuple[str, list[str]]]:
    """Name, goodputs and RTTs of the phases of both transfers of a pair."""
    second = OPPOSITE[pair["first"]]
    rows = []
    phases = (pair["before"], pair["during"], pair["after"])
    both = (
        (pair["first"], [phase["first"] for phase in phases]),
        (f"{second}, {pair['offset_s']:g} s later", [phase["second"] for phase in phases]),
    )
    for name, rates in both:
        cells = [
            "-" if phase is None or phase["goodput_bps"] is None else rate(phase["goodput_bps"]) for phase in rates
        ]
        rows.append((name, [*cells, *(ms(phase and phase["rtt_p50_ms"]) for phase in rates)]))
    return rows


def _latency(document: Measurement) -> Table:
    table = text_table(
        "Latency while TCP fills the path",
        ("load",),
        ("goodput", "RTTs/min", "handshake ms\np50", "on load ms\np50", "added ms\ndown p95", "\nup p95"),
    )
    for direction, figures in document["latency_under_load"].items():
        times = [*stats_of(figures["handshake_ms"], "p50"), *stats_of(figures["on_load_ms"], "p50")]
        goodput, rpm = rate(figures["load"]["goodput_bps"]), rpm_text(figures["responsiveness"])
        table.add_row(direction, goodput, rpm, *map(ms, [*times, *added_delays(figures)]))
    return table


def added_delays(figures: LatencyUnderLoad) -> list[float | None]:
    """The 95th percentile of the delay that the load adds in each direction."""
    delays = [figures["delay"].get(direction) for direction in DIRECTIONS]
    return [stats_of(delay and delay["delay_variation_ms"], "p95")[0] for delay in delays]


def rpm_text(rpm: ResponsivenessInterval | None) -> str:
    """RTTs per minute, with their interval if there are enough probes."""
    if rpm is None:
        return "-"
    between = "" if rpm["lo"] is None else f" ({rpm['lo']:.0f} .. {rpm['hi']:.0f})"
    return f"{rpm['rpm']:.0f}{between}"


def _transfers(document: Measurement) -> Table:
    table = text_table(
        "Transfers in sequence",
        ("size", "direction"),
        ("completed", "time ms\np50", "\nmin", "\nmax", "handshake ms\np50"),
    )
    for figures in document["transfers"]:
        table.add_row(figures["size"], figures["direction"], *transfer_cells(figures))
    return table


def transfer_cells(figures: TransferTimes) -> list[str]:
    """How many were completed, their times, and the median of the handshakes."""
    times = [*stats_of(figures["completion_ms"], "p50", "min", "max"), *stats_of(figures["handshake_ms"], "p50")]
    return [f"{figures['completed']} of {figures['completed'] + figures['failed']}", *map(ms, times)]


def _notes(document: Measurement) -> Table:
    table = text_table("Notes", ("",), ())
    for note in notes(document):
        table.add_row(note)
    return table


def notes(document: Measurement) -> list[str]:
    """What makes figures bounds, or is missing: late hosts, and parts of the plan that did not fit
    in the bytes.
    """
    found = [
        sentence
        for direction, figures in document["capacity"].items()
        if (sentence := late_sentence(direction, figures)) is not None
    ]
    size = document.get("bytes")
    if size and (size["left_out"] or size["shortened"]):
        parts = [f"{one['test']} took {one['seconds']:.2g} s, not {one['planned_s']:g}" for one in size["shortened"]]
        parts += [f"{one['label']} of {one['test']} was left out" for one in size["left_out"]]
        found.append(f"The measurement was cut to {size_text(size['max'])} (--max-bytes): {'; '.join(parts)}.")
    return found


def stamp_table(document: StampResults) -> Table:
    """The result of STAMP probes: a row for the RTT and one for each direction."""
    mode = "authenticated" if document["authenticated"] else "unauthenticated"
    title = f"STAMP, {mode}: {document['received']} of {document['sent']} probes answered"
    table = text_table(title, ("what",), ("ms\nmin", "\np50", "\np95", "\nmax"))
    table.add_row("RTT", *map(ms, stats_of(document["round_trip_ms"], "min", "p50", "p95", "max")))
    for figures in document["directions"]:
        name = f"{figures['direction']}, above its minimum"
        table.add_row(name, minimum_between(figures), *map(ms, variation(figures)))
    return table
