"""The engine's fit to captures of both ends, or of the sender's end (crates/fit)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.errors import NoPath, native_errors
from ackclock.fitting.parameters import DRAWS

if TYPE_CHECKING:
    from ackclock._native import EndCapture
    from ackclock.analysis.filter import PacketFilter
    from ackclock.documents.engine import FitReport, LinkFit, LinkShape

PIECE = 1_000_000
"""Packets between two looks at signals."""


def _end(name: str, only: PacketFilter, *, is_alone: bool = False) -> EndCapture:
    """A capture that was read."""
    from ackclock import _native

    with native_errors(file=name):
        end = _native.EndCapture(name, only.as_json(), is_alone=is_alone)
        while end.advance(PIECE) == PIECE:
            pass
        end.finish()
    return end


def engine_fit(
    names: Sequence[str], only: Sequence[PacketFilter], error_s: float | None, seed: int, draws: int = DRAWS
) -> FitReport:
    """The runs and the parameters of the link, as the engine reports them.

    `only`: the filter of each capture.

    Raises NoPath: a capture has no partner, or a pair shows no path. InputError: one is unreadable.
    """
    from ackclock import _native

    ends = [_end(name, filter_of) for name, filter_of in zip(names, only, strict=True)]
    with native_errors(refusal=NoPath):
        return _native.fit_link(ends, None if error_s is None else error_s * 1e9, draws, seed)


def engine_shape(names: Sequence[str]) -> LinkShape:
    """How packets arrive by captures of both ends, as `engine_fit` would report it; its errors."""
    from ackclock import _native
    from ackclock.analysis.filter import PacketFilter

    ends = [_end(name, PacketFilter(None)) for name in names]
    with native_errors(refusal=NoPath):
        return _native.link_shape(ends)


def shape_of(fit: LinkFit) -> LinkShape:
    """How packets arrived, by the engine's fit to them."""
    return {"down": fit["down"]["shape"], "up": fit["up"]["shape"]}


def carried_at_end(name: str, only: PacketFilter, direction: str, *, is_sender: bool) -> float:
    """A lower bound of the rate of the link in bit/s, by what one end shows was carried; 0 if
    nothing arrived. `direction`: of the data.
    """
    from ackclock import _native

    end = _end(name, only, is_alone=True)
    with native_errors():
        return _native.carried_at_end(end, direction == "down", is_sender) or 0.0


def sender_end_fit(
    name: str, only: PacketFilter, direction: str, seed: int, draws: int = DRAWS, *, queue_drops: bool = True
) -> LinkFit | None:
    """The parameters of the link by the capture at the sender of the data; None if no ACK shows an
    RTT. `direction`: of the data. Delays and jitter include those of the ACKs. `queue_drops`:
    losses may be a queue's; else all of them are the channel's.
    """
    from ackclock import _native

    end = _end(name, only, is_alone=True)
    with native_errors():
        return _native.fit_sender_end(end, direction == "down", queue_drops, draws, seed)
