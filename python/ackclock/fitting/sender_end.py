"""A link from the capture of the sender's end alone.

ACKs and their SACK blocks show which segments arrived, and when, with the delay of the ACKs added
(crates/trace, join/sender_end). The estimators of two captures then apply to the direction of the
data. What the direction of the ACKs adds to delays does not show apart.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.fitting import aqm
from ackclock.fitting.engine import sender_end_fit
from ackclock.fitting.link_file import link_of
from ackclock.fitting.parameters import DIRECTIONS, DRAWS, GUESS, HOP, NS_PER_MS, Parameter, parameters_of, rounded
from ackclock.fitting.prediction import CANDIDATES, Transfers, misfit

if TYPE_CHECKING:
    from ackclock.documents.engine import LinkFit

ACK_BYTES = 60
BURST_ERROR = 1.5
"""Factor of a burst length's interval beyond that of the losses' number: of losses near the queue's
limit ACKs do not show the cause, which joins and divides bursts. Without it 13 of 16 intervals
cover the length, and 3 of 5 on other links."""
UNSEEN = "one end does not show the direction of ACKs"
OF_BOTH = "one end shows the sum of both directions' delays; the link has all of it in the direction of the data"


@dataclass(frozen=True)
class SenderEnd:
    """The capture at the sender of the data, with a packet filter. It stands for the captures of
    both ends (`prediction.Ends`).
    """

    capture: str
    only: str | None
    direction: str
    """Of the data."""

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows until `until_s`."""
        from ackclock.fitting.one_end import read

        assert since_s is None
        return read(self.capture, self.only, until_s).seen

    def link_fit(self, until_s: float | None, draws: int, seed: int, *, queue_drops: bool = True) -> LinkFit | None:
        """The engine's fit to the capture; None if no ACK shows an RTT."""
        only = PacketFilter(parse_filter(self.only), None, until_s)
        return sender_end_fit(self.capture, only, self.direction, seed, draws, queue_drops=queue_drops)

    def replay_fit(self, captures: Sequence[str]) -> LinkFit:
        """The engine's fit to this end's capture of a replay."""
        end = "server" if self.direction == "down" else "client"
        (own,) = (name for name in captures if f".{end}." in name)
        found = sender_end_fit(own, PacketFilter(None), self.direction, 1, 2)
        assert found is not None
        return found


def rows_of(parameters: Sequence[Parameter], fit: Mapping[str, Any], data: str) -> list[Parameter]:
    """The parameters without what one end does not show."""
    acks = "up" if data == "down" else "down"
    jitter_ms = (fit[data]["jitter"]["p95"] or 0.0) / NS_PER_MS
    rate = fit[data]["rate"]["value"]
    rows = []
    for row in parameters:
        path = row.path.removeprefix(f"hop.{HOP}.")
        if path.startswith((f"loss.{acks}", f"jitter.{acks}", f"reorder.{acks}", f"handover.{acks}")):
            continue
        if path in (f"rate.{acks}", f"queue.{acks}.bytes"):
            unseen = replace(row, status="assumed", method="none", evidence=UNSEEN, why=UNSEEN, lo=None, hi=None)
            rows.append(replace(unseen, draws=_guesses(row)))
        elif path.startswith(f"jitter.{data}") and row.used:
            rows.append(replace(row, status="assumed", value=None, lo=None, hi=None, why=OF_BOTH))
        elif path == f"loss.{data}.mean" and row.hi is not None and row.value is not None:
            # A backlog by ACKs is off by a packet or two: a loss near the limit has either cause.
            hi = max(row.hi, fit[data]["lost"] / fit[data]["packets"])
            value, lo, hi = rounded(row.value, row.lo or 0.0, hi)
            rows.append(replace(row, value=value, lo=lo, hi=hi))
        elif path == f"loss.{data}.bad_sojourn" and row.lo is not None and row.hi is not None:
            rng = random.Random(path)
            drawn = tuple(draw * BURST_ERROR ** rng.uniform(-1, 1) for draw in row.draws)
            rows.append(replace(row, lo=row.lo / BURST_ERROR, hi=row.hi * BURST_ERROR, draws=drawn))
        elif path == "delay" and row.lo is not None and row.value is not None and row.hi is not None:
            # The service of an ACK on a slower link, and the jitter of both directions.
            slower = 4e3 * ACK_BYTES * GUESS / rate if rate else 0.0
            value, lo, hi = rounded(row.value, max(0.0, row.lo - slower - jitter_ms / 2), row.hi)
            rng = random.Random(path)
            text = f"{row.evidence}; half of the RTT in each direction"
            drawn = tuple(rng.uniform(lo, hi) for _ in row.draws)
            rows.append(replace(row, value=value, lo=lo, hi=hi, evidence=text, draws=drawn))
        else:
            rows.append(row)
    return rows


def _guesses(row: Parameter) -> tuple[float, ...]:
    """Draws of a value that does not show."""
    rng = random.Random(row.path)
    return tuple((row.used or 0.0) * GUESS ** rng.uniform(-1, 1) for _ in range(DRAWS)) if row.used else ()


@dataclass(frozen=True)
class LossesAlone:
    """The link whose losses are all the channel's, with the misfit of its replays."""

    link: dict[str, Any]
    losses: Sequence[Parameter]
    """The rows of its loss."""
    misfit: float

    def is_better(self, kind: aqm.QueueKind) -> bool:
        """Its replays are like the input, and more so than with any queue that drops."""
        return self.misfit <= aqm.MAX_MISFIT and self.misfit < min(kind.misfit, kind.droptail)

    def rows(self, parameters: Sequence[Parameter]) -> list[Parameter]:
        """The parameters with this loss."""
        own = {row.path for row in self.losses}
        prefix = next(iter(own)).rpartition(".")[0]
        return [*(row for row in parameters if not row.path.startswith(prefix)), *self.losses]


def losses_alone(fit: Mapping[str, Any], link: Mapping[str, Any], seen: Transfers, variant: str | None) -> LossesAlone:
    """The link with all losses on the channel and none at its queue.

    Args:
        fit: the engine's fit, without drops of a queue.
        link: the fitted link with a queue that drops.
        seen: the transfers of the input.
        variant: the sender's congestion control, if it is known.
    """
    prefix = f"hop.{HOP}.loss.{seen.direction}"
    parameters = parameters_of(fit)
    losses = [row for row in parameters if row.path.startswith(prefix)]
    (hop,) = link["hop"]
    (lossy,) = link_of(parameters, dict.fromkeys(DIRECTIONS, True), "")["hop"]
    changed = {**link, "hop": [{**hop, "loss": lossy.get("loss", {})}]}
    replay = seen.replay()
    variants = [variant] if variant else CANDIDATES
    misfits = [misfit(replay.simulated(changed, name, [1]), seen.observed) for name in variants]
    return LossesAlone(changed, losses, min(misfits))
