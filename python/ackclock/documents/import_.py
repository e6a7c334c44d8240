"""The document of ``import``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

Line = Annotated[int | None, Field(description="of the input; null: the whole")]


class FoundLint(TypedDict):
    """Something in the set-up that hurts, or does not do what it seems to."""

    code: str
    line: Line
    text: str


class LineNote(TypedDict):
    """A sentence about a line of the input."""

    line: Line
    text: str


class MisreadLine(TypedDict):
    """A line, or a part of one, that was not understood."""

    line: Line
    text: str
    why: str


class ImportedLink(TypedDict):
    """A set-up as a link file."""

    input: Annotated[str, Field(description="the file, or - for standard input")]
    format: str
    link: Annotated[dict[str, Any], Field(description="title, source and hops, as a link file has them")]
    toml: Annotated[str, Field(description="the link file, with comments")]
    lints: list[FoundLint]
    not_expressed: list[LineNote]
    not_understood: list[MisreadLine]
    assumed: list[LineNote]
