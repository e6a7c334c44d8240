"""The base class of the tables in link files and scenarios: unknown and missing keys are errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from ackclock.errors import MAX_NAMES, InvalidValue, choices, format_value
from ackclock.input.form import Form, FormValidator, number, whole

Loc = tuple[str | int, ...]


class Table(BaseModel):
    """A TOML table with a fixed set of keys, immutable after its check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def written_keys(cls) -> list[str]:
        """The keys that a file may have here."""
        return list(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise InvalidValue(format_value(data), "a table with the keys " + ", ".join(cls.written_keys()))
        allowed = cls.written_keys()
        for key in data:
            if key not in allowed:
                raise InvalidValue(f'unknown key "{key}"', choices(allowed, key), (key,), code="unknown-key")
        for name, field in cls.model_fields.items():
            if field.is_required() and name not in data:
                raise InvalidValue(f'no "{name}"', cls.needed(name), code="missing-key")
        return data

    @classmethod
    def needed(cls, name: str) -> str:
        """The message for a missing key."""
        keys = cls.written_keys()
        return f'the key "{name}" is required here' + (f"; keys: {', '.join(keys)}" if len(keys) <= MAX_NAMES else "")


def number_field(check: Callable[[float], bool], allowed: str, **limits: float) -> BeforeValidator:
    """A number (TOML integer or float) within limits, which `limits` has as keywords of JSON
    Schema.
    """

    def take(value: Any) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not check(value)
            or not math.isfinite(value)
        ):
            raise InvalidValue(format_value(value), allowed)
        return float(value)

    return FormValidator(take, form=number(**limits))


def int_field(lowest: int, allowed: str) -> BeforeValidator:
    """A TOML integer from `lowest` to 2^31 - 1, the engine's limit."""

    def take(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= 2**31 - 1:
            raise InvalidValue(format_value(value), allowed)
        return value

    return FormValidator(take, form=whole(minimum=lowest, maximum=2**31 - 1))


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(format_value(value), "true or false")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "." in value or "/" in value:
        raise InvalidValue(format_value(value), "a name without dots or slashes")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue(format_value(value), "text in quotes")
    return value


Flag = Annotated[bool, BeforeValidator(_yes_or_no)]
_NAMES = Form({"type": "string", "pattern": r"^[^./]*[^./\s][^./]*$"})
Name = Annotated[str, BeforeValidator(_name), _NAMES]
Text = Annotated[str, BeforeValidator(_text), Form({"type": "string"})]


def table_array(what: str) -> BeforeValidator:
    """An array of tables."""

    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise InvalidValue(format_value(value), what)
        return value

    return BeforeValidator(check)


Count = Annotated[int, int_field(1, "a whole number, 1 or more")]


def first_invalid(error: ValidationError) -> tuple[Loc, InvalidValue]:
    """The location of the first error, and the error."""
    detail = error.errors(include_url=False)[0]
    cause = detail.get("ctx", {}).get("error")
    loc: Loc = detail["loc"]
    if isinstance(cause, ValidationError):
        inner, invalid = first_invalid(cause)
        return loc + inner, invalid
    if isinstance(cause, InvalidValue):
        return loc + cause.key, cause
    return loc, InvalidValue(format_value(detail["input"]), str(detail["msg"]).removeprefix("Value error, "))
