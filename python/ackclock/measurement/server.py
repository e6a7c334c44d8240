"""``serve``: the measurement server, bundled with the Python package."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackclock.arguments.measure import PORT
from ackclock.errors import InputError, format_value, native_errors
from ackclock.linux import require_linux

Announce = Callable[[str, str | None], None]


@dataclass(frozen=True)
class StampReflector:
    """A STAMP reflector: its UDP port (0: chosen by the kernel) and its key file.

    Without a key it answers any host.
    """

    port: int
    key_file: Path | None = None


def serve(
    listen: str = "127.0.0.1",
    port: int = PORT,
    *,
    token_file: str | Path | None = None,
    caps: Mapping[str, int] | None = None,
    announce: Announce | None = None,
    stamp: StampReflector | None = None,
    clock_shift_ns: int = 0,
    log: str | Path | None = None,
    logs: bool = False,
    drop: bool = False,
    user: str | None = None,
) -> None:
    """Run the measurement server until a signal.

    Args:
        listen: the address to bind; ``0.0.0.0`` or ``::`` for all.
        port: TCP and UDP port; 0: chosen by the kernel.
        token_file: the file with the token, created if it does not exist; without it a new token is
            passed to ``announce``.
        caps: limits that replace the defaults (docs/reference/measure.md).
        stamp: a STAMP reflector to run.
        announce: called with the address and the new token or None.
        clock_shift_ns: offset of the clock, for tests of estimators.
        log: a file for JSON lines, one for each session and each refusal.
        logs: without ``log``, these lines go to standard error.
        drop: drop this process's privileges for good once the sockets are bound.
        user: the user to which root switches; default: the nobody user.

    Raises:
        InputError: an invalid address, token file or user. RunFailed: the system refused.
    """
    require_linux("serve", "kernel timestamps, pacing and packet sockets")
    from ackclock import _native

    try:
        ipaddress.ip_address(listen)
    except ValueError:
        raise InputError(
            format_value(listen), "an IP address of this machine, or 0.0.0.0 or :: for all", option="--listen"
        ) from None
    limits = {**_native.default_caps(), **(caps or {})}
    file = None if token_file is None else str(token_file)
    key_file = None if stamp is None or stamp.key_file is None else str(stamp.key_file)
    options = {
        "listen": listen,
        "port": port,
        "token_file": file,
        "caps": limits,
        "clock_shift": clock_shift_ns,
        "stamp": None if stamp is None else {"port": stamp.port, "key_file": key_file},
        "log": {"file": None if log is None else str(log)} if log is not None or logs else None,
        "drop": {"user": user} if drop else None,
    }
    with native_errors():
        _native.serve(json.dumps(options), announce or (lambda *_: None))


def new_token(path: str | Path) -> None:
    """Write a token of 192 random bits to a new file of mode 0600.

    Raises InputError if the file exists or cannot be written.
    """
    require_linux("serve --new-token", "file modes")
    from ackclock import _native

    with native_errors():
        _native.new_token(str(path))
