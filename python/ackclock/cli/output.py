"""Output of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.cli.address_space import is_panic
from ackclock.cli.progress import status_line
from ackclock.storage import remote_folder

if TYPE_CHECKING:
    from rich.table import Table

MAX_RICH_ROWS = 500
"""Maximum rows of a table that rich lays out outside of a terminal."""
WIDTH = 100
"""Columns of a table outside of a terminal, unless COLUMNS has their number."""
MIN_WIDTH = 20


def deliver(
    document: Callable[[], Any],
    tables: Callable[[], Iterable[Table]],
    folder: Path | None,
    *,
    report: bool,
    json: bool,
    quiet: bool,
    lines: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Write the report beside the results, then print the document, or the tables and the lines
    below them.
    """
    page = write_report(folder, quiet=quiet) if folder and report else None
    remote = remote_folder.of(folder) if folder else None
    if remote and page:
        remote.push(page.name)
    if json:
        print_json(document())
        return
    print_tables(tables())
    print_lines(lines())
    if folder:
        remark(f"run folder: {remote_folder.shown(folder)}", quiet=quiet)
    if page:
        remark(f"report: {f'{remote.shown}/{page.name}' if remote else page}", quiet=quiet)


def write_report(folder: Path, *, quiet: bool) -> Path | None:
    """Write the HTML report of a run folder, unless it has one of these results by this very code;
    None, with a remark, without the packages that draw it.
    """
    from ackclock import result_folder
    from ackclock.report.render import is_current
    from ackclock.result import REPORT
    from ackclock.storage.run_folder import ENVIRONMENT

    page = folder / REPORT
    if is_current(page, folder / ENVIRONMENT):
        return page
    return write_page(lambda: result_folder.write_report(folder), folder, quiet=quiet)


def write_page(write: Callable[[], Path], folder: Path, *, quiet: bool) -> Path | None:
    """The result of `write`; None, with a remark, without the packages that draw reports.

    Raises WriteFailed, such as on a full disk.
    """
    from ackclock.storage.run_folder import write_failed

    try:
        return write()
    except OSError as error:
        if failed := write_failed(error, folder, then=f"`ackclock report {folder}`"):
            raise failed from error
        raise
    except ImportError as error:
        remark(f"no HTML report ({error}); pip install 'ackclock[report]' and `ackclock report {folder}`", quiet=quiet)
        return None
    except BaseException as error:
        if not is_panic(error):
            raise
        why = " ".join(str(error).split())
        remark(f"no HTML report: the charts' library failed ({why}); `ackclock report {folder}`", quiet=quiet)
        return None


def print_json(document: Any) -> None:
    """Print one document, or its text, on stdout."""
    if isinstance(document, bytes):
        print_json_text([document])
        return
    print(json_format.dumps(document, indent=2, allow_nan=False))


def print_json_text(pieces: Iterable[bytes]) -> None:
    """Print one document on stdout, of its text in pieces, which are ASCII."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    for piece in pieces:
        if stream is not None:
            stream.write(piece)
        else:  # a text stream in the place of stdout
            sys.stdout.write(piece.decode())
    print()


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables on stdout, as wide as the terminal; outside of a terminal as COLUMNS says, or
    100 columns, without trailing blanks.

    rich needs 1 ms to lay out a row: a long table has no colours outside of a terminal.
    """
    from rich.console import Console
    from rich.text import Text

    from ackclock.terminal import columns_of, grid, narrow

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _pipe_width(), highlight=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        if (lines := narrow(table, console.width)) is not None:
            for style, line in lines:
                console.print(Text(line, style=style), soft_wrap=True)
        elif terminal:
            console.print(table)
        elif table.row_count > MAX_RICH_ROWS:
            head, rows = grid(columns_of(table))
            print(*filter(None, [str(table.title or "")]), *head, *rows, sep="\n")
        else:
            with console.capture() as laid_out:
                console.print(table)
            print("\n".join(line.rstrip() for line in laid_out.get().splitlines()))


def print_lines(lines: Iterable[str]) -> None:
    """Print the sentences below tables on stdout, as wide as the terminal; outside of a terminal as
    COLUMNS says, or each in one line, for `grep`.
    """
    from rich.console import Console

    from ackclock.terminal import wrapped

    width = Console().width if sys.stdout.isatty() else _columns()
    for line in lines if width is None else wrapped(lines, width):
        print(line)


def _pipe_width() -> int:
    """The columns of tables outside of a terminal."""
    return _columns() or WIDTH


def _columns() -> int | None:
    """The number in COLUMNS; None without one that is wide enough."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) >= MIN_WIDTH else None


@contextmanager
def live_tables(*, wanted: bool) -> Iterator[Callable[[Iterable[Table]], None] | None]:
    """A function that redraws tables in place, cut to the screen, and removes them at the end; None
    if stdout is no terminal.
    """
    if not wanted or not sys.stdout.isatty():
        yield None
        return
    from rich.console import Console, Group
    from rich.live import Live

    with Live(
        console=Console(highlight=False), auto_refresh=False, transient=True, vertical_overflow="ellipsis"
    ) as live:
        yield lambda tables: live.update(Group(*tables), refresh=True)


def print_names(names: Mapping[str, str]) -> None:
    """Print names with their summaries, one per line."""
    width = max(map(len, names), default=0)
    for name, text in names.items():
        print(f"{name:<{width}}  {text}".rstrip())


def remark(text: str, *, quiet: bool) -> None:
    """Print a remark on stderr."""
    if not quiet:
        status_line(text)
