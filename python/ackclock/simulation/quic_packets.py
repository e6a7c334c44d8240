"""Packets and frames of QUIC (RFC 9000) in datagrams of a simulated flow, whose null cryptography
leaves them readable, and the packets that their sender declares lost (RFC 9002, section 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Event = dict[str, Any]

CID_BYTES = 8
"""Of both ends (crates/quic/src/connection_ids.rs)."""
TAG_BYTES = 16
_MAX_ACK_DELAY_NS = 25_000_000
"""RFC 9000, section 18.2, of a receiver that was not asked for another."""
_ACK_DELAY_EXPONENT = 3
_GRANULARITY_NS = 1_000_000
"""RFC 9002, section 6.1.2: kGranularity."""
_LONG_TYPES = ("initial", "0RTT", "handshake", "retry")
_SPACES = {"initial": 0, "handshake": 1, "0RTT": 2, "1RTT": 2}
_NOT_ELICITING = frozenset({"padding", "ack", "connection_close"})
_SHORT_FRAMES: dict[int, tuple[str, tuple[str, ...]]] = {
    0x01: ("ping", ()),
    0x04: ("reset_stream", ("stream_id", "error_code", "final_size")),
    0x05: ("stop_sending", ("stream_id", "error_code")),
    0x10: ("max_data", ("maximum",)),
    0x11: ("max_stream_data", ("stream_id", "maximum")),
    0x14: ("data_blocked", ("limit",)),
    0x15: ("stream_data_blocked", ("stream_id", "limit")),
    0x19: ("retire_connection_id", ("sequence_number",)),
    0x1E: ("handshake_done", ()),
}
"""Frames of a type and integers."""
_STREAM_KIND_FRAMES: dict[int, tuple[str, str, str]] = {
    0x12: ("max_streams", "bidirectional", "maximum"),
    0x13: ("max_streams", "unidirectional", "maximum"),
    0x16: ("streams_blocked", "bidirectional", "limit"),
    0x17: ("streams_blocked", "unidirectional", "limit"),
}
_UNNAMED_FRAMES = {0x1F: 0, 0xAF: 4}
"""Frames without a name in qlog, and their integers: IMMEDIATE_ACK and ACK_FREQUENCY
(draft-ietf-quic-ack-frequency-11).
"""


class Packet(NamedTuple):
    """A packet: its type as in qlog, number, bytes with header and tag, and frames.

    `is_whole`: the capture holds all of its frames, but for the bytes of a last one.
    """

    kind: str
    number: int
    length: int
    payload_length: int
    frames: list[Event]
    is_whole: bool

    @property
    def space(self) -> int:
        return _SPACES[self.kind]

    @property
    def is_ack_eliciting(self) -> bool:
        return any(frame["frame_type"] not in _NOT_ELICITING for frame in self.frames)


class _Cut(Exception):
    """The capture ends within a frame."""


class _Reader:
    """Bytes of a datagram, of which a capture holds the first."""

    def __init__(self, held: bytes, length: int) -> None:
        self.held, self.length, self.place = held, length, 0

    def take(self, count: int) -> bytes:
        part = self.held[self.place : self.place + count]
        if len(part) < count:
            raise _Cut
        self.place += count
        return part

    def integer(self) -> int:
        """RFC 9000, section 16."""
        first = self.take(1)[0]
        value = first & 63
        for byte in self.take((1 << (first >> 6)) - 1):
            value = value << 8 | byte
        return value


def full_number(shown: int, count: int, expected: int) -> int:
    """The packet number of which a header shows the last `count` bytes (RFC 9000, appendix A.3).

    >>> hex(full_number(0x9B32, 2, 0xA82F30EA + 1))
    '0xa82f9b32'
    """
    window = 1 << 8 * count
    candidate = expected & ~(window - 1) | shown
    if candidate <= expected - window // 2:
        return candidate + window
    if candidate > expected + window // 2 and candidate >= window:
        return candidate - window
    return candidate


def packets(held: bytes, length: int, expected: list[int]) -> Iterator[Packet]:
    """The packets of a datagram of `length` bytes, of which `held` are known. `expected`: by
    packet number space the next number, which is renewed.
    """
    reader = _Reader(held, length)
    while reader.place < reader.length:
        start = reader.place
        try:
            first = reader.take(1)[0]  # its fixed bit may be greased (RFC 9287)
            if first & 0x80:
                kind = _LONG_TYPES[first >> 4 & 3]
                reader.take(4)
                for _ in range(2):
                    reader.take(reader.take(1)[0])
                if kind == "retry":
                    return
                if kind == "initial":
                    reader.take(reader.integer())
                rest = reader.integer()
                end = reader.place + rest
            else:
                kind = "1RTT"
                reader.take(CID_BYTES)
                end = reader.length
            count = (first & 3) + 1
            shown = int.from_bytes(reader.take(count), "big")
        except _Cut:
            return
        space = _SPACES[kind]
        number = full_number(shown, count, expected[space])
        expected[space] = max(expected[space], number + 1)
        body = end - TAG_BYTES
        payload = body - reader.place
        found, is_whole = _frames(reader, body)
        yield Packet(kind, number, end - start, payload, found, is_whole)
        reader.place = end


def _frames(reader: _Reader, end: int) -> tuple[list[Event], bool]:
    found: list[Event] = []
    try:
        while reader.place < end:
            found.append(_frame(reader, end))
    except _Cut:
        return found, False
    return found, True


def _frame(reader: _Reader, end: int) -> Event:
    kind = reader.integer()
    if kind == 0x00:
        # What lies beyond the capture is zeros.
        start = reader.place - 1
        while reader.place < end and reader.held[reader.place : reader.place + 1] in (b"\0", b""):
            reader.place += 1
        return {"frame_type": "padding", "raw": {"length": reader.place - start}}
    if kind in (0x02, 0x03):
        return _ack(reader, kind)
    if kind in _SHORT_FRAMES:
        name, fields = _SHORT_FRAMES[kind]
        return {"frame_type": name} | {field: reader.integer() for field in fields}
    if kind in _STREAM_KIND_FRAMES:
        name, stream_type, value = _STREAM_KIND_FRAMES[kind]
        return {"frame_type": name, "stream_type": stream_type, value: reader.integer()}
    if kind in (0x06, 0x07):
        offset = reader.integer() if kind == 0x06 else None
        length = reader.integer()
        reader.place += length
        named: Event = {"frame_type": "new_token"} if offset is None else {"frame_type": "crypto", "offset": offset}
        return named | {"raw": {"payload_length": length}}
    if 0x08 <= kind <= 0x0F:
        stream = reader.integer()
        offset = reader.integer() if kind & 4 else 0
        length = reader.integer() if kind & 2 else end - reader.place
        reader.place += length
        frame: Event = {"frame_type": "stream", "stream_id": stream, "offset": offset}
        return frame | ({"fin": True} if kind & 1 else {}) | {"raw": {"payload_length": length}}
    if kind == 0x18:
        numbers = {"sequence_number": reader.integer(), "retire_prior_to": reader.integer()}
        cid = reader.take(reader.take(1)[0])
        reader.place += 16
        return {"frame_type": "new_connection_id", **numbers, "connection_id": cid.hex()}
    if kind in (0x1A, 0x1B):
        return {"frame_type": "path_challenge" if kind == 0x1A else "path_response", "data": reader.take(8).hex()}
    if kind in (0x1C, 0x1D):
        code = reader.integer()
        if kind == 0x1C:
            reader.integer()
        reader.place += reader.integer()
        space = "transport" if kind == 0x1C else "application"
        return {"frame_type": "connection_close", "error_space": space, "error_code": code}
    if kind in _UNNAMED_FRAMES:
        for _ in range(_UNNAMED_FRAMES[kind]):
            reader.integer()
        return {"frame_type": "unknown", "frame_type_bytes": kind}
    # Nothing after a frame of another type can be read.
    reader.place = end
    return {"frame_type": "unknown", "frame_type_bytes": kind}


def _ack(reader: _Reader, kind: int) -> Event:
    """RFC 9000, section 19.3. What a capture does not hold is left out."""
    largest, delay, count, first = (reader.integer() for _ in range(4))
    low = largest - first
    ranges = [[low, largest]]
    frame: Event = {
        "frame_type": "ack",
        "ack_delay": (delay << _ACK_DELAY_EXPONENT) / 1e3,
        "acked_ranges": ranges,
    }
    for _ in range(count):
        high = low - reader.integer() - 2
        low = high - reader.integer()
        ranges.append([low, high])
    ranges.reverse()
    if kind == 0x03:
        frame |= {name: reader.integer() for name in ("ect0", "ect1", "ce")}
    return frame


@dataclass
class _Space:
    """Packets of a packet number space that are neither acknowledged nor lost: when each was sent,
    whether it asks for an ACK, and whether it searches for the MTU.
    """

    sent: dict[int, tuple[int, bool, bool]] = field(default_factory=dict)
    largest_acked: int = -1
    largest_sent_ns: int = 0
    loss_ns: int | None = None


class LossDetection:
    """RFC 9002, section 6.1, at the sender, from the packets that it sent and the ACKs that came.

    `quic`: the plan's table of the flow; RFC 9002's values without it.
    """

    def __init__(self, quic: Mapping[str, Any] | None = None) -> None:
        keys = quic or {}
        self.packet_threshold = int(keys.get("packet_threshold") or 3)
        self.max_ack_delay_ns = int(keys.get("max_ack_delay_ps") or _MAX_ACK_DELAY_NS * 1000) // 1000
        self.spaces = [_Space() for _ in range(3)]
        self.latest_ns = self.smoothed_ns = self.min_ns = 0

    def on_sent(self, now_ns: int, packet: Packet, is_probe: bool) -> None:
        self.spaces[packet.space].sent[packet.number] = (now_ns, packet.is_ack_eliciting, is_probe)

    def on_acks(self, now_ns: int, packet: Packet) -> Iterator[Event]:
        """`quic:packet_lost` of packets that the ACKs of a received packet show to be lost."""
        for frame in packet.frames:
            if frame["frame_type"] == "ack":
                yield from self._on_ack(now_ns, packet.space, frame)

    def _on_ack(self, now_ns: int, number: int, frame: Mapping[str, Any]) -> Iterator[Event]:
        space = self.spaces[number]
        largest = frame["acked_ranges"][-1][1]
        is_new = largest > space.largest_acked
        if is_new:
            space.largest_acked = largest
            if largest in space.sent:
                space.largest_sent_ns = space.sent[largest][0]
        oldest = next(iter(space.sent), 0)
        shown = (range(max(low, oldest), high + 1) for low, high in frame["acked_ranges"])
        acked = [one for numbers in shown for one in numbers if one in space.sent]
        if not acked:
            return
        elicits = [space.sent.pop(one)[1] for one in acked]
        if is_new and any(elicits):
            delay = min(round(frame["ack_delay"] * 1e6), self.max_ack_delay_ns) if number == 2 else 0
            self._on_rtt(now_ns - space.largest_sent_ns, delay)
        yield from self._detect(now_ns, number)

    def _on_rtt(self, rtt_ns: int, delay_ns: int) -> None:
        """RFC 9002, section 5.3."""
        self.latest_ns = rtt_ns
        if not self.smoothed_ns:
            self.smoothed_ns = self.min_ns = rtt_ns
            return
        self.min_ns = min(self.min_ns, rtt_ns)
        adjusted = rtt_ns - delay_ns if self.min_ns + delay_ns <= rtt_ns else rtt_ns
        self.smoothed_ns = (7 * self.smoothed_ns + adjusted) // 8

    def before(self, now_ns: int) -> Iterator[Event]:
        """`quic:packet_lost` of the timers that expire before this time."""
        for number, space in enumerate(self.spaces):
            while space.loss_ns is not None and space.loss_ns < now_ns:
                yield from self._detect(space.loss_ns, number)

    def _detect(self, now_ns: int, number: int) -> Iterator[Event]:
        space = self.spaces[number]
        delay = max(9 * max(self.latest_ns, self.smoothed_ns) // 8, _GRANULARITY_NS)
        space.loss_ns = None
        lost = []
        for packet, (sent_ns, _, is_probe) in space.sent.items():
            if packet >= space.largest_acked:
                break
            by_packets = space.largest_acked >= packet + self.packet_threshold
            if by_packets or now_ns - sent_ns >= delay:
                lost.append((packet, is_probe, "reordering_threshold" if by_packets else "time_threshold"))
            elif space.loss_ns is None:
                space.loss_ns = sent_ns + delay
        for packet, is_probe, trigger in lost:
            del space.sent[packet]
            kind = ("initial", "handshake", "1RTT")[number]
            data: Event = {"header": {"packet_type": kind, "packet_number": packet}, "trigger": trigger}
            data |= {"is_mtu_probe_packet": True} if is_probe else {}
            yield {"time": now_ns / 1e6, "name": "quic:packet_lost", "data": data}
