"""What all queues have."""

from __future__ import annotations

from typing import Any

from ackclock.input.link.ack_handling import Acks
from ackclock.input.quantity_fields import SomeBytes
from ackclock.input.schema import Count, Table

Plan = dict[str, Any]


class QueueLimits(Table):
    """What all queues have: limits on what waits (the packet being sent does not count), and what is done to ACKs."""

    packets: Count | None = None
    bytes: SomeBytes | None = None
    ack: Acks | None = None

    @property
    def marks(self) -> bool:
        """Whether it tells ECN-capable packets of congestion by a mark."""
        return True

    def limits(self) -> Plan:
        return {"packets": self.packets, "bytes": self.bytes}
