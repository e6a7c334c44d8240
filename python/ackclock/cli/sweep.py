"""sweep: a scenario at every combination of its [sweep]."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.cli.options import Dask, Force, Json, OutUrl, Quiet, Report, Seed, Series, Workers, one_of

if TYPE_CHECKING:
    from ackclock.simulation.run_estimate import RunEstimate


def sweep(
    scenario: Annotated[Path, typer.Argument(help="A scenario file with a [sweep].")],
    workers: Workers = None,
    dask: Dask = None,
    series: Series = "sampled",
    part: Annotated[
        str | None,
        typer.Option("--part", help="Run part i of n only, such as 2/3, for --collect."),
    ] = None,
    collect: Annotated[
        list[str] | None,
        typer.Option("--collect", help="The folder or URL of a part (repeat for each); joins them."),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Print runs, CPU time, bytes and time, of the part with --part; run no more."),
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Print all points, not one screen.")] = False,
    report: Report = True,
    json: Json = False,
    out: OutUrl = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario's [sweep] on all cores. The same command continues an interrupted sweep."""
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver, print_json, remark
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.input.scenario.draft import read_draft
    from ackclock.simulation.run_list import SERIES
    from ackclock.simulation.sweep import check_points, estimated, sweep_checked, sweep_folder, sweep_part
    from ackclock.storage.remote_folder import finished, local, shown

    check_address_space(Need.RUNS)
    one_of(series, SERIES, "--series")
    piece = _part(part) if part is not None else None
    if piece and collect:
        raise InputError.problem("--part and --collect exclude each other", "run the parts first", option="--collect")
    draft = read_draft(scenario)
    if not draft.document.data.get("sweep"):
        raise InputError(
            "no [sweep]", '[sweep] with a list, such as "tcp.variant" = ["reno", "cubic"]', file=str(scenario)
        )
    points = check_points(draft, None if seed is None else [seed])
    if estimate:
        _print_estimate(estimated(points, piece, workers=workers, series=series), json=json)
        return
    folder = sweep_folder(points, series) if out is None else local(out)
    with progress("sweep", quiet=quiet) as update:
        if piece:
            done = sweep_part(
                points, piece, folder=folder, force=force, workers=workers, dask=dask, series=series, progress=update
            )
        else:
            result = sweep_checked(
                points,
                folder=folder,
                force=force,
                workers=workers,
                dask=dask,
                series=series,
                collect=[finished(part) for part in collect or ()],
                progress=update,
            )
    if piece:
        if json:
            print_json(done.document)
        else:
            remark(f"part {part}: {done.runs} runs in {done.chunks} chunks; run folder: {shown(folder)}", quiet=quiet)
        return
    for warning in result.warnings:
        remark(f"warning: {warning}", quiet=quiet)
    screen = cache(result.screen)
    deliver(
        result.document_text,
        lambda: result.tables() if all_ else screen()[0],
        result.folder,
        report=report,
        json=json,
        quiet=quiet,
        lines=lambda: () if all_ else screen()[1],
    )
    if not json:
        remark(f"digest: {result.data.digest()}", quiet=quiet)


def _print_estimate(expected: RunEstimate, *, json: bool) -> None:
    from ackclock.cli.output import print_json

    if json:
        print_json(expected.document)
    else:
        print(f"{expected.runs} runs: {expected.work}, {expected.time}")


def _part(text: str) -> tuple[int, int]:
    """The number and the number of parts of "2/3". Raises InputError."""
    from ackclock.errors import InputError

    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= 10**6):
        raise InputError(f'"{text}"', "a part such as 2/3: a number from 1, and how many parts", option="--part")
    return int(number), int(count)
