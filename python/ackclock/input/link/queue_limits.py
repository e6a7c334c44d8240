"""Keys of all queues."""

from __future__ import annotations

from typing import Any

from ackclock.input.link.ack_handling import Acks
from ackclock.input.quantity_fields import SomeBytes
from ackclock.input.schema import Count, Table

Plan = dict[str, Any]


class QueueLimits(Table):
    """Limits of a queue, without the packet in transmission, and the handling of ACKs."""

    packets: Count | None = None
    bytes: SomeBytes | None = None
    ack: Acks | None = None

    @property
    def marks(self) -> bool:
        """Whether the queue marks ECN-capable packets on congestion."""
        return True

    def limits(self) -> Plan:
        return {"packets": self.packets, "bytes": self.bytes}
