"""import: a set-up of tc, SQM, mahimahi or dummynet as a link file, with lints."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet, one_of, typed


class Side(StrEnum):
    down = "down"
    up = "up"


def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A tc script, the output of `tc -s -d qdisc show`, /etc/config/sqm, a mahimahi command or dummynet "
            "pipes; - is standard input.",
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="The format of FILE: tc, tc-show, sqm, mahimahi, dummynet or netem (default: recognised)."
        ),
    ] = None,
    egress: Annotated[
        Side | None,
        typer.Option(
            "--egress", help="The direction of what the interface of the set-up sends (default: by its name)."
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option("--rtt", help='RTT of the rest of the path, which becomes a hop of its own, such as "30 ms".'),
    ] = None,
    line_down: Annotated[
        str | None,
        typer.Option("--line-down", help='Rate of the line down, with which lints compare shapers, such as "50 Mb/s".'),
    ] = None,
    line_up: Annotated[str | None, typer.Option("--line-up", help="Rate of the line up.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="The value of a shell variable of FILE; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The link file to write (default: standard output).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace another file at --out.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a link file of a set-up as people have it, and name what in it hurts (lints), what a
    link file does not express, and what was not understood.
    """
    from ackclock.cli.output import print_json, remark
    from ackclock.errors import InputError, format_value
    from ackclock.link_import import FORMATS, import_link

    if format_ is not None:
        one_of(format_, FORMATS, "--format")
    variables = {}
    for assignment in set_ or ():
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(format_value(assignment), "a variable and its value, such as RATE=10mbit", option="--set")
        variables[name] = value
    options = {"format": "--format", "rtt": "--rtt", "line_down": "--line-down", "line_up": "--line-up"}
    with typed(options):
        imported = import_link(
            file,
            format=format_,
            egress=egress.value if egress else None,
            rtt=rtt,
            line_down=line_down,
            line_up=line_up,
            variables=variables,
            out=out,
        )
    if out is not None:
        imported.write(out, force=force)
    if json:
        print_json(imported.document)
        return
    print(out if out is not None else imported.toml, end="\n" if out is not None else "")
    if out is not None:
        for sentence in imported.sentences():
            remark(sentence, quiet=quiet)
    else:
        for lint in imported.document["lints"]:
            remark(f"{lint['code']}: {lint['text']}", quiet=quiet)
