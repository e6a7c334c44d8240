"""fit: a link file from captures of both ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet, Seed


def fit(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE..",
            help="Captures of the same connections from both ends of a path, in any order, or run folders with "
            "such captures; several pairs are pooled. One capture of one end has wider intervals. Or run or schedule "
            "folders of `measure` without captures.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The link file to write, with NAME.draws.parquet beside it (default: nothing is written).",
        ),
    ] = None,
    filter: Annotated[str | None, typer.Option(help="Only flows with these endpoints, as for `analyze`.")] = None,
    synchronized: Annotated[
        str | None, typer.Option(metavar="ERROR", help="Maximum error of all captures' clocks, such as `100 us`.")
    ] = None,
    json: Json = False,
    force: Annotated[bool, typer.Option("--force", help="Replace another file in --out.")] = False,
    score: Annotated[
        bool,
        typer.Option("--score/--no-score", help="Hold out the last part of the captures and predict it (seconds)."),
    ] = True,
    variant: Annotated[
        str | None,
        typer.Option(help="The sender's congestion control (default: of cubic, reno and bbr the likeliest)."),
    ] = None,
    seed: Seed = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Print how each value was found, and why not, not one screen.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """A link file from captures of both ends of a path, with an interval for each parameter."""
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import print_json, print_lines, print_tables, remark
    from ackclock.fitting.run import fit as fit_captures
    from ackclock.fitting.terminal_tables import lines, parameters_table, screen

    check_address_space(Need.TABLES)
    fitted = fit_captures(
        *captures,
        out=out,
        filter=filter,
        synchronized=synchronized,
        seed=seed,
        force=force,
        score=score,
        variant=variant,
    )
    if json:
        print_json(fitted.document)
        return
    if all_:
        print_tables([parameters_table(fitted.document)])
        print_lines(lines(fitted.document))
    else:
        table, sentences = screen(fitted.document)
        print_tables([table])
        print_lines(sentences)
    if fitted.path is not None:
        remark(f"link file: {fitted.path}", quiet=quiet)
