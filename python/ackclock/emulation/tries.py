"""The tries of an emulation: again, while the grade is less than required."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ackclock.errors import AckclockError, RunFailed, from_document
from ackclock.json_text import json_value

if TYPE_CHECKING:
    from ackclock.documents.engine import ClientReport, EmulationReport

T = TypeVar("T")
UNUSED: Final = "unused"
"""The grade of an emulation without a packet: it shows nothing of the machine's lateness."""
GRADES = ("invalid", UNUSED, "usable", "exact")
"""In ascending order."""
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def reaches(grade: str, required: str) -> bool:
    """Whether ``grade`` is at least ``required``; both are one of `GRADES`.

    >>> reaches("exact", "usable"), reaches("invalid", "usable")
    (True, False)
    """
    return GRADES.index(grade) >= GRADES.index(required)


def graded(document: EmulationReport) -> EmulationReport:
    """An emulation's document; without a packet from a host, `UNUSED` is its grade and its
    clients'.
    """
    if document["packets_in"] or not document["valid"]:
        return document
    why = "no packet reached the link"
    clients: list[ClientReport] = [{**client, "grade": UNUSED, "why": why} for client in document["clients"]]
    return {**document, "grade": UNUSED, "why": why, "clients": clients}


def in_child(attempt: Callable[[], T]) -> tuple[T, bool]:
    """Run one emulation in a child process, which it moves into a network namespace for good.

    Return its document, and whether a signal asked for the end meanwhile. The child shares the
    terminal. It gets SIGTERM and SIGHUP from this process, and SIGTERM when this process is killed.

    Raises what ``attempt`` raises of this package's errors, else RunFailed.
    """
    receiver, sender = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    with _Forwarding() as signals, os.fdopen(receiver, "rb") as answer:
        # The child's only thread takes no signal while it has the parent's handlers.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            child = os.fork()
            if child == 0:
                signals.restore()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if child == 0:
            status = 1
            try:
                os.close(receiver)
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
                if os.getppid() == parent:
                    _answer(attempt, sender)
                    status = 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        signals.pass_on_to(child)
        os.close(sender)
        text = answer.read()
        os.waitpid(child, 0)
    if not text:
        raise RunFailed("the emulation ended without a result", "see standard error")
    document = json_value(text)
    if "error" in document:
        raise from_document(document)
    return document, bool(signals.received)


def _answer(attempt: Callable[[], object], sender: int) -> None:
    answer: object
    try:
        answer = attempt()
    except AckclockError as error:
        answer = error.document()
    with os.fdopen(sender, "w", encoding="utf-8") as file:
        json.dump(answer, file)


class _Forwarding:
    """Collects signals from before the child exists, and passes on those that a terminal does not
    send to it as well.

    Handlers that are installed after the fork are too late: a mask holds back the signals of its
    own thread alone, and any other thread takes them with the default action.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._pending: list[int] = []
        self._child: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Forwarding:
        self._before = {number: signal.signal(number, self._receive) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def restore(self) -> None:
        """The handlers that were there before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_on_to(self, child: int) -> None:
        """The child exists: it gets what came before, and what comes."""
        self._child = child
        pending, self._pending = self._pending, []
        for number in pending:
            self._send(child, number)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.received.append(number)
        if number == signal.SIGINT:
            return
        if self._child is None:
            self._pending.append(number)
        else:
            self._send(self._child, number)

    @staticmethod
    def _send(child: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
