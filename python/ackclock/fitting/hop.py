"""The hop of a fitted link, and the one that parameters describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ackclock.documents.parts import DIRECTIONS
from ackclock.fitting.parameters import HOP, Parameter, path_of
from ackclock.input.objects import (
    Grants,
    Handover,
    Hop,
    Jitter,
    Link,
    Loss,
    Policer,
    Queue,
    Recording,
    Reordering,
    Shaper,
    Wimax,
)
from ackclock.input.units import PS_PER_S, show_rate, show_size, show_time

PATH_ORDER = ("name", "policer", "shaper", "rate", "framing", "queue", "loss")
MEDIUM_ORDER = ("name", "loss", "reorder", "handover", "medium", "delay", "queue")
"""The first keys of the hop's table, without and with a medium."""


@dataclass(frozen=True, kw_only=True)
class FittedHop(Hop):
    """The hop of a fitted link: tables by direction; without an entry nothing was fitted."""

    name: str = HOP
    policer: Mapping[str, Policer] = field(default_factory=dict)
    shaper: Mapping[str, Shaper] = field(default_factory=dict)
    rate: Mapping[str, str | Recording] = field(default_factory=dict)
    framing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    delay: str | Mapping[str, str] | None = None
    queue: Mapping[str, Queue] = field(default_factory=dict)
    loss: Mapping[str, Loss] = field(default_factory=dict)
    jitter: Mapping[str, Jitter] = field(default_factory=dict)
    reorder: Mapping[str, Reordering] = field(default_factory=dict)
    handover: Mapping[str, Handover] = field(default_factory=dict)
    medium: Grants | Wimax | None = None

    def to_dict(self) -> dict[str, Any]:
        """The [[hop]] table without empty ones."""
        table = super().to_dict()
        first = PATH_ORDER if self.medium is None else MEDIUM_ORDER
        return {key: table[key] for key in (*first, *table) if table.get(key)}

    def queue_path(self, direction: str) -> str:
        """The path of the queue that packets wait in: that of a shaper where there is one."""
        return path_of("shaper", direction, "queue") if direction in self.shaper else path_of("queue", direction)

    def with_queue(self, direction: str, queue: Queue) -> FittedHop:
        """The hop with this queue there."""
        if direction in self.shaper:
            shaper = replace(self.shaper[direction], queue=queue)
            return replace(self, shaper={**self.shaper, direction: shaper})
        return replace(self, queue={**self.queue, direction: queue})

    def link(self, title: str = "") -> Link:
        """The link of this hop alone."""
        return Link([self], title)


def hop_of(
    used: Mapping[str, float | None], *, unordered: Sequence[str] = (), cells: Mapping[str, str] | None = None
) -> FittedHop:
    """The hop with these values, by their path in it (`Parameter.key`).

    `unordered`: directions whose jitter reorders packets. `cells`: how the line divides packets, in
    directions whose framing is known.
    """
    rates: dict[str, str | Recording] = {
        d: show_rate(round(rate)) for d in DIRECTIONS if (rate := used.get(f"rate.{d}"))
    }
    return FittedHop(
        policer={
            d: Policer(rate=show_rate(round(rate)), burst=show_size(round(burst)))
            for d in DIRECTIONS
            if (rate := used.get(f"policer.{d}.rate")) and (burst := used.get(f"policer.{d}.burst"))
        },
        shaper={d: shaper for d in DIRECTIONS if (shaper := _shaper(used, d))},
        rate=rates,
        framing={d: _framing(used, d, known) for d, known in (cells or {}).items()},
        queue={d: _droptail(size) for d in rates if (size := used.get(f"queue.{d}.bytes")) is not None},
        loss={d: loss for d in DIRECTIONS if (loss := _loss(used, d))},
        delay=_time(used["delay"]) if "delay" in used else {d: _time(used[f"delay.{d}"]) for d in DIRECTIONS},
        jitter={d: jitter for d in DIRECTIONS if (jitter := _jitter(used, d, in_order=d not in unordered))},
        reorder={
            d: Reordering(mean=mean, delay=_time(delay))
            for d in DIRECTIONS
            if (mean := used.get(f"reorder.{d}.mean")) and (delay := used.get(f"reorder.{d}.delay"))
        },
        handover={
            d: Handover(every=_time(every), gap=_time(gap))
            for d in DIRECTIONS
            if (every := used.get(f"handover.{d}.every")) and (gap := used.get(f"handover.{d}.gap"))
        },
    )


def used_values(parameters: Sequence[Parameter]) -> dict[str, float | None]:
    """The values of a link file by their path in the hop."""
    return {parameter.key: parameter.used for parameter in parameters}


def _framing(used: Mapping[str, float | None], direction: str, cells: str) -> dict[str, str]:
    """The table of a framing; without a minimum, none is in it."""
    sizes = {key: used.get(f"framing.{direction}.{key}") for key in ("overhead", "mpu")}
    return {"cells": cells, **{key: show_size(round(size)) for key, size in sizes.items() if size is not None}}


def _shaper(used: Mapping[str, float | None], direction: str) -> Shaper | None:
    rate, burst, queue = (used.get(f"shaper.{direction}.{key}") for key in ("rate", "burst", "queue.bytes"))
    if not (rate and burst):
        return None
    return Shaper(rate=show_rate(round(rate)), burst=show_size(round(burst)), queue=_droptail(queue))


def _droptail(size: float | None) -> Queue:
    return Queue(kind="droptail", bytes=show_size(round(size or 0)))


def _loss(used: Mapping[str, float | None], direction: str) -> Loss | None:
    mean, sojourn = used.get(f"loss.{direction}.mean"), used.get(f"loss.{direction}.bad_sojourn")
    if not mean:
        return None
    if sojourn:
        return Loss(kind="gilbert-elliott", mean=mean, bad_sojourn=_time(sojourn))
    return Loss(kind="bernoulli", mean=mean)


def _jitter(used: Mapping[str, float | None], direction: str, *, in_order: bool) -> Jitter | None:
    """By the first parameter that its distribution alone has."""
    high, sd, mean = (
        _time(value) if (value := used.get(f"jitter.{direction}.{key}")) else None for key in ("high", "sd", "mean")
    )
    if not (high or sd or mean):
        return None
    kind: Literal["uniform", "normal", "exponential"] = "uniform" if high else "normal" if sd else "exponential"
    return Jitter(kind=kind, high=high, sd=sd, mean=mean, in_order=in_order)


def _time(ms: float | None) -> str:
    """Milliseconds as a link file's time, in whole microseconds; at least one."""
    return show_time(max(1, round(ms * 1e3)) * (PS_PER_S // 10**6)) if ms and ms > 0 else "0 s"


@dataclass(frozen=True)
class LinkDescription:
    """What an input says of its link: the parameters, the hop with them, and remarks on it."""

    parameters: list[Parameter]
    hop: FittedHop
    remarks: list[str]
