"""Whether tests and studies can use network namespaces."""

from __future__ import annotations

import subprocess
import sys
from functools import cache


@cache
def namespaces() -> bool:
    """Whether this machine allows network namespaces, tested in a child process."""
    unshare = (
        "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x40000000) and ctypes.CDLL(None).unshare(0x50000000))"
    )
    return subprocess.run([sys.executable, "-c", unshare], check=False).returncode == 0
