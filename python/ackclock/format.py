"""Numbers as text: three significant digits with the unit that fits, as in the engine's sentences.

`column_*` are for narrow columns, whose title has the unit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ackclock import _native


def significant(value: float, digits: int) -> str:
    """``digits`` significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 12300 for
    three.
    """
    return _native.significant(value, digits)


def setting(value: Any) -> str:
    """The value of a key as text: a number with all of its digits and without an exponent, a table
    or a list as JSON.

    >>> setting(1e-05), setting("16 Mb/s"), setting({"kind": "codel"})
    ('0.00001', '16 Mb/s', '{"kind": "codel"}')
    """
    if isinstance(value, float) and math.isfinite(value):
        text = f"{Decimal(repr(value)):f}"
        return text.removesuffix(".0")
    return json.dumps(value) if isinstance(value, dict | list | bool) else str(value)


ABSENT: tuple[object, ...] = (None, (), [], {}, "none")
"""Values of a key that say that the thing is absent."""
_SHORT_LIST = 4
"""Entries of a list that are shown."""


def setting_text(value: Any) -> str:
    """The value of a key for readers, in one line: a table as its kind and its keys.

    >>> setting_text({"kind": "codel", "target": "5 ms", "ecn": True, "limit": None})
    'codel, target 5 ms, ecn yes'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        kind = [str(value["kind"])] if "kind" in value else []
        keys = {key: of for key, of in value.items() if key != "kind" and of not in ABSENT}
        return ", ".join([*kind, *(f"{key} {setting_text(of)}" for key, of in keys.items())])
    if isinstance(value, list | tuple):
        return f"{len(value)} entries" if len(value) > _SHORT_LIST else " ".join(map(setting_text, value))
    return setting(value)


def three(value: float) -> str:
    """Three significant digits."""
    return significant(value, 3)


def rate(bps: float | None) -> str:
    """Bit/s with the prefix for one to three digits before the point."""
    return _native.rate_text(bps)


def rate_range(lo: float, hi: float) -> str:
    """Two rates in bit/s with the prefix of the larger: `4.21 .. 9.94 Mb/s`; one where they are
    equal, as `range_text` has it.
    """
    low, _, high = _native.rate_range_text(lo, hi).partition(" .. ")
    return range_text(low, high) if high else low


_FEWEST_DIGITS = 3
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)( \D*)?")


def range_text(lo: str, hi: str) -> str:
    """An interval of two numbers as they are printed, of which the first may lack the unit; one
    number where they are equal, or differ by one in the last of three digits or more.

    >>> range_text("9.53", "9.94 Mb/s"), range_text("47.979", "47.980"), range_text("2 %", "3 %")
    ('9.53 .. 9.94 Mb/s', '47.980', '2 % .. 3 %')
    """
    low, high = _NUMBER.fullmatch(lo), _NUMBER.fullmatch(hi)
    if low is None or high is None or low[2] not in (None, high[2]):
        return lo if lo == hi else f"{lo} .. {hi}"
    ends = [Decimal(low[1]), Decimal(high[1])]
    exponents = [int(end.as_tuple().exponent) for end in ends]
    digits = min(len(end.as_tuple().digits) for end in ends)
    last = Decimal(1 if digits >= _FEWEST_DIGITS else 0).scaleb(exponents[0])
    return hi if exponents[0] == exponents[1] and ends[1] - ends[0] <= last else f"{lo} .. {hi}"


def percent(share: float | None) -> str:
    """A share (0..1) in percent."""
    return _native.percent_text(share)


def milliseconds(value: float | None) -> str:
    """Milliseconds, without decimals from ten on; below a tenth with one significant digit; less
    than half a microsecond is zero."""
    return _native.milliseconds_text(value)


COUNTS = ("drops", "timeouts", "rto_retransmits", "retransmits")
"""Figures that are counts: a whole number has no decimals."""


def figure(value: float | None, name: str) -> str:
    """A figure with the unit that the end of its name states.

    >>> figure(2e6, "goodput_bps"), figure(0.015, "loss_rate"), figure(3.0, "retransmits")
    ('2.00 Mb/s', '1.50 %', '3')
    """
    if value is None:
        return "-"
    if name.endswith("_bps"):
        return rate(value)
    if "_ms" in name:
        return milliseconds(value)
    if name.endswith(("_rate", "_share", "utilization")):
        return percent(value)
    if name in COUNTS and value.is_integer():
        return f"{value:.0f}"
    return f"{three(value)} s" if name.endswith("_s") else three(value)


def size(bytes_: float) -> str:
    """Measured bytes with a decimal prefix: 850 B, 17 KB, 1.1 MB."""
    return _native.size_text(bytes_)


def share_text(share: float) -> str:
    """A share (0..1) in percent, without decimals from 10 % on."""
    return _native.share_text(share)


def count(number: float, noun: str, nouns: str = "") -> str:
    """A mean number of things: "3.5 drops", "1 drop"."""
    return _native.count_text(number, noun, nouns or noun + "s")


def many(number: int, noun: str) -> str:
    """1 timeout, 2 timeouts."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def column_ms(value: float | None) -> str:
    """Milliseconds without the unit, without decimals from ten on."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def column_percent(share: float | None) -> str:
    """A share (0..1) in percent with one decimal; below 0.05 % but above zero, `<0.1 %`."""
    if share is None or not math.isfinite(share):
        return "-"
    # Below 1e-9: zero events in an interval's arithmetic.
    return "<0.1 %" if 1e-9 < share < 0.0005 else f"{100 * share:.1f} %"


def joined(parts: Sequence[str]) -> str:
    """An enumeration: `a`, `a and b`, `a, b and c`."""
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last


def date_of(unix_s: float) -> str:
    """The UTC date of a Unix time in seconds.

    >>> date_of(1e9)
    '2001-09-09'
    """
    return datetime.fromtimestamp(unix_s, UTC).date().isoformat()


def sentence(clause: str) -> str:
    """A clause with a capital letter."""
    return clause[:1].upper() + clause[1:]
