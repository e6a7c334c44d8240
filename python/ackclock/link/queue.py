"""Where a packet waits."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.quantities import SomeBytes
from ackclock.table import Count, Table, by_kind, word


class DropTail(Table):
    """A first-in first-out queue that drops arrivals when full. The packet being sent does not count."""

    kind: Annotated[str, word("droptail")]
    packets: Count | None = None
    bytes: SomeBytes | None = None

    def plan(self) -> dict[str, Any]:
        return {"kind": self.kind, "packets": self.packets, "bytes": self.bytes}


QUEUES = {"droptail": DropTail}
Queue = Annotated[DropTail, by_kind(QUEUES, default="droptail")]
