"""A fixed or random time, such as a flow's start or a user's think time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from ackclock.errors import InvalidValue, format_value
from ackclock.input.form import Form, number_with_unit
from ackclock.input.units import TIMES, show_time, time_ps, uniform_ps


@dataclass(frozen=True)
class Start:
    """A time, uniformly distributed between two bounds in ps. Equal bounds are a fixed time."""

    low_ps: int
    high_ps: int

    @property
    def is_random(self) -> bool:
        return self.high_ps > self.low_ps

    def written(self) -> str:
        if self.is_random:
            return f"uniform({show_time(self.low_ps)}, {show_time(self.high_ps)})"
        return show_time(self.low_ps)

    def plan(self) -> dict[str, int]:
        return {"low_ps": self.low_ps, "high_ps": self.high_ps}


def _start(text: Any) -> Start:
    try:
        low, high = uniform_ps(text) or (time_ps(text),) * 2
    except InvalidValue as invalid:
        raise InvalidValue(invalid.found, f"{invalid.allowed}; or uniform(5 s, 10 s)") from None
    if low < 0 or high < low:
        raise InvalidValue(format_value(text), "a time of zero or more; in uniform(a, b), b at least a")
    return Start(low, high)


_ONE = number_with_unit(TIMES)
_FORM = Form({"type": "string", "pattern": rf"^({_ONE}|\s*uniform\s*\({_ONE},{_ONE}\)\s*)$"})
SomeStart = Annotated[Start, BeforeValidator(_start), PlainSerializer(Start.written), _FORM]
