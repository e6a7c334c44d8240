"""What the tests of one direction say together, so that no statement contradicts another.

Each test states its own figures. `consistent` is the only way from them to the document: a capacity
with an interval requires a stream that was sent as it was requested, that met a queue, and whose
rate TCP does not exceed; else the capacity is a lower bound. `contradictions` reads a finished
document, for the tests and studies of the measurement itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.documents.parts import Direction
from ackclock.format import percent, rate
from ackclock.measurement.capacity import SENT_SHARE

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionStats
    from ackclock.documents.measure import ArrivalStalls, Capacity, Flow, LateHost, Measurement, Queue, RateWindows
    from ackclock.measurement.queue_facts import Train

HOST_PAUSES = 3.0
"""Pauses of the receiving host and of those between, relative to the sender's longest."""
MAX_UNSENT = 0.01
"""Share of the datagrams that a sender on time may leave unsent."""
FRAMING = 0.05
"""TCP's segments are longer than the stream's datagrams: a link that adds bytes to each packet
carries up to this much more of them."""
MIN_TCP_IP_HEADERS = 40


@dataclass(frozen=True)
class StreamSender:
    """How the stream above the capacity was sent.

    Attributes:
        host: the sending host as a sentence's subject.
        asked_bps, sent_bps, received_bps: rates of IP; None if unknown.
        asked, sent: datagrams.
        pause_share: share of the time in which the sender paused.
        longest_pause_ms: the longest of these pauses; 0 without one.
        overrun: datagrams that the receiving host's kernel dropped, as its program was late.
    """

    host: str
    asked_bps: float
    sent_bps: float | None
    received_bps: float | None
    asked: int
    sent: int
    pause_share: float
    longest_pause_ms: float
    overrun: int

    @staticmethod
    def of(stats: DirectionStats, train: Train) -> StreamSender:
        """The sender of a stream, by its figures and its datagrams."""
        return StreamSender(
            "this host" if stats["direction"] == "up" else "the far end",
            stats["ip_bytes"] * 8e6 / stats["asked_gap_us"],
            stats["sent_bps"],
            stats["received_bps"],
            stats["sent"] + train.unsent,
            stats["sent"],
            train.pause_share,
            1e3 * float(max(train.pauses_s, default=0.0)),
            train.overrun,
        )

    @property
    def is_late(self) -> bool:
        """The stream was not what was requested: its rate, its losses and its queue are the
        host's."""
        slow = self.sent_bps is not None and self.sent_bps < SENT_SHARE * self.asked_bps
        return slow or self.asked - self.sent > MAX_UNSENT * self.asked

    @property
    def sentence(self) -> str:
        """What a late sender did."""
        unsent = self.asked - self.sent
        parts = [f"sent {rate(self.sent_bps)} of the requested {rate(self.asked_bps)}"]
        parts += [f"left {unsent} of {self.asked} datagrams unsent"] if unsent else []
        paused = f", with pauses of up to {self.longest_pause_ms:.0f} ms" if self.longest_pause_ms else ""
        return f"{self.host} was late: it {' and '.join(parts)}{paused}"


@dataclass(frozen=True)
class TcpTransfer:
    """Concurrent connections of one test in one direction: bytes of IP that arrived, and
    seconds."""

    ip_bytes: float
    seconds: float

    def rate_bps(self, burst_bytes: float = 0.0) -> float:
        """Mean rate of IP, without a token bucket's burst at the start."""
        return max(0.0, self.ip_bytes - burst_bytes) * 8 / self.seconds


def tcp_transfers(flows: Sequence[Flow], direction: Direction) -> list[TcpTransfer]:
    """What TCP carried in a direction, by test. Retransmissions and options are not counted."""
    found: dict[int, TcpTransfer] = {}
    for flow in flows:
        if flow["direction"] != direction or not flow["received_bytes"] or flow["duration_s"] <= 0:
            continue
        sender = flow["given"]["sender"]
        mss = (sender["mss"] if sender else 0) or 1448
        size = flow["received_bytes"] * (1 + MIN_TCP_IP_HEADERS / mss)
        before = found.get(flow["test"], TcpTransfer(0.0, 0.0))
        found[flow["test"]] = TcpTransfer(before.ip_bytes + size, max(before.seconds, flow["duration_s"]))
    return list(found.values())


@dataclass(frozen=True)
class Statements:
    """What the document states of a direction's capacity: ``at_least`` where ``queue.rate`` is
    None, with the reason ``because``.
    """

    rate_bps: float | None
    at_least: bool
    because: str | None
    queue: Queue
    late: LateHost | None


