"""A session with a measurement server: tests as dicts, results as dicts and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ackclock.errors import InputError, native_errors, not_readable
from ackclock.linux import require_linux

if TYPE_CHECKING:
    from ackclock._native import Table
    from ackclock.documents.engine import ClockState, SessionResults, TestResult, TestSpec, Train, Welcome
    from ackclock.documents.parts import Direction

T = TypeVar("T")
Watch = Callable[[float], None]

LOW_RATE: Mapping[str, int] = {"payload": 20, "gap_ns": 40_000_000}
"""4 kb/s of payload: 20 bytes every 40 ms."""
HEADERS = 28
MAX_DATAGRAMS = 1_600_000
"""Maximum datagrams of one train: the server holds two million rows of a session."""


def low_rate(seconds: float) -> Train:
    """A train with a rate too low to cause queueing."""
    return {"payload": LOW_RATE["payload"], "gap_ns": LOW_RATE["gap_ns"], "count": max(2, round(seconds * 25))}


def paced(rate_bps: float, seconds: float, payload: int) -> Train:
    """A train of datagrams at an IP rate; its duration is limited by the server's rows."""
    gap_ns = max(1000, round((payload + HEADERS) * 8e9 / rate_bps))
    return {"payload": payload, "gap_ns": gap_ns, "count": min(max(20, round(seconds * 1e9 / gap_ns)), MAX_DATAGRAMS)}


def datagram_test(direction: Direction, train: Train, reverse: Train | None) -> TestSpec:
    """A test of datagrams in one direction, and optionally of others in the opposite direction."""
    down, up = (train, reverse) if direction == "down" else (reverse, train)
    return {"datagrams": {"down": down, "up": up}}


def read_token(file: str | Path | None, text: str | None = None) -> str:
    """The token from its file of mode 0600. Raises InputError."""
    if text is not None:
        return text
    if file is None:
        raise InputError.problem(
            "a measurement requires the server's token",
            "add --token-file FILE, or set ACKCLOCK_TOKEN",
            option="--token-file",
        )
    require_linux("measure", "kernel timestamps, pacing and packet sockets")
    from ackclock import _native

    try:
        Path(file).open("rb").close()
    except OSError as error:
        raise not_readable(error, file, "the file with the server's token", option="--token-file") from None
    with native_errors():
        return _native.read_token(str(file))


class Session:
    """An authenticated session.

    Raises InputError if the server is unreachable or refuses, RunFailed if it fails.
    """

    def __init__(self, host: str, port: int, token: str) -> None:
        from ackclock import _native

        self._live = guarded(lambda: _native.LiveSession(host, port, token))
        welcome = self._live.welcome()
        self.address: str = welcome["address"]
        self.far_end: Welcome = welcome["far_end"]
        self.clock: ClockState = welcome["clock"]
        self.tests = 0

    def run(
        self, specs: Sequence[TestSpec], watch: Watch, start_after_s: Sequence[float] = ()
    ) -> tuple[list[int], list[TestResult]]:
        """Run tests concurrently; ``start_after_s`` delays the start of each (default: 0 s).

        Returns their numbers and results, without clock offsets.
        """
        later = [round(seconds * 1e9) for seconds in start_after_s]
        results = guarded(lambda: self._live.run(json.dumps(list(specs)), later, watch))
        numbers = list(range(self.tests, self.tests + len(specs)))
        self.tests += len(specs)
        return numbers, results

    def control_bytes(self) -> int:
        """IP bytes that the control connection has moved in both directions, without ACKs."""
        return guarded(self._live.control_bytes)

    def keep_alive(self) -> None:
        """Keep the session from its idle timeout; call this once a second or more often while no
        test runs.
        """
        guarded(self._live.keep_alive)

    def capture(self, max_bytes: int) -> None:
        """Let the server capture this session's headers.

        Raises InputError if it does not allow that.
        """
        guarded(lambda: self._live.capture(max_bytes))

    def captured(self) -> tuple[bytes, int]:
        """The captured records, and the number of dropped packets."""
        records, dropped = guarded(self._live.captured)
        return bytes(records), int(dropped)

    def so_far(self) -> tuple[SessionResults, Table, Table]:
        """The results so far, in the form of `finish`; the session continues."""
        return guarded(self._live.so_far)

    def finish(self) -> tuple[SessionResults, Table, Table]:
        """The session's document, its samples and its datagrams."""
        return guarded(self._live.finish)


def guarded(call: Callable[[], T]) -> T:
    """Call the engine and convert its errors."""
    with native_errors():
        return call()
