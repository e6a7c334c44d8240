"""Hops: the elements between two machines, in each direction (crates/scenario/src/link/hop.rs)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import _native
from ackclock.input.checked_table import CheckedTable, ReadBy

DIRECTIONS = ("down", "up")
PER_DIRECTION = tuple(name for name, *_ in _native.table_keys("Direction"))
"""The keys of a hop that may have a value for each direction."""


READ_HOP = ReadBy("Hop")
Hop = CheckedTable
"""A hop; `down` and `up` are its directions, None for one that it does not have.

`slowest_bps` has for each direction the minimum of its fixed rates: of the line, the maximum of the
medium or the mean of slots, of a shaper and a policer; `mean_delay` its delay in ps, of a schedule
and of slots the mean; `has_stations` is whether each client has its own queues here.
"""
Direction = CheckedTable


def base_rtt_ps(hops: Sequence[Hop]) -> int:
    """The delays of both directions in ps: the RTT of a path without queues."""
    return sum(delay for hop in hops for delay in hop.mean_delay.values())


def with_keys(hop: Hop, sides: Mapping[str, Mapping[str, Any]], medium: CheckedTable | None) -> Hop:
    """A hop with other values of some keys of its directions, rates in bits/s and delays in ps, and
    this medium. Raises InvalidValue.
    """
    written = hop.written()
    table = {key: value for key, value in written.items() if key not in (*PER_DIRECTION, "medium")}
    if medium is not None:
        table["medium"] = medium
    for direction in DIRECTIONS:
        side = getattr(hop, direction)
        for key, value in (side.written() | sides[direction]).items() if side else ():
            unit = {"rate": "b/s", "delay": "ps"}.get(key)
            if value is not None:
                table.setdefault(key, {})[direction] = f"{value} {unit}" if isinstance(value, int) and unit else value
    return READ_HOP(table)
