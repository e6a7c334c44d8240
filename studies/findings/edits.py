"""What is done to captures of the kernel where no program does it here: a clock that steps, records
that are missing, both interfaces of an address translator, a SYN without its window scale.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from studies import pcap_records
from studies.analyzer.perturbations import swapped
from studies.pcap_records import ETHERNET_BYTES, IP_BYTES, Record

_SYN, _RESET, _SYN_ACK = 0x02, 0x04, 0x12
_WINDOW_SCALE, _NO_OPERATION = 3, 1


Edit = Callable[[Sequence[Record], random.Random], Sequence[Record]]


def apply(name: str, captures: Mapping[str, Path], seed: int) -> None:
    """Edit captures, by the end at which each was made, in place."""
    for end, path in captures.items():
        if end not in ENDS.get(name, (end,)):
            continue
        capture = pcap_records.read(path)
        pcap_records.write(path, capture.of(EDITS[name](capture.records, random.Random(seed))))


def _clock_steps(records: Sequence[Record], draw: random.Random) -> Sequence[Record]:
    """Each 50 records or so the clock is set back by 5 to 200 ms, and later forward again."""
    behind, out = 0, []
    for record in records:
        if draw.random() < 0.02:
            behind = 0 if behind else 1000 * draw.randrange(5_000, 200_000)
        out.append(replace(record, at_ns=record.at_ns - behind))
    return out


def _missing_records(records: Sequence[Record], draw: random.Random) -> Sequence[Record]:
    return [record for record in records if record.flags & _SYN or draw.random() >= 0.02]


def _synack_first(records: Sequence[Record], _: random.Random) -> Sequence[Record]:
    """The first SYN and its SYN-ACK change places and times: the SYN-ACK 260 us earlier."""
    syn = next(number for number, record in enumerate(records) if record.flags == _SYN)
    answer = next(number for number, record in enumerate(records) if record.flags & 0x3F == _SYN_ACK)
    out = list(records)
    at = out[syn].at_ns
    out[syn], out[answer] = replace(out[answer], at_ns=at), replace(out[syn], at_ns=at + 260_000)
    return sorted(out, key=lambda record: record.at_ns)


def _translated(records: Sequence[Record], draw: random.Random) -> Sequence[Record]:
    """Each packet twice: as it enters a translator, and 30 to 90 us later as it leaves it, with
    another address and port of the client, and a TTL of one less."""
    client = records[0].stream
    port = records[0].data[ETHERNET_BYTES + IP_BYTES : ETHERNET_BYTES + IP_BYTES + 2]
    shift = draw.randrange(1, 20_000)
    out = list(records)
    for record in records:
        data = bytearray(record.data)
        at = 0 if record.stream == client else 4
        data[ETHERNET_BYTES + 12 + at : ETHERNET_BYTES + 16 + at] = bytes((203, 0, 113, 7))
        ports = ETHERNET_BYTES + IP_BYTES + at // 2
        (old,) = struct.unpack_from("!H", data, ports)
        base = struct.unpack("!H", port)[0]
        if old >= 1024 or old == base:
            struct.pack_into("!H", data, ports, 1024 + (old + shift) % 64_000)
        data[ETHERNET_BYTES + 8] -= 1
        out.append(replace(record, at_ns=record.at_ns + 1000 * draw.randrange(30, 90), data=bytes(data)))
    return sorted(out, key=lambda record: record.at_ns)


def _scale_stripped(records: Sequence[Record], _: random.Random) -> Sequence[Record]:
    """The window scale of each SYN becomes padding, as a firewall does it."""
    return [_without_scale(record) if record.flags & _SYN else record for record in records]


def _without_scale(record: Record) -> Record:
    data, at = bytearray(record.data), ETHERNET_BYTES + IP_BYTES + 20
    end = ETHERNET_BYTES + IP_BYTES + 4 * (data[ETHERNET_BYTES + IP_BYTES + 12] >> 4)
    while at < end and data[at]:
        if data[at] == _NO_OPERATION:
            at += 1
            continue
        if data[at] == _WINDOW_SCALE:
            data[at : at + 3] = bytes([_NO_OPERATION] * 3)
        at += data[at + 1] if data[at] != _NO_OPERATION else 3
    return replace(record, data=bytes(data))


def _untranslated(records: Sequence[Record], draw: random.Random) -> Sequence[Record]:
    """A data packet of the server keeps its address behind a translation; the client's host, which
    knows no such connection, resets it."""
    client = records[0].stream
    data = [number for number, record in enumerate(records) if record.stream != client and record.length > 500]
    at = data[draw.randrange(len(data) // 4, len(data) // 2)]
    packet, ip = bytearray(records[at].data), ETHERNET_BYTES
    packet[ip + 12 : ip + 16] = bytes((10, 244, 1, 9))
    sent = next(record for record in reversed(records[:at]) if record.stream == client)
    reset = bytearray(sent.data[: ip + IP_BYTES + 20])
    reset[ip + 16 : ip + 20] = packet[ip + 12 : ip + 16]
    struct.pack_into("!H", reset, ip + 2, IP_BYTES + 20)
    # With the number that the packet acknowledges, and no ACK (RFC 9293, section 3.5.2).
    reset[ip + IP_BYTES + 4 : ip + IP_BYTES + 8] = packet[ip + IP_BYTES + 8 : ip + IP_BYTES + 12]
    reset[ip + IP_BYTES + 8 : ip + IP_BYTES + 14] = bytes((0, 0, 0, 0, 5 << 4, _RESET))
    answer = Record(records[at].at_ns + 20_000, len(reset), bytes(reset))
    return [*records[:at], replace(records[at], data=bytes(packet)), answer, *records[at + 1 :]]


EDITS: Mapping[str, Edit] = {
    "clock_steps": _clock_steps,
    "swapped": partial(swapped, share=0.5),
    "missing_records": _missing_records,
    "synack_first": _synack_first,
    "translated": _translated,
    "scale_stripped": _scale_stripped,
    "untranslated": _untranslated,
}
ENDS: Mapping[str, tuple[str, ...]] = {"scale_stripped": ("server",)}
"""The ends whose captures an edit changes; all of the others."""
