"""A half-duplex channel with perfect arbitration."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.input.link.roaming import Roaming
from ackclock.input.quantity_fields import Rate, Time
from ackclock.input.schema import Table, choice_field


class HalfDuplex(Table):
    """One frame at a time in either direction. Stations take turns packet by packet, and nothing is lost by contending.

    What a real medium access costs is what it falls short of this.
    """

    kind: Annotated[str, choice_field("half-duplex")]
    rate: Rate
    turnaround: Time = 0
    """Pause before another radio sends than the last time."""
    handover: Roaming | None = None

    def plan(self) -> dict[str, Any]:
        return {"kind": self.kind, "bps": self.rate, "turnaround_ps": self.turnaround}

    def nominal_bps(self, way: str) -> int:
        """The most it can carry towards `way` ("down" or "up"), in bits per second."""
        return self.rate
