"""serve: the measurement server, bundled with the Python package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import (
    Port,
    Quiet,
    TokenFile,
)


def serve(
    listen: Annotated[str, typer.Option("--listen", help="The address to bind; 0.0.0.0 or :: for all.")] = "127.0.0.1",
    port: Port = 4862,
    token_file: TokenFile = None,
    new_token: Annotated[
        Path | None,
        typer.Option(
            "--new-token",
            metavar="FILE",
            help="Write a new token to this new file (mode 0600), and exit.",
        ),
    ] = None,
    max_rate: Annotated[
        int,
        typer.Option(
            "--max-rate",
            "--most-rate",
            min=1,
            help="Maximum Mb/s in each direction, for all sessions and tests together.",
        ),
    ] = 1000,
    max_bytes: Annotated[int, typer.Option("--most-bytes", min=1, help="Maximum MB of a session.")] = 20_000,
    max_sessions: Annotated[
        int, typer.Option("--most-sessions", min=1, help="Maximum number of concurrent sessions.")
    ] = 4,
    allow_capture: Annotated[
        int,
        typer.Option(
            min=0,
            help="Maximum MB of captured headers of a client's own packets, for that client (requires CAP_NET_RAW).",
        ),
    ] = 0,
    stamp_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="UDP port of a STAMP reflector; requires a key file or --stamp-open.",
        ),
    ] = None,
    stamp_key_file: Annotated[
        Path | None, typer.Option("--stamp-key-file", help="The key of STAMP's authenticated mode.")
    ] = None,
    stamp_open: Annotated[
        bool, typer.Option("--stamp-open", help="Answer unauthenticated probes from any address.")
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            help="Append a JSON line for each session and refusal to this file instead of standard error.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            help="User to switch to when started as root, once the ports are bound (default: the nobody user).",
        ),
    ] = None,
    clock_shift: Annotated[int, typer.Option(hidden=True)] = 0,
    quiet: Quiet = False,
) -> None:
    """Run the measurement server for `measure`, until Ctrl-C. A client needs the token.

    --token-file names the file with the token (mode 0600); it is created if it does not exist.
    Without it, a new token is printed once.
    """
    from ackclock.measurement.server import StampReflector
    from ackclock.measurement.server import new_token as make_token
    from ackclock.measurement.server import serve as run

    if new_token is not None:
        make_token(new_token)
        print(f"a new token is in {new_token}")
        return

    _check_stamp(stamp_port, stamp_key_file, stamp_open=stamp_open)
    reflector = None if stamp_port is None else StampReflector(stamp_port, stamp_key_file)

    def announce(address: str, token: str | None) -> None:
        print(f"listening at {address} (TCP and UDP)", flush=True)
        if token is not None:
            print(f"token: {token}", flush=True)

    caps = {"rate_bps": max_rate * 1_000_000, "session_bytes": max_bytes * 1_000_000, "sessions": max_sessions}
    caps["capture_bytes"] = allow_capture * 1_000_000
    run(
        listen,
        port,
        token_file=token_file,
        caps=caps,
        announce=announce,
        stamp=reflector,
        clock_shift_ns=clock_shift,
        log=log,
        logs=not quiet,
        drop=True,
        user=user,
    )


def _check_stamp(port: int | None, key_file: Path | None, *, stamp_open: bool) -> None:
    """Check the options of STAMP: a port, and either a key file or --stamp-open."""
    from ackclock.errors import InputError

    if stamp_open and key_file is not None:
        raise InputError.problem(
            "--stamp-key-file and --stamp-open exclude each other", "leave one of them out", option="--stamp-open"
        )
    option = "--stamp-open" if stamp_open else "--stamp-key-file" if key_file is not None else ""
    if option and port is None:
        raise InputError.problem(f"{option} requires --stamp-port", "add --stamp-port PORT", option=option)
    if port is not None and not option:
        hint = "add --stamp-key-file FILE, or --stamp-open to reply to unauthenticated probes"
        raise InputError.problem("--stamp-port requires a key", hint, option="--stamp-port")
