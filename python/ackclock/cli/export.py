"""export: a link as files of Linux tc or mahimahi."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Force, Json, Quiet, packaged_name, typed


class Emulator(StrEnum):
    tc = "tc"
    mahimahi = "mahimahi"


def export(
    link: Annotated[
        str,
        typer.Argument(
            help="A packaged link (`ackclock list links`) or a link file.",
            autocompletion=complete.links,
            callback=packaged_name,
        ),
    ],
    to: Annotated[Emulator, typer.Option("--to", help="The target's format.")],
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write into (default: LINK-tc or LINK-mahimahi)."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a link as files of Linux tc or mahimahi, with a list of properties that these cannot
    express.
    """
    from ackclock.cli.output import print_json, remark
    from ackclock.export import export_link

    with typed({"link": "LINK"}):
        exported = export_link(link, to.value)
    if json:
        print_json(exported.document())
        return
    for path in exported.write(out or Path(f"{Path(link).stem}-{to.value}"), force=force):
        print(path)
    for text in exported.missing:
        remark(f"not expressed: {text}", quiet=quiet)
