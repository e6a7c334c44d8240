"""Quantities with units as exact integers: "10 Mb/s" is 10000000 bits/s; sizes are in bytes, times
in picoseconds (crates/scenario/src/units.rs).

`b` is a bit and `B` a byte; `k` (or `K`) is 1000 and `Ki` 1024. A value that is no whole number of
picoseconds, bits per second or bytes is an error; nothing is rounded.
"""

from __future__ import annotations

from functools import lru_cache

from ackclock import _native

PS_PER_S = 10**12
LARGEST = 2**63 - 1  # the engine's integers have 64 bits
_BASES = {"time": "ps", "rate": "b/s", "size": "B"}


def time_ps(text: object) -> int:
    """A time such as "45 ms" in whole picoseconds; units ps, ns, us, ms, s, min, h, day.

    May be negative.
    """
    return _native.read_quantity("time", text)


def rate_bps(text: object) -> int:
    """A rate such as "1.5 Mb/s" in whole bits per second, above zero; units b/s, kb/s, Mb/s, Gb/s,
    Kib/s, MB/s, ..
    """
    return _native.read_quantity("rate", text)


def size_bytes(text: object) -> int:
    """A size such as "64 KiB" in whole bytes, zero or more; units B, kB (KB), KiB, MB, .., and b
    for bits.
    """
    return _native.read_quantity("size", text)


@lru_cache(maxsize=4096)
def show_time(ps: int) -> str:
    """Picoseconds as the shortest exact text that `time_ps` reads back."""
    return _shown("time", ps)


@lru_cache(maxsize=4096)
def show_rate(bps: int) -> str:
    """Bits per second as the shortest exact text that `rate_bps` reads back."""
    return _shown("rate", bps)


def show_size(size: int) -> str:
    """Bytes as the shortest text that `size_bytes` reads back: larger units only where they are
    whole.
    """
    return _shown("size", size)


def _shown(kind: str, number: int) -> str:
    """A number that the engine cannot hold is written in the base unit, and readers refuse it."""
    return _native.show_quantity(kind, number) if abs(number) <= LARGEST else f"{number} {_BASES[kind]}"
