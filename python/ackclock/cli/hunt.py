"""hunt: the link on which a scenario breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Force, Json, Out, Quiet, Report, Workers, one_of


def hunt(
    scenario: Annotated[Path, typer.Argument(help="A scenario file with a [hunt].")],
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, max=10**6, help="Cases to search, in place of the scenario's budget.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Minutes to search, in place of the scenario's budget.")
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="How cases are chosen: cmaes or random, in place of the scenario's.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**31 - 1, help="The seed of the search, in place of the scenario's."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run each found case with the running kernel's TCP over the emulated link.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print what happens in every case, not one screen.")] = False,
    workers: Workers = None,
    report: Report = True,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Search a scenario's [hunt] for what breaks. The same command continues an interrupted one."""
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.hunting.result import lines, tables
    from ackclock.hunting.run import hunt_checked, identity
    from ackclock.hunting.table import SEARCHES, read_hunt
    from ackclock.input.scenario.draft import read_draft

    check_address_space(Need.RUNS)
    if search is not None:
        one_of(search, SEARCHES, "--search")
    if runs is not None and minutes is not None:
        raise InputError.problem("--runs and --minutes exclude each other", "give one budget", option="--minutes")
    if minutes is not None and not minutes > 0:
        raise InputError(f"{minutes:g}", "a number above 0", option="--minutes")
    draft = read_draft(scenario)
    table = read_hunt(draft, runs=runs, minutes=minutes, search=search, seed=seed)
    folder = out if out is not None else identity(draft, table).default_folder()
    with progress("hunt", quiet=quiet) as update:
        result = hunt_checked(draft, table, folder=folder, force=force, workers=workers, verify=verify, progress=update)
    deliver(
        lambda: {**result.document, "folder": str(result.folder)},
        lambda: tables(result.document, every=every),
        result.folder,
        report=report,
        json=json,
        quiet=quiet,
        lines=lambda: lines(result.document, every=every),
    )
