"""Signal quality over time, and the loss at each quality (docs/models/signal.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.form import array, number, pair
from ackclock.input.quantity_fields import Span
from ackclock.input.schema import Table, by_kind, choice_field, number_field, table_array

Plan = dict[str, Any]
MS = 10**9

DECIBELS = number_field(lambda db: -200 <= db <= 200, "decibels from -200 to 200", minimum=-200, maximum=200)
Decibels = Annotated[float, DECIBELS]
SomeDecibels = Annotated[
    float, number_field(lambda db: 0 < db <= 200, "decibels above 0, to 200", exclusiveMinimum=0, maximum=200)
]
StandardDeviation = Annotated[
    float, number_field(lambda db: 0 <= db <= 200, "decibels from 0 to 200", minimum=0, maximum=200)
]


class Ar1(Table):
    """Signal quality (CINR) in dB: normal with mean `mean`; the autocorrelation is 1/e at
    `correlation`.
    """

    kind: Annotated[str, choice_field("ar1")]
    mean: Decibels
    sd: StandardDeviation
    correlation: Span

    def plan(self) -> Plan:
        return {"kind": self.kind, "mean_db": self.mean, "sd_db": self.sd, "correlation_ps": self.correlation}


class Level(Table):
    """A signal quality and its mean duration."""

    cinr: Decibels
    stay: Span


class Markov(Table):
    """Signal quality with exponential durations at each level and a uniform choice of the next
    level.
    """

    kind: Annotated[str, choice_field("markov")]
    levels: Annotated[tuple[Level, ...], table_array("a list such as [{ cinr = 25, stay = '10 s' }]")]

    def model_post_init(self, _context: Any) -> None:
        if not self.levels:
            raise InvalidValue("[]", "at least one level", ("levels",))

    def plan(self) -> Plan:
        return {"kind": self.kind, "levels": [{"db": one.cinr, "stay_ps": one.stay} for one in self.levels]}


FADINGS = {"ar1": Ar1, "markov": Markov}
Fading = Annotated[Ar1 | Markov, by_kind(FADINGS)]


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


class SignalLoss(Table):
    """Loss as a function of signal quality: linear between `points`, constant outside. The signal
    is updated every `step`.

    Both directions of a hop with the same table share the signal; their losses are independent.
    """

    kind: Annotated[str, choice_field("signal")]
    fading: Fading
    points: Annotated[tuple[tuple[float, float], ...], BeforeValidator(points), POINTS]
    step: Span = 10 * MS

    def plan(self) -> Plan:
        return {
            "kind": self.kind,
            "fading": self.fading.plan(),
            "step_ps": self.step,
            "points": [list(p) for p in self.points],
        }
