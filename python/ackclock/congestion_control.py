"""Congestion controls of your own, in Python: `class Mine(ackclock.CongestionControl)`.

A class is named in a scenario as ``variant = "python:module.Class"`` (the module must be importable, the current folder
counts), or passed itself: ``flows=[{"variant": Mine, ...}]``. The engine makes one object for each connection, calls its
methods and, after each call, reads `cwnd`, `ssthresh`, `pacing_rate` and `halving_floor`.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InvalidValue, format_value

if TYPE_CHECKING:
    from ackclock._native import Ack, Congestion, Loss

PREFIX = "python:"
_PASSED: dict[str, type[CongestionControl]] = {}  # classes that were passed themselves, by the name they got


class CongestionControl:
    """How the window moves. Windows are in segments, times in seconds, rates in segments a second.

    It sees no packet and no timer. Loss detection and repair belong to the scenario's `recovery`, which owns the window from
    `on_congestion` to `on_recovered`. Two runs with one seed must do the same: draw random numbers, if any, from a generator
    that you seed in `__init__`. Before each cut that may turn out to be for nothing the object is copied (`copy.deepcopy`).

    Attributes:
        cwnd: the congestion window, 1 or more.
        ssthresh: the slow-start threshold, 1 or more; infinity for none.
        pacing_rate: the rate at which segments leave, or None: as soon as the window allows. Give it a value in `__init__`
            if it paces itself.
        halving_floor: how low recovery "rate-halving" may bring the window; None: to `ssthresh`.
    """

    cwnd: float
    ssthresh: float
    pacing_rate: float | None = None
    halving_floor: float | None = None

    def __init__(self, initial_window: float, initial_ssthresh: float) -> None:
        self.cwnd = initial_window
        self.ssthresh = initial_ssthresh

    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged and no recovery is in force: the window may grow."""

    def on_delivery(self, ack: Ack) -> None:
        """Segments arrived or were lost: every ACK that says so, in recovery or not, before `on_ack`.

        Called only where a class has its own; then `ack` knows `delivered`, `lost` and `rate`.
        """

    def on_loss(self, loss: Loss) -> None:
        """A segment was taken for lost; called only where a class has its own `on_delivery` or `on_loss`."""

    def on_congestion(self, congestion: Congestion) -> None:
        """Cut the window: set `ssthresh`, and `cwnd` to where the recovery is to bring it (1 after a timeout).

        As it stands: Reno's half (RFC 5681, equation (4)).
        """
        self.ssthresh = max(math.floor(congestion.flight / 2), 2.0)
        self.cwnd = 1.0 if congestion.signal == "timeout" else self.ssthresh

    def on_recovered(self, now: float, cwnd: float) -> None:
        """A recovery is over, or has moderated the window, and leaves it here."""
        self.cwnd = cwnd

    def on_idle(self, now: float, idle: float) -> None:
        """Sending begins again after `idle` seconds in which the application had nothing to send."""

    @classmethod
    def watches_deliveries(cls) -> bool:
        """Whether it has an `on_delivery` or `on_loss` of its own, for which the sender must keep notes."""
        base = CongestionControl
        return cls.on_delivery is not base.on_delivery or cls.on_loss is not base.on_loss


def is_user(variant: object) -> bool:
    """Whether this names a congestion control in Python."""
    return isinstance(variant, str) and variant.startswith(PREFIX)


def with_names(value: Any) -> Any:
    """The value with each congestion control class in it replaced by its name, however deep it lies."""
    if isinstance(value, type) and issubclass(value, CongestionControl):
        name = f"{PREFIX}{value.__module__}.{value.__qualname__}"
        _PASSED[name] = value
        return name
    if isinstance(value, Mapping):
        return {key: with_names(inner) for key, inner in value.items()}
    return [with_names(inner) for inner in value] if isinstance(value, list | tuple) else value


def find(name: str) -> type[CongestionControl]:
    """The class of "python:module.Class". Raises Refusal."""
    if name in _PASSED:
        return _PASSED[name]
    module, _, kind = name.removeprefix(PREFIX).rpartition(".")
    allowed = '"python:module.Class" with a class that derives from ackclock.CongestionControl'
    if not module or not kind.isidentifier():
        raise InvalidValue(format_value(name), allowed)
    try:
        found = getattr(_imported(module), kind, None)
    except ImportError as error:
        raise InvalidValue(f"{format_value(name)}, which cannot be imported ({error})", allowed) from None
    if not (isinstance(found, type) and issubclass(found, CongestionControl)):
        raise InvalidValue(f"{format_value(name)}, which is no such class", allowed)
    return found


def _imported(module: str) -> Any:
    here = str(Path.cwd())
    if here in sys.path:
        return import_module(module)
    sys.path.insert(0, here)
    try:
        return import_module(module)
    finally:
        sys.path.remove(here)


def digest(name: str) -> str:
    """16 hex digits over the source of the class's module: what is edited is run again."""
    found = find(name)
    try:
        text = inspect.getsource(sys.modules[found.__module__])
    except (OSError, TypeError, KeyError):
        try:
            text = inspect.getsource(found)
        except (OSError, TypeError):
            text = f"no source {id(found)} {os.getpid()}"  # never taken for another
    return sha256(text.encode()).hexdigest()[:16]


def names_in(plan: Mapping[str, Any]) -> list[str]:
    """The congestion controls in Python that a plan's flows name, each once."""
    flows: Iterable[Mapping[str, Any]] = plan["flows"]
    said = [flow["tcp"]["variant"] for flow in flows if flow["tcp"]]
    return list(dict.fromkeys(name for name in said if is_user(name)))


def classes(names: Iterable[str]) -> dict[str, type[CongestionControl]]:
    """Name to class, as the engine wants them."""
    return {name: find(name) for name in names}


def is_importable(name: str) -> bool:
    """Whether another process can import the class: one in the running script, a function or another class cannot be."""
    found = find(name)
    return found.__module__ != "__main__" and found.__qualname__.isidentifier()


def traceback_of(error: BaseException) -> str:
    """The traceback of what a congestion control raised."""
    cause = error.__cause__ or error
    return "".join(traceback.format_exception(cause)).rstrip()
