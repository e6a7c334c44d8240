"""The form of a value in a file, as JSON Schema, beside the check that converts it.

The check of a key turns `"10 Mb/s"` into an integer; a `Form` among the key's annotations describes
the text. `json_schema` reads them; keywords are those that draft 7 has, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BeforeValidator

from ackclock.input.units import RATES, SIZES, TIMES

_NUMBER = r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"


@dataclass(frozen=True, eq=False)  # hashed by identity: a schema is a dict
class Form:
    """The JSON Schema of a value in a file."""

    schema: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FormValidator(BeforeValidator):
    """A check with the form of the values that pass."""

    form: Form | None = None


def number_with_unit(units: Iterable[str], *, signed: bool = False) -> str:
    """A regular expression for a number with one of these units.

    >>> import re
    >>> bool(re.fullmatch(number_with_unit(["ms", "s"]), "1.5 ms"))
    True
    """
    names = "|".join(sorted(units, key=lambda unit: (-len(unit), unit)))
    sign = "[+-]?" if signed else r"\+?"
    return rf"\s*{sign}{_NUMBER}\s*({names})\s*"


def quantity(units: Iterable[str], *, signed: bool = False) -> Form:
    """A text: a number with one of these units."""
    return Form({"type": "string", "pattern": f"^{number_with_unit(units, signed=signed)}$"})


TIME = quantity(TIMES)
RATE = quantity(RATES)
SIZE = quantity(SIZES)


def words(*allowed: str) -> Form:
    """One of a few words."""
    return Form({"type": "string", "enum": list(allowed)})


def number(**limits: float) -> Form:
    """A number within limits, which are keywords of JSON Schema."""
    return Form({"type": "number", **limits})


def whole(**limits: int) -> Form:
    """A whole number within limits, which are keywords of JSON Schema."""
    return Form({"type": "integer", **limits})


def array(items: Form, **limits: int | bool) -> Form:
    """An array; limits are keywords of JSON Schema."""
    return Form({"type": "array", "items": dict(items.schema), **limits})


def pair(items: Form) -> Form:
    """An array of two."""
    return array(items, minItems=2, maxItems=2)


def either(*forms: Form) -> Form:
    """A value of one of several forms."""
    return Form({"anyOf": [dict(form.schema) for form in forms]})
