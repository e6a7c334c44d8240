"""An analysis as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis import receiver_vantage
from ackclock.analysis.diagnosis.bottleneck import has_queue
from ackclock.analysis.diagnosis.flow_context import ENOUGH_BYTES, FlowContext, flow_context, size
from ackclock.analysis.diagnosis.loss_models import rate_models
from ackclock.format import milliseconds, percent, rate
from ackclock.report.page import Cell, Column, Facts, Table

_LIMITS = (
    ("receive_window", "Window"),
    ("send_buffer", "Send buffer"),
    ("path_rate", "Path's rate"),
    ("cwnd", "cwnd"),
    ("application", "Application"),
    ("recovery", "Recovery"),
)
_OFFERS = ("sack", "timestamps", "ecn")
_OPTIONS = (("sack", "SACK"), ("timestamps", "time stamps"), ("window_scaling", "window scaling"), ("ecn", "ECN"))
_NOT_SEEN = (
    "How the time divides shows only at the sender's end, and this capture is not there, or too little was sent. The findings have what shows "
    "from here."
)


def _ways(document: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    return [(flow, way) for flow in document["flows"] for way in ("a2b", "b2a") if flow[way]["segments"]]


def _name(flow: Mapping[str, Any], way: str) -> Cell:
    ends = (flow["client"], flow["server"]) if way == "a2b" else (flow["server"], flow["client"])
    return Cell(f"{flow['flow']} {way}", f"to {ends[1]}")


def _numeric(*titles: str) -> list[Column]:
    return [Column(title, numeric=True) for title in titles]


def flows_table(document: Mapping[str, Any]) -> Table:
    """Rates, round trips and retransmissions of each direction."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Payload", "Goodput", "RTT mean", "RTT p95", "In flight, most", "Sent again"),
        Column("How", room="medium"),
    ]
    rows = []
    for flow, way in _ways(document):
        seen = flow_context(document, flow, way)
        figures, here = seen.figures, not seen.far
        again = figures["retransmitted_segments"]
        rows.append(
            [
                _name(flow, way),
                Cell(
                    size(figures["unique_bytes"]), "1 segment" if figures["segments"] == 1 else f"{figures['segments']} segments"
                ),
                Cell(rate(figures["goodput_bps"])),
                *_round_trips(seen),
                Cell(size(figures["outstanding_bytes"]["max"])) if here else Cell("-", tone="muted"),
                Cell(str(again), percent(figures["retransmission_rate"]) if again else ""),
                Cell("", _repairs(seen)),
            ]
        )
    return Table(
        columns,
        rows,
        "Where there are two captures, each direction's figures are from the one near its sender. Where the capture is at the receiver's end, round trips are those that the echoes of its time stamps show (a pause of the sender makes them longer), and flight is left out: it is not the sender's there.",
    )


def _round_trips(seen: FlowContext) -> list[Cell]:
    """Mean and p95: by ACKs at the sender's end, by the echoes of the receiver's stamps at the other."""
    if not seen.far:
        rtt, note = seen.figures["rtt_ms"], ""
    elif receiver_vantage.round_trips(seen)[1] is not None:
        rtt, note = seen.other["timestamp_rtt_ms"], " (echoes)"
    else:
        return [Cell("-", tone="muted"), Cell("-", tone="muted")]
    return [
        Cell(milliseconds(rtt["mean"]), f"least {milliseconds(rtt['min'])}{note}"),
        Cell(milliseconds(rtt["p95"]), f"most {milliseconds(rtt['max'])}"),
    ]


