"""Quantities with units as exact integers: "10 Mb/s" is 10000000 bits/s; sizes are in bytes, times
in picoseconds.

`b` is a bit and `B` a byte; `k` (or `K`) is 1000 and `Ki` 1024. A value that is no whole number of
picoseconds, bits per second or bytes is an error; nothing is rounded.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from ackclock.errors import InvalidValue, choices, format_value

PS_PER_S = 10**12
LARGEST = 2**63 - 1  # the engine's integers have 64 bits
FASTEST_BPS = 10**14  # above 100 Tb/s a small packet takes about a picosecond

_PREFIXES = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}

TIMES: dict[str, Fraction] = {
    "ps": Fraction(1),
    "ns": Fraction(10**3),
    "us": Fraction(10**6),
    "ms": Fraction(10**9),
    "s": Fraction(PS_PER_S),
    "min": Fraction(60 * PS_PER_S),
    "h": Fraction(3600 * PS_PER_S),
    "day": Fraction(86400 * PS_PER_S),
}
SIZES: dict[str, Fraction] = {
    **{f"{prefix}B": Fraction(factor) for prefix, factor in _PREFIXES.items()},
    **{f"{prefix}b": Fraction(factor, 8) for prefix, factor in _PREFIXES.items()},
}
RATES: dict[str, Fraction] = {f"{unit}/s": 8 * factor for unit, factor in SIZES.items()}

# The exponent has at most 2 digits: the exact value of 1e999999999 would use all memory.
_QUANTITY = re.compile(r"\s*([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?)\s*(\S*)\s*", re.ASCII)


def time_ps(text: object) -> int:
    """A time such as "45 ms" in whole picoseconds; units ps, ns, us, ms, s, min, h, day.

    May be negative.
    """
    return _whole(text, TIMES, 'a time with a unit, such as "45 ms"', "picoseconds")


def rate_bps(text: object) -> int:
    """A rate such as "1.5 Mb/s" in whole bits per second, above zero; units b/s, kb/s, Mb/s, Gb/s,
    Kib/s, MB/s, ..
    """
    rate = _whole(text, RATES, 'a rate with a unit, such as "10 Mb/s"', "bits per second")
    if rate <= 0:
        raise InvalidValue(format_value(text), "a rate above zero (leave the key out for an unlimited rate)")
    if rate > FASTEST_BPS:
        raise InvalidValue(format_value(text), f"a rate of at most {show_rate(FASTEST_BPS)}")
    return rate


def size_bytes(text: object) -> int:
    """A size such as "64 KiB" in whole bytes, zero or more; units B, kB (KB), KiB, MB, .., and b
    for bits.
    """
    size = _whole(text, SIZES, 'a size with a unit, such as "64 KiB" or "1500 B"', "bytes")
    if size < 0:
        raise InvalidValue(format_value(text), "a size of zero or more")
    return size


def _whole(text: object, units: dict[str, Fraction], allowed: str, counted_in: str) -> int:
    if not isinstance(text, str):
        raise InvalidValue(format_value(text), allowed, code="unit")
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise InvalidValue(format_value(text), allowed, code="unit")
    number, unit = match.groups()
    if unit not in units:
        found = format_value(text) if unit else f"{format_value(text)} without a unit"
        raise InvalidValue(
            found, f"{allowed}; units: {choices(_advertised(units), _common_spelling(unit))}", code="unit"
        )
    exact = Fraction(number) * units[unit]
    if exact.denominator != 1:
        raise InvalidValue(format_value(text), f"a whole number of {counted_in}")
    if abs(exact) > LARGEST:
        raise InvalidValue(format_value(text), f"at most {LARGEST} {counted_in}")
    return int(exact)


def _advertised(units: dict[str, Fraction]) -> list[str]:
    """The units that a message lists: all times, common rates, byte sizes."""
    if units is TIMES:
        return list(TIMES)
    if units is RATES:
        return [f"{p}b/s" for p in ("", "k", "M", "G", "Ki", "Mi")] + ["kB/s", "MB/s"]
    return [f"{p}B" for p in ("", "k", "K", "M", "G", "Ki", "Mi", "Gi")] + ["b"]


def _common_spelling(unit: str) -> str:
    """Common spellings of units, converted to these, for suggestions."""
    unit = re.sub(r"(?i)bits?(/s|ps)?$", r"b\1", unit)
    unit = re.sub(r"(?i)bytes?(/s|ps)?$", r"B\1", unit)
    unit = re.sub(r"ps$", "/s", unit) if len(unit) > 2 else unit
    long_names = {
        "sec": "s",
        "secs": "s",
        "second": "s",
        "seconds": "s",
        "msec": "ms",
        "usec": "us",
        "µs": "us",
        "minutes": "min",
        "minute": "min",
        "m": "min",
        "hour": "h",
        "hours": "h",
        "days": "day",
        "d": "day",
    }
    return long_names.get(unit, unit)


@lru_cache(maxsize=4096)
def show_time(ps: int) -> str:
    """Picoseconds as the shortest exact text that `time_ps` reads back."""
    return _shortest(ps, [(name, TIMES[name]) for name in ("s", "ms", "us", "ns", "ps")])


@lru_cache(maxsize=4096)
def show_rate(bps: int) -> str:
    """Bits per second as the shortest exact text that `rate_bps` reads back."""
    return _shortest(bps, [(f"{p}b/s", Fraction(_PREFIXES[p])) for p in ("G", "M", "k", "")])


def show_size(size: int) -> str:
    """Bytes as the shortest text that `size_bytes` reads back: larger units only where they are
    whole.
    """
    texts = [
        f"{size // _PREFIXES[prefix]} {prefix}B"
        for prefix in ("Mi", "Ki", "M", "k", "")
        if size % _PREFIXES[prefix] == 0
    ]
    return min(texts, key=len) if size else "0 B"


def _shortest(value: int, units: list[tuple[str, Fraction]]) -> str:
    """The first unit in which the value is 1 or more with at most three decimals; the last unit
    fits always.
    """
    for name, factor in units:
        scaled = Fraction(value) / factor
        if (abs(scaled) >= 1 or value == 0) and (scaled * 1000).denominator == 1:
            whole, rest = divmod(abs(int(scaled * 1000)), 1000)
            decimals = f".{rest:03d}".rstrip("0") if rest else ""
            return f"{'-' if value < 0 else ''}{whole}{decimals} {name}"
    raise AssertionError(f"{value} fits no unit")
