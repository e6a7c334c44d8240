"""Progress in a notebook: one line of a cell's output, renewed in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int, str], None]
"""Called with the number of finished runs, the number of all runs, and the label of the last
one.
"""
INTERVAL_S = 0.5
PATIENCE_S = 1.0
"""Work shorter than this shows nothing."""


def notebook_progress() -> Progress | None:
    """A callback that shows the number of finished runs; None outside a notebook."""
    shell = _shell()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Any = sys.modules["IPython"].display.display
    began = time.monotonic()
    handle: Any = None
    shown = began

    def update(done: int, total: int, label: str) -> None:
        nonlocal handle, shown
        now = time.monotonic()
        if now - began < PATIENCE_S or (now - shown < INTERVAL_S and done < total):
            return
        shown = now
        line = {
            "text/plain": f"{done} of {total} runs, {now - began:.0f} s"
            + (f" ({label})" if label and done < total else "")
        }
        if handle is None:
            handle = display(line, raw=True, display_id=True)
        else:
            handle.update(line, raw=True)

    return update


def _shell() -> Any:
    """IPython's shell, if this process is one."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
