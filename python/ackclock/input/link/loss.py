"""Packet loss and duplication: random loss, loss by signal strength, a list, outages,
duplicates.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.form import Shorthand, array, number, whole
from ackclock.input.link.signal import SignalLoss
from ackclock.input.quantity_fields import LONGEST_PS, Span, Time
from ackclock.input.schema import Probability, Table, by_kind, choice_field, number_field

Plan = dict[str, Any]


class Bernoulli(Table):
    """Each packet is lost with probability `mean`, independently of others."""

    kind: Annotated[str, choice_field("bernoulli")]
    mean: Probability

    def plan(self) -> Plan | None:
        return {"kind": self.kind, "mean": self.mean} if self.mean else None


class GilbertElliott(Table):
    """Two states in continuous time with exponential sojourns (Gilbert 1960, Elliott 1963).

    Either `mean` and `bad_sojourn`, or all four of good_sojourn, bad_sojourn, loss_good and
    loss_bad. With `mean` the bad state loses all packets, the good state none, and the mean good
    sojourn is bad_sojourn * (1 - mean) / mean.
    """

    kind: Annotated[str, choice_field("gilbert-elliott")]
    bad_sojourn: Span
    mean: (
        Annotated[
            float, number_field(lambda p: 0 <= p < 1, "a mean loss from 0 to below 1", minimum=0, exclusiveMaximum=1)
        ]
        | None
    ) = None
    good_sojourn: Span | None = None
    loss_good: Probability | None = None
    loss_bad: Probability | None = None

    def model_post_init(self, _context: Any) -> None:
        four = {"good_sojourn": self.good_sojourn, "loss_good": self.loss_good, "loss_bad": self.loss_bad}
        given = [name for name, value in four.items() if value is not None]
        if (self.mean is not None and given) or (self.mean is None and len(given) < len(four)):
            found = ["mean"] * (self.mean is not None) + ["bad_sojourn", *given]
            allowed = "either mean and bad_sojourn, or good_sojourn, bad_sojourn, loss_good and loss_bad"
            raise InvalidValue(" and ".join(found), allowed)
        if self.mean and self.mean_good_sojourn() > LONGEST_PS:
            raise InvalidValue(
                f"mean = {self.mean:g}", "a mean large enough for a loss within 100 days, or 0", ("mean",)
            )

    def mean_good_sojourn(self) -> int:
        """Mean duration of the good state in ps, from `mean`."""
        mean = self.mean or 0.0
        return round(self.bad_sojourn * (1 - mean) / mean) if mean else 0

    def plan(self) -> Plan | None:
        if self.mean is None:
            good, loss_good, loss_bad = self.good_sojourn, self.loss_good, self.loss_bad
        elif self.mean == 0:
            return None
        else:
            good, loss_good, loss_bad = self.mean_good_sojourn(), 0.0, 1.0
        return {"kind": self.kind, "good_ps": good, "bad_ps": self.bad_sojourn,
                "loss_good": loss_good, "loss_bad": loss_bad}  # fmt: skip


_NUMBERS = array(whole(minimum=1), minItems=1, uniqueItems=True)


class LossList(Table):
    """The listed packets are lost, counted from 1, retransmissions included: of those with payload,
    or of all.
    """

    kind: Annotated[str, choice_field("list")]
    packets: Annotated[tuple[int, ...], BeforeValidator(lambda value: _packet_numbers(value)), _NUMBERS]
    of: Annotated[str, choice_field("data", "all")] = "data"

    def plan(self) -> Plan:
        return {"kind": self.kind, "packets": list(self.packets), **({"of": self.of} if self.of != "data" else {})}


def _packet_numbers(value: Any) -> tuple[int, ...]:
    allowed = "a list of increasing packet numbers from 1"
    if not isinstance(value, list) or not value:
        raise InvalidValue(format_value(value), allowed)
    for index, number_ in enumerate(value):
        if isinstance(number_, bool) or not isinstance(number_, int) or number_ < 1:
            raise InvalidValue(format_value(number_), allowed, (index,))
        if index and number_ <= value[index - 1]:
            raise InvalidValue(f"{number_} after {value[index - 1]}", allowed, (index,))
    return tuple(value)


_MEAN = Shorthand(number(minimum=0, maximum=1))
LOSSES = {"bernoulli": Bernoulli, "gilbert-elliott": GilbertElliott, "list": LossList, "signal": SignalLoss}


def _bare_mean(value: Any) -> Any:
    """A number alone is a Bernoulli mean."""
    return {"mean": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


Loss = Annotated[
    Bernoulli | GilbertElliott | LossList | SignalLoss,
    by_kind(LOSSES, default="bernoulli"),
    BeforeValidator(_bare_mean),
    _MEAN,
]


class Outage(Table):
    """All packets that the rate releases from `start` to `end` are lost."""

    start: Time
    end: Span

    def plan(self) -> Plan:
        return {"start_ps": self.start, "end_ps": self.end}


def _outages(value: Any) -> tuple[Outage, ...]:
    if not isinstance(value, list):
        raise InvalidValue(format_value(value), 'a list such as [{ start = "10 s", end = "12 s" }]')
    outages = tuple(Outage.model_validate(one) for one in value)
    for index, outage in enumerate(outages):
        if outage.end <= outage.start:
            raise InvalidValue("an outage that ends before it starts", "end later than start", (index,))
        if index and outage.start < outages[index - 1].end:
            raise InvalidValue("outages that overlap", "outages in order of time, without overlap", (index,))
    return outages


Outages = Annotated[tuple[Outage, ...], BeforeValidator(_outages)]


class Duplicate(Table):
    """Each packet is duplicated with probability `mean`."""

    mean: Probability

    def plan(self) -> Plan | None:
        return {"mean": self.mean} if self.mean else None


Duplication = Annotated[Duplicate, BeforeValidator(_bare_mean), _MEAN]
