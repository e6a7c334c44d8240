"""Writes the report of a test of another program."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.storage.atomic_files import atomic_write
from ackclock.test_files.read import read_test_file


def write_report(file: Path, out: Path | None, format_: str | None) -> Path:
    """Write the page beside the file, or as `report.html` into the folder `out`; return its path.

    Raises InputError: the file is no such test, or a format is given.
    """
    from ackclock.report.render import html
    from ackclock.test_files.report_page import page

    if format_ is not None:
        raise InputError.problem("--format is of run folders", "leave it out: the report is HTML", option="--format")
    made = html(page(read_test_file(file))).encode()
    target = file.with_name(f"{file.name}.html") if out is None else out / "report.html"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    atomic_write(target, made)
    return target
