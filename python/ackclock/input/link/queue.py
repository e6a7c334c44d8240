"""Queues (crates/scenario/src/link/queue.rs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.input.checked_table import CheckedTable, ReadBy, kinds


def read_queue(table: Mapping[str, Any]) -> CheckedTable:
    """A queue as a link file has it. Raises InvalidValue."""
    return ReadBy("Queue")(dict(table))


def queue_kinds() -> tuple[str, ...]:
    """The kinds of queues."""
    return tuple(kinds("Queue"))


def marks(queue: CheckedTable) -> bool:
    """Whether a queue marks ECN-capable packets on congestion."""
    if queue.kind == "droptail":
        return queue.mark is not None
    return bool(getattr(queue, "ecn", queue.kind == "dualpi2"))


def limit_in_packets(queue: CheckedTable) -> int | None:
    """The limit in packets: the usual one where no limit is given, None beside one in bytes."""
    packets: int | None = queue.packets
    if packets is None and queue.bytes is None:
        packets = queue.plan()["packets"]
    return packets
