"""User-defined congestion controls in Python: `class Mine(ackclock.CongestionControl)`.

A scenario names a class as ``variant = "python:module.Class"``; the module must be importable, also
from the current folder. A call may pass the class itself: ``flows=[{"variant": Mine, ...}]``. The
engine creates one object for each connection, calls its methods and, after each call, reads `cwnd`,
`ssthresh`, `pacing_rate` and `halving_floor`.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ackclock import user_class
from ackclock.rate_controller import RateController
from ackclock.user_class import PREFIX

if TYPE_CHECKING:
    from ackclock._native import Ack, Congestion, Loss


class CongestionControl:
    """Controls the congestion window. Windows are in segments, times in seconds, rates in segments
    a second.

    It has no access to packets or timers. Loss detection and retransmission belong to the
    scenario's `recovery`, which controls the window from `on_congestion` to `on_recovered`. Two
    runs with one seed must have equal results: draw random numbers from a generator seeded in
    `__init__`. The object is copied (`copy.deepcopy`) before each reduction that may be undone.

    Attributes:
        cwnd: the congestion window, 1 or more.
        ssthresh: the slow-start threshold, 1 or more; infinity for none.
        pacing_rate: the rate at which segments are sent; None: as soon as the window allows. Assign
            it in `__init__` to use pacing.
        halving_floor: lower limit of the window in the recoveries "rate-halving" and "tcp-linux";
            None: `ssthresh`.
    """

    cwnd: float
    ssthresh: float
    pacing_rate: float | None = None
    halving_floor: float | None = None

    def __init__(self, initial_window: float, initial_ssthresh: float) -> None:
        self.cwnd = initial_window
        self.ssthresh = initial_ssthresh

    def on_ack(self, ack: Ack) -> None:
        """An ACK of new data outside of recovery: the window may grow."""

    def on_delivery(self, ack: Ack) -> None:
        """An ACK with newly delivered or lost segments, in recovery or not; called before `on_ack`.

        Called only if a class overrides it; then `ack` has `delivered`, `lost` and `rate`.
        """

    def on_loss(self, loss: Loss) -> None:
        """A segment was marked lost; called only if a class overrides `on_delivery` or
        `on_loss`.
        """

    def on_congestion(self, congestion: Congestion) -> None:
        """Reduce the window: set `ssthresh`, and `cwnd` to its value at the end of recovery (1
        after a timeout).

        Default: half the flight (Reno; RFC 5681, equation (4)).
        """
        self.ssthresh = max(math.floor(congestion.flight / 2), 2.0)
        self.cwnd = 1.0 if congestion.signal == "timeout" else self.ssthresh

    def on_recovered(self, now: float, cwnd: float) -> None:
        """Recovery ended, or changed the window to `cwnd`."""
        self.cwnd = cwnd

    def on_idle(self, now: float, idle: float) -> None:
        """Sending restarts after `idle` seconds in which the application had no data."""

    @classmethod
    def watches_deliveries(cls) -> bool:
        """Whether the class overrides `on_delivery` or `on_loss`, which requires delivery rate
        samples in the sender.
        """
        base = CongestionControl
        return cls.on_delivery is not base.on_delivery or cls.on_loss is not base.on_loss


def is_user(variant: object) -> bool:
    """Whether a variant is a congestion control in Python."""
    return isinstance(variant, str) and variant.startswith(PREFIX)


def with_names(value: Any) -> Any:
    """The value with every class of a congestion control or a rate controller in it, at any depth,
    replaced by its name.
    """
    if isinstance(value, type) and issubclass(value, CongestionControl | RateController):
        name = f"{PREFIX}{value.__module__}.{value.__qualname__}"
        user_class.remember(name, value)
        return name
    if isinstance(value, Mapping):
        return {key: with_names(inner) for key, inner in value.items()}
    return [with_names(inner) for inner in value] if isinstance(value, list | tuple) else value


def find(name: str) -> type[Any]:
    """The congestion control "python:module.Class". Raises InvalidValue."""
    return user_class.find(name, CongestionControl)


def digest(name: str) -> str:
    """16 hex digits over the source of the class's module; changed source has another digest."""
    class_ = user_class.find(name, object)
    try:
        text = inspect.getsource(sys.modules[class_.__module__])
    except (OSError, TypeError, KeyError):
        try:
            text = inspect.getsource(class_)
        except (OSError, TypeError):
            text = f"no source {id(class_)} {os.getpid()}"  # unique: results are not reused
    return sha256(text.encode()).hexdigest()[:16]


def classes(names: Iterable[str]) -> dict[str, type[Any]]:
    """Name to class, for the engine."""
    return {name: user_class.find(name, object) for name in names}


def is_importable(name: str) -> bool:
    """Whether another process can import the class: not one of the running script or within a
    function or a class.
    """
    class_ = user_class.find(name, object)
    return class_.__module__ != "__main__" and class_.__qualname__.isidentifier()


def traceback_of(error: BaseException) -> str:
    """The traceback of an exception in a class of the user."""
    cause = error.__cause__ or error
    return "".join(traceback.format_exception(cause)).rstrip()
