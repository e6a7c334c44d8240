"""emulate: a command behind a link, in real time."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from ackclock.cli import complete
from ackclock.cli.options import Force, Json, Quiet, Report, packaged_name, time_above_zero, typed

if TYPE_CHECKING:
    from ackclock.documents.emulate import EmulationAudit

Grade = Literal["usable", "exact"]
Beside = Literal["household"]


class _NotRunError(Exception):
    """The command could not be run: its run folder, which has no results, is removed."""

    def __init__(self, document: EmulationAudit) -> None:
        super().__init__(document["why"])
        self.document = document


def emulate(
    link: Annotated[
        str,
        typer.Argument(
            help="A packaged link (`ackclock list links`), a link file or a scenario.",
            autocompletion=complete.links,
            callback=packaged_name,
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Command at the client's end, after --; a shell by default."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", help="Command at the server's end, such as 'iperf3 -s'."),
    ] = None,
    ready: Annotated[
        str,
        typer.Option(
            "--server-ready",
            metavar="PORT|any|none",
            help="Wait until the server listens: on this port (fail after 30 s), on any (at most 5 s), or do not wait.",
        ),
    ] = "any",
    beside: Annotated[
        Beside | None,
        typer.Option(
            "--beside",
            help="Run a household's programs over the kernel's TCP and UDP: a call, a game and pages beside a "
            "download and an upload, for 60 s. No command is required.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.001, help="Send the command SIGTERM after this time."),
    ] = None,
    clients: Annotated[
        int, typer.Option("--clients", min=1, max=1000, help="Clients with a namespace of their own.")
    ] = 1,
    pair: Annotated[
        bool,
        typer.Option("--pair", help="Name both namespaces, for scripts, and run until ended; no command is required."),
    ] = False,
    name: Annotated[str, typer.Option("--name", help="With --pair: NAME-server and NAME-client.")] = "ackclock",
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--hostname",
            metavar="NAME",
            help="A further name of the server beside `server`, such as shop.example; may be repeated.",
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            help="A packet released later than this is late (default: from the link and the machine's timer).",
        ),
    ] = None,
    require: Annotated[
        Grade | None,
        typer.Option("--require", help="Exit with 1 if the grade of the audit is less."),
    ] = None,
    retry: Annotated[
        int,
        typer.Option(
            "--retry", min=0, help="Emulate again, at most so many times, while the grade is less than required."
        ),
    ] = 0,
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="Connect the server's end to this machine's network. Requires root, and nftables or iptables.",
        ),
    ] = False,
    log: Annotated[
        bool,
        typer.Option(
            "--log/--no-log", help="Write captures of both ends and a row for each packet into the run folder."
        ),
    ] = True,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all hops, the processes and the times of the release, not one screen.")
    ] = False,
    report: Report = True,
    json: Json = False,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder (default: one in runs/).")] = None,
    force: Force = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=2**63 - 1,
            help="Seed of the link's random numbers (default: the scenario's, else drawn).",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run a command behind a link, in real time. Root is not required where user namespaces are
    allowed.

    The command runs at the client's end; `server` and $ACKCLOCK_SERVER are the server's name and
    address. A scenario's simulated flows and stations share the link with it. With --beside,
    programs of a household share it, and the output says what people feel.

    The exit status is the command's: 128 + n for signal n (143 after --seconds or SIGTERM), 127 if
    it is not found. It is 1 if the emulation failed, or its grade is less than --require, and 2 for
    bad input.
    """
    from tempfile import TemporaryDirectory

    from ackclock.linux import require_linux

    require_linux("emulate", "network namespaces and TUN devices")
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver, print_json, remark
    from ackclock.emulation.config import (
        PAIR_NAME,
        EmulationConfig,
        check_names,
        check_uplink,
        emulate_here,
        emulation_scenario,
        seed_of,
        server_ready,
    )
    from ackclock.emulation.programs import Programs
    from ackclock.emulation.run import EmulationLog, default_folder, identity
    from ackclock.emulation.terminal_tables import emulation_tables, screen_lines, screen_tables
    from ackclock.emulation.tries import UNUSED, in_child, reaches
    from ackclock.errors import InputError
    from ackclock.storage.run_folder import free_name, opened

    with typed({"link": "LINK"}):
        scenario = emulation_scenario(link, clients)
    argv = command or ([] if pair or beside else [os.environ.get("SHELL", "/bin/sh")])
    if beside and (pair or seconds is not None):
        raise InputError.problem("--beside has an end of its own", "leave out --pair and --seconds", option="--beside")
    if not PAIR_NAME.fullmatch(name):
        raise InputError(
            f'"{name}"',
            "at most 64 of letters, digits, _, - and ., beginning with a letter, a digit or _",
            option="--name",
        )
    if log:  # Its tables are written after the command, which cannot be run again.
        check_address_space(Need.TABLES)
    if internet:
        check_uplink()
    server_names = check_names(names or ())
    server_command = _command_line(server, "--server")
    ready_socket = server_ready(ready)
    deadline_us = None if deadline is None else time_above_zero(deadline, "--deadline") / 10**6
    folder = (out or default_folder(scenario)) if out or log or report else None
    asked = identity(scenario, seed, [f"--beside={beside}", *argv] if beside else argv, server_command)

    def attempt(*, move_aside: bool) -> EmulationAudit:
        try:
            return emulation(move_aside=move_aside)
        except _NotRunError as error:
            return error.document

    def emulation(*, move_aside: bool) -> EmulationAudit:
        with ExitStack() as stack:
            programs = Programs.on(link, Path(stack.enter_context(TemporaryDirectory()))) if beside else None
            drawn = seed_of(scenario, seed)
            run = stack.enter_context(opened(folder, asked, seeds=[drawn], force=move_aside))
            logging = stack.enter_context(EmulationLog(run, scenario, log=log)) if run else None
            settings = EmulationConfig(
                programs.command("client", argv) if programs else argv,
                programs.command("server", server_command) if programs else server_command,
                programs.ready_port if programs else ready_socket,
                seconds,
                quiet_stdout=json,
                deadline_us=deadline_us,
                log=logging.growing if logging else None,
                pair=name if pair else None,
                internet=internet,
                names=server_names,
            )
            document = cast("EmulationAudit", {"link": link, **emulate_here(scenario, drawn, settings)})
            if document["command"]["not_run"] is not None:
                raise _NotRunError(document)
            if programs:
                document = programs.report(document, argv)
            return logging.finish(document, lambda text: remark(text, quiet=False)) if logging else document

    document, ended = in_child(partial(attempt, move_aside=force)) if retry else (attempt(move_aside=force), True)
    for left in range(retry, 0, -1):
        if ended or document["command"]["not_run"] is not None or reaches(document["grade"], require or "usable"):
            break
        if document["grade"] == UNUSED:  # the command sends nothing: not for want of CPU
            break
        kept = "" if folder is None else f"; its folder is kept as {free_name(folder)}"
        remark(f"{document['grade']}: {document['why']}; again, {left} left{kept}", quiet=quiet)
        document, ended = in_child(partial(attempt, move_aside=True))
    if document["command"]["not_run"] is not None:  # standard error has the reason; there are no results
        if json:
            print_json(document)
        raise SystemExit(document["command"]["exit"])
    if not document["valid"]:
        remark(f"INVALID: {document['why']}", quiet=False)
    has_report = report and log and _write_report(folder, quiet=quiet)
    deliver(
        lambda: document,
        lambda: emulation_tables(document) if all_ else screen_tables(document),
        folder,
        report=has_report,
        json=json,
        quiet=quiet,
        lines=lambda: () if all_ else screen_lines(document),
    )
    if require and not reaches(document["grade"], require):
        remark(f"the grade is {document['grade']}, which is less than {require}: {document['why']}", quiet=False)
        raise SystemExit(1)
    # A returned 130 would mean that this process was interrupted.
    raise SystemExit(document["command"]["exit"] or 0)


def _write_report(folder: Path | None, *, quiet: bool) -> bool:
    """Write the report; return whether it exists.

    On a full disk the summary is printed all the same, since an emulation is not repeatable.
    """
    from ackclock.cli.output import remark, write_report
    from ackclock.storage.run_folder import WriteFailed

    try:
        return folder is not None and write_report(folder, quiet=quiet) is not None
    except WriteFailed as failed:
        remark(f"no report: {failed}", quiet=False)
        return False


def _command_line(text: str | None, option: str) -> list[str]:
    import shlex

    from ackclock.errors import InputError

    try:
        return shlex.split(text or "")
    except ValueError as error:
        raise InputError(
            f"{text} ({str(error).lower()})", "a command line as a shell reads it", option=option
        ) from None
