"""Readers of a run folder's files.

A copy that was interrupted, a full disk or an editor damages a file. Each reader then raises one
InputError that names the file, the damage and the remedy.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, not_readable
from ackclock.json_text import NotJson, json_value
from ackclock.storage.remote_folder import of

if TYPE_CHECKING:
    import polars as pl

FORMER_KEYS = {"least_delay_interval_ms": "min_delay_interval_ms", "ways": "directions"}
"""Keys of arrays in documents of ackclock 1.0 and before, with their present names."""
REMEDY = "copy the run folder again, or run its command again into a new folder"


def damaged(path: Path, statement: str) -> InputError:
    """The error of a damaged file of a run folder."""
    return InputError.problem(statement, REMEDY, file=shown_file(path), code="damaged-run")


def shown_file(path: Path) -> str:
    """A file as messages name it: below the URL of a copy, without credentials."""
    for folder in path.parents:
        if remote := of(folder):
            return f"{remote.shown}/{path.relative_to(folder).as_posix()}"
    return str(path)


def read_text(path: Path) -> str:
    """The text of a file that is not empty."""
    return _decoded(_content(path), path)


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return parsed(_content(path), path)


def parsed(content: bytes, path: Path) -> Any:
    """The value of JSON text from the file at `path`, with the present names of its keys."""
    text = _decoded(content, path)
    is_older = any(f'"{name}"' in text for name in FORMER_KEYS)
    try:
        return json_value(text, _with_present_keys if is_older else None)
    except NotJson as error:
        if error.is_cut:
            raise damaged(path, f"the file is cut after {len(content)} bytes, inside its JSON") from None
        raise damaged(path, f"the file is not JSON ({error})") from None


def _with_present_keys(table: dict[str, Any]) -> dict[str, Any]:
    """The keys of an older file; others of these names, such as that of a flow, are not arrays."""
    return {FORMER_KEYS.get(key, key) if _is_former(value) else key: value for key, value in table.items()}


def _is_former(value: Any) -> bool:
    return value is None or isinstance(value, list)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise damaged(path, f"the file is not TOML ({error})") from None


def read_table(path: Path) -> pl.DataFrame:
    """The table of a Parquet file."""
    import polars as pl

    _check_parquet(path)
    try:
        return pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _no_table(path, error) from None


def scan_table(path: Path) -> pl.LazyFrame:
    """The table of a Parquet file, of which rows are read later."""
    import polars as pl

    _check_parquet(path)
    try:
        pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _no_table(path, error) from None
    return pl.scan_parquet(path, glob=False)


_MARK = b"PAR1"
"""The first and the last four bytes of a Parquet file."""


def _check_parquet(path: Path) -> None:
    """Raise the error of a Parquet file that is absent, empty or cut."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_MARK))
            size = file.seek(0, 2)
            file.seek(max(0, size - len(_MARK)))
            tail = file.read()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not size:
        raise damaged(path, "the file is empty")
    if head != _MARK:
        raise damaged(path, "the file is not a Parquet table")
    if tail != _MARK:
        raise damaged(path, f"the file is cut after {size} bytes, inside its Parquet table")


def _no_table(path: Path, error: BaseException) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
    return damaged(path, f"the file is a damaged Parquet table ({reason})")


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not content.strip():
        raise damaged(path, "the file is empty")
    return content


def _unreadable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return damaged(path, "the file is missing from the run folder")
    return not_readable(error, shown_file(path), "a file of a run folder")


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged(path, f"the file is not UTF-8 text (byte {error.start + 1})") from None
