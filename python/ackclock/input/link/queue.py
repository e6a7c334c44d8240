"""Queues."""

from __future__ import annotations

from typing import Annotated

from ackclock.input.link.aqm import Cake, CoDel, DualPi2, FqCoDel, Pie, Red
from ackclock.input.link.queue_limits import Plan, QueueLimits
from ackclock.input.link.thresholds import Threshold, threshold_plan
from ackclock.input.schema import by_kind, choice_field


class DropTail(QueueLimits):
    """FIFO queue that drops arrivals when full, or with `drop = "front"` the oldest packets. The
    packet in transmission does not count. Above `mark`, ECN-capable packets are marked (RFC 8257,
    section 3.1).
    """

    kind: Annotated[str, choice_field("droptail")]
    mark: Threshold | None = None
    drop: Annotated[str, choice_field("tail", "front")] = "tail"

    @property
    def marks(self) -> bool:
        return self.mark is not None

    def plan(self) -> Plan:
        plan: Plan = {"kind": self.kind, **self.limits()}
        if self.mark is not None:
            plan["mark"] = threshold_plan(self.mark)
        if self.drop != "tail":
            plan["drop"] = self.drop
        return plan


QUEUES = {
    "droptail": DropTail,
    "red": Red,
    "codel": CoDel,
    "fq-codel": FqCoDel,
    "cake": Cake,
    "pie": Pie,
    "dualpi2": DualPi2,
}
Queue = Annotated[DropTail | Red | CoDel | FqCoDel | Cake | Pie | DualPi2, by_kind(QUEUES, default="droptail")]
