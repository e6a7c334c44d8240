"""A link from the capture of the sender's end alone.

ACKs and their SACK blocks show which segments arrived, and when, with the delay of the ACKs added
(crates/trace, join/sender_end). The estimators of two captures then apply to the direction of the
data. What the direction of the ACKs adds to delays does not show apart.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.documents.parts import OPPOSITE, Direction
from ackclock.errors import NoPath
from ackclock.fitting import aqm
from ackclock.fitting.engine import sender_end_fit, shape_of
from ackclock.fitting.hop import FittedHop, hop_of, used_values
from ackclock.fitting.parameters import (
    ASYMMETRY,
    DRAWS,
    NS_PER_MS,
    Interval,
    Parameter,
    guesses,
    parameters_of,
    path_of,
    queue_guesses,
)
from ackclock.fitting.prediction import CANDIDATES, Transfers, misfit

if TYPE_CHECKING:
    from ackclock.documents.engine import LinkFit, LinkShape
    from ackclock.fitting.media import Search

ACK_BYTES = 60
ACK_RATE_ERROR = 5e-4
"""Half-width of the interval of a rate by ACKs, relative: hosts delay those by different times."""
BURST_ERROR = 1.5
"""Factor of a burst length's interval beyond that of the losses' number: of losses near the queue's
limit ACKs do not show the cause, which joins and divides bursts. Without it 13 of 16 intervals
cover the length, and 3 of 5 on other links."""
FULL_BYTES = 1500.0
MIN_JITTER_MS = 0.3
"""Jitter of both directions, 95 % quantile, that hosts do not explain."""
MIN_LATE_MS = 0.15
"""Minimum delay of packets that others overtake, by ACKs: hosts delay those by different times."""
MIN_SHARED = 1.05
"""Minimum ratio of the rate that most ACKs are spaced by to the mean rate, of a shared link."""
SHORT_QUEUE_BYTES = 6000
"""Queue behind a bucket that ACKs do not distinguish from its burst: four full packets."""
SHARED = "the link served others as well: most ACKs are spaced by a higher rate than the mean"
UNSEEN = "one end does not show the direction of ACKs"
OF_BOTH = "one end shows the sum of both directions' delays; the link has all of it in the direction of the data"


@dataclass(frozen=True)
class SenderEnd:
    """The capture at the sender of the data, with a packet filter. It stands for the captures of
    both ends (`prediction.Ends`).
    """

    capture: str
    only: str | None
    direction: Direction
    """Of the data."""
    searches: dict[str, Search] = field(default_factory=dict, compare=False, repr=False)

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows until `until_s`."""
        from ackclock.fitting.one_end import read

        assert since_s is None
        return read(self.capture, self.only, until_s).seen

    def link_fit(self, until_s: float | None, draws: int, seed: int, *, queue_drops: bool = True) -> LinkFit | None:
        """The engine's fit to the capture; None if no ACK shows an RTT."""
        only = PacketFilter(parse_filter(self.only), None, until_s)
        return sender_end_fit(self.capture, only, self.direction, seed, draws, queue_drops=queue_drops)

    def replay_shape(self, captures: Sequence[str]) -> LinkShape:
        """How packets arrive by this end's capture of a replay."""
        end = "server" if self.direction == "down" else "client"
        (own,) = (name for name in captures if f".{end}." in name)
        found = sender_end_fit(own, PacketFilter(None), self.direction, 1, 2)
        if found is None:
            raise NoPath.problem("no ACK of the replay shows an RTT", "")
        return shape_of(found)


