"""``kernel-cc``: the papers' congestion controls in the running kernel. The work is done by the binary that `make kernel-cc` builds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ackclock.errors import InputError, RunFailed

BINARY = "ackclock-kernel-cc"
KERNEL_NAMES = {
    "vegas": "ackclock_vegas",
    "veno": "ackclock_veno",
    "westwood+": "ackclock_westw",
    "bic": "ackclock_bic",
    "biad": "ackclock_biad",
}
"""What TCP_CONGESTION takes for each variant: at most 15 letters, digits and ``_``, and no kernel module's name."""


def find_binary() -> str | None:
    """The binary beside this Python, or else on the PATH."""
    beside = Path(sys.executable).with_name(BINARY)
    return str(beside) if beside.is_file() else shutil.which(BINARY)


def run(verb: str, variants: Sequence[str], *, json: bool) -> int:
    """Load, unload or list these variants, or all five where none is named; returns the binary's exit status.

    Raises InputError where there is no binary; RunFailed, with `json`, where the binary fails.
    """
    binary = find_binary()
    if binary is None:
        raise InputError.problem(f"{BINARY} is not installed", "build it: `make kernel-cc` (Linux with BTF, clang, bpftool)")
    if not json:
        return subprocess.run([binary, verb, *variants], check=False).returncode
    done = subprocess.run([binary, verb, *variants, "--json"], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RunFailed(said[-1], "`ackclock kernel-cc --help` says what it needs")
    return 0
