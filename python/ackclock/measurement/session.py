"""A session with a far end, seen from Python: tests as dicts in, figures out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ackclock.errors import InputError, native_errors, not_readable

T = TypeVar("T")
Figures = dict[str, Any]
Watch = Callable[[float], None]

PORT = 4862
LOW_RATE = {"payload": 20, "gap_ns": 40_000_000}
"""4 kb/s of payload: 20 bytes every 40 ms."""
HEADERS = 28
MOST_DATAGRAMS = 1_600_000
"""Maximum datagrams of one train: a far end holds two million rows of a session at a time."""


def low_rate(seconds: float) -> dict[str, int]:
    """The train that measures delays without making any."""
    return {**LOW_RATE, "count": max(2, round(seconds * 25))}


def paced(rate_bps: float, seconds: float, payload: int) -> dict[str, int]:
    """Send datagrams at so many IP bits a second; the duration is cut to the rows that a far end holds."""
    gap_ns = max(1000, round((payload + HEADERS) * 8e9 / rate_bps))
    return {"payload": payload, "gap_ns": gap_ns, "count": min(max(20, round(seconds * 1e9 / gap_ns)), MOST_DATAGRAMS)}


def datagram_test(way: str, train: Mapping[str, int], back: Mapping[str, int] | None) -> dict[str, Any]:
    """A test of datagrams one way, with others the other way beside it."""
    other = "up" if way == "down" else "down"
    return {"datagrams": {way: dict(train), other: None if back is None else dict(back)}}


def read_token(file: str | Path | None, text: str | None = None) -> str:
    """The token from its file of mode 0600. Raises InputError."""
    if text is not None:
        return text
    if file is None:
        raise InputError.problem(
            "a measurement requires the far end's token", "add --token-file FILE, or set ACKCLOCK_TOKEN", option="--token-file"
        )
    from ackclock import _native

    try:
        Path(file).open("rb").close()
    except OSError as error:
        raise not_readable(error, file, "the file with the far end's token", option="--token-file") from None
    with native_errors():
        return _native.read_token(str(file))


class Session:
    """A far end that has taken the token. Raises InputError where it cannot be reached or refuses, RunFailed where it failed."""

    def __init__(self, host: str, port: int, token: str) -> None:
        from ackclock import _native

        self._live = guarded(lambda: _native.LiveSession(host, port, token))
        said = json.loads(self._live.welcome())
        self.address: str = said["address"]
        self.far_end: Figures = said["far_end"]
        self.clock: Figures = said["clock"]
        self.tests = 0

    def run(self, specs: Sequence[Mapping[str, Any]], watch: Watch) -> tuple[list[int], list[list[Figures]]]:
        """Tests side by side: their numbers, and the figures of each one's datagrams by direction, without a comparison of clocks."""
        ways = json.loads(guarded(lambda: self._live.run(json.dumps(list(specs)), watch)))
        numbers = list(range(self.tests, self.tests + len(specs)))
        self.tests += len(specs)
        return numbers, ways

    def keep_alive(self) -> None:
        """Keep the session from its idle timeout; call this once a second or more often while no test runs."""
        guarded(self._live.keep_alive)

    def capture(self, most_bytes: int) -> None:
        """The far end keeps this session's packets' headers from now on. Raises InputError where it does not allow that."""
        guarded(lambda: self._live.capture(most_bytes))

    def captured(self) -> tuple[bytes, int]:
        """The records that it has kept, and how many packets are missing."""
        records, dropped = guarded(self._live.captured)
        return bytes(records), int(dropped)

    def so_far(self) -> tuple[Figures, Any, Any]:
        """The results so far, in the form of `finish`; the session continues."""
        document, samples, delays = guarded(self._live.so_far)
        return json.loads(document), samples, delays

    def finish(self) -> tuple[Figures, Any, Any]:
        """The session's document, its samples and its datagrams."""
        document, samples, delays = guarded(self._live.finish)
        return json.loads(document), samples, delays


def guarded(call: Callable[[], T]) -> T:
    """A call of the engine, with its errors as ours."""
    with native_errors():
        return call()
