"""JSON Schema (draft 2020-12) of the files that users write, from the structs that check them
(crates/scenario).

A schema has keys, types, units and ranges; what depends on several keys is checked by the commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ackclock import _native
from ackclock.errors import InputError, choices, format_value

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TABLES = {"link": "Hop", "scenario": "Scenario", "plan": "MeasurementPlan"}
"""The kinds of files, and the table that has all others of the kind."""
KINDS = tuple(TABLES)
_LINK = "A path between a server and its clients, hop by hop, server first."
_FIT: Schema = {"type": "object", "description": "What `ackclock fit` records; no part of the link.", "examples": [{}]}
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
_NUMBER: Schema = {"type": ["number", "string"]}
_HUNT: Schema = {
    "type": "object",
    "description": "What `ackclock hunt` searches (docs/reference/hunt.md); no part of the runs of other commands.",
    "examples": [{"objective": "goodput", "vary": {"hop.dsl.delay": {"from": "5 ms", "to": "100 ms"}}}],
    "properties": {
        "objective": {"type": ["string", "object"]},
        "breaks": {"type": "number"},
        "vary": {"type": "object"},
        "constraints": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **{key: {"type": "string"} for key in ("metric", "key", "over")},
                    **dict.fromkeys(("min", "max"), _NUMBER),
                },
                "additionalProperties": False,
            },
        },
        "plausible": {"type": "number", "exclusiveMinimum": 0},
        "runs": {"type": "integer", "minimum": 1},
        "minutes": {"type": "number", "exclusiveMinimum": 0},
        "cases": {"type": "integer", "minimum": 1, "maximum": 100},
        "search": {"enum": ["cmaes", "random"]},
        "seed": {"type": "integer", "minimum": 0},
    },
    "required": ["objective"],
    "additionalProperties": False,
}


def json_schema(kind: str) -> Schema:
    """The schema of a kind of file: "link", "scenario", or the "plan" of a measurement.

    Each key has `description`, `examples`, and where they apply `default` (a value), `x-default`
    (in words), `x-unit` and `x-range`.

    Raises InputError for another kind.

    >>> json_schema("link")["required"]
    ['hop']
    """
    if kind not in KINDS:
        raise InputError(format_value(kind), choices(KINDS, kind), key="kind")
    definitions = _native.table_schema(TABLES[kind])[1]
    if kind == "link":
        definitions |= _native.table_schema("Tunnel")[1]
        properties = _native.table_schema("Scenario")[1]["Scenario"]["properties"]
        shared = {name: properties[name] for name in ("title", "source", "hop", "tunnel")}
        keys = {**shared, "assumed": _ASSUMED, "fit": _FIT}
        top = _top("link file", {"description": _LINK, "properties": keys, "required": ["hop"]})
    else:
        title = "scenario" if kind == "scenario" else "measurement plan"
        table = definitions.pop(TABLES[kind])
        if kind == "scenario":
            table = {**table, "properties": {**table["properties"], "hunt": _HUNT}}
        top = _top(title, table)
    return {"$schema": DRAFT, **top, "$defs": dict(sorted(definitions.items()))}


def _top(title: str, table: Schema) -> Schema:
    return {
        "title": f"ackclock {title}",
        "description": table["description"],
        "type": "object",
        "properties": table["properties"],
        **({"required": table["required"]} if "required" in table else {}),
        "additionalProperties": False,
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
