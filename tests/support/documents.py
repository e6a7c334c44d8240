"""Checks documents against the types of their command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ackclock.documents import DOCUMENTS


def further_fields(command: str, document: Any) -> list[str]:
    """The fields of the document that its types do not have, by their path."""
    return list(_further(DOCUMENTS[command].model_validate(json.loads(json.dumps(document)))))


def _further(part: Any, path: str = "") -> Iterator[str]:
    if isinstance(part, BaseModel):
        yield from (f"{path}.{name}" for name in part.model_extra or {})
        part = {name: getattr(part, name) for name in type(part).model_fields}
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from _further(inner, f"{path}.{name}")
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _further(inner, f"{path}[]")


def follows(command: str, document: Any) -> Any:
    """The document, which must follow the command's schema as JSON text."""
    DOCUMENTS[command].model_validate(json.loads(json.dumps(document, allow_nan=False)))
    return document
