"""compare: TCP variants, socket buffers and ACK techniques over one link, ranked."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from ackclock.arguments import option_names, quick_defaults
from ackclock.arguments.compare import CompareArguments
from ackclock.cli.options import Json, Quiet, Report, Seed, typed, with_options
from ackclock.goals import APP_GOALS


@with_options(CompareArguments, after={"quick": "with_prices", "report": "series", "seed": "force"})
def compare(
    given: dict[str, Any],
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: 3 seeds, --duration auto, buffers of 64 KiB, auto and path.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all choices with their reasons and prices, not one screen.")
    ] = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Rank TCP variants, socket buffers and ACK policies over a link, with reasons and an HTML
    report.
    """
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress
    from ackclock.comparison import compare as run_comparison
    from ackclock.comparison.terminal_tables import tables

    check_address_space(Need.STATISTICS)
    # A household is a first look already.
    first_look = quick and given.get("goal") not in APP_GOALS
    chosen = {**(quick_defaults(CompareArguments) if first_look else {}), **given}
    if seed is not None:
        chosen["seeds"] = [seed]
    with typed(option_names(CompareArguments)), progress("compare", quiet=quiet) as update:
        comparison = run_comparison(**chosen, keep=True, progress=update)
    screen = cache(comparison.screen)
    deliver(
        lambda: comparison.document,
        lambda: tables(comparison, all_rows=True) if all_ else screen()[0],
        comparison.folder,
        report=report,
        json=json,
        quiet=quiet,
        lines=lambda: () if all_ else screen()[1],
    )
