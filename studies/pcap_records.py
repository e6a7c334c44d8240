"""Records of a classic pcap, to change or to mix captures as hosts do."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from heapq import merge
from pathlib import Path

HEADER_BYTES = 24
ETHERNET_BYTES, IP_BYTES = 14, 20
_RECORD = struct.Struct("<IIII")
_TICK_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Nanoseconds of a record's unit of time, by the magic number in little-endian order."""


@dataclass(frozen=True)
class Record:
    """A packet of a capture: its time, its length on the wire, the bytes that were kept."""

    at_ns: int
    length: int
    data: bytes

    @property
    def flags(self) -> int:
        """Of TCP, on Ethernet and IPv4 without options."""
        return self.data[ETHERNET_BYTES + IP_BYTES + 13]

    @property
    def stream(self) -> bytes:
        """The sender's address, on Ethernet and IPv4."""
        return self.data[ETHERNET_BYTES + 12 : ETHERNET_BYTES + 16]


@dataclass(frozen=True)
class Capture:
    """A pcap in memory: its header and its records."""

    header: bytes
    records: list[Record]

    @property
    def tick_ns(self) -> int:
        return _TICK_NS[int.from_bytes(self.header[:4], "little")]

    def of(self, records: Iterable[Record]) -> Capture:
        """Other records under this header."""
        return Capture(self.header, list(records))


def read(path: Path) -> Capture:
    """A pcap in little-endian order, with microseconds or nanoseconds.

    Raises:
        KeyError: another magic number.
    """
    raw = path.read_bytes()
    capture, at = Capture(raw[:HEADER_BYTES], []), HEADER_BYTES
    tick_ns = capture.tick_ns
    while at < len(raw):
        seconds, ticks, captured, length = _RECORD.unpack_from(raw, at)
        at += _RECORD.size + captured
        capture.records.append(Record(1_000_000_000 * seconds + tick_ns * ticks, length, raw[at - captured : at]))
    return capture


def write(path: Path, capture: Capture) -> Path:
    """Write it; returns the path."""
    tick_ns = capture.tick_ns
    with path.open("wb") as file:
        file.write(capture.header)
        for record in capture.records:
            seconds, ns = divmod(record.at_ns, 1_000_000_000)
            file.write(_RECORD.pack(seconds, ns // tick_ns, len(record.data), record.length) + record.data)
    return path


def merged(captures: Iterable[Capture]) -> Capture:
    """Captures of one point as one, by time, under the first one's header."""
    every = list(captures)
    return every[0].of(merge(*(capture.records for capture in every), key=lambda record: record.at_ns))


def edited(path: Path, to: Path, change: Callable[[Record], Record]) -> Path:
    """A copy of a capture with each record changed."""
    capture = read(path)
    return write(to, capture.of(map(change, capture.records)))


def cut(record: Record, snaplen: int) -> Record:
    """The record of a capture with this snapshot length."""
    return replace(record, data=record.data[:snaplen])
