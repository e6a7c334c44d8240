"""Tables of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ackclock import _native
from ackclock.analysis.direction_view import SIDES, DirectionView, DirectionViews
from ackclock.format import milliseconds, percent, rate, size
from ackclock.limit_words import VISIBLE, WORDS
from ackclock.report.page import Cell, Column, Facts, Table
from ackclock.statistics.summary_stats import stats_of

if TYPE_CHECKING:
    from ackclock.documents.analyze import Side
    from ackclock.documents.engine import BufferReport, FlowReport, HandshakeReport, Report, UdpFlowReport

Option = Literal["sack", "timestamps", "window_scaling", "ecn"]
_ECHOES = 5
"""Minimum number of echoed timestamps."""
_OPTIONS: tuple[tuple[Option, str], ...] = (
    ("sack", "SACK"),
    ("timestamps", "timestamps"),
    ("window_scaling", "window scaling"),
    ("ecn", "ECN"),
)
_NOT_SEEN = (
    "The shares of time are known only at the sender's end; this capture was taken elsewhere, or "
    "has too little data. The findings state what the capture shows."
)


def _directions(document: Report) -> list[tuple[FlowReport, Side]]:
    return [(flow, side) for flow in document["flows"] for side in SIDES if flow[side]["segments"]]


def _name(flow: FlowReport, direction: Side) -> Cell:
    ends = (flow["client"], flow["server"]) if direction == "a2b" else (flow["server"], flow["client"])
    return Cell(f"{flow['flow']} {direction}", f"to {ends[1]}")


def _numeric(*titles: str) -> list[Column]:
    return [Column(title, numeric=True) for title in titles]


def flows_table(document: Report) -> Table:
    """Rate, RTT and retransmissions of each direction."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Payload", "Goodput", "RTT mean", "RTT p95", "In flight, max", "Retransmitted"),
        Column("Kinds", room="medium"),
    ]
    rows = []
    views = DirectionViews(document)
    for flow, direction in _directions(document):
        view = views.of(flow, direction)
        figures, here = view.figures, not view.far
        retransmitted = figures["retransmitted_segments"]
        rows.append(
            [
                _name(flow, direction),
                Cell(
                    size(figures["unique_bytes"]),
                    "1 segment" if figures["segments"] == 1 else f"{figures['segments']} segments",
                ),
                Cell(rate(figures["goodput_bps"])),
                *_round_trips(view),
                Cell(size(figures["outstanding_bytes"]["max"])) if here else Cell("-", tone="muted"),
                Cell(str(retransmitted), percent(figures["retransmission_rate"]) if retransmitted else ""),
                Cell("", _kinds(view)),
            ]
        )
    return Table(
        columns,
        rows,
        "With two captures, the figures of a direction are from the capture nearer its sender. At "
        "the receiver's end the RTT is that of echoed timestamps (pauses of the sender lengthen "
        "it), and bytes in flight are omitted.",
    )


def _round_trips(view: DirectionView) -> list[Cell]:
    """Mean and p95 of the RTT: from ACKs at the sender's end, from echoed timestamps at the
    receiver's.
    """
    if not view.far:
        rtt, note = view.figures["rtt_ms"], ""
    elif view.place != "middle" and view.other["timestamp_rtt_ms"]["count"] >= _ECHOES:
        rtt, note = view.other["timestamp_rtt_ms"], " (echoes)"
    else:
        return [Cell("-", tone="muted"), Cell("-", tone="muted")]
    return [
        Cell(milliseconds(rtt["mean"]), f"min {milliseconds(rtt['min'])}{note}"),
        Cell(milliseconds(rtt["p95"]), f"max {milliseconds(rtt['max'])}"),
    ]


