"""The tries of an emulation: again, while the grade is less than required."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ackclock.errors import AckclockError, RunFailed, from_document

UNUSED = "unused"
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


def graded(document: dict[str, Any]) -> dict[str, Any]:
    """An emulation's document; without a packet from a host, `UNUSED` is its grade and its
    clients'.
    """
    if document["packets_in"] or not document["valid"]:
        return document
    unused = {"grade": UNUSED, "why": "no packet reached the link"}
    return {**document, **unused, "clients": [{**client, **unused} for client in document["clients"]]}


def in_child(attempt: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """Run one emulation in a child process, which it moves into a network namespace for good.

    Return its document, and whether a signal asked for the end meanwhile. The child shares the
    terminal. It gets SIGTERM and SIGHUP from this process, and SIGTERM when this process is killed.

    Raises what ``attempt`` raises of this package's errors, else RunFailed.
    """
    receiver, sender = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # A signal between fork and handler would end this process and not be forwarded.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        child = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise
    if child == 0:
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(receiver)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() == parent:
                _answer(attempt, sender)
                status = 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(sender)
    with _forwarding(child) as signals, os.fdopen(receiver, "rb") as answer:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        text = answer.read()
        os.waitpid(child, 0)
    if not text:
        raise RunFailed("the emulation ended without a result", "see standard error")
    document: dict[str, Any] = json.loads(text)
    if "error" in document:
        raise from_document(document)
    return document, bool(signals)


def _answer(attempt: Callable[[], dict[str, Any]], sender: int) -> None:
    try:
        answer = attempt()
    except AckclockError as error:
        answer = error.document()
    with os.fdopen(sender, "w", encoding="utf-8") as file:
        json.dump(answer, file)


@contextlib.contextmanager
def _forwarding(child: int) -> Iterator[list[int]]:
    """Collect signals, and pass on those that a terminal does not send to the child as well."""
    received: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        received.append(number)
        if number != signal.SIGINT:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    before = {number: signal.signal(number, forward) for number in SIGNALS}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
