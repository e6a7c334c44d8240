"""Where a packet waits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import Refusal, show
from ackclock.quantities import LONGEST_PS, SomeBytes
from ackclock.table import Count, Table, by_kind, word
from ackclock.units import SIZES, TIMES, size_bytes, time_ps

Plan = dict[str, Any]
THRESHOLD = 'a threshold such as "20 packets", "30 kB" or "1 ms"'


def _threshold(value: Any) -> str:
    """A threshold as written, once it is known to be one."""
    threshold_plan(value)
    return str(value)


def threshold_plan(value: Any) -> Plan:
    """What the engine is told of a threshold in packets, bytes or time."""
    words = value.split() if isinstance(value, str) else []
    unit = words[1] if len(words) == 2 else ""
    if unit in ("packet", "packets") and words[0].isascii() and words[0].isdigit() and len(words[0]) < 10:
        return {"kind": "packets", "packets": int(words[0])}
    if unit in SIZES:
        return {"kind": "bytes", "bytes": size_bytes(value)}
    if unit in TIMES and 0 <= time_ps(value) <= LONGEST_PS:
        return {"kind": "time", "ps": time_ps(value)}
    raise Refusal(show(value), THRESHOLD)


Threshold = Annotated[str, BeforeValidator(_threshold)]


class DropTail(Table):
    """A first-in first-out queue that drops arrivals when full, or with `drop = "front"` those that came first. The packet
    being sent does not count. Beyond `mark` ECN-capable packets are marked (RFC 8257, section 3.1).
    """

    kind: Annotated[str, word("droptail")]
    packets: Count | None = None
    bytes: SomeBytes | None = None
    mark: Threshold | None = None
    drop: Annotated[str, word("tail", "front")] = "tail"

    def plan(self) -> Plan:
        plan: Plan = {"kind": self.kind, "packets": self.packets, "bytes": self.bytes}
        if self.mark is not None:
            plan["mark"] = threshold_plan(self.mark)
        if self.drop != "tail":
            plan["drop"] = self.drop
        return plan


QUEUES = {"droptail": DropTail}
Queue = Annotated[DropTail, by_kind(QUEUES, default="droptail")]