def rows_of(parameters: Sequence[Parameter], fit: LinkFit, data: Direction) -> list[Parameter]:
    """The parameters without what one end does not show."""
    acks = OPPOSITE[data]
    jitter_ms = (fit[data]["jitter"]["p95"] or 0.0) / NS_PER_MS
    is_jittered = jitter_ms > MIN_JITTER_MS
    rate = fit[data]["rate"]["value"]
    late_ms = max((row.used or 0.0 for row in parameters if row.key == f"reorder.{data}.delay"), default=0.0)
    hidden = [f"{name}.{acks}" for name in ("loss", "jitter", "reorder", "handover")]
    hidden += [f"reorder.{data}"] if late_ms < MIN_LATE_MS else []
    rows = []
    for row in parameters:
        key, rng = row.key, random.Random(row.key)
        whole = None if row.value is None or row.lo is None or row.hi is None else Interval(row.value, row.lo, row.hi)
        if key.startswith(tuple(hidden)):
            continue
        if key in (f"rate.{acks}", f"queue.{acks}.bytes"):
            unseen = replace(row, status="assumed", method="none", evidence=UNSEEN, why=UNSEEN, lo=None, hi=None)
            rows.append(replace(unseen, draws=_unseen_draws(key, row.used, rate) if row.used else ()))
        elif key.startswith(f"jitter.{data}") and row.used:
            rows.append(replace(row, status="assumed", value=None, lo=None, hi=None, why=OF_BOTH))
        elif key == f"rate.{data}" and whole is not None:
            wider = replace(whole, lo=whole.lo * (1 - ACK_RATE_ERROR), hi=whole.hi * (1 + ACK_RATE_ERROR))
            rows.append(row.with_interval(wider.rounded()))
        elif key == f"queue.{data}.bytes" and whole is not None and rate:
            # The wait by ACKs has the jitter of both directions, and the two packets of an ACK.
            held = 2 * FULL_BYTES + (rate / 8e3 * jitter_ms if is_jittered else 0.0)
            rows.append(row.with_interval(replace(whole, lo=max(FULL_BYTES, whole.lo - held)).rounded()))
        elif key == f"policer.{data}.burst" and whole is not None:
            rows.append(row.with_interval(replace(whole, lo=max(0.0, whole.lo - SHORT_QUEUE_BYTES)).rounded()))
        elif key == f"loss.{data}.mean" and row.hi is not None and row.value is not None:
            # A backlog by ACKs is off by a packet or two: a loss near the limit has either cause.
            hi = max(row.hi, fit[data]["lost"] / fit[data]["packets"])
            rows.append(row.with_interval(Interval(row.value, row.lo or 0.0, hi).rounded()))
        elif key == f"loss.{data}.bad_sojourn" and row.lo is not None and row.hi is not None:
            drawn = tuple(draw * BURST_ERROR ** rng.uniform(-1, 1) for draw in row.draws)
            rows.append(replace(row, lo=row.lo / BURST_ERROR, hi=row.hi * BURST_ERROR, draws=drawn))
        elif key == "delay" and whole is not None:
            # The service of an ACK on a slower link, and the jitter of both directions.
            slower = 4e3 * ACK_BYTES * ASYMMETRY / rate if rate else 0.0
            late = jitter_ms if is_jittered else 0.0
            whole = replace(
                whole, lo=max(0.0, min(whole.lo, whole.hi - slower) - jitter_ms / 2), hi=whole.hi + late
            ).rounded()
            drawn = tuple(rng.uniform(whole.lo, whole.hi) for _ in row.draws)
            text = f"{row.evidence}; half of the RTT in each direction"
            found = replace(row.with_interval(whole), evidence=text, draws=drawn)
            why = "" if whole.is_narrow else "jitter of both directions hides the minimum RTT"
            rows.append(replace(found, status="bounded", value=None, why=why) if why else found)
        else:
            rows.append(row)
    return rows


def beside_others(
    parameters: Sequence[Parameter], fit: LinkFit, data: Direction, spaced_bps: float | None
) -> list[Parameter]:
    """The parameters of a link that serves others as well: most ACKs are spaced by a higher rate
    than the mean. What others fill its queue with shows in no ACK.

    Args:
        parameters: of `rows_of`.
        fit: the engine's.
        data: direction of the data.
        spaced_bps: rate that most ACKs are spaced by, if there is one.
    """
    rate = fit[data]["rate"]
    is_shared = spaced_bps and rate["value"] and spaced_bps > MIN_SHARED * rate["value"]
    if not spaced_bps or not is_shared or rate["evidence"]["steps"] is not None:
        return list(parameters)
    rows = []
    for row in parameters:
        rng = random.Random(row.path)
        if row.key.startswith(f"loss.{data}.") and row.status == "identified":
            rows.append(replace(row, status="bounded", value=None, lo=0.0, why=SHARED))
        elif row.status != "identified" or row.lo is None or not row.key.startswith((f"rate.{data}", f"queue.{data}")):
            rows.append(row)
        elif row.key == f"rate.{data}":
            drawn = tuple(rng.uniform(row.lo, spaced_bps) for _ in range(DRAWS)) if row.draws else ()
            hi = max(row.hi or 0.0, spaced_bps)
            rows.append(replace(row, status="bounded", value=None, hi=hi, why=SHARED, draws=drawn))
        else:
            drawn = queue_guesses(row.used or row.lo, rng, spaced_bps, row.lo)
            rows.append(replace(row, status="bounded", value=None, hi=None, why=SHARED, draws=drawn))
    return rows


def _unseen_draws(key: str, used: float, rate_bps: float | None) -> tuple[float, ...]:
    """Draws of a rate or a queue in the direction of the ACKs."""
    rng = random.Random(path_of(key))
    return guesses(used, rng, below=ASYMMETRY) if key.startswith("rate") else queue_guesses(used, rng, rate_bps or 0.0)


@dataclass(frozen=True)
class LossesAlone:
    """The link whose losses are all the channel's, with the misfit of its replays."""

    hop: FittedHop
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


def losses_alone(fit: LinkFit, hop: FittedHop, seen: Transfers, variant: str | None) -> LossesAlone:
    """The link with all losses on the channel and none at its queue.

    Args:
        fit: the engine's fit, without drops of a queue.
        hop: the fitted hop with a queue that drops.
        seen: the transfers of the input.
        variant: the sender's congestion control, if it is known.
    """
    parameters = parameters_of(fit)
    losses = [row for row in parameters if row.path.startswith(path_of("loss", seen.direction))]
    lossy = replace(hop, loss=hop_of(used_values(parameters)).loss)
    replay = seen.replay()
    variants = [variant] if variant else CANDIDATES
    misfits = [misfit(replay.simulated(lossy.link(), name, [1]), seen.observed) for name in variants]
    return LossesAlone(lossy, losses, min(misfits))
