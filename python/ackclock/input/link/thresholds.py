"""Thresholds of a queue: in packets, bytes or time."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.form import quantity
from ackclock.input.quantity_fields import LONGEST_PS
from ackclock.input.units import SIZES, TIMES, size_bytes, time_ps

Plan = dict[str, Any]
THRESHOLD = 'a threshold such as "20 packets", "30 kB" or "1 ms"'
AMOUNT = 'a number of packets or bytes above zero, such as "5 packets" or "30 kB"'


def _words(value: Any) -> tuple[str, str]:
    """Number and unit of a text; empty strings if it has another form."""
    words = value.split() if isinstance(value, str) else []
    return (words[0], words[1]) if len(words) == 2 else ("", "")


def _threshold(value: Any) -> str:
    """Check a threshold; return it as written."""
    threshold_plan(value)
    return str(value)


def threshold_plan(value: Any) -> Plan:
    """The plan of a threshold in packets, bytes or time."""
    count, unit = _words(value)
    if unit in ("packet", "packets") and count.isascii() and count.isdigit() and len(count) < 10:
        return {"kind": "packets", "packets": int(count)}
    if unit in SIZES:
        return {"kind": "bytes", "bytes": size_bytes(value)}
    if unit in TIMES and 0 <= time_ps(value) <= LONGEST_PS:
        return {"kind": "time", "ps": time_ps(value)}
    raise InvalidValue(format_value(value), THRESHOLD)


def amount(value: Any) -> tuple[str, float]:
    """A mean queue length: its unit, `packets` or `bytes`, and the number, which may be a
    fraction.
    """
    count, unit = _words(value)
    if unit in SIZES and size_bytes(value) > 0:
        return "bytes", float(size_bytes(value))
    try:
        packets = float(count) if unit in ("packet", "packets") else 0.0
    except ValueError:
        packets = 0.0
    if not 0 < packets < 1e9:
        raise InvalidValue(format_value(value), AMOUNT)
    return "packets", packets


def _amount(value: Any) -> str:
    amount(value)
    return str(value)


_PACKETS = dict.fromkeys(("packet", "packets"))
Threshold = Annotated[
    str,
    BeforeValidator(_threshold),
    quantity({**_PACKETS, **SIZES, **TIMES}),
]
Amount = Annotated[str, BeforeValidator(_amount), quantity({**_PACKETS, **SIZES})]
