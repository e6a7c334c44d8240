"""The keys of the files that users write: type, unit, default, limits, meaning and an example.

Of the tables that Rust reads, all of it is in their structs. Of the others, meaning and example are
in key_texts.toml; the rest is that of the models, so the manual, the editor's schema and the
program agree. A key without a text is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import PlainSerializer, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ackclock.errors import InvalidValue
from ackclock.input import quantity_fields, schema, units
from ackclock.input.schema import Table, first_invalid

TEXTS = Path(__file__).with_name("key_texts.toml")
_NO_VALUE = "?!"
# Values that show the limits of a field: each is refused by a message of its own.
_OF_THE_UNIT = (
    "a time with a unit",
    "a size with a unit",
    "a rate with a unit",
    "true or false",
    "text in",
    "a table with",
)
_PROBES: tuple[Any, ...] = (_NO_VALUE, -1, 10**30, "0 B", "-1 s", "0 s", "101 day", "99 GB", "0 b/s")


@dataclass(frozen=True)
class Key:
    """A key of a table in a link file, scenario or plan.

    >>> from ackclock.input.keys import keys
    >>> next(key for key in keys("CoDel") if key.name == "target").default
    '"5 ms"'
    """

    table: str
    """The class of the table."""
    name: str
    unit: str
    """Of the value: b/s, time, size, share, segments, choice, table, .."""
    default: str
    """The value of an absent key, as TOML or in words; "required" where it may not be absent."""
    limits: str
    """The values that are allowed, in the words of the error message; empty: any of the unit."""
    text: str
    example: str
    """A valid value, as TOML."""


class MissingText(LookupError):
    """A key has no entry in key_texts.toml."""


@cache
def _texts() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(TEXTS.read_text("utf-8"))


def entry(table: type[Table], name: str) -> dict[str, str]:
    """The entry of a key, of the class itself or of the nearest base with one.

    Raises:
        MissingText: no class has it.
    """
    for one in table.__mro__:
        if name in (found := _texts().get(one.__name__, {})):
            return found[name]
    raise MissingText(f"key_texts.toml has no [{table.__name__}] {name}")


def keys(table: type[Table] | str) -> Iterator[Key]:
    """The keys of a table as written in files: the kind, then in the order of the model. A table
    that Rust reads is given by its name.
    """
    if isinstance(table, str):
        yield from rust_keys(table)
        return
    for name in sorted(table.written_keys(), key=lambda name: name != "kind"):
        yield key(table, name)


def rust_keys(table: str) -> Iterator[Key]:
    """The keys of a table that Rust reads: the kind, then in the order of its struct."""
    from ackclock import _native

    for name, *rest in sorted(_native.table_keys(table), key=lambda row: row[0] != "kind"):
        yield Key(table, name, *rest)


def key(table: type[Table], name: str) -> Key:
    """One key of a table. Raises MissingText."""
    field = table.model_fields.get(name)
    given = entry(table, name)
    return Key(
        table=table.__name__,
        name=name,
        unit=given.get("unit") or (_unit(field) if field else ""),
        default=given.get("default") or (_default(field) if field else ""),
        limits=_limits(field) if field else "",
        text=given["text"],
        example=given["example"],
    )


def field_type(field: FieldInfo) -> Any:
    """The annotated type of a model's field."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _metadata(kind: Any) -> list[Any]:
    """The validators of a type, those of a union's members with them."""
    if get_origin(kind) is Annotated:
        first, *rest = get_args(kind)
        return [*_metadata(first), *rest]
    if get_origin(kind) in (Union, type(int | None)):
        return [one for member in get_args(kind) for one in _metadata(member)]
    return []


_UNITS = {
    units.rate_bps: "b/s",
    quantity_fields._not_negative: "time",
    quantity_fields._above_zero: "time",
    units.size_bytes: "size",
    quantity_fields._some_bytes: "size",
    schema._yes_or_no: "true or false",
    schema._name: "name",
    schema._text: "text",
}


def _unit(field: FieldInfo) -> str:
    """The unit that a field's type has, or "choice" for a few strings, "table" for a table."""
    kind = field_type(field)
    for one in _metadata(kind):
        function = getattr(one, "func", None)
        if function in _UNITS:
            return _UNITS[function]
        serializer = one.func if isinstance(one, PlainSerializer) else None
        for show, unit in ((units.show_time, "time"), (units.show_size, "size"), (units.show_rate, "b/s")):
            if serializer is show:
                return unit
    messages = _limits(field)
    if "probability" in messages:
        return "share"
    if "a table with a kind" in messages or not messages:
        return "table"
    return "choice" if '"' in messages or ":" in messages else "number"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None:
        return "none"
    shown = TypeAdapter(field_type(field)).dump_python(field.default)
    return toml(shown)


def toml(value: Any) -> str:
    """A plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items() if one is not None) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"'


def _limits(field: FieldInfo) -> str:
    """What the error messages of a field say is allowed."""
    adapter = TypeAdapter(field_type(field))
    messages: list[str] = []
    for probe in _PROBES:
        try:
            adapter.validate_python(probe)
        except ValidationError as error:
            allowed = first_invalid(error)[1].allowed
        except InvalidValue as invalid:
            allowed = invalid.allowed
        else:
            continue
        allowed = allowed.partition(" (did you mean")[0]
        if allowed and allowed not in messages and "Input should be" not in allowed and "Extra inputs" not in allowed:
            messages.append(allowed)
    return "; ".join(one for one in messages if not one.startswith(_OF_THE_UNIT) and "; units: " not in one)


def check_example(table: type[Table], name: str) -> None:
    """Validate the example of a key.

    Raises:
        ValueError: it is no TOML, or its field refuses it.
    """
    field = table.model_fields.get(name)
    given = entry(table, name)
    value = tomllib.loads(f"value = {given['example']}")["value"]
    if field is not None:
        TypeAdapter(field_type(field)).validate_python(value)


__all__ = ["Key", "MissingText", "check_example", "entry", "field_type", "key", "keys", "toml"]
