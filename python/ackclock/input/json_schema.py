"""JSON Schema (draft 2020-12) of the files that users write, from the structs that check them
(crates/scenario).

A schema has keys, types, units and ranges; what depends on several keys is checked by the commands.
"""

from __future__ import annotations

from typing import Any

from ackclock import _native
from ackclock.errors import InputError, choices, format_value

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TABLES = {"link": "Link", "scenario": "Scenario", "plan": "MeasurementPlan"}
"""The kinds of files, and the table that has all others of the kind."""
KINDS = tuple(TABLES)
TITLES = {"link": "link file", "scenario": "scenario", "plan": "measurement plan"}
_HUNT: Schema = {"objective": "goodput", "vary": {"hop.dsl.delay": {"from": "5 ms", "to": "100 ms"}}}


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
    table = definitions.pop(TABLES[kind])
    if kind == "scenario":
        hunt, of_hunt = _native.table_schema("Hunt")
        definitions |= of_hunt
        hunt = {**hunt, "description": of_hunt["Hunt"]["description"], "examples": [_HUNT]}
        table = {**table, "properties": {**table["properties"], "hunt": hunt}}
    top = _top(TITLES[kind], table)
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
