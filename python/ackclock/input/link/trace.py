"""Recorded rates in mahimahi's format: each line is the time in ms of an opportunity to send 1500
bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from ackclock.errors import InputError, InvalidValue, format_value, not_readable

BYTES_PER_OPPORTUNITY = 1500
_ALL_NUMBERS = re.compile(rb"(?:[0-9]{1,15}\r?\n)*[0-9]{1,15}\s*")


@dataclass(frozen=True)
class Recording:
    """A checked trace: non-decreasing times of the opportunities in ms; the last one is also the
    period.
    """

    path: Path
    times_ms: tuple[int, ...]
    digest: str
    """SHA-256 of the numbers, the same for a compressed and a plain file."""

    @property
    def period_ps(self) -> int:
        """The time after which the recording repeats, in picoseconds."""
        return self.times_ms[-1] * 10**9

    def mean_bps(self) -> float:
        """Mean rate over one period, in bits per second."""
        return len(self.times_ms) * BYTES_PER_OPPORTUNITY * 8 * 1000 / self.times_ms[-1]


def read_recording(path: Path) -> Recording:
    """Read and check a trace, plain or gzip. Raises InputError that names the file and line."""
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise not_readable(error, path, "a file in mahimahi's format") from None


def recording_at(path: str) -> Recording:
    """The recording that a rate names; crates/scenario asks for it.

    Raises InvalidValue: the error's line is that of the rate, the line in the recording is part of
    the message.
    """
    try:
        return read_recording(Path(path))
    except InputError as error:
        if not Path(path).is_file():
            raise InvalidValue(f"{error.found}, {format_value(path)}", error.allowed) from None
        position = f"line {error.line} of " if error.line else ""
        raise InvalidValue(f"{error.found} in {position}{error.file}", error.allowed) from None


@lru_cache(maxsize=16)
def _read(path: Path, _changed_ns: int, _size: int) -> Recording:
    content = _content(path)
    if not content.strip():
        raise InputError("an empty trace", "at least one line with a time in ms", file=str(path))
    if not _ALL_NUMBERS.fullmatch(content):
        raise _first_bad_line(path, content)
    times = tuple(map(int, content.split()))
    for line, (before, after) in enumerate(pairwise(times), start=2):
        if after < before:
            raise InputError(f"{after} ms after {before} ms", "times that do not decrease", file=str(path), line=line)
    if times[-1] == 0:
        raise InputError("a trace that ends at 0 ms", "a last time above 0 (it is the period)", file=str(path))
    return Recording(path, times, hashlib.sha256(" ".join(map(str, times)).encode()).hexdigest())


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"a damaged gzip file ({error})", "plain text or gzip", file=str(path)) from None


def _first_bad_line(path: Path, content: bytes) -> InputError:
    for number, line in enumerate(content.splitlines(), start=1):
        if not re.fullmatch(rb"[0-9]{1,15}", line):
            found = format_value(line.decode("utf-8", "replace"))
            return InputError(found, "a whole number of milliseconds on each line", file=str(path), line=number)
    return InputError(
        "text that is not lines of numbers", "a whole number of milliseconds on each line", file=str(path)
    )
