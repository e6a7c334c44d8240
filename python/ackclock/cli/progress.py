"""Progress of long work: a bar on a terminal, plain lines elsewhere, always on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.notebook import Progress

BETWEEN_LINES_S = 5.0


def status_line(text: str) -> None:
    """Print a line on stderr. A closed stderr is not an error: the command continues."""
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """A callback for `run_specs`; None when `quiet`."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def update(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label)

        yield update


def _lines(what: str) -> Progress:
    last, reported = time.monotonic(), -1

    def update(done: int, total: int, label: str) -> None:
        nonlocal last, reported
        now = time.monotonic()
        if total > 1 and ((done in (0, total) and done != reported) or now - last >= BETWEEN_LINES_S):
            last, reported = now, done
            status_line(f"{what}: {done} of {total} runs done{f' ({label})' if label else ''}")

    return update
