"""The command ``ackclockd``: the measurement server, the same program as the binary of
``crates/measure``.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``ackclockd`` with this process's arguments until SIGINT or SIGTERM.

    Returns the exit status: 0, 1 or 2.
    """
    from ackclock import _native

    return _native.ackclockd(["ackclockd", *sys.argv[1:]])
