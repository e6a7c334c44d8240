"""The console of user-mode Linux, in virtual time (guest.py) or in real time (uml.py): a machine
runs as a group of processes, none of which may stay behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_to_halt(
    command: Sequence[str], limit_s: float, *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> str:
    """What the machine that `command` boots prints until it halts.

    Raises subprocess.TimeoutExpired after `limit_s` of real time; the machine's processes have
    ended then, as after any other exception.
    """
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return output.decode(errors="replace")
