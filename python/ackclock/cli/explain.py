"""explain: the meaning of a word of a table, of a finding, of an error's code or of a rule."""

from __future__ import annotations

from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json, Quiet


def explain(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="A word of a table, a finding of analyze, the code of an error, a rule, or a limitation (default: list all).",
            autocompletion=complete.explained,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What a word of a table, a finding of `analyze`, the code of an error, a rule of its events or
    a limitation means; no network is used.

    On a terminal an error is followed by its code; --json has it as `code`. Events of `analyze
    --json` and of `--timeline` name the rule that classified the segment.
    """
    import shutil
    import textwrap
    from dataclasses import asdict

    from ackclock import explanations
    from ackclock.cli.output import print_json, print_names

    if not name:
        known = explanations.explanations()
        if json:
            print_json([asdict(entry) for entry in known.values()])
        else:
            print_names({entry.name: f"{entry.kind}: {entry.group}" for entry in known.values()})
        return
    explanation = explanations.explain(" ".join(name))
    if json:
        print_json({**asdict(explanation), "page": explanation.page})
        return
    print(f"{explanation.name} ({explanation.kind}; {explanation.group})")
    print(textwrap.fill(explanation.text, shutil.get_terminal_size((100, 24)).columns))
    if explanation.source:
        print(f"Source: {explanation.source}")
    if explanation.example:
        print(f"Example: {explanation.example}")
    print(f"Page: {explanation.page}")
