"""What a link does from time to time: how long runs are that see it, and what shorter ones miss.

A verdict over a link with handovers is worth something only if its runs have some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ackclock.format import joined
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.link.rate import is_schedule
from ackclock.input.units import show_rate, show_time

PS_PER_S = 10**12
AUTO = "auto"
"""The word for the duration that `auto_duration` gives."""
MIN_PS, MAX_PS = 10 * PS_PER_S, 60 * PS_PER_S
"""Bounds of `auto_duration`: a first look does not wait for what happens every hour."""
SLOTS = 3
"""Whole slots of all runs together: each has a rate of its own, as what is before the first."""
FADES = 3
"""Fades of all runs together, in the mean: exp(-3) = 5 % of such sets of runs have none."""


@dataclass(frozen=True, slots=True)
class _Event:
    """An event of a link.

    Attributes:
        text: what the link does, as a sentence's object.
        seen_ps: the duration from which a run has it.
        needed_ps: the duration of a run that has what follows, too: the interval after a handover,
            its share of `SLOTS` slots, an outage's time again after its end, its share of `FADES`
            fades.
    """

    text: str
    seen_ps: int
    needed_ps: int


def auto_duration(hops: Sequence[Hop], seeds: int) -> int:
    """The duration in ps, from 10 s to 60 s, of runs that have the link's own events: a handover
    and the interval after it, each outage and as long again, and in the runs of all seeds together
    `SLOTS` whole slots and `FADES` fades.
    """
    return min(max([MIN_PS, *(event.needed_ps for hop in hops for event in _events(hop, seeds))]), MAX_PS)


def lengthened(hops: Sequence[Hop], duration_ps: int, seeds: int) -> list[str]:
    """A sentence about what made `auto_duration` choose more than 10 s; none if nothing did."""
    reasons = dict.fromkeys(e.text for hop in hops for e in _events(hop, seeds) if e.needed_ps > MIN_PS)
    return [f"Runs of {show_time(duration_ps)}, not 10 s, because of {joined(list(reasons))}."] if reasons else []


def missed_events(hops: Sequence[Hop], duration_ps: int, seeds: int) -> list[str]:
    """A sentence about the handovers and outages that a run of this duration does not reach, and
    the fades that the runs of all seeds together have less than once in the mean; none if there are
    no such events. Recorded rates have sentences of their own (simulation/recordings.py).
    """
    missed = dict.fromkeys(e.text for hop in hops for e in _events(hop, seeds) if e.seen_ps > duration_ps)
    if not missed:
        return []
    runs = f"Runs of {show_time(duration_ps)} ({seeds} seed{'s' if seeds > 1 else ''}) are too short"
    return [f"{runs} for {joined(list(missed))}: a longer --duration shows them."]


def _events(hop: Hop, seeds: int) -> Iterator[_Event]:
    roaming = getattr(hop.medium, "handover", None)
    for handover in (roaming, *(side.handover for name in DIRECTIONS if (side := getattr(hop, name)))):
        if handover:
            first, every = _first_ps(handover), handover.every
            text = f"the handovers of `{hop.name}`, every {show_time(every)} from {show_time(first)} on"
            yield _Event(text, first + handover.gap + 1, first + every)
    if slots := hop.slots:
        text = (
            f"the slots of `{hop.name}`, which change every {show_time(slots.every)} from {show_time(slots.first)} on"
        )
        yield _Event(text, slots.first + slots.lost + slots.held + 1, slots.first + -(-SLOTS // seeds) * slots.every)
    for name in DIRECTIONS:
        side = getattr(hop, name)
        if side is None:
            continue
        yield from _scheduled(hop.name, name, side)
        for outage in side.outage:
            text = f"the outage of `{hop.name} {name}` from {show_time(outage.start)} to {show_time(outage.end)}"
            yield _Event(text, outage.end, 2 * outage.end - outage.start)
        if side.loss and side.loss.kind == "gilbert-elliott" and (every_ps := _fade_every_ps(side.loss)):
            text = f"the fades of `{hop.name}`, one in {_seconds(every_ps)} s on average"
            yield _Event(text, -(-every_ps // seeds), FADES * every_ps // seeds)


def _scheduled(hop: str, direction: str, side: CheckedTable) -> Iterator[_Event]:
    """The last steps of the schedules of a direction."""
    steps = (
        ("rate", side.rate, lambda bps: show_rate(bps) if bps else "0 b/s"),
        ("delay", side.delay, show_time),
        ("mean loss", getattr(side.loss, "mean", None), "{:g}".format),
    )
    for what, schedule, show in steps:
        if is_schedule(schedule) and (at := schedule.schedule[-1][0]):
            value = show(schedule.schedule[-1][1])
            text = f"the {what} of {value} that `{hop} {direction}` has from {show_time(at)} on"
            yield _Event(text, at + 1, schedule.repeat or 2 * at)


def _first_ps(handover: CheckedTable) -> int:
    first: int | None = handover.first
    every: int = handover.every
    return every if first is None else first


def _fade_every_ps(loss: CheckedTable) -> int:
    """The mean time from a fade to the next, of a scheduled mean at its maximum; 0: no fades."""
    good: int | None = loss.good_ps
    if good is None or not (loss.mean or loss.loss_bad):
        return 0
    bad: int = loss.bad_ps
    return good + bad


def _seconds(time_ps: int) -> str:
    seconds = time_ps / PS_PER_S
    return str(round(seconds)) if seconds >= 10 else f"{seconds:.1f}"
