"""Features that require Linux, with a message for other systems.

The simulator, the analyzer, `fit`, `diff` and the reports run on Linux, macOS and Windows. Live
traffic requires Linux, and the engine's module has it only there.
"""

from __future__ import annotations

import platform
import sys

from ackclock.errors import RunFailed


def require_linux(what: str, because: str) -> None:
    """Raise RunFailed on another system than Linux.

    Args:
        what: the command or option, as typed.
        because: what it uses of Linux.

    >>> require_linux("emulate", "network namespaces and TUN devices") # doctest: +SKIP
    """
    if sys.platform != "linux":
        here = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform) or platform.system() or sys.platform
        raise RunFailed(
            f"{what} requires Linux ({because}), and this is {here}",
            "run it on Linux or in a Linux virtual machine; commands without live traffic run here, too",
        )
