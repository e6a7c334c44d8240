"""Writes the report of a test of another program."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.other_programs.read import read_program_test
from ackclock.storage.atomic_files import atomic_write


def write_report(file: Path, out: Path | None, format_: str | None) -> Path:
    """Write the page beside the file, or as `report.html` into the folder `out`; return its path.

    Raises InputError: the file is no such test, or a format is given.
    """
    from ackclock.other_programs.report_page import page
    from ackclock.report.render import html

    if format_ is not None:
        raise InputError.problem("--format is of run folders", "leave it out: the report is HTML", option="--format")
    made = html(page(read_program_test(file))).encode()
    target = file.with_name(f"{file.name}.html") if out is None else out / "report.html"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    atomic_write(target, made)
    return target
