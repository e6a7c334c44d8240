"""Frame error rate of a medium's data frames."""

from __future__ import annotations

from typing import Any

from ackclock.input.form import Shorthand, number
from ackclock.input.schema import Probability, Table


class FrameError(Table):
    """Frame error rate by direction; a number applies to both."""

    down: Probability = 0.0
    up: Probability = 0.0


SINGLE = Shorthand(number(minimum=0, maximum=1))


def both(value: Any) -> Any:
    return {"down": value, "up": value} if isinstance(value, int | float) and not isinstance(value, bool) else value
