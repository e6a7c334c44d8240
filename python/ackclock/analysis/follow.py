"""Reading a capture to its end, or for as long as it grows."""

from __future__ import annotations

import sys
import time
from typing import Any

from ackclock.analysis.run import PIECE, _guarded

PAUSE_S = 0.5


def read_all(path: str, reader: Any, *, follow: bool, quiet: bool) -> None:
    """Read what there is. With `follow`, wait for more until the user interrupts; a pipe ends when its writer does."""
    total = 0
    try:
        while True:
            taken = _guarded(path, lambda: reader.advance(PIECE))
            total += taken
            if taken == PIECE:
                continue
            if not follow or path == "-":
                break
            if taken and not quiet:
                print(f"{total} packets", file=sys.stderr, flush=True)
            time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        if not follow:
            raise
    else:
        reader.finish()
