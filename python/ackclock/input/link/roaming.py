"""Clients that move between the cells of a medium (docs/models/handover.md)."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.errors import InvalidValue
from ackclock.input.quantity_fields import Span, Time
from ackclock.input.schema import Table, choice_field, number_field, table_array
from ackclock.input.units import show_time

MS = 10**9


class Cell(Table):
    """A cell: a share of the channel's rate, and a delay in each direction in addition to the
    hop's.
    """

    speed: Annotated[
        float,
        number_field(
            lambda share: 0.01 <= share <= 1, "a share of the channel's speed from 0.01 to 1", minimum=0.01, maximum=1
        ),
    ] = 1.0
    delay: Time = 0

    def plan(self) -> dict[str, Any]:
        return {"speed": self.speed, "delay_ps": self.delay}


class Roaming(Table):
    """A client changes cells at `first` and then `every` so long; each client does so `spread`
    after the one before.

    It is not served for `gap`. Its packets in the network are forwarded to the next cell (`queue =
    "forwarded"`) or lost; packets at the client remain. The `cells` follow in rotation from the
    first one.
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
            raise InvalidValue("[]", "at least one cell", ("cells",))

    def plan(self) -> dict[str, Any]:
        return {
            "every_ps": self.every,
            "first_ps": self.every if self.first is None else self.first,
            "spread_ps": self.spread,
            "gap_ps": self.gap,
            "forwards": self.queue == "forwarded",
            "cells": [cell.plan() for cell in self.cells],
        }
