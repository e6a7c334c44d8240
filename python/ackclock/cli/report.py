"""report: the HTML report of a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Json, Out, Quiet, Seed


def report(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    json: Json = False,
    out: Out = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a run folder."""
    from ackclock.cli.output import print_json
    from ackclock.result_folder import write_report

    page = write_report(run)
    if json:
        print_json({"run": str(run), "report": str(page)})
    else:
        print(page)
