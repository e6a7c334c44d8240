"""A Dask scheduler and its workers as processes on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_S = 60.0
"""Timeout in seconds for a scheduler to listen."""


def free_port() -> int:
    """A TCP port of loopback that nothing uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class DaskProcesses:
    """A scheduler and workers of one thread each, all children of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start the scheduler, at the same address each time."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        )
        until = time.monotonic() + START_S
        while not (file.is_file() and _is_json(file)):
            assert time.monotonic() < until, "the scheduler does not listen"
            assert self.scheduler.poll() is None, "the scheduler has ended"
            time.sleep(0.05)

    def start_workers(self, count: int = 2) -> None:
        """Start workers without a nanny: a worker is one process."""
        for _ in range(count):
            self.workers.append(
                self._start(
                    "worker",
                    self.address,
                    *("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"),
                    *("--local-directory", str(self.folder)),
                )
            )

    def end(self) -> None:
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *options], stdout=log, stderr=log
            )


@contextmanager
def dask_processes(folder: Path, workers: int = 2) -> Iterator[DaskProcesses]:
    """A scheduler and workers, ended with the context."""
    cluster = DaskProcesses(folder)
    try:
        cluster.start_workers(workers)
        yield cluster
    finally:
        cluster.end()


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_text("utf-8"))
    except ValueError:
        return False
    return True