def consistent(queue: Queue, sender: StreamSender, tcp: Sequence[TcpTransfer], *, filled: bool) -> Statements:
    """The statements of a direction that its finished tests allow together."""
    bucket, windows = queue["token_bucket"], queue["rate"]
    burst = bucket["hi"] if bucket is not None else 0.0
    best = max((one.rate_bps(burst) for one in tcp), default=0.0)
    why = _why_at_least(windows, sender, best, filled=filled)
    if why is not None or windows is None:
        carried = [bps for bps in (sender.received_bps, *(one.rate_bps() for one in tcp)) if bps is not None]
        bare = _without_stream(queue) if sender.is_late else queue
        return Statements(
            max(carried, default=None), True, why, {**bare, "rate": None, "token_bucket": None}, _late(sender)
        )
    widened: RateWindows = {**windows, "hi_bps": max(windows["hi_bps"], best)}
    found: Queue = {**queue, "rate": widened, "stalls": _of_path(queue["stalls"], sender)}
    return Statements(windows["mean_bps"], False, None, found, _late(sender))


def _of_path(stalls: ArrivalStalls | None, sender: StreamSender) -> ArrivalStalls | None:
    """The stalls, unless they are as short as pauses of hosts: where one pauses, another may."""
    is_of_host = _late(sender) is not None and stalls and stalls["longest_ms"] <= HOST_PAUSES * sender.longest_pause_ms
    return None if is_of_host else stalls


def _why_at_least(windows: RateWindows | None, sender: StreamSender, tcp_bps: float, *, filled: bool) -> str | None:
    """Why the stream shows a lower bound of the capacity alone; None if it shows the capacity."""
    if sender.is_late:
        return sender.sentence
    if not filled:
        return "the stream did not fill the path"
    if windows is None:
        return "no queue grew for long enough"
    if tcp_bps > (1 + FRAMING) * windows["hi_bps"] and not windows["wanders"]:
        return f"TCP carried {rate(tcp_bps)}, the stream {rate(windows['mean_bps'])}"
    return None


def _without_stream(queue: Queue) -> Queue:
    """The statements that do not depend on how the stream was sent."""
    kept = queue["kind"] if queue["kind"] == "per-flow" else "unknown"
    return {
        **queue,
        "kind": kept,
        "because": queue["because"] if kept != "unknown" else "the sending host was late",
        "losses": "unknown",
        "buffer_bytes": None,
        "buffer_lo_bytes": None,
        "buffer_hi_bytes": None,
        "stream_grows": None,
        "stalls": None,
    }


def _late(sender: StreamSender) -> LateHost | None:
    """How late the hosts were; None if both kept up."""
    unsent = sender.asked - sender.sent
    if not (sender.is_late or sender.pause_share > MAX_UNSENT or sender.overrun):
        return None
    return {
        "host": sender.host,
        "sent_share": None if sender.sent_bps is None else sender.sent_bps / sender.asked_bps,
        "unsent": unsent,
        "pause_share": sender.pause_share,
        "longest_pause_ms": sender.longest_pause_ms,
        "overrun": sender.overrun,
    }


def late_sentence(direction: str, figures: Capacity) -> str | None:
    """That a host was late, for people; None if none was. Documents of earlier versions do not say
    it."""
    late, why = figures.get("late"), figures.get("at_least_because") or ""
    if late is None:
        return None
    if "was late" in why:
        text = why
    else:
        text = f"{late['host']} was late: it paused for {percent(late['pause_share'])} of the stream's time"
    if late["overrun"]:
        text += f"; the receiving host dropped {late['overrun']} datagrams that it did not read in time"
    return f"{direction}, {text}."


def contradictions(document: Measurement) -> Iterator[str]:
    """The statements of a finished document that exclude each other."""
    for direction, figures in document["capacity"].items():
        windows, sent = figures["queue"]["rate"], figures["sent"]
        tcp = tcp_transfers(document["flows"], direction)
        bucket = figures["queue"]["token_bucket"]
        best = max((one.rate_bps(bucket["hi"] if bucket else 0.0) for one in tcp), default=0.0)
        if figures["at_least"] != (windows is None):
            yield f"{direction}: a lower bound with the interval of a capacity"
        if windows is None:
            if best > (figures["rate_bps"] or 0.0):
                yield f"{direction}: a lower bound below TCP's goodput"
            continue
        if (
            not windows["lo_bps"] <= windows["mean_bps"] <= windows["hi_bps"]
            or figures["rate_bps"] != windows["mean_bps"]
        ):
            yield f"{direction}: the capacity is outside its interval"
        if best > windows["hi_bps"]:
            yield f"{direction}: TCP carried more than the capacity's upper bound"
        asked_bps = sent["ip_bytes"] * 8e6 / sent["asked_gap_us"]
        if sent["sent_bps"] is not None and sent["sent_bps"] < SENT_SHARE * asked_bps:
            yield f"{direction}: the capacity of a link by a stream that was sent at less than requested"
        if (late := figures["late"]) is not None and late["unsent"] > MAX_UNSENT * (sent["sent"] + late["unsent"]):
            yield f"{direction}: busy for {percent(windows['busy_share'])} beside {late['unsent']} unsent datagrams"
    if (size := document["bytes"]) is not None and size["used"] > size["max"]:
        yield f"{size['used']} bytes of at most {size['max']}"
