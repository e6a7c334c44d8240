"""doctor: what works on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet


def doctor(
    all_: Annotated[bool, typer.Option("--all", help="Print what each check found, not one screen.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What works on this machine, and what to install for the rest."""
    from ackclock import doctor as of_machine
    from ackclock.cli.output import print_json, print_tables

    checks = of_machine.checks()
    if json:
        print_json(of_machine.document(checks))
    else:
        print_tables([of_machine.table(checks, every=all_)])
