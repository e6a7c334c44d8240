"""Rates: a fixed one in bits per second, or a recorded one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, model_validator

from ackclock.errors import InputError, InvalidValue, format_value
from ackclock.input import form
from ackclock.input.form import Form
from ackclock.input.link.trace import Recording, read_recording
from ackclock.input.quantity_fields import Time
from ackclock.input.schema import Table
from ackclock.input.units import rate_bps, show_rate, show_time


def _trace_path(value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise InvalidValue(format_value(value), "the path of a trace file")
    try:
        return read_recording(Path(value)).path
    except InputError as error:
        if not Path(value).is_file():
            raise InvalidValue(f"{error.found}, {format_value(value)}", error.allowed) from None
        # The error's line is the one that names the trace; the line in the trace is part of the
        # message.
        position = f"line {error.line} of " if error.line else ""
        raise InvalidValue(f"{error.found} in {position}{error.file}", error.allowed) from None


class TraceRate(Table):
    """A recorded rate: opportunities to send 1500 bytes (mahimahi's format); the recording
    repeats.

    `start` is the time of the recording, in ps, at which a run starts; None: drawn for each seed.
    """

    trace: Annotated[Path, BeforeValidator(_trace_path), Form({"type": "string", "minLength": 1})]
    start: Time | None = None

    @model_validator(mode="after")
    def _starts_within(self) -> TraceRate:
        if self.start is not None and self.start >= (period := self.recording.period_ps):
            allowed = f"a time of the recording, which lasts {show_time(period)}"
            raise InvalidValue(format_value(show_time(self.start)), allowed, ("start",))
        return self

    @property
    def recording(self) -> Recording:
        return read_recording(self.trace)


def _rate(value: Any) -> int | TraceRate:
    if not isinstance(value, dict):
        return rate_bps(value)
    if "trace" not in value:
        raise InvalidValue(
            format_value(value), 'a rate such as "10 Mb/s", { trace = "FILE" }, or .down and .up with one of these'
        )
    return TraceRate.model_validate(value)


def _written(rate: int | TraceRate) -> str | dict[str, str]:
    if isinstance(rate, int):
        return show_rate(rate)
    start = {} if rate.start is None else {"start": show_time(rate.start)}
    return {"trace": str(rate.trace), **start}


def rate_plan(rate: int | TraceRate | None) -> dict[str, Any] | None:
    """The plan of a rate; a `Recording` is replaced by its times when the plan is written."""
    if rate is None:
        return None
    if isinstance(rate, int):
        return {"kind": "fixed", "bps": rate}
    start = {} if rate.start is None else {"start_ps": rate.start}
    return {"kind": "trace", "times_ms": rate.recording, **start}


LineRate = Annotated[Annotated[int, form.RATE] | TraceRate, BeforeValidator(_rate), PlainSerializer(_written)]
