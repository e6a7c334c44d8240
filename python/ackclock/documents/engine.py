"""Parts of documents that the engine makes, as types: its structs say them (crates/contract).

Type checkers read engine.pyi, which tools/document_types.py writes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ackclock import _native

NAMES = {"Annotated": Annotated, "Field": Field, "Literal": Literal, "NotRequired": NotRequired}
"""What the annotations need besides the types."""


def _types() -> dict[str, Any]:
    types: dict[str, Any] = {}
    for name, text, keys in _native.document_types():
        described = {key: f"Annotated[{type_}, Field(description={about!r})]" for key, about, type_, _ in keys}
        required = {key: is_required for key, _, _, is_required in keys}
        annotations = {key: type_ if required[key] else f"NotRequired[{type_}]" for key, type_ in described.items()}
        types[name] = TypedDict(name, annotations)  # type: ignore[operator]
        types[name].__doc__ = text
    return types


globals().update(NAMES | _types())


def __getattr__(name: str) -> Any:
    """A type of live traffic where the engine has none: it is about documents of other systems."""
    if not name[0].isupper():
        raise AttributeError(name)
    return TypedDict(name, {})  # type: ignore[operator]
