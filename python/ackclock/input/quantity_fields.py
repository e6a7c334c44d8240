"""Fields with quantities: text with units in files, integers in models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from ackclock.errors import InvalidValue, format_value
from ackclock.input import form
from ackclock.input.units import show_size, show_time, size_bytes, time_ps

LONGEST_PS = time_ps("100 day")  # the engine's clock holds 213 days, so a sum of two spans fits


def _span(text: Any) -> int:
    time = time_ps(text)
    if time > LONGEST_PS:
        raise InvalidValue(format_value(text), "a time of at most 100 day")
    return time


def _not_negative(text: Any) -> int:
    time = _span(text)
    if time < 0:
        raise InvalidValue(format_value(text), "a time of zero or more")
    return time


def _above_zero(text: Any) -> int:
    time = _span(text)
    if time <= 0:
        raise InvalidValue(format_value(text), "a time above zero")
    return time


def _some_bytes(text: Any) -> int:
    size = size_bytes(text)
    if size == 0:
        raise InvalidValue(format_value(text), "a size above zero")
    return size


Time = Annotated[int, BeforeValidator(_not_negative), PlainSerializer(show_time), form.TIME]
"""picoseconds, zero or more"""
Span = Annotated[int, BeforeValidator(_above_zero), PlainSerializer(show_time), form.TIME]
"""picoseconds, above zero"""
SomeBytes = Annotated[int, BeforeValidator(_some_bytes), PlainSerializer(show_size), form.SIZE]
"""bytes, above zero"""
