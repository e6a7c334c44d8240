"""Copies of captures with another clock and without some packets."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path


def altered_copy(
    source: Path,
    target: Path,
    keep: Callable[[int], bool] = lambda number: True,
    *,
    offset_s: float = 3.7,
    skew: float = 50e-6,
    until_s: float = float("inf"),
) -> Path:
    """A copy of a pcap, in gzip or plain, whose clock is ahead and runs fast, with only the packets
    that are kept (by number from 0).
    """
    raw = source.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    order = "<" if raw[:1] in (b"\xd4", b"\x4d") else ">"
    unit = 1e9 if raw[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1e6
    out, at, first, number = [raw[:24]], 24, None, 0
    while at < len(raw):
        seconds, fraction, captured, original = struct.unpack_from(order + "4I", raw, at)
        first = first if first is not None else seconds
        since = seconds - first + fraction / unit
        late = since * (1 + skew) + offset_s
        whole = int(late)
        if keep(number) and since <= until_s:
            out.append(struct.pack(order + "4I", first + whole, int((late - whole) * unit), captured, original))
            out.append(raw[at + 16 : at + 16 + captured])
        at, number = at + 16 + captured, number + 1
    target.write_bytes(b"".join(out))
    return target
