"""schema: JSON Schema of link files, scenarios and measurement plans, for editors, and of the
documents of --json.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet


class SchemaKind(StrEnum):
    link = "link"
    scenario = "scenario"
    plan = "plan"
    advise = "advise"
    analyze = "analyze"
    compare = "compare"
    diff = "diff"
    emulate = "emulate"
    fit = "fit"
    hunt = "hunt"
    import_ = "import"
    measure = "measure"
    reproduce = "reproduce"
    simulate = "simulate"
    sweep = "sweep"


def schema(
    kind: Annotated[SchemaKind, typer.Argument(help="The kind of file, or the command of the document.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON Schema (draft 2020-12) of link files, scenarios or plans of `measure`, for
    editors (docs/guides/editors.md), or of the document that a command prints with --json.

    The output is one document with and without --json.
    """
    from ackclock.cli.output import print_json
    from ackclock.documents import DOCUMENTS, document_schema
    from ackclock.input.json_schema import json_schema

    if kind in DOCUMENTS:
        print_json(document_schema(kind.value))
    else:
        print_json(json_schema(kind.value))
