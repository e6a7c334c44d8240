"""An analysis as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.loss import rate_models
from ackclock.analysis.diagnosis.view import ENOUGH_BYTES, size, view
from ackclock.report.numbers import milliseconds, percent, rate
from ackclock.report.page import Cell, Column, Facts, Table

_LIMITS = (
    ("receive_window", "Window"),
    ("send_buffer", "Send buffer"),
    ("path_rate", "Path's rate"),
    ("cwnd", "cwnd"),
    ("application", "Application"),
    ("recovery", "Recovery"),
)


_WAITED_S = 0.02
_PACKET_BYTES = 1500


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
        *_numeric(
            "Payload",
            "Goodput",
            "RTT mean",
            "RTT p95",
            "In flight, most",
            "Sent again",
        ),
        Column("How", room="wide"),
    ]
    rows = []
    for flow, way in _ways(document):
        seen = view(document, flow, way)
        figures, here = seen.figures, not seen.far
        rtt = figures["rtt_ms"]
        again = figures["retransmitted_segments"]
        rows.append(
            [
                _name(flow, way),
                Cell(size(figures["unique_bytes"]), f"{figures['segments']} segments"),
                Cell(rate(figures["goodput_bps"])),
                Cell(milliseconds(rtt["mean"]), f"least {milliseconds(rtt['min'])}") if here else Cell("-", tone="muted"),
                Cell(milliseconds(rtt["p95"]), f"most {milliseconds(rtt['max'])}") if here else Cell("-", tone="muted"),
                Cell(size(figures["outstanding_bytes"]["max"])) if here else Cell("-", tone="muted"),
                Cell(str(again), percent(figures["retransmission_rate"]) if again else ""),
                Cell("", _repairs(figures)),
            ]
        )
    return Table(
        columns,
        rows,
        "Where there are two captures, each direction's figures are from the one near its sender. Round trips and flight are left out where the capture is not at the sender's end: there they are not the sender's.",
    )


def _repairs(figures: Mapping[str, Any]) -> str:
    counts = (
        (figures["fast_retransmits"], "fast"),
        (figures["rto_retransmits"], "by timeout"),
        (figures["go_back_n_retransmits"], "behind a timeout"),
        (figures["tlp_retransmits"], "as tail-loss probe"),
        (figures["spurious_retransmits"], "not needed"),
        (figures["out_of_order"], "only overtaken (not sent again)"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def limits_table(document: Mapping[str, Any]) -> Table | Facts:
    """Shares of time by what held the sender, and closed forms beside the rate."""
    columns = [Column("Flow", room="ends"), *_numeric(*(title for _, title in _LIMITS), "Goodput and models")]
    rows = []
    for flow, way in _ways(document):
        seen = view(document, flow, way)
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
                    f"Reno {rate(models['padhye_bps'])}, CUBIC {rate(models['cubic_bps'])}" if models else "",
                ),
            ]
        )
    if not rows:
        return Facts(
            [("Not to be seen", "What held a sender shows only at its end; this capture is not there, or too little was sent.")]
        )
    reading = (
        "Shares of each direction's time from its first data on, in percent: the receive window, the send buffer, the path's rate, the congestion window or pacing, the application, repair. A send buffer is inferred: it is not on the wire. Reno's model is "
        "that of Padhye and others (1998), CUBIC's the response function of RFC 9438, both for the loss events and the mean RTT seen here; "
        "with fewer than three loss events they say nothing."
    )
    return Table(columns, rows, reading)


def _share(value: float | None, most: float) -> Cell:
    if value is None or value < 0.0005:
        return Cell("" if value is None else "0", tone="muted")
    return Cell(f"{100 * value:.1f}", tone="good" if value == most else "")


def waited(buffer: Mapping[str, Any]) -> bool:
    """What stood before the bottleneck is more than a little jitter, which is no queue."""
    return (buffer["max_based"] or 0) > _PACKET_BYTES and 0 < (buffer["rate_bps"] or 0.0) * _WAITED_S <= buffer["max_based"] * 8


def _buffer(buffer: Mapping[str, Any]) -> Cell:
    if not buffer["max_based"]:
        return Cell("")
    if not buffer["filled"]:
        if not waited(buffer):
            return Cell("")
        return Cell(f"over {size(buffer['max_based'])}")
    least = f"{size(buffer['min_based'])} to " if buffer["min_based"] else ""
    return Cell(least + size(buffer["max_based"]), f"at {rate(buffer['rate_bps'])}")


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
        "a loss and by the greatest delay (the WiBro measurements' method); `over` where nothing overflowed."
    )
    return Table(columns, rows, reading)
