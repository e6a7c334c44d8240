"""A half-duplex channel with perfect arbitration."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.input.link.roaming import Roaming
from ackclock.input.quantity_fields import Rate, Time
from ackclock.input.schema import Table, choice_field


class HalfDuplex(Table):
    """One frame at a time, in either direction. Stations alternate packet by packet, without
    collisions: an upper bound for a real medium access.
    """

    kind: Annotated[str, choice_field("half-duplex")]
    rate: Rate
    turnaround: Time = 0
    """Pause before a change of the sending station."""
    handover: Roaming | None = None

    def plan(self) -> dict[str, Any]:
        return {"kind": self.kind, "bps": self.rate, "turnaround_ps": self.turnaround}

    def nominal_bps(self, direction: str) -> int:
        """Maximum rate in a direction ("down" or "up"), in bits per second."""
        return self.rate
