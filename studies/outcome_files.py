"""Files of a study: lines of outcomes that a later run takes up, and the page made of them; and the
command line of a study that is done in parts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ackclock.storage.atomic_files import atomic_write

T = TypeVar("T")


def page_parser(item: str, *, seed: int, count: int, minutes: float | None = None) -> argparse.ArgumentParser:
    """The options of a page of `count` items, such as "link": FILE, --seed, --links, --minutes,
    --kept.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument(f"--{item}s", "--count", dest="count", type=int, default=count, metavar="N")
    parser.add_argument("--minutes", type=float, default=minutes, help=f"no {item} is begun after this time")
    parser.add_argument("--kept", type=Path, help="a file of JSON lines that keeps outcomes: a later call continues")
    return parser


def begun_within(minutes: float | None, items: Iterable[T], started: float | None = None) -> Iterator[T]:
    """The items, until so many minutes after `started` (of the monotonic clock; default: now); all
    without a limit.
    """
    started = time.monotonic() if started is None else started
    for item in items:
        if minutes is not None and time.monotonic() - started > 60 * minutes:
            return
        yield item


def keep(path: Path | None, outcome: Mapping[str, Any]) -> None:
    """Appends an outcome as a line of JSON, where a file is given."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(outcome) + "\n")


def kept(path: Path | None) -> list[dict[str, Any]]:
    """The outcomes that `keep` has written; none without a file."""
    if not path or not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_page(path: Path | None, text: str) -> None:
    """Writes the page whole or not at all; without a file to standard output."""
    if path:
        atomic_write(path, text.encode())
    else:
        sys.stdout.write(text)


def oracle_page(description: str | None, folder: str, page: Callable[[Path], Iterable[str]]) -> int:
    """The command of a page made from the tables in a folder of ACKCLOCK_ORACLES: [FILE]. Without
    that folder it says so, and leaves the page as it is.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("file", nargs="?", type=Path, help="the page; the terminal without it")
    file = parser.parse_args().file
    if "ACKCLOCK_ORACLES" not in os.environ:
        sys.stderr.write(f"skipped: ACKCLOCK_ORACLES names no folder with {folder}\n")
        return 0
    write_page(file, "".join(page(Path(os.environ["ACKCLOCK_ORACLES"]) / folder)))
    return 0
