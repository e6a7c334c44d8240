"""report: the HTML report of a run folder."""

from __future__ import annotations

from typing import Annotated

import typer

from ackclock.cli.options import Json, Out, Quiet, Seed


def report(
    run: Annotated[str, typer.Argument(help="A run folder, or its URL.", show_default=False)],
    json: Json = False,
    out: Out = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a run folder."""
    from ackclock.cli.output import print_json
    from ackclock.result_folder import write_report
    from ackclock.storage.remote_folder import finished, of, shown

    folder = finished(run)
    page = write_report(folder)
    name = str(page)
    if remote := of(folder):
        remote.push(page.name)
        name = f"{remote.shown}/{page.name}"
    if json:
        print_json({"run": shown(folder), "report": name})
    else:
        print(name)
