"""Reading a capture to its end, or for as long as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ackclock.analysis.run import PIECE
from ackclock.cli.progress import status_line
from ackclock.errors import native_errors

PAUSE_S = 0.5
DRAWING_SHARE = 0.1
"""Of a followed capture's time, at most so much goes into showing it: with many flows a table takes long."""


def read_all(path: str, reader: Any, *, follow: bool, quiet: bool, show: Callable[[], None] | None = None) -> None:
    """Read what there is. With `follow`, wait for more until the user interrupts; a pipe ends when its writer does.

    `show` is called when a followed capture has grown, instead of a line on stderr.
    """
    total = 0
    news = _News(show or (lambda: None if quiet else status_line(f"{total} packets")))
    try:
        while True:
            with native_errors(file=path):
                taken = reader.advance(PIECE)
            total += taken
            if taken < PIECE and (not follow or reader.ended()):
                break
            if follow:
                news.tell(total)
                if taken < PIECE and path != "-":  # a pipe was waited for while it was read
                    time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        if not follow:
            raise
    else:
        reader.finish()


class _News:
    """Shows what is new, but not so often that showing takes more than its share of the time."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._shown = 0
        self._due = 0.0

    def tell(self, total: int) -> None:
        """What has been read so far, in packets."""
        began = time.monotonic()
        if total == self._shown or began < self._due:
            return
        self._show()
        self._shown = total
        ended = time.monotonic()
        self._due = ended + (ended - began) / DRAWING_SHARE
