"""JSON Schema (draft 2020-12) of the files that users write, from the models that check them and
the texts of `keys`.

A schema has keys, types, units and ranges; what depends on several keys is checked by the commands.
"""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union

from ackclock.errors import InputError, choices, format_value
from ackclock.input.form import Form, FormValidator
from ackclock.input.keys import Key, field_type, key
from ackclock.input.schema import Table

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
KINDS = ("link", "scenario")
_LINK = "A path between a server and its clients, hop by hop, server first."
_ASSUMED: Schema = {
    "type": "array",
    "description": "Keys whose values have no source, each with other values, under which `compare` tries its answer.",
    "examples": [[{"key": "hop.air.loss.mean", "values": [0.001]}]],
    "items": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "values": {"type": "array", "minItems": 1}},
        "required": ["key", "values"],
        "additionalProperties": False,
    },
}


def json_schema(kind: str) -> Schema:
    """The schema of a kind of file: "link" or "scenario".

    Each key has `description`, `examples`, and where they apply `default` (a value), `x-default`
    (in words), `x-unit` and `x-range`.

    Raises InputError for another kind.

    >>> json_schema("link")["required"]
    ['hop']
    """
    if kind not in KINDS:
        raise InputError(format_value(kind), choices(KINDS, kind), key="kind")
    top, definitions = _file(kind)
    return {"$schema": DRAFT, **top, "$defs": dict(sorted(definitions.items()))}


def table_schema(table: type[Table], title: str, description: str) -> Schema:
    """The schema of a file that is one table; keys as in `json_schema`."""
    tables = _Tables()
    properties = {name: tables.described(table, name) for name in table.written_keys()}
    return {
        "$schema": DRAFT,
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": dict(sorted(tables.defs.items())),
    }


def each_key(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    """All keys of a schema: the table (empty for the top), the key and its schema.

    >>> rows = each_key(json_schema("link"))
    >>> next(of["x-unit"] for table, name, of in rows if (table, name) == ("CoDel", "target"))
    'time'
    """
    tables = {"": schema, **schema["$defs"]}
    for table, of_table in tables.items():
        for name, of_key in of_table["properties"].items():
            yield table, name, of_key


def _file(kind: str) -> tuple[Schema, Schema]:
    """The schema of a file that Rust reads, and the definitions of its tables."""
    from ackclock import _native

    _, definitions = _native.table_schema("Scenario")
    scenario = definitions.pop("Scenario")
    if kind == "scenario":
        return {
            "title": "ackclock scenario",
            **_top(scenario["properties"], scenario["required"], scenario),
        }, definitions
    shared = {name: scenario["properties"][name] for name in ("title", "source", "hop")}
    fit = {"type": "object", "description": "What `ackclock fit` records; no part of the link.", "examples": [{}]}
    own = {**shared, "assumed": _ASSUMED, "fit": fit}
    link = {"title": "ackclock link file", **_top(own, ["hop"], {"description": _LINK})}
    return link, _native.table_schema("Hop")[1]


def _top(properties: Schema, required: list[str], of: Schema) -> Schema:
    return {
        "description": of["description"],
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


class _Tables:
    """The definitions of tables, collected while keys refer to them."""

    def __init__(self) -> None:
        self.defs: dict[str, Schema] = {}

    def reference(self, table: type[Table]) -> Schema:
        """A reference to a table's definition, which is made on first use."""
        if table.__name__ not in self.defs:
            self.defs[table.__name__] = {}
            self.defs[table.__name__] = self._definition(table)
        return {"$ref": f"#/$defs/{table.__name__}"}

    def _definition(self, table: type[Table]) -> Schema:
        required = [name for name, field in table.model_fields.items() if field.is_required()]
        return {
            "type": "object",
            "description": " ".join((table.__doc__ or "").split()),
            "properties": {name: self.described(table, name) for name in table.written_keys()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def described(self, table: type[Table], name: str) -> Schema:
        """The schema of a key with its text, default and example."""
        return {**self.value(field_type(table.model_fields[name])), **_notes(key(table, name))}

    def value(self, annotation: Any) -> Schema:
        """The schema of a value, from its type and its checks."""
        kind, notes = _parts(annotation)
        for note in reversed(notes):
            found = note.form if isinstance(note, FormValidator) else note
            if isinstance(found, Form):
                return dict(found.schema)
        return self._of_type(kind)

    def _of_type(self, kind: Any) -> Schema:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if isinstance(kind, type) and issubclass(kind, Table):
            return {"allOf": [self.reference(kind)]}
        if kind is bool:
            return {"type": "boolean"}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.value(one) for one in arguments]}
        if origin is tuple and arguments[1:] == (...,):
            return {"type": "array", "items": self.value(arguments[0])}
        raise TypeError(f"no form for {kind}")


def _notes(of: Key) -> Schema:
    """What a key's schema says beside the value."""
    notes: Schema = {"description": of.text, "examples": [_parsed(of.example)], "x-unit": of.unit}
    if of.limits:
        notes["x-range"] = of.limits
    if of.default and of.default != "required":
        default = _parsed(of.default)
        notes |= {"x-default": of.default} if default is None else {"default": default}
    return notes


def _parsed(text: str) -> Any:
    """A value written as TOML; None for words."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None


def _parts(annotation: Any) -> tuple[Any, list[Any]]:
    """The type without None, and its checks, inner ones first."""
    notes: list[Any] = []
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *outer = typing.get_args(annotation)
            notes = [*outer, *notes]
            continue
        members = typing.get_args(annotation) if typing.get_origin(annotation) in (Union, types.UnionType) else ()
        others = [one for one in members if one is not type(None)]
        if len(others) == 1:
            annotation = others[0]
        else:
            return (Union[tuple(others)] if len(others) < len(members) else annotation), notes  # noqa: UP007
