"""Reads a capture to its end, or while it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ackclock.analysis.run import PIECE
from ackclock.cli.progress import status_line
from ackclock.errors import native_errors

PAUSE_S = 0.5
DRAWING_SHARE = 0.1
"""Maximum share of the time for updating the tables, which is slow with many flows."""


def read_all(path: str, reader: Any, *, follow: bool, quiet: bool, show: Callable[[], None] | None = None) -> None:
    """Read the capture. With `follow`, wait for more data until Ctrl-C; a pipe ends with its
    writer.

    `show` is called when a followed capture has grown; without it, a line with the number of
    packets goes to stderr.
    """
    total = 0
    display = _Display(show or (lambda: None if quiet else status_line(f"{total} packets")))
    try:
        while True:
            with native_errors(file=path):
                read = reader.advance(PIECE)
            total += read
            if read < PIECE and (not follow or reader.ended()):
                break
            if follow:
                display.update(total)
                if read < PIECE and path != "-":  # reading a pipe blocks
                    time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        if not follow:
            raise
    else:
        reader.finish()


class _Display:
    """Limits how often progress is shown, to DRAWING_SHARE of the time."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._shown = 0
        self._due = 0.0

    def update(self, total: int) -> None:
        """Show the number of packets read, if it has changed and the last update is long enough
        ago.
        """
        began = time.monotonic()
        if total == self._shown or began < self._due:
            return
        self._show()
        self._shown = total
        ended = time.monotonic()
        self._due = ended + (ended - began) / DRAWING_SHARE
