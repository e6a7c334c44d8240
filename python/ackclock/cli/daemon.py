"""The command ``ackclockd``: the measurement server, the same program as the binary of
``crates/measure``.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``ackclockd`` with this process's arguments until SIGINT or SIGTERM.

    Returns the exit status: 0, 1 or 2.
    """
    from ackclock.errors import RunFailed
    from ackclock.linux import require_linux

    try:
        require_linux("ackclockd", "kernel timestamps, pacing and packet sockets")
    except RunFailed as error:
        print(f"ackclockd: {error}", file=sys.stderr)
        return error.status
    from ackclock import _native

    return _native.ackclockd(["ackclockd", *sys.argv[1:]])
