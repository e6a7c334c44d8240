"""What a link does from time to time, and runs that are too short for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ackclock.format import joined
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.units import show_time

PS_PER_S = 10**12


def missed_events(hops: Sequence[Hop], duration_ps: int, seeds: int) -> list[str]:
    """A sentence about the handovers and outages that a run of this duration does not reach, and
    the fades that the runs of all seeds together have less than once in the mean; none if there are
    no such events. Recorded rates have sentences of their own (simulation/recordings.py).
    """
    found = list(dict.fromkeys(event for hop in hops for event in _missed(hop, duration_ps, seeds)))
    if not found:
        return []
    runs = f"Runs of {show_time(duration_ps)} ({seeds} seed{'s' if seeds > 1 else ''}) are too short"
    return [f"{runs} for {joined(found)}: a longer --duration shows them."]


def _missed(hop: Hop, duration_ps: int, seeds: int) -> Iterator[str]:
    roaming = getattr(hop.medium, "handover", None)
    for handover in (roaming, *(side.handover for name in DIRECTIONS if (side := getattr(hop, name)))):
        if handover and _first_ps(handover) + handover.gap >= duration_ps:
            first = show_time(_first_ps(handover))
            yield f"the handovers of `{hop.name}`, every {show_time(handover.every)} from {first} on"
    for name in DIRECTIONS:
        side = getattr(hop, name)
        if side is None:
            continue
        for outage in side.outage:
            if outage.end > duration_ps:
                yield f"the outage of `{hop.name} {name}` from {show_time(outage.start)} to {show_time(outage.end)}"
        if (
            side.loss
            and side.loss.kind == "gilbert-elliott"
            and (every_ps := _fade_every_ps(side.loss)) > duration_ps * seeds
        ):
            yield f"the fades of `{hop.name}`, one in {round(every_ps / PS_PER_S)} s on average"


def _first_ps(handover: CheckedTable) -> int:
    first: int | None = handover.first
    every: int = handover.every
    return every if first is None else first


def _fade_every_ps(loss: CheckedTable) -> int:
    """The mean time from a fade to the next; 0 without fades."""
    if not (loss.mean or loss.loss_bad):
        return 0
    sojourns: dict[str, int] = loss.plan()
    return sojourns["good_ps"] + sojourns["bad_ps"]
