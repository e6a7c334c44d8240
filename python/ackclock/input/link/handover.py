"""A path that changes at fixed times, such as that of a satellite constellation or a moving
terminal.
"""

from __future__ import annotations

from typing import Any

from ackclock.errors import InvalidValue
from ackclock.input.quantity_fields import Span, Time
from ackclock.input.schema import Probability, Table
from ackclock.input.units import show_time


class Handover(Table):
    """The path changes at `first` and then `every` so long. For `gap` after a change no packet is
    released: arrivals are lost with probability `loss`, else they wait. Each path adds a delay
    drawn from `low` to `high`; both directions of a hop with the same table share the paths."""

    every: Span
    first: Time | None = None
    """Default: after `every`."""
    gap: Time = 0
    loss: Probability = 0.0
    low: Time = 0
    high: Time = 0

    def model_post_init(self, _context: Any) -> None:
        if self.gap >= self.every:
            raise InvalidValue(show_time(self.gap), "a gap shorter than the time between changes", ("gap",))
        if self.low > self.high:
            raise InvalidValue("low above high", "low up to high", ("low",))

    def plan(self) -> dict[str, Any]:
        return {
            "every_ps": self.every,
            "first_ps": self.every if self.first is None else self.first,
            "gap_ps": self.gap,
            "loss": self.loss,
            "low_ps": self.low,
            "high_ps": self.high,
        }
