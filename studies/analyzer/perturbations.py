"""What happens to captures of hosts: many flows in one file, the order of capture swapped, late
timestamps.

A capture is a list of `CapturedPacket`, read from the simulator's pcap and its ground truth.
"""

from __future__ import annotations

import csv
import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

SWAP_NS = 10_000
"""Packets captured within this time may be swapped: each queue of an interface, and each direction,
has a buffer of its own."""
SWAPPED_SHARE = 0.1
"""Share of the neighbors that are."""
LATE_MEAN_NS = 20_000
"""Mean lateness of a timestamp that the capturing host takes instead of the interface."""
STALL_SHARE, STALL_NS = 0.002, 2_000_000
"""Share of packets at which the host stalls, and for how long at most: all packets of the stall get
its end as their time."""
PCAP_HEADER = 24
"""Bytes before the first record of a file."""
_RECORD = struct.Struct("<IIII")


@dataclass(frozen=True)
class CapturedPacket:
    """A record of a capture.

    `flow`: its flow; `at_ns`: time; `data`: lengths and bytes as in the file; `segments`:
    the ground truth of its segments, `packet,sent,why` each.
    """

    flow: int
    at_ns: int
    data: bytes
    segments: tuple[tuple[str, str, str], ...]

    @property
    def stream(self) -> tuple[int, str]:
        """Flow and direction: an interface keeps their order."""
        return self.flow, self.segments[0][1]


def read_capture(pcap: Path, truth: Path, flow: int = 0) -> list[CapturedPacket]:
    """The records of a capture with nanosecond timestamps and its ground truth."""
    data = pcap.read_bytes()
    with truth.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        next(lines)
        segments = [tuple((p, s, w) for _, p, s, w in group) for _, group in groupby(lines, key=lambda line: line[0])]
    packets, at = [], PCAP_HEADER
    for of in segments:
        seconds, nanoseconds, captured, original = _RECORD.unpack_from(data, at)
        end = at + _RECORD.size + captured
        body = struct.pack("<II", captured, original) + data[at + _RECORD.size : end]
        packets.append(CapturedPacket(flow, seconds * 1_000_000_000 + nanoseconds, body, of))
        at = end
    assert at == len(data), (pcap, at, len(data))
    return packets


def write_capture(packets: Sequence[CapturedPacket], header: bytes, pcap: Path, truth: Path) -> None:
    """Write a capture and its ground truth. `header`: the first bytes of a capture file."""
    with pcap.open("wb") as file:
        file.write(header)
        for packet in packets:
            file.write(struct.pack("<II", *divmod(packet.at_ns, 1_000_000_000)) + packet.data)
    with truth.open("w", newline="", encoding="utf-8") as text:
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(("record", "packet", "sent", "why"))
        lines.writerows((number, *of) for number, packet in enumerate(packets) for of in packet.segments)


def interleaved(captures: Iterable[Sequence[CapturedPacket]]) -> list[CapturedPacket]:
    """Captures of several flows at one point as one capture, by time."""
    return list(merge(*captures, key=lambda packet: packet.at_ns))


class Recorded(Protocol):
    """A record of a capture: its time, and what its interface keeps in order."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def at_ns(self) -> int: ...
    @property
    def stream(self) -> object: ...


R = TypeVar("R", bound=Recorded)


def swapped(packets: Sequence[R], draw: random.Random, share: float = SWAPPED_SHARE) -> list[R]:
    """A share of the neighbors within 10 us change places, but not packets of one flow in one
    direction; times stay in order.
    """
    order = list(packets)
    at = 0
    while at + 1 < len(order):
        one, other = order[at], order[at + 1]
        is_close = other.at_ns - one.at_ns <= SWAP_NS and one.stream != other.stream
        if is_close and draw.random() < share:
            order[at], order[at + 1] = replace(other, at_ns=one.at_ns), replace(one, at_ns=other.at_ns)
            at += 1
        at += 1
    return order


def late(packets: Sequence[CapturedPacket], draw: random.Random) -> list[CapturedPacket]:
    """Timestamps are late, by an exponential time and by rare stalls; the order stays."""
    delayed, now = [], 0
    for packet in packets:
        stall = draw.uniform(0, STALL_NS) if draw.random() < STALL_SHARE else 0.0
        now = max(now, packet.at_ns + round(draw.expovariate(1 / LATE_MEAN_NS) + stall))
        delayed.append(replace(packet, at_ns=now))
    return delayed


PERTURBATIONS = {"order swapped": swapped, "late timestamps": late}
PERTURBED = {
    "order swapped": "a tenth of the neighbors within 10 us in swapped order, not of one flow and direction",
    "late timestamps": "timestamps late by 20 us on average, and by stalls of up to 2 ms",
}
"""What each perturbation does."""
