"""HAR files as pages: of what a browser recorded, the sizes and times of the responses, and which
of them have a server in common.

Nothing else of the file is kept, as it has addresses, cookies and headers of a person: a server's
label is a digest over its name and the file's contents, so that it cannot be guessed without the
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ackclock.errors import InputError, format_value, not_readable
from ackclock.json_text import NotJson, json_value

SUFFIX = ".har"
MIN_BYTES = 100
"""Of a response: the minimum that its headers take."""
MAX_FILE_BYTES = 256 << 20
LABEL_DIGITS = 8
NETWORK = ("http", "https")
ALLOWED = 'a HAR file (HTTP Archive 1.2), as browsers save it: "log" with "entries"'


@dataclass(frozen=True)
class _Response:
    """A response; times in ms from the first request."""

    url: str
    initiator: str
    start_ms: float
    end_ms: float
    size: int
    host: str


def is_har(value: object) -> bool:
    """Whether a page is the name of a HAR file."""
    return isinstance(value, str) and value.lower().endswith(SUFFIX)


def har_objects(path: str | Path) -> list[list[str | int]]:
    """The objects of a page, each `[size, parent, wait, host]` as a scenario has them. The parent
    is what the browser names as the initiator, else the response that was the last to be complete
    before the request, else the document.

    Raises InputError that names the file.
    """
    path = Path(path)
    try:
        status = path.stat()
        return [list(entry) for entry in _read(path, status.st_mtime_ns, status.st_size)]
    except OSError as error:
        raise not_readable(error, path, ALLOWED) from None
    except ValueError:  # a NUL
        raise InputError(f"no such file, {format_value(str(path))}", ALLOWED) from None


@lru_cache(maxsize=16)
def _read(path: Path, _changed_ns: int, size: int) -> tuple[tuple[str | int, ...], ...]:
    if size > MAX_FILE_BYTES:
        raise InputError(f"a file of {size} bytes", f"a HAR file of at most {MAX_FILE_BYTES} bytes", file=str(path))
    content = path.read_bytes()
    try:
        entries = json_value(content)["log"]["entries"]
        if not isinstance(entries, list):
            raise TypeError
    except NotJson as error:
        text = f"text that is no JSON ({error.reason.lower()})"
        raise InputError(text, ALLOWED, file=str(path), line=error.line) from None
    except (KeyError, TypeError):
        raise InputError("no entries", ALLOWED, file=str(path)) from None
    responses = []
    for number, entry in enumerate(entries, 1):
        try:
            found = _response(entry)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            # The entry's own words are not repeated: they may be a person's.
            raise InputError(
                f"entry {number} without a request, a response, a time or a size", ALLOWED, file=str(path)
            ) from None
        if found:
            responses.append(found)
    if not responses:
        raise InputError("no response that came over the network", ALLOWED, file=str(path))
    return tuple(_objects(responses, sha256(content).digest()))


def _response(entry: Mapping[str, Any]) -> _Response | None:
    """None for what did not come over the network: cached, data: and blob:, aborted, WebSockets."""
    request, response = entry["request"], entry["response"]
    url = request["url"]
    address = urlsplit(url)
    size = _bytes(response)
    if address.scheme not in NETWORK or not response["status"] or not size:
        return None
    start_ms = 1e3 * datetime.fromisoformat(entry["startedDateTime"]).timestamp()
    time_ms = float(entry["time"])
    if not 0 <= time_ms < float("inf"):
        raise ValueError
    initiator = entry.get("_initiator") or {}
    return _Response(url, str(initiator.get("url", "")), start_ms, start_ms + time_ms, size, address.netloc.lower())


def _bytes(response: Mapping[str, Any]) -> int:
    """Bytes on the network; 0 if the response was cached. -1 is unknown."""
    if (transferred := response.get("_transferSize")) is not None and transferred >= 0:
        return max(int(transferred), MIN_BYTES) if transferred else 0
    body = response.get("bodySize", -1)
    body = body if body >= 0 else response["content"]["size"]
    return int(max(response.get("headersSize", 0), 0) + max(body, 0)) or MIN_BYTES


def _objects(responses: Sequence[_Response], salt: bytes) -> list[tuple[str | int, ...]]:
    order = sorted(responses, key=lambda one: one.start_ms)
    objects: list[tuple[str | int, ...]] = []
    for number, one in enumerate(order):
        parent = _parent(order[:number], one)
        wait_ms = max(0.0, one.start_ms - order[parent].end_ms) if number else 0.0
        host = sha256(salt + one.host.encode()).hexdigest()[:LABEL_DIGITS]
        objects.append((f"{one.size} B", parent, f"{round(1000 * wait_ms)} us", host))
    return objects


def _parent(earlier: Sequence[_Response], one: _Response) -> int:
    named = [number for number, other in enumerate(earlier) if other.url == one.initiator]
    if named:
        return named[-1]
    complete = [(other.end_ms, number) for number, other in enumerate(earlier) if other.end_ms <= one.start_ms]
    return max(complete)[1] if complete else 0
