"""Delay variation: jitter by distribution, and reordering of single packets."""

from __future__ import annotations

from typing import Annotated, Any

from ackclock.errors import InvalidValue
from ackclock.input.quantity_fields import Span, Time
from ackclock.input.schema import Flag, Probability, Table, by_kind, choice_field, number_field

Plan = dict[str, Any]


class Reorder(Table):
    """With probability `mean` a packet has an additional `delay`; later packets overtake it."""

    mean: Probability
    delay: Span

    def plan(self) -> Plan | None:
        return {"mean": self.mean, "delay_ps": self.delay} if self.mean else None


class UniformJitter(Table):
    """Extra delay drawn uniformly from `low` to `high`."""

    kind: Annotated[str, choice_field("uniform")]
    high: Span
    low: Time = 0
    in_order: Flag = True

    def model_post_init(self, _context: Any) -> None:
        if self.low > self.high:
            raise InvalidValue("low above high", "low up to high", ("low",))

    def plan(self) -> Plan:
        return {"kind": self.kind, "low_ps": self.low, "high_ps": self.high, "in_order": self.in_order}


class NormalJitter(Table):
    """Extra delay from a normal distribution cut off at zero."""

    kind: Annotated[str, choice_field("normal")]
    mean: Time
    sd: Time
    in_order: Flag = True

    def plan(self) -> Plan:
        return {"kind": self.kind, "mean_ps": self.mean, "sd_ps": self.sd, "in_order": self.in_order}


class ExponentialJitter(Table):
    """Extra delay from an exponential distribution."""

    kind: Annotated[str, choice_field("exponential")]
    mean: Span
    in_order: Flag = True

    def plan(self) -> Plan:
        return {"kind": self.kind, "mean_ps": self.mean, "in_order": self.in_order}


Shape = Annotated[
    float,
    number_field(lambda shape: shape > 1, "a shape above 1 (below, a Pareto mean is infinite)", exclusiveMinimum=1),
]


class ParetoJitter(Table):
    """Extra delay from a Pareto distribution with this mean and shape."""

    kind: Annotated[str, choice_field("pareto")]
    mean: Span
    shape: Shape = 1.5
    in_order: Flag = True

    def plan(self) -> Plan:
        return {"kind": self.kind, "mean_ps": self.mean, "shape": self.shape, "in_order": self.in_order}


JITTERS = {"uniform": UniformJitter, "normal": NormalJitter, "exponential": ExponentialJitter, "pareto": ParetoJitter}
Jitter = Annotated[UniformJitter | NormalJitter | ExponentialJitter | ParetoJitter, by_kind(JITTERS)]
