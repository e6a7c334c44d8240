"""What the commands of this folder share: the options of work that is done in parts, and tables as
Markdown and as CSV.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from ackclock.papers.claims import PAPERS

OUT_OF_TIME = 3
"""The exit status of a command that is to be run again."""


def parser(description: str | None, kept: Path) -> argparse.ArgumentParser:
    """The options --only, --kept, --workers and --minutes."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--only", choices=PAPERS, action="append", help="a paper; may be repeated")
    made.add_argument("--kept", type=Path, default=kept)
    made.add_argument("--workers", type=int)
    made.add_argument("--minutes", type=float, help="end with status 3 when this time is over; run again")
    return made


def deadline(minutes: float | None) -> float | None:
    """The reading of `time.monotonic` after so many minutes; None without a limit."""
    return time.monotonic() + 60.0 * minutes if minutes is not None else None


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown, without a newline at its end."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
