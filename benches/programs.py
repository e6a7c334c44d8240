"""External programs of the benchmarks: their paths, and the figures left out without them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = {"valgrind": "valgrind", "ns": "ns2", "tcptrace": "tcptrace", "rustc": "Rust"}
"""What to install for each program: a Debian package, or Rust."""

_left_out: list[str] = []


def find(program: str, gives: str) -> str | None:
    """The program's path.

    Without one, prints that `gives` is left out and keeps the line for `left_out`.
    """
    path = shutil.which(program)
    if path is None:
        line = f"{gives}: {program} is not installed ({PACKAGES.get(program, program)})"
        if line not in _left_out:
            _left_out.append(line)
        print(f"left out: {line}")
    return path


def left_out() -> list[str]:
    """The programs that `find` has not found, a line each."""
    return list(_left_out)


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
