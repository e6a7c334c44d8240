"""Streams of numbered datagrams through emulated links, by the program `ackclock-traffic` of
benches/.
"""

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

PROGRAM = Path(
    os.environ.get("ACKCLOCK_TRAFFIC", Path(__file__).parents[2] / "target" / "release" / "ackclock-traffic")
)
SERVER, CLIENT, PORT = "100.64.0.1", "100.64.0.2", 5000
IDLE_S = 2.0
"""A receiver stops after this time without a datagram."""
SETTLE_S = 0.5


@dataclass(frozen=True)
class Stream:
    """A stream of datagrams in one direction: bit/s and bytes of IP packets, to ``clients`` clients
    in turn.

    An ``even`` stream does not catch up with bursts.
    """

    direction: str
    bps: float
    size: int = 1500
    clients: int = 1
    even: bool = False


@dataclass(frozen=True)
class Outcome:
    """The emulation's document, the receivers' counts by direction, and the run folder if there is
    a log."""

    document: dict[str, Any]
    counted: dict[str, dict[str, Any]]
    folder: Path | None = None


def link(rate: str, delay: str = "30 ms", **keys: str) -> str:
    """A link file of one hop; ``keys`` are further keys with TOML values."""
    lines = "".join(f"{key.replace('__', '.')} = {value}\n" for key, value in keys.items())
    return f'title = "line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = {rate}\ndelay = "{delay}"\n{lines}'


def _sink(folder: Path, direction: str) -> str:
    return f"{PROGRAM} sink {PORT} {IDLE_S} > {shlex.quote(str(folder / direction))}"


def _sends(streams: Sequence[Stream], direction: str, to: str, seconds: float) -> str:
    return " & ".join(
        f"{PROGRAM} send {to}:{PORT} {'even:' * stream.even}{stream.bps} {stream.size} {seconds} {stream.clients} >&2"
        for stream in streams
        if stream.direction == direction
    )


def run(
    text: str, streams: Sequence[Stream], seconds: float, *, folder: Path | None = None, clients: int = 1
) -> Outcome:
    """Run streams for ``seconds`` through a link. With ``folder`` the log is kept there."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch_folder = Path(scratch)
        (scratch_folder / "link.toml").write_text(text, encoding="utf-8")
        counted = [side for side in ("down", "up") if any(s.direction == side and s.clients == 1 for s in streams)]
        at_server = [f"sleep {SETTLE_S}", _sends(streams, "down", CLIENT, seconds)]
        at_server = ["; ".join(part for part in at_server if part)]
        if "up" in counted:
            at_server.append(_sink(scratch_folder, "up"))
        at_client = [f"sleep {SETTLE_S}", _sends(streams, "up", SERVER, seconds)]
        at_client = ["; ".join(part for part in at_client if part)]
        if "down" in counted:
            at_client.append(_sink(scratch_folder, "down"))
        # The command ends after the last receiver of the client; the server's receiver ends before.
        client = (
            " & ".join(f"({part})" for part in at_client)
            + f" & wait; sleep {1 if 'down' in counted else seconds + IDLE_S + 1}"
        )
        server = " & ".join(f"({part})" for part in at_server) + " & wait"
        log = ["--out", str(folder)] if folder else ["--no-log", "--out", str(scratch_folder / "run")]
        argv = [
            sys.executable,
            "-m",
            "ackclock",
            "emulate",
            str(scratch_folder / "link.toml"),
            "--json",
            "--no-report",
            *log,
        ]
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
        counts = {side: json.loads((scratch_folder / side).read_text() or "{}") for side in counted}
        return Outcome(json.loads(done.stdout), counts, folder)
