"""schema: JSON Schema of link files and scenarios, for editors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet


class FileKind(StrEnum):
    link = "link"
    scenario = "scenario"


def schema(
    kind: Annotated[FileKind, typer.Argument(help="The kind of file.", show_default=False)],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON Schema (draft 2020-12) of link files or scenarios, for editors
    (docs/editors.md).

    The output is one document with and without --json.
    """
    from ackclock.cli.output import print_json
    from ackclock.input.json_schema import json_schema

    print_json(json_schema(kind.value))
