"""Checks documents against the types of their command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.documents import DOCUMENTS, checker, document_schema


def further_fields(command: str, document: Any) -> list[str]:
    """The fields of the document that its types do not have, by their path."""
    schema = document_schema(command)
    return list(_further(json.loads(json.dumps(follows(command, document))), schema, schema["$defs"]))


def _further(part: Any, schema: Mapping[str, Any], types: Mapping[str, Any], path: str = "") -> Iterator[str]:
    if "$ref" in schema:
        schema = types[schema["$ref"].rpartition("/")[2]]
    for option in schema.get("anyOf", ()):
        if option.get("type") != "null":
            yield from _further(part, option, types, path)
    if isinstance(part, dict):
        further = schema.get("additionalProperties", {}) if "properties" not in schema else None
        known = schema.get("properties", {})
        if further is None:
            yield from (f"{path}.{name}" for name in part if name not in known)
        for name, inner in part.items():
            yield from _further(inner, known.get(name, further or {}), types, f"{path}.{name}")
    elif isinstance(part, list):
        for inner in part:
            items = schema.get("items")
            yield from _further(inner, items if isinstance(items, dict) else {}, types, f"{path}[]")


def follows(command: str, document: Any) -> Any:
    """The document, which must follow the command's schema as JSON text."""
    checker(DOCUMENTS[command]).validate_python(json.loads(json.dumps(document, allow_nan=False)))
    return document
