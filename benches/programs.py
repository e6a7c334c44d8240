"""Programs that the benchmarks run: their paths, their costs, and the figures left out without
them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"valgrind": "valgrind", "ns": "ns2", "tcptrace": "tcptrace", "rustc": "Rust", "node": "nodejs"}
"""What to install for each program: a Debian package, or Rust."""

_left_out: list[str] = []


def find(program: str, gives: str) -> str | None:
    """The program's path.

    Without one, prints that `gives` is left out and keeps the line for `left_out`.
    """
    path = shutil.which(program)
    if path is None:
        leave_out(f"{gives}: {program} is not installed ({PACKAGES.get(program, program)})")
    return path


def leave_out(line: str) -> None:
    """Print a line with what is left out and why, and keep it for `left_out`."""
    if line not in _left_out:
        _left_out.append(line)
    print(f"left out: {line}")


def left_out() -> list[str]:
    """What is left out so far and why, a line each."""
    return list(_left_out)


@dataclass(frozen=True)
class Child:
    """Output and cost of one run of a program: CPU time (user and system, with that of its own
    children) and wall time in seconds, maximum resident memory in kB.
    """

    output: str
    cpu_s: float
    wall_s: float
    peak_rss_kb: int


def run(command: Sequence[str], folder: Path | None = None) -> Child:
    """Run a program, which must succeed, in a folder (default: the present one)."""
    with tempfile.TemporaryFile("w+") as errors:
        start = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder) as child:
            assert child.stdout is not None
            output = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - start
        if child.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"exit {child.returncode} from: {' '.join(command)}\n{errors.read()[-500:]}")
    return Child(output, usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss)


def instructions_per_packet(valgrind: str, binary: Path, arguments: list[str], packets: str = "data_packets") -> float:
    """Instructions of one run of `ackclock-bench` over the packets that it reports under this name,
    counted by callgrind.
    """
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(binary), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind printed no count of instructions: {done.stderr[-500:]}")
    return int(collected[1]) / int(json.loads(done.stdout)[packets])
