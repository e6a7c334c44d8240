"""schema: JSON Schema of link files, scenarios and measurement plans, for editors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet


class FileKind(StrEnum):
    link = "link"
    scenario = "scenario"
    plan = "plan"


def schema(
    kind: Annotated[FileKind, typer.Argument(help="The kind of file.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON Schema (draft 2020-12) of link files, scenarios or plans of `measure`, for
    editors (docs/guides/editors.md).

    The output is one document with and without --json.
    """
    from ackclock.cli.output import print_json
    from ackclock.input.json_schema import json_schema
    from ackclock.measurement.plan import plan_schema

    print_json(plan_schema() if kind is FileKind.plan else json_schema(kind.value))
