"""packetdrill: scripts of packetdrill's language against a host stack of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json, Quiet, Seed, one_of, time_of


def packetdrill(
    scripts: Annotated[list[Path], typer.Argument(metavar="SCRIPT...", help="Scripts, or folders with .pkt files.")],
    host: Annotated[
        str, typer.Option(help="The host stack: one of `ackclock list hosts`.", autocompletion=complete.hosts)
    ] = "linux-6",
    variant: Annotated[
        str | None,
        typer.Option(
            help="The congestion control; python:module.Class for one of your own.", show_default="the host's"
        ),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(help="A segment may leave this much earlier or later than the script says.")
    ] = "4 ms",
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT[,WHAT..]", help="Do not compare psh, window, info (tcp_info) or time.", show_default="none"
        ),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print every packet and call with its time.")] = False,
    json: Json = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Play packetdrill scripts against the engine's TCP, in virtual time."""
    from ackclock.cli.output import print_json
    from ackclock.errors import InputError
    from ackclock.input.catalogue import hosts
    from ackclock.input.units import show_time
    from ackclock.packetdrill.run import IGNORED, VERDICTS, run_scripts, scripts_in
    from ackclock.packetdrill.terminal_lines import result_lines, summary_line

    one_of(host, hosts(), "--host")
    tolerance_ps = time_of(tolerance, "--tolerance")
    if tolerance_ps < 0:
        raise InputError(tolerance, "0 s or more", option="--tolerance")
    tcp = {} if variant is None else {"variant": variant}
    ignored = list(filter(None, (ignore or "").split(",")))
    for name in ignored:
        one_of(name, IGNORED, "--ignore")
    kinds = [name for name in IGNORED if name in ignored]
    paths = [script for named in scripts for script in scripts_in(named)]
    results = []
    for result in run_scripts(paths, host, tcp=tcp, tolerance_ps=tolerance_ps, ignored=kinds, trace=trace):
        results.append(result)
        if not json and not (quiet and result.verdict == "passes"):
            for line in result_lines(result):
                print(line)
    if json:
        verdicts = [result.verdict for result in results]
        counts = {name: verdicts.count(name) for name in VERDICTS}
        documents = [result.document() for result in results]
        print_json(
            {
                "host": host,
                "tolerance_ms": tolerance_ps / 10**9,
                "ignored": kinds,
                "counts": counts,
                "scripts": documents,
            }
        )
    else:
        print(summary_line(results, host, show_time(tolerance_ps)))
    distinct = {result.verdict for result in results}
    if "unreadable" in distinct:
        raise typer.Exit(2)
    if "fails" in distinct:
        raise typer.Exit(1)
