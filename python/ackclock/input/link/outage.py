"""Outages of a direction: those of a list are in order."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.checked_table import CheckedTable, ReadBy


def _outages(value: Any) -> tuple[CheckedTable, ...]:
    if not isinstance(value, list):
        raise InvalidValue(format_value(value), 'a list such as [{ start = "10 s", end = "12 s" }]')
    read = ReadBy("Outage")
    outages = tuple(read(one) for one in value)
    for index, outage in enumerate(outages):
        if outage.end <= outage.start:
            raise InvalidValue("an outage that ends before it starts", "end later than start", (index,))
        if index and outage.start < outages[index - 1].end:
            raise InvalidValue("outages that overlap", "outages in order of time, without overlap", (index,))
    return outages


Outages = Annotated[tuple[Annotated[CheckedTable, ReadBy("Outage")], ...], BeforeValidator(_outages)]
