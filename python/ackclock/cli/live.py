"""Commands that work with real traffic."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Json, Quiet, Seed


def emulate(
    link: Annotated[
        str, typer.Argument(help="A packaged link (`ackclock list links`), a link file or a scenario.", show_default=False)
    ],
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run behind the link, after --; a shell by default.", show_default=False)
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", help="What to run at the far end meanwhile, such as 'iperf3 -s'.", show_default=False),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.001, help="End after this long, whatever still runs.", show_default=False)
    ] = None,
    clients: Annotated[int, typer.Option("--clients", min=1, max=1000, help="Clients with a namespace of their own.")] = 1,
    json: Json = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> int:
    """A command behind a link, in real time, both directions; no root needed where user namespaces are allowed.

    The command stands at the client's end, with the server at $ACKCLOCK_SERVER its only neighbour.
    """
    import shlex

    from ackclock.cli.output import print_json, print_tables, remark
    from ackclock.emulation import Settings, emulate_here, emulation_scenario
    from ackclock.errors import InputError
    from ackclock.show import emulation_tables

    scenario = emulation_scenario(link, clients)
    argv = command or [os.environ.get("SHELL", "/bin/sh")]
    try:
        at_server = shlex.split(server or "")
    except ValueError as error:
        raise InputError(f"{server} ({error})", "a command line as a shell reads it", key="--server") from None
    settings = Settings(argv, at_server, seconds, quiet_stdout=json)
    document = {"link": link, **emulate_here(scenario, scenario.seeds[0] if seed is None else seed, settings)}
    if not document["valid"]:
        remark(f"INVALID: {document['why']}", quiet=False)
    if json:
        print_json(document)
    elif not quiet:
        print_tables(emulation_tables(document))
    return 0 if document["command"]["exit"] in (0, None) else 1


class KernelVerb(StrEnum):
    load = "load"
    unload = "unload"
    list = "list"


def kernel_cc(
    verb: Annotated[KernelVerb, typer.Argument(help="What to do.", show_default=False)],
    variants: Annotated[
        list[str] | None, typer.Argument(help="vegas, veno, westwood+, bic, biad; all by default.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """The papers' congestion controls in the running kernel, for any program (TCP_CONGESTION); `make kernel-cc` builds them.

    Loading needs root. They stay until they are unloaded or the machine restarts.
    """
    from ackclock.kernel_cc import run

    return run(verb.value, variants or [], json=json)


class Emulator(StrEnum):
    tc = "tc"
    mahimahi = "mahimahi"


def export(
    link: Annotated[str, typer.Argument(help="A packaged link (`ackclock list links`) or a link file.", show_default=False)],
    to: Annotated[Emulator, typer.Option("--to", help="Whose files to write.", show_default=False)],
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write into (default: LINK-tc or LINK-mahimahi).", show_default=False),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """A link for Linux's tc or for mahimahi, with a list of what those cannot express."""
    from ackclock.cli.output import print_json, remark
    from ackclock.export import export_link

    exported = export_link(link, to.value)
    if json:
        print_json(exported.document())
        return
    for path in exported.write(out or Path(f"{Path(link).stem}-{to.value}")):
        print(path)
    for text in exported.missing:
        remark(f"not expressed: {text}", quiet=quiet)
