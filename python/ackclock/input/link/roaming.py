"""Clients of a medium who change between its cells. docs/models/handover.md says what each key does."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.errors import InvalidValue
from ackclock.input.quantity_fields import Span, Time
from ackclock.input.schema import Table, choice_field, number_field, table_array
from ackclock.input.units import show_time

MS = 10**9


class Cell(Table):
    """What a client finds in a cell: a share of the channel's speed, and a delay in each direction beside the hop's own."""

    speed: Annotated[float, number_field(lambda share: 0.01 <= share <= 1, "a share of the channel's speed from 0.01 to 1")] = 1.0
    delay: Time = 0

    def plan(self) -> dict[str, Any]:
        return {"speed": self.speed, "delay_ps": self.delay}


class Roaming(Table):
    """From `first` on a client changes cells `every` so often, and each client `spread` later than the one before.

    For `gap` it is not served. What waits for it in the network goes over to its next cell (`queue = "forwarded"`) or is lost; what waits at the
    client stays. `cells` are met in turn, the first at the start.
    """

    every: Span
    first: Time | None = None
    """Default: after `every`."""
    spread: Time = 0
    gap: Time = 50 * MS
    queue: Annotated[str, choice_field("forwarded", "lost")] = "forwarded"
    cells: Annotated[
        tuple[Cell, ...], table_array("a list of cells such as [{ speed = 1.0 }, { speed = 0.5, delay = '10 ms' }]")
    ] = (Cell(),)

    def model_post_init(self, _context: Any) -> None:
        if self.every < MS:
            raise InvalidValue(show_time(self.every), "a millisecond or more between changes", ("every",))
        if self.gap >= self.every:
            raise InvalidValue(show_time(self.gap), "a gap shorter than the time between changes", ("gap",))
        if not self.cells:
            raise InvalidValue("[]", "one cell at least", ("cells",))

    def plan(self) -> dict[str, Any]:
        return {
            "every_ps": self.every,
            "first_ps": self.every if self.first is None else self.first,
            "spread_ps": self.spread,
            "gap_ps": self.gap,
            "forwards": self.queue == "forwarded",
            "cells": [cell.plan() for cell in self.cells],
        }
