"""Streams of numbered datagrams through emulated links, by the sender and the counter that `cargo build --bin ackclock-traffic` makes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(os.environ.get("ACKCLOCK_TRAFFIC", Path(__file__).parents[2] / "target" / "release" / "ackclock-traffic"))
SERVER, CLIENT, PORT = "100.64.0.1", "100.64.0.2", 5000
IDLE_S = 2.0
"""A counter stops when nothing has come for so long."""
SETTLE_S = 0.5


@dataclass(frozen=True)
class Stream:
    """Datagrams down or up: IP bits a second, IP bytes each, to how many clients in turn; even ones are never made up for in bursts."""

    way: str
    bps: float
    size: int = 1500
    clients: int = 1
    even: bool = False


@dataclass(frozen=True)
class Outcome:
    """The emulation's document, what the counters saw by way, and the run folder's packet fates, where a log was kept."""

    document: dict[str, Any]
    counted: dict[str, dict[str, Any]]
    folder: Path | None = None


def link(rate: str, delay: str = "30 ms", **keys: str) -> str:
    """A link file of one hop; more keys are TOML values."""
    more = "".join(f"{key.replace('__', '.')} = {value}\n" for key, value in keys.items())
    return f'title = "line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = {rate}\ndelay = "{delay}"\n{more}'


def _sink(folder: Path, way: str) -> str:
    return f"{PROGRAM} sink {PORT} {IDLE_S} > {shlex.quote(str(folder / way))}"


def _sends(streams: Sequence[Stream], way: str, to: str, seconds: float) -> str:
    return " & ".join(
        f"{PROGRAM} send {to}:{PORT} {'even:' * stream.even}{stream.bps} {stream.size} {seconds} {stream.clients} >&2"
        for stream in streams
        if stream.way == way
    )


def run(text: str, streams: Sequence[Stream], seconds: float, *, folder: Path | None = None, clients: int = 1) -> Outcome:
    """Streams for so long through a link; the log is kept in ``folder`` if there is one."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "link.toml").write_text(text, encoding="utf-8")
        counted = [way for way in ("down", "up") if any(s.way == way and s.clients == 1 for s in streams)]
        at_server = [f"sleep {SETTLE_S}", _sends(streams, "down", CLIENT, seconds)]
        at_server = ["; ".join(part for part in at_server if part)]
        if "up" in counted:
            at_server.append(_sink(place, "up"))
        at_client = [f"sleep {SETTLE_S}", _sends(streams, "up", SERVER, seconds)]
        at_client = ["; ".join(part for part in at_client if part)]
        if "down" in counted:
            at_client.append(_sink(place, "down"))
        # The command ends when the last counter has; the server's has until then.
        client = (
            " & ".join(f"({part})" for part in at_client) + f" & wait; sleep {1 if 'down' in counted else seconds + IDLE_S + 1}"
        )
        server = " & ".join(f"({part})" for part in at_server) + " & wait"
        log = ["--out", str(folder)] if folder else ["--no-log", "--out", str(place / "run")]
        argv = [sys.executable, "-m", "ackclock", "emulate", str(place / "link.toml"), "--json", "--no-report", *log]
        argv += [
            "--clients",
            str(clients),
            "--seconds",
            str(seconds + 30),
            "--server",
            shlex.join(["sh", "-c", server]),
            "--",
            "sh",
            "-c",
            client,
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 120, check=False)
        assert done.stdout, done.stderr
        read = {way: json.loads((place / way).read_text() or "{}") for way in counted}
        return Outcome(json.loads(done.stdout), read, folder)
