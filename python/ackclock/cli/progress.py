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
BAR, COUNT, RATE, TIME_LEFT = 12, 9, 7, 7
"""Columns of the parts of a bar."""


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
    """Count, rate and time left keep their width; the label of the last run has the rest of the
    line.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(
                "-/s" if speed is None else f"{speed:.{0 if speed >= 100 else 1}f}/s", style="progress.data.speed"
            )

    console = Console(stderr=True)
    columns = (
        TextColumn(what, table_column=Column(no_wrap=True, min_width=len(what))),
        BarColumn(bar_width=BAR, table_column=Column(no_wrap=True, min_width=BAR)),
        MofNCompleteColumn(table_column=Column(no_wrap=True, justify="right", min_width=COUNT)),
        Rate(table_column=Column(no_wrap=True, justify="right", min_width=RATE)),
        TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=TIME_LEFT)),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )
    with RichProgress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("", total=None)
        begun = False

        def update(done: int, total: int, label: str) -> None:
            nonlocal begun
            if not begun and total > 1:
                begun = True
                # The rate is that of the runs that follow.
                bar.reset(task, completed=done, total=total)
                if line := _resuming(what, done, total):
                    bar.console.print(line, highlight=False)
            bar.update(task, completed=done, total=total, description=label)

        yield update


def _resuming(what: str, done: int, total: int) -> str | None:
    """The line for a work of which an earlier command did a part."""
    return f"{what}: resuming: {done} of {total} are done" if 0 < done < total else None


def _lines(what: str) -> Progress:
    last, reported, begun = time.monotonic(), -1, False

    def update(done: int, total: int, label: str) -> None:
        nonlocal last, reported, begun
        now = time.monotonic()
        if not begun and total > 1 and (line := _resuming(what, done, total)):
            last, reported = now, done
            status_line(line)
        elif total > 1 and ((done in (0, total) and done != reported) or now - last >= BETWEEN_LINES_S):
            last, reported = now, done
            status_line(f"{what}: {done} of {total} runs done{f' ({label})' if label else ''}")
        begun = True

    return update
