"""How strong a signal is, and what is lost at each strength. docs/models/signal.md says what each key does."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.quantity_fields import Span
from ackclock.input.schema import Table, by_kind, choice_field, number_field, table_array

Plan = dict[str, Any]
MS = 10**9

DECIBELS = number_field(lambda db: -200 <= db <= 200, "decibels from -200 to 200")
Decibels = Annotated[float, DECIBELS]
SomeDecibels = Annotated[float, number_field(lambda db: 0 < db <= 200, "decibels above 0, to 200")]
Spread = Annotated[float, number_field(lambda db: 0 <= db <= 200, "decibels from 0 to 200")]


class Ar1(Table):
    """Signal quality (CINR) in dB: normal around `mean`, its correlation falling to 1/e within `correlation`."""

    kind: Annotated[str, choice_field("ar1")]
    mean: Decibels
    sd: Spread
    correlation: Span

    def plan(self) -> Plan:
        return {"kind": self.kind, "mean_db": self.mean, "sd_db": self.sd, "correlation_ps": self.correlation}


class Level(Table):
    """A signal quality and the mean time that it lasts."""

    cinr: Decibels
    stay: Span


class Markov(Table):
    """Signal quality that stays at each level for an exponential time, then goes to any of the others."""

    kind: Annotated[str, choice_field("markov")]
    levels: Annotated[tuple[Level, ...], table_array("a list such as [{ cinr = 25, stay = '10 s' }]")]

    def model_post_init(self, _context: Any) -> None:
        if not self.levels:
            raise InvalidValue("[]", "one level at least", ("levels",))

    def plan(self) -> Plan:
        return {"kind": self.kind, "levels": [{"db": one.cinr, "stay_ps": one.stay} for one in self.levels]}


FADINGS = {"ar1": Ar1, "markov": Markov}
Fading = Annotated[Ar1 | Markov, by_kind(FADINGS)]


def points(value: Any) -> tuple[tuple[float, float], ...]:
    """Points (dB, share of packets lost) from the weakest signal on."""
    allowed = "a list of [decibels, share lost] from the weakest signal on, such as [[5, 1.0], [15, 0.0]]"
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(format_value(value), allowed)
    for index, point in enumerate(value):
        numbers = isinstance(point, list | tuple) and len(point) == 2 and all(type(part) in (int, float) for part in point)
        if not numbers or not -200 <= point[0] <= 200 or not 0 <= point[1] <= 1:
            raise InvalidValue(format_value(point), allowed, (index,))
        if index and point[0] <= value[index - 1][0]:
            raise InvalidValue(f"{point[0]:g} dB after {value[index - 1][0]:g} dB", allowed, (index,))
    return tuple((float(db), float(share)) for db, share in value)


class SignalLoss(Table):
    """The weaker the signal, the more packets are lost: straight lines between `points`, flat beyond. The signal moves once a `step`.

    Both directions of a hop with the same table have the same signal, and lose by themselves.
    """

    kind: Annotated[str, choice_field("signal")]
    fading: Fading
    points: Annotated[tuple[tuple[float, float], ...], BeforeValidator(points)]
    step: Span = 10 * MS

    def plan(self) -> Plan:
        return {"kind": self.kind, "fading": self.fading.plan(), "step_ps": self.step, "points": [list(p) for p in self.points]}
