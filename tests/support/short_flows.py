"""Captures of many short connections, written packet by packet."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SYN, FIN, RST, PSH, ACK = 2, 1, 4, 8, 16
_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)


@dataclass(frozen=True)
class Packet:
    """One packet: time in seconds, relative sequence and ACK numbers, payload and window."""

    at: float
    from_client: bool
    flags: int
    seq: int = 0
    ack: int = 0
    payload: int = 0
    window: int = 0xFFFF
    ttl: int = 64


@dataclass(frozen=True)
class Connection:
    """Its packets and its ends, as (address, port)."""

    packets: tuple[Packet, ...]
    client: tuple[str, int]
    server: tuple[str, int] = ("192.0.2.1", 80)


def refused(at: float) -> tuple[Packet, ...]:
    """A SYN and its RST."""
    return (Packet(at, True, SYN), Packet(at + 0.02, False, RST | ACK, 0, 1))


def unanswered(at: float) -> tuple[Packet, ...]:
    """A SYN and its retransmissions after 1 s and 2 s."""
    return tuple(Packet(at + after, True, SYN) for after in (0.0, 1.0, 3.0))


def exchange(at: float, segments: int = 2, *, rtt: float = 0.02, size: int = 1448) -> tuple[Packet, ...]:
    """A request of 300 bytes and a response, closed by both ends, as captured at the client."""
    end = 1 + segments * size
    ready, answered = at + rtt + 0.001, at + 2 * rtt + 0.002
    return (
        Packet(at, True, SYN),
        Packet(at + rtt, False, SYN | ACK, 0, 1),
        Packet(at + rtt, True, ACK, 1, 1),
        Packet(ready, True, PSH | ACK, 1, 1, 300),
        *(Packet(answered, False, ACK, 1 + i * size, 301, size) for i in range(segments)),
        Packet(answered, True, ACK, 301, end),
        Packet(answered + 0.001, True, FIN | ACK, 301, end),
        Packet(answered + 0.001 + rtt, False, FIN | ACK, end, 302),
        Packet(answered + 0.001 + rtt, True, ACK, 302, end + 1),
    )


def write_connections(path: Path, connections: Iterable[Connection]) -> Path:
    """Write the packets of all connections in the order of time, headers only; return the path."""
    frames = [
        (packet.at, number, index, _frame(connection, packet))
        for number, connection in enumerate(connections)
        for index, packet in enumerate(connection.packets)
    ]
    with path.open("wb") as file:
        file.write(_HEADER)
        for at, _, _, (length, frame) in sorted(frames, key=lambda one: one[:3]):
            ns = round(at * 1e9)
            file.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(frame), length) + frame)
    return path


def _frame(connection: Connection, packet: Packet) -> tuple[int, bytes]:
    """The length on the wire, and an Ethernet frame without its payload and checksums."""
    source, target = connection.client, connection.server
    if not packet.from_client:
        source, target = target, source
    ip = (
        struct.pack(">BBHHHBBH", 0x45, 0, 40 + packet.payload, 0, 0x4000, packet.ttl, 6, 0)
        + _address(source[0])
        + _address(target[0])
    )
    ack = packet.ack if packet.flags & ACK else 0
    tcp = struct.pack(
        ">HHIIBBHI",
        source[1],
        target[1],
        packet.seq + 1000,
        ack + 1000 if ack else 0,
        0x50,
        packet.flags,
        packet.window,
        0,
    )
    return 54 + packet.payload, bytes(12) + b"\x08\x00" + ip + tcp


def _address(text: str) -> bytes:
    return bytes(map(int, text.split(".")))