def _kinds(view: DirectionView) -> str:
    figures, new = view.figures, int(view.figures["repairs"]["new_data_probes"])
    counts = (
        (figures["fast_retransmits"], "fast"),
        (figures["rto_retransmits"], "by timeout"),
        (figures["go_back_n_retransmits"], "after a timeout"),
        (figures["tlp_retransmits"], "as tail loss probe"),
        (
            new,
            "tail loss probes of new data (not retransmitted)"
            if new > 1
            else "tail loss probe of new data (not retransmitted)",
        ),
        (view.not_needed, "spurious"),
        (figures["repairs"]["pairs"], "of the timeouts in a recovery (pairs)"),
        (figures["spurious"]["early_timeouts"], "of the timeouts with an ACK before the minimum RTT"),
        (figures["out_of_order"], "reordered (not retransmitted)"),
        (figures["zero_window_probes"], "zero-window probes (not retransmitted)"),
        (figures["zero_windows"], "times a window of zero"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def udp_table(flows: Sequence[UdpFlowReport]) -> Table:
    """UDP flows: packets and bytes of each direction, and the RTT of QUIC's spin bit."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Duration", "Packets a2b", "b2a", "Bytes a2b", "b2a", "Spin-bit RTT a2b", "b2a"),
    ]
    rows = []
    for flow in flows:
        directions = [flow["a2b"], flow["b2a"]]
        spins = [figures["spin_rtt_ms"] for figures in directions]
        rows.append(
            [
                Cell(f"{flow['protocol'].upper()} {flow['client']}", f"to {flow['server']}"),
                Cell(f"{flow['duration_s']:.1f} s"),
                *(Cell(str(figures["packets"])) for figures in directions),
                *(Cell(size(figures["bytes"])) for figures in directions),
                *(
                    Cell(milliseconds(spin["p50"]), f"min {milliseconds(spin['min'])}")
                    if spin
                    else Cell("-", tone="muted")
                    for spin in spins
                ),
            ]
        )
    reading = (
        "The client sent the first datagram. The spin bit of QUIC (RFC 9000, 17.4) changes once in an RTT: its time "
        "includes the hosts' delays and pauses. Many hosts do not spin; then there is no RTT."
    )
    return Table(columns, rows, reading)


def handshakes_table(document: Report) -> Table:
    """Handshake and end of each connection: RTT, negotiated options, times of the first data and of
    the last ACK.
    """
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Handshake", "MSS (B)", "Window scale"),
        Column("Negotiated"),
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
                else Cell("incomplete", tone="muted"),
                _either(shake["client_mss"], shake["server_mss"]),
                _either(shake["client_window_scale"], shake["server_window_scale"]),
                _agreed(shake),
                *(
                    Cell(f"a2b {milliseconds(flow['a2b'][key])}", f"b2a {milliseconds(flow['b2a'][key])}")
                    for key in ("first_data_ms", "tail_ms")
                ),
                Cell(shake["ended"].replace("_", " ")),
            ]
        )
    reading = (
        "The handshake's RTT, and its parts on the client's and the server's side of the capture. "
        "First data is the time since the connection's first packet; last ACK is the time from the "
        "last data to its ACK, which is long after a retransmission of the tail."
    )
    return Table(columns, rows, reading)


def _agreed(shake: HandshakeReport) -> Cell:
    agreed = [name for key, name in _OPTIONS if shake[key]]
    offers = (
        (shake["sack"], "SACK", shake["client_sack"], shake["server_sack"]),
        (shake["timestamps"], "timestamps", shake["client_timestamps"], shake["server_timestamps"]),
        (shake["ecn"], "ECN", shake["client_ecn"], shake["server_ecn"]),
    )
    offered = [
        f"{name} by the {who} only"
        for is_agreed, name, *ends in offers
        for who, offer in zip(("client", "server"), ends, strict=True)
        if offer and not is_agreed and shake["complete"]
    ]
    return Cell(", ".join(agreed) or "-", "; ".join(offered))


def _either(*values: float | None) -> Cell:
    """One value if both ends have the same, else both."""
    texts = ["-" if value is None else str(value) for value in values]
    return Cell(texts[0]) if texts[0] == texts[1] else Cell(", ".join(texts), "client, server")


def limits_table(document: Report) -> Table | Facts:
    """Shares of time by limit, and closed-form models beside the rate."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric(*(WORDS[kind].title for kind in VISIBLE), "Goodput and models"),
    ]
    rows = []
    views = DirectionViews(document)
    for flow, direction in _directions(document):
        view = views.of(flow, direction)
        if not view.pace_seen or view.figures["unique_bytes"] < _native.ENOUGH_BYTES:
            continue
        models = _native.loss_models(view.figures)
        shares = view.limit_shares()
        maximum = max(shares.values())
        rows.append(
            [
                _name(flow, direction),
                *(_share(shares[kind], maximum) for kind in VISIBLE),
                Cell(
                    rate(view.figures["goodput_bps"]),
                    "Reno {} or {}, CUBIC {}".format(*map(rate, models)) if models else "",
                ),
            ]
        )
    if not rows:
        return Facts([("Not visible", _NOT_SEEN)])
    reading = (
        "Shares of each direction's time after its first data, in percent: the receive window, the "
        "send buffer, the path's rate, the congestion window or pacing, the application, loss "
        "recovery. The send buffer is inferred. Reno's model is that of Padhye and others (1998), "
        "for a window that grows by ACKs or by acknowledged segments; CUBIC's is the response "
        "function of RFC 9438, and at least Reno's. Both use the loss events and the mean RTT of "
        "the capture, and need three loss events. Green marks the largest limit."
    )
    return Table(columns, rows, reading)


def _share(value: float | None, maximum: float) -> Cell:
    if value is None or value < 0.0005:
        return Cell("" if value is None else "0", tone="muted")
    return Cell(f"{100 * value:.1f}", tone="good" if value == maximum else "")


def _buffer(buffer: BufferReport) -> Cell:
    if not buffer["max_based"]:
        return Cell("")
    if not buffer["filled"]:
        if not _native.has_queue(buffer["max_based"], buffer["rate_bps"]):
            return Cell("")
        return Cell(f"over {size(buffer['max_based'])}")
    ends = [size(end) for end in (buffer["min_based"], buffer["max_based"]) if end]
    return Cell(" to ".join(dict.fromkeys(ends)), f"at {rate(buffer['rate_bps'])}")


def between_table(document: Report) -> Table:
    """Delay, loss and buffer between the captures."""
    columns = [
        Column("Flow", room="ends"),
        *_numeric("Delay min", "p50", "max", "Lost", "Not captured", "Bursts", "Buffer"),
        Column("Cause of loss", room="wide"),
    ]
    rows = []
    for flow, direction in _directions(document):
        if "lost" not in flow[direction]:
            continue
        figures = flow[direction]
        lost, bursts, buffer = figures["lost"], figures["loss_bursts"], figures["bottleneck_buffer_bytes"]
        cause = figures["loss_cause"]
        rows.append(
            [
                _name(flow, direction),
                *(Cell(milliseconds(value)) for value in stats_of(figures["one_way_delay_ms"], "min", "p50", "max")),
                Cell(str(lost["between_captures"]), percent(figures["loss_rate"]) if lost["between_captures"] else ""),
                Cell(str(lost["capture_drops_receiver"] + lost["capture_drops_sender"])),
                Cell(str(bursts["above_50"] + bursts["above_80"] + bursts["all_lost"])),
                _buffer(buffer),
                Cell(cause["verdict"], cause["evidence"]) if lost["between_captures"] else Cell(""),
            ]
        )
    reading = (
        "Delays are from capture to capture. The buffer is the queueing delay times the rate "
        "through a standing queue, by the minimum delay next to a loss and by the maximum delay "
        "(the method of the WiBro measurements); “over” if no overflow was seen. A burst is a run "
        "of 100 ms bins with more than half of the packets lost. Packets not captured passed a "
        "capture that dropped them."
    )
    return Table(columns, rows, reading)
