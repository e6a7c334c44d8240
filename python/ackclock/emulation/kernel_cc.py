"""``kernel-cc``: runs the binary that loads the papers' congestion controls into the running
kernel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ackclock.errors import InputError, RunFailed
from ackclock.linux import require_linux

BINARY = "ackclock-kernel-cc"
KERNEL_NAMES = {
    "vegas": "ackclock_vegas",
    "veno": "ackclock_veno",
    "westwood+": "ackclock_westw",
    "bic": "ackclock_bic",
    "biad": "ackclock_biad",
}
"""Value of TCP_CONGESTION for each variant: at most 15 letters, digits and ``_``, and no kernel
module's name."""


def find_binary() -> str | None:
    """Path of the binary: beside this Python, else in PATH. None if there is none."""
    beside = Path(sys.executable).with_name(BINARY)
    return str(beside) if beside.is_file() else shutil.which(BINARY)


def run(verb: str, variants: Sequence[str], *, json: bool) -> int:
    """Load, unload or list variants, all five if ``variants`` is empty.

    Return the binary's exit status.

    Raises InputError if there is no binary, and RunFailed, with `json`, if the binary fails.
    """
    require_linux("kernel-cc", "TCP congestion controls as eBPF programs")
    binary = find_binary()
    if binary is None:
        raise InputError.problem(
            f"{BINARY} is not installed: it is built for this machine's kernel, and no wheel has it",
            "build it in the source distribution or the repository: `make kernel-cc` (Linux with BTF, clang, bpftool)",
        )
    if not json:
        return subprocess.run([binary, verb, *variants], check=False).returncode
    done = subprocess.run([binary, verb, *variants, "--json"], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RunFailed(lines[-1], "`ackclock kernel-cc --help` lists its requirements")
    return 0
