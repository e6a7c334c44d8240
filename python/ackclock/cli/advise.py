"""advise: what to change, by how much it helps, what to type and how to undo it."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Force, Json, Out, Quiet, Report, Seed, Workers, packaged_name, typed

_OPTIONS = {"goal": "--goal", "may": "--may", "link": "WHAT", "flow.flow.direction": "--direction"}


def advise(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT..",
            help="A packaged link, a link file, a scenario, a run folder, or captures (a folder of them) of one or both ends.",
            autocompletion=complete.links,
            callback=packaged_name,
        ),
    ],
    goal: Annotated[
        str | None,
        typer.Option(
            help="Of a link: household (the default), or call, page, game of it. Of transfers: balanced (the default of "
            "a scenario, a run or captures), throughput, latency or fairness."
        ),
    ] = None,
    may: Annotated[
        str | None,
        typer.Option(
            help="Who may change something, with commas between: sender, receiver, router, operator. Without it all, "
            "and what the hosts and the router can change stands first (of captures: the captured end).",
        ),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="Of the transfer over a link whose figures stand first: down (default) or up.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the first advice with the running kernel's TCP over the emulated link."),
    ] = False,
    may_harm: Annotated[
        bool, typer.Option("--may-harm", help="Advise what takes more than half of their goodput from others, too.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print all choices with what to type, and what was tried, not one screen.")
    ] = False,
    workers: Workers = None,
    report: Report = True,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """What to change of the hosts or the link, by how much it helps, and what to type."""
    from ackclock.advice.tables import lines, tables
    from ackclock.advisor import advise as advice
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress

    check_address_space(Need.STATISTICS)
    with typed(_OPTIONS), progress("advise", quiet=quiet) as update:
        result = advice(
            *what,
            goal=goal,
            may=None if may is None else [part.strip() for part in may.split(",") if part.strip()],
            direction=direction,
            seed=1 if seed is None else seed,
            workers=workers,
            out=out,
            force=force,
            keep=True,
            progress=update,
            verify=verify,
            may_harm=may_harm,
        )
    screen = cache(result.screen)
    deliver(
        lambda: result.document,
        lambda: tables(result.document) if every else screen()[0],
        result.folder,
        report=report,
        json=json,
        quiet=quiet,
        lines=lambda: ["", *lines(result.document, every=True)] if every else screen()[1],
    )
