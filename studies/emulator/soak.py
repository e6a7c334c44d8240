"""Long emulations side by side at half load, with their memory and descriptors each minute.

`python -m studies.emulator.soak SECONDS [--links N]`, or `make soak`
"""

from __future__ import annotations

import argparse
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

from ackclock.emulation.tries import GRADES

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
    due = max(due + INTERVAL, time.monotonic() - 0.02)
    time.sleep(max(0.0, due - time.monotonic()))
"""
"""1500 B each INTERVAL seconds."""
PACKET_BITS = 12_000
SHARED_MBPS = 2.0
"""Rate of each of several links in Mb/s: half of it is offered in each direction."""
SHARED_WARM_S = 20.0
"""Seconds without a change of descriptors after which all of several emulators run."""
MAX_WARM_S = 180.0
START_S = 0.5
"""Seconds between the starts of two emulations."""
MAX_GROWTH_KB = 2048
"""Growth of an emulator's memory that counts as none."""
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

    def __init__(self, folder: Path, rate_mbps: float = 20.0) -> None:
        (folder / "line.toml").write_text(LINK.replace("20 Mb/s", f"{rate_mbps:g} Mb/s"), encoding="utf-8")
        interval_s = PACKET_BITS / (rate_mbps * 1e6 / 2.0)
        argv = [
            sys.executable,
            "-m",
            "ackclock",
            "emulate",
            "line.toml",
            "--out",
            "run",
            "--no-report",
            "--json",
            "--quiet",
        ]
        argv += ["--server", shlex.join(_host("100.64.0.2", interval_s)), "--", *_host("100.64.0.1", interval_s)]
        self._stdout = (folder / "stdout").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(argv, cwd=folder, stdout=self._stdout)
        self.document: dict[str, Any] = {}

    def usage(self, at_s: float) -> ProcessUsage | None:
        """The present usage; None if the emulation has ended."""
        return process_usage(self._process.pid, at_s) if self._process.poll() is None else None

    def stop(self) -> None:
        """Ask the emulation to end."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def finish(self, timeout_s: float) -> None:
        """Wait for the end: the emulator converts the log to tables and analyzes the captures."""
        self._process.wait(timeout_s)
        self._stdout.seek(0)
        self.document = json.loads(self._stdout.read())
        self._stdout.close()

    def samples(self, seconds: float) -> Iterator[ProcessUsage]:
        """The usage after ``WARM_S``, then every minute and after ``seconds``.

        Ends the emulation afterwards.
        """
        start = time.monotonic()
        try:
            for at in sampling_times(seconds):
                time.sleep(max(0.0, start + at - time.monotonic()))
                usage = self.usage(time.monotonic() - start)
                assert usage is not None, "the emulation has ended"
                yield usage
        finally:
            self.stop()
            self.finish(60 + seconds / 5)


def sampling_times(seconds: float, warm_s: float = WARM_S) -> list[float]:
    """``warm_s``, then every minute, and after ``seconds``."""
    return [warm_s + min(step * STEP_S, seconds) for step in range(int(-(-seconds // STEP_S)) + 1)]


class Soaks:
    """Emulations side by side, each in namespaces of its own."""

    def __init__(self, folder: Path, links: int) -> None:
        self.links: list[Soak] = []
        for number in range(links):
            (folder / f"link{number}").mkdir()
            self.links.append(Soak(folder / f"link{number}", SHARED_MBPS))
            time.sleep(START_S)

    def samples(self, seconds: float) -> Iterator[list[ProcessUsage]]:
        """The usage of all running emulations at each of the sampling times; ends them."""
        start = time.monotonic()
        try:
            self._warm_up()
            for at in sampling_times(seconds, time.monotonic() - start):
                time.sleep(max(0.0, start + at - time.monotonic()))
                yield self._usages(time.monotonic() - start)
        finally:
            for link in self.links:
                link.stop()
            for link in self.links:
                link.finish(600 + seconds)

    def _usages(self, at_s: float) -> list[ProcessUsage]:
        usages = (link.usage(at_s) for link in self.links)
        return [usage for usage in usages if usage is not None]

    def _warm_up(self) -> None:
        """Wait until all emulators run: their descriptors do not change for ``SHARED_WARM_S``."""
        until = time.monotonic() + MAX_WARM_S
        before: list[int] = []
        while time.monotonic() < until:
            now = [usage.descriptors for usage in self._usages(0.0)]
            if now == before and len(set(now)) == 1:
                return
            before = now
            time.sleep(SHARED_WARM_S)


def _host(peer: str, interval_s: float) -> list[str]:
    send = HALF_LOAD.replace("INTERVAL", repr(interval_s))
    sink, sender = (shlex.join([sys.executable, "-c", text]) for text in (SINK, send))
    return ["sh", "-c", f"{sink} & exec {sender} {peer}"]


def main() -> int:
    """Write a row per minute, then a row per grade; 1 if an emulation ended early or grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--links", type=int, default=25, help="emulations at a time")
    arguments = parser.parse_args()
    rows: list[list[ProcessUsage]] = []
    with tempfile.TemporaryDirectory() as folder:
        soaks = Soaks(Path(folder), arguments.links)
        print("seconds links resident_kB max_resident_kB descriptors max_descriptors", flush=True)
        for usages in soaks.samples(arguments.seconds):
            rows.append(usages)
            memory, descriptors = [one.resident_kb for one in usages], [one.descriptors for one in usages]
            figures = (len(usages), sum(memory), max(memory, default=0), sum(descriptors), max(descriptors, default=0))
            print(f"{max((one.at_s for one in usages), default=0.0):.0f}", *figures, flush=True)
        for grade in GRADES:
            print(f"{grade}: {sum(link.document['grade'] == grade for link in soaks.links)} of {arguments.links}")
        for key in ("packets_out", "deadline_misses", "unintended_drops"):
            print(f"{key}: {sum(link.document[key] for link in soaks.links)}")
        print("release error, p99 in us:", max(link.document["release_error_us"]["p99"] for link in soaks.links))
    # Rings and buffers fill first: growth counts over the second half.
    first, last = rows[len(rows) // 2], rows[-1]
    grown = [end.resident_kb - warm.resident_kb for warm, end in zip(first, last, strict=False)]
    ended = arguments.links - len(last)
    opened = sum(one.descriptors for one in last) - sum(one.descriptors for one in first)
    over = ended > 0 or max(grown, default=0) > MAX_GROWTH_KB or opened > 0
    print(
        f"{arguments.links * arguments.seconds / 60:.0f} link-minutes; {ended} ended early; maximum growth "
        f"{max(grown, default=0)} kB in the second half (target {MAX_GROWTH_KB}); {opened} more descriptors (target 0): "
        f"{'OVER' if over else 'ok'}"
    )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
