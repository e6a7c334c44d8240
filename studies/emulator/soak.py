"""A long emulation at half load, with its memory and descriptors each minute.

`python -m studies.emulator.soak SECONDS [FILE]`, or `make soak`
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LINK = """title = "a line"
source = "test"
[[hop]]
name = "line"
rate = "20 Mb/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 100 }
loss = { kind = "bernoulli", mean = 0.001 }
"""
SINK = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
while True:
    udp.recv(2000)
"""
HALF_LOAD = """
import os, socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
while True:
    try:
        udp.sendto(bytes(1472), (sys.argv[1], 9))
    except OSError:
        pass
    due = max(due + 0.0012, time.monotonic() - 0.02)
    time.sleep(max(0.0, due - time.monotonic()))
"""
"""1500 B every 1.2 ms: 10 of 20 Mb/s."""
WARM_S = 15.0
STEP_S = 60.0


@dataclass(frozen=True)
class ProcessUsage:
    """Memory and descriptors of the emulator's process after ``at_s`` seconds."""

    at_s: float
    resident_kb: int
    descriptors: int


def process_usage(pid: int, at_s: float) -> ProcessUsage:
    """The present usage of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    resident = next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)
    return ProcessUsage(at_s, resident, len(list(Path(f"/proc/{pid}/fd").iterdir())))


class Soak:
    """An emulation at half load in both directions, with captures and log; ``document`` is set at
    its end."""

    def __init__(self, folder: Path) -> None:
        (folder / "line.toml").write_text(LINK, encoding="utf-8")
        argv = [sys.executable, "-m", "ackclock", "emulate", "line.toml", "--out", "run", "--no-report", "--json"]
        argv += ["--server", shlex.join(_host("100.64.0.2")), "--", *_host("100.64.0.1")]
        self._stdout = (folder / "stdout").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(argv, cwd=folder, stdout=self._stdout)
        self.document: dict[str, Any] = {}

    def samples(self, seconds: float) -> Iterator[ProcessUsage]:
        """The usage after ``WARM_S``, then every minute and after ``seconds``.

        Ends the emulation afterwards.
        """
        start = time.monotonic()
        steps = [WARM_S + min(step * STEP_S, seconds) for step in range(int(-(-seconds // STEP_S)) + 1)]
        try:
            for at in steps:
                time.sleep(max(0.0, start + at - time.monotonic()))
                yield process_usage(self._process.pid, time.monotonic() - start)
        finally:
            self._process.send_signal(signal.SIGTERM)
            # The emulator converts the log to tables and analyzes the captures.
            self._process.wait(60 + seconds / 5)
        self._stdout.seek(0)
        self.document = json.loads(self._stdout.read())


def _host(peer: str) -> list[str]:
    sink, send = (shlex.join([sys.executable, "-c", text]) for text in (SINK, HALF_LOAD))
    return ["sh", "-c", f"{sink} & exec {send} {peer}"]


def main() -> int:
    """Write a row per minute, then the audit."""
    seconds, *file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, Path(*(file or ["/dev/stdout"])).open("w", encoding="utf-8") as out:
        soak = Soak(Path(folder))
        print("seconds resident_kB descriptors", file=out, flush=True)
        for usage in soak.samples(float(seconds)):
            print(f"{usage.at_s:.0f} {usage.resident_kb} {usage.descriptors}", file=out, flush=True)
        keys = (
            "valid",
            "why",
            "release_error_us",
            "deadline_misses",
            "unintended_drops",
            "packets_out",
            "load",
            "steal_percent",
        )
        print(json.dumps({key: soak.document[key] for key in keys}), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