def _repairs(seen: FlowContext) -> str:
    figures, new = seen.figures, int(seen.figures["repairs"]["new_data_probes"])
    counts = (
        (figures["fast_retransmits"], "fast"),
        (figures["rto_retransmits"], "by timeout"),
        (figures["go_back_n_retransmits"], "behind a timeout"),
        (figures["tlp_retransmits"] - new, "as tail-loss probe"),
        (new, "tail-loss probes of new data (not sent again)" if new > 1 else "tail-loss probe of new data (not sent again)"),
        (seen.not_needed, "not needed"),
        (figures["repairs"]["pairs"], "of the timeouts in a recovery (pairs)"),
        (figures["spurious"]["early_timeouts"], "of the timeouts' segments acknowledged before the least RTT"),
        (figures["out_of_order"], "only overtaken (not sent again)"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def handshakes_table(document: Mapping[str, Any]) -> Table:
    """How each connection began and ended: round trip, what was agreed on, when data came and when the last of it was acknowledged."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Handshake", "Segment size", "Window scale"),
        Column("Agreed on"),
        *_numeric("First data", "Last ACK"),
        Column("Ended"),
    ]
    rows = []
    for flow in document["flows"]:
        shake = flow["handshake"]
        sides = f"client {milliseconds(shake['client_side_ms'])}, server {milliseconds(shake['server_side_ms'])}"
        rows.append(
            [
                Cell(str(flow["flow"]), f"{flow['client']} to {flow['server']}"),
                Cell(milliseconds(flow["handshake_rtt_ms"]), sides)
                if shake["complete"]
                else Cell("not seen whole", tone="muted"),
                _either(shake, "mss"),
                _either(shake, "window_scale"),
                _agreed(shake),
                *(
                    Cell(f"a2b {milliseconds(flow['a2b'][key])}", f"b2a {milliseconds(flow['b2a'][key])}")
                    for key in ("first_data_ms", "tail_ms")
                ),
                Cell(shake["ended"].replace("_", " ")),
            ]
        )
    reading = (
        "The handshake's round trip, and its parts to the client and to the server, as they pass the capture. First data counts from the connection's "
        "first packet; the last ACK from the last data on, and is long where the tail had to be repaired."
    )
    return Table(columns, rows, reading)


def _agreed(shake: Mapping[str, Any]) -> Cell:
    agreed = [name for key, name in _OPTIONS if shake[key]]
    offered = [
        f"{name} by the {who} only"
        for key, name in _OPTIONS
        for who in ("client", "server")
        if key in _OFFERS and shake[f"{who}_{key}"] and not shake[key] and shake["complete"]
    ]
    return Cell(", ".join(agreed) or "-", "; ".join(offered))


def _either(shake: Mapping[str, Any], key: str) -> Cell:
    """One value where both ends say the same, else both."""
    both = [shake[f"{who}_{key}"] for who in ("client", "server")]
    said = ["-" if value is None else str(value) for value in both]
    return Cell(said[0]) if said[0] == said[1] else Cell(", ".join(said), "client, server")


def limits_table(document: Mapping[str, Any]) -> Table | Facts:
    """Shares of time by what held the sender, and closed forms beside the rate."""
    columns = [Column("Flow", room="ends"), *_numeric(*(title for _, title in _LIMITS), "Goodput and models")]
    rows = []
    for flow, way in _ways(document):
        seen = flow_context(document, flow, way)
        if not seen.pace_seen or seen.figures["unique_bytes"] < ENOUGH_BYTES:
            continue
        models = rate_models(seen)
        most = max((value or 0.0) for key, value in seen.limited.items())
        rows.append(
            [
                _name(flow, way),
                *(_share(seen.limited[key], most) for key, _ in _LIMITS),
                Cell(
                    rate(seen.figures["goodput_bps"]),
                    f"Reno {rate(models['padhye_bps'])} or {rate(models['counted_bps'])}, CUBIC {rate(models['cubic_bps'])}"
                    if models
                    else "",
                ),
            ]
        )
    if not rows:
        return Facts([("Not to be seen", _NOT_SEEN)])
    reading = (
        "Shares of each direction's time from its first data on, in percent: the receive window, the send buffer, the path's rate, the congestion window or pacing, the application, repair. A send buffer is inferred: it is not on the wire. Reno's model is "
        "that of Padhye and others (1998), for a window that grows by ACKs or by the segments they acknowledge, CUBIC's the response function of RFC 9438 (and no less than Reno's), both for the loss events and the mean RTT seen here; "
        "with fewer than three loss events they say nothing. Green is what held the sender longest."
    )
    return Table(columns, rows, reading)


def _share(value: float | None, most: float) -> Cell:
    if value is None or value < 0.0005:
        return Cell("" if value is None else "0", tone="muted")
    return Cell(f"{100 * value:.1f}", tone="good" if value == most else "")


def _buffer(buffer: Mapping[str, Any]) -> Cell:
    if not buffer["max_based"]:
        return Cell("")
    if not buffer["filled"]:
        if not has_queue(buffer):
            return Cell("")
        return Cell(f"over {size(buffer['max_based'])}")
    ends = [size(buffer[key]) for key in ("min_based", "max_based") if buffer[key]]
    return Cell(" to ".join(dict.fromkeys(ends)), f"at {rate(buffer['rate_bps'])}")


def between_table(document: Mapping[str, Any]) -> Table:
    """Delay, loss and buffer between two captures."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Delay min", "p50", "max", "Lost", "Not captured", "Bursts", "Buffer"),
        Column("Cause of loss", room="wide"),
    ]
    rows = []
    for flow, way in _ways(document):
        if "lost" not in flow[way]:
            continue
        figures = flow[way]
        delay, lost, bursts, buffer = (
            figures[key] for key in ("one_way_delay_ms", "lost", "loss_bursts", "bottleneck_buffer_bytes")
        )
        cause = figures["loss_cause"]
        rows.append(
            [
                _name(flow, way),
                *(Cell(milliseconds(delay[key])) for key in ("min", "p50", "max")),
                Cell(str(lost["between_captures"]), percent(figures["loss_rate"]) if lost["between_captures"] else ""),
                Cell(str(lost["capture_drops_receiver"] + lost["capture_drops_sender"])),
                Cell(str(bursts["above_50"] + bursts["above_80"] + bursts["all_lost"])),
                _buffer(buffer),
                Cell(cause["verdict"], cause["evidence"]) if lost["between_captures"] else Cell(""),
            ]
        )
    reading = (
        "Delays are from capture to capture. The buffer is what its delay times the rate through a standing queue holds, by the least delay beside "
        "a loss and by the greatest delay (the WiBro measurements' method); “over” where nothing overflowed. Bursts are stretches of 100 ms bins with more than half lost, be it a single packet; what was not captured "
        "passed by a capture that dropped it."
    )
    return Table(columns, rows, reading)
