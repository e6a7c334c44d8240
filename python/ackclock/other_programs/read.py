"""Reads a test of another program: which one it is, and its document."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, not_readable
from ackclock.json_text import NotJson, json_value
from ackclock.other_programs.flent import is_flent, read_flent
from ackclock.other_programs.iperf3 import is_iperf3, read_iperf3
from ackclock.other_programs.model import ProgramTest

MAX_BYTES = 256 << 20
GZIP, BZIP2 = b"\x1f\x8b", b"BZh"
ENDS = (".json", ".flent", ".flent.gz", ".flent.bz2", ".json.gz")
"""Ends of the names of such files."""


@dataclass(frozen=True)
class Program:
    """A program: whether a document is of it, and its reader."""

    matches: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Mapping[str, Any], str], ProgramTest]


PROGRAMS: Mapping[str, Program] = {"iperf3": Program(is_iperf3, read_iperf3), "flent": Program(is_flent, read_flent)}
"""The programs whose files are read."""


def sniffed(path: Path) -> bool:
    """Whether a file may be a test of another program: its text begins as a JSON table does."""
    try:
        with path.open("rb") as file:
            start = file.read(1 << 12)
        if start.startswith(GZIP):
            with gzip.open(path) as packed:
                start = packed.read(64)
        elif start.startswith(BZIP2):
            with bz2.open(path) as squeezed:
                start = squeezed.read(64)
    except (OSError, EOFError, zlib.error):
        return False
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def files_in(folder: Path) -> list[Path]:
    """The files of tests in a folder, by name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(ENDS) and sniffed(path))


def read_program_test(path: Path) -> ProgramTest:
    """A test of another program.

    Raises InputError: it cannot be read, is damaged, or is of no program that is known.
    """
    data = _document(path)
    for program in PROGRAMS.values():
        if program.matches(data):
            return program.read(data, str(path))
    keys = ", ".join(str(key) for key in list(data)[:8]) or "none"
    raise InputError(
        f"a document with the keys {keys}", "the JSON of iperf3 -J, or a data file of Flent", file=str(path)
    )


def _document(path: Path) -> Mapping[str, Any]:
    allowed = "the JSON of iperf3 -J, or a data file of Flent"
    try:
        content = path.read_bytes()
        if content.startswith(GZIP):
            with gzip.open(BytesIO(content)) as packed:
                content = _bounded(packed, path)
        elif content.startswith(BZIP2):
            with bz2.open(BytesIO(content)) as packed:
                content = _bounded(packed, path)
        data = json_value(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise not_readable(error, path, allowed) from None
    except (zlib.error, EOFError) as error:
        raise InputError(f"a damaged compressed file ({error})", allowed, file=str(path)) from None
    except OSError as error:
        if error.errno is None:  # of the compression
            raise InputError(f"a damaged compressed file ({error})", allowed, file=str(path)) from None
        raise not_readable(error, path, allowed) from None
    except NotJson as error:
        raise InputError(f"no JSON ({error.reason})", allowed, file=str(path), line=error.line) from None
    if not isinstance(data, Mapping):
        raise InputError("JSON that is no table", allowed, file=str(path))
    return data


def _bounded(stream: Any, path: Path) -> bytes:
    content: bytes = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES >> 20} MiB", "a smaller file", file=str(path))
    return content
