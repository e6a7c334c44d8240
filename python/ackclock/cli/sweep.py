"""sweep: a scenario at every combination of its [sweep]."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Dask, Force, Json, Out, Quiet, Report, Seed, Workers


def sweep(
    scenario: Annotated[Path, typer.Argument(help="A scenario file with a [sweep].", show_default=False)],
    workers: Workers = None,
    dask: Dask = None,
    report: Report = True,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario's [sweep] on all cores. The same command continues an interrupted sweep."""
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.input.scenario.draft import read_draft
    from ackclock.simulation.sweep import check_points, sweep_checked, sweep_folder
    from ackclock.simulation.terminal_tables import sweep_table

    draft = read_draft(scenario)
    if not draft.document.data.get("sweep"):
        raise InputError(
            "no [sweep]", '[sweep] with a list, such as "tcp.variant" = ["reno", "cubic"]', file=str(scenario)
        )
    points = check_points(draft, None if seed is None else [seed])
    with progress("sweep", quiet=quiet) as update:
        folder = out or sweep_folder(points)
        result = sweep_checked(draft, points, folder=folder, force=force, workers=workers, dask=dask, progress=update)
    deliver(
        lambda: result.document, lambda: [sweep_table(result)], result.folder, report=report, json=json, quiet=quiet
    )
