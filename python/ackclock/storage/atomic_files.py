"""Files and folders written beside their name and renamed when complete, so that no reader finds a
part.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ackclock.errors import InputError
from ackclock.storage import temporary_files

if TYPE_CHECKING:
    import polars as pl

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def check_folder_of(path: Path, *, option: str = "") -> None:
    """Raise InputError for a file to write that is a folder, or in none. `option` named it."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        found = "a folder" if path.is_dir() else "no folder of this name"
        raise InputError(found, "a file to write", file=str(path), option=option)


def check_other_file(path: Path, content: bytes, *, force: bool, option: str) -> None:
    """Raise InputError if a file with other contents is there, without `force`."""
    if path.exists() and path.read_bytes() != content and not force:
        raise InputError.problem(
            "another file is there", "name another one, or pass --force to replace it", file=str(path), option=option
        )


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it."""
    with atomic_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that is written under a temporary name, and renamed to `path` at the end."""
    beside = temporary_files.beside(path)
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    atomic_write(path, (json.dumps(document, indent=2) + "\n").encode())


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Write Parquet with fixed settings: equal tables have equal bytes.

    Raises OSError, such as on a full disk.
    """
    content = io.BytesIO()  # Polars' own write does not report the errno
    frame.write_parquet(content, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 18)
    atomic_write(path, content.getvalue())


def errno_of(error: BaseException) -> int | None:
    """The errno of an exception, parsed from its message where native code raised it; None without
    one.
    """
    if isinstance(error, OSError):
        return error.errno
    text = str(error).lower()
    match = re.search(r"\(os error (\d+)\)", text)
    if match:
        return int(match[1])
    return next((number for number in UNWRITABLE if f"({os.strerror(number).lower()})" in text), None)


@contextlib.contextmanager
def folder_by_rename(final: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `final` at the end.

    If `final` exists by then, it stays.
    """
    beside = temporary_files.beside(final)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        try:
            beside.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
