"""Signal quality over time, and the loss at each quality (docs/models/signal.md)."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.errors import InvalidValue, format_value
from ackclock.input.checked_table import CheckedTable, ReadBy
from ackclock.input.form import array, number, pair
from ackclock.input.schema import number_field

DECIBELS = number_field(lambda db: -200 <= db <= 200, "decibels from -200 to 200", minimum=-200, maximum=200)
Decibels = Annotated[float, DECIBELS]
SomeDecibels = Annotated[
    float, number_field(lambda db: 0 < db <= 200, "decibels above 0, to 200", exclusiveMinimum=0, maximum=200)
]
StandardDeviation = Annotated[
    float, number_field(lambda db: 0 <= db <= 200, "decibels from 0 to 200", minimum=0, maximum=200)
]
Fading = Annotated[CheckedTable, ReadBy("Fading")]


def points(value: Any) -> tuple[tuple[float, float], ...]:
    """Points (dB, loss probability), in increasing order of dB."""
    allowed = "a list of [decibels, share lost] in increasing order of decibels, such as [[5, 1.0], [15, 0.0]]"
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(format_value(value), allowed)
    for index, point in enumerate(value):
        numbers = (
            isinstance(point, list | tuple) and len(point) == 2 and all(type(part) in (int, float) for part in point)
        )
        if not numbers or not -200 <= point[0] <= 200 or not 0 <= point[1] <= 1:
            raise InvalidValue(format_value(point), allowed, (index,))
        if index and point[0] <= value[index - 1][0]:
            raise InvalidValue(f"{point[0]:g} dB after {value[index - 1][0]:g} dB", allowed, (index,))
    return tuple((float(db), float(share)) for db, share in value)


POINTS = array(pair(number()), minItems=1)
