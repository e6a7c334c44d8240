"""``serve``: the far end, from the wheel."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, format_value, native_errors
from ackclock.measurement.session import PORT

Announce = Callable[[str, str | None], None]


@dataclass(frozen=True)
class StampReflector:
    """A STAMP reflector's UDP port (0: the kernel's choice), and the file with its key: without one it answers everybody."""

    port: int
    key_file: Path | None = None


def serve(
    listen: str = "127.0.0.1",
    port: int = PORT,
    *,
    token_file: str | Path | None = None,
    caps: Mapping[str, Any] | None = None,
    announce: Announce | None = None,
    stamp: StampReflector | None = None,
    clock_shift_ns: int = 0,
    log: str | Path | None = None,
    logs: bool = False,
    drop: bool = False,
    user: str | None = None,
) -> None:
    """Serve measurements until a signal ends it.

    Args:
        listen: the address to bind; ``0.0.0.0`` or ``::`` for all.
        port: TCP and UDP; 0 lets the kernel choose.
        token_file: the shared token, made if the file is not there; without it one is made for this once and given to ``announce``.
        caps: limits that differ from the usual ones (docs/measure.md).
        stamp: answer STAMP probes, too.
        announce: called with the address and the token that was made.
        clock_shift_ns: sets the clock wrong, to try estimators.
        log: a file to which a JSON line for each session and each refusal is added.
        logs: without ``log``, these lines go to standard error.
        drop: give up this process's privileges for good once the sockets are bound.
        user: the user that root switches to then; "nobody" by default.

    Raises:
        InputError: a bad address, token file or user. RunFailed: the machine refused.
    """
    from ackclock import _native

    try:
        ipaddress.ip_address(listen)
    except ValueError:
        raise InputError(
            format_value(listen), "an IP address of this machine, or 0.0.0.0 or :: for all", option="--listen"
        ) from None
    limits = {**json.loads(_native.default_caps()), **(caps or {})}
    file = None if token_file is None else str(token_file)
    options: dict[str, Any] = {"listen": listen, "port": port, "token_file": file, "caps": limits, "clock_shift": clock_shift_ns}
    key_file = None if stamp is None or stamp.key_file is None else str(stamp.key_file)
    options["stamp"] = None if stamp is None else {"port": stamp.port, "key_file": key_file}
    options["log"] = {"file": None if log is None else str(log)} if log is not None or logs else None
    options["drop"] = {"user": user} if drop else None
    with native_errors():
        _native.serve(json.dumps(options), announce or (lambda *_: None))


def new_token(path: str | Path) -> None:
    """Make a token of 192 random bits in a new file of mode 0600. Raises InputError where there is a file, or none can be made."""
    from ackclock import _native

    with native_errors():
        _native.new_token(str(path))
