"""show: a link, a scenario or a run in one screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json, Quiet, packaged_name


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="A packaged link, a link file, a scenario file, or a run folder or its URL.",
            autocompletion=complete.links,
            callback=packaged_name,
        ),
    ],
    all_: Annotated[bool, typer.Option("--all", help="Print every key and each row, not one screen.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A link, a scenario or a run in one screen."""
    from ackclock.cli.output import print_json, print_lines, print_tables

    if Path(name).is_dir() or "://" in name:
        from ackclock import api
        from ackclock.folder_damage import damage_named

        run = api.open_run(name)
        with damage_named(run.folder or Path(name)):
            tables, lines = ([], []) if json else (run.tables(), []) if all_ else run.screen()
        if json:
            print_json(run.document)
        print_tables(tables)
        print_lines(lines)
        return

    from ackclock.cli.address_space import Need, has_room
    from ackclock.overview import overview

    shown = overview(name)
    if has_room(Need.TABLES):
        shown = shown.with_good_for()
    if json:
        print_json(shown.document)
        return
    tables, lines = (shown.tables(), []) if all_ else shown.screen()
    print_tables(tables)
    print_lines(lines)
