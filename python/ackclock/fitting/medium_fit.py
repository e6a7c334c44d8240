"""The medium of a link that sends at fixed times: which one, with its rate and queue.

Each medium that may have the periods of the arrivals replays the input; the distance of its replays
from the input weighs rates, queues and delays.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from ackclock.documents.parts import OPPOSITE, Direction
from ackclock.fitting.hop import FittedHop
from ackclock.fitting.media import (
    SCALES,
    UPLINK_SHARE,
    USUAL_FRAME_MS,
    WINDOWS_MS,
    Bucket,
    Medium,
    Point,
    Search,
    search_of,
)
from ackclock.fitting.parameters import VARIES, Interval, Parameter, guesses, of_draws, path_of
from ackclock.fitting.prediction import CANDIDATES, Source, Transfers
from ackclock.input.objects import Grants
from ackclock.input.units import rate_bps, show_rate, size_bytes

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionFit, FittedServiceRate, LinkFit

Table = TypeVar("Table")
PACKET = 1500
MIN_QUEUE_BYTES = 2 * PACKET
RATES = (1.0, 1.5, 2.3, 4.0, 8.0, 32.0)
"""Rates that are tried where no queue stood, relative to the smallest that is possible."""
QUEUES = (4500, 6000, 7500, 9000, 10_500, 12_000, 18_000, 36_000, 72_000, 150_000, 300_000, 600_000, 1_200_000)
QUEUE_STEPS = (0.7, 0.85, 1.2, 1.4)
"""Queues that are tried, and those around the best of them relative to it."""
MAX_QUEUE_S = 4.0
MIN_BUSY_S = 1.0
"""Time of a standing queue from which on its rate is the medium's: bursts are faster."""
BURST_ERROR = 0.1
"""Half-width of the interval of a burst, relative."""
CELL_SHARES = (0.3, 1.1)
"""Rates of cells that are tried, relative to the largest burst's: a cell sends it in a part of the
frame."""
RATE_SHARES = (0.85, 1.25)
"""The same relative to a rate that is known."""
HELD_BACK_MS = 10.0
STEPS = (1.5, 1.25, 1.1)
"""Factors by which the search moves rate and queue."""
AS_GOOD = 3.0
"""Difference of distances up to which a noise of a repeat may be the reason."""
STARTS = 6
"""Queues from which the search in the delay starts."""
PHASES = 5
"""Delays to either side that are tried within a frame."""
DELAY_STEPS = (0.2, 0.1, 0.05)
"""Steps of the search in the delay, relative to a frame."""
FINALISTS = 2
"""Media that are searched further."""
CLOSE = 4
"""Points of the search's grid whose arrivals are compared as well."""
SAMPLES = 48
"""Replays around the best one, of which the draws are made."""
NEGLIGIBLE = 1e-4
"""Weight of a replay, relative to the best one's, that no draw would show."""
MAX_LIKE = 30.0
"""Sum of squared differences up to which an input is like the replays of a medium: the values of
rate, queue and delay that are tried are so far apart."""
LIKE_A_REPEAT = 6.0
"""Distance of the link without a medium from the input up to which no medium is clearly more like
it: one standard deviation in each figure."""
OF_QUEUE = "replays whose queue drops all lost packets are as like the input"
CLEARLY_BETTER = 0.5
"""Maximum ratio of the distances of a medium and of the link without one."""
REPLAYED_S = 15.0
"""Part of the input that is replayed: from its start, with the slow start's burst."""


@dataclass(frozen=True)
class MediumFit:
    """A medium that replays the input, with draws of rate, queue and delay."""

    search: Search
    rate: float
    queue: float
    delay: float
    distance: float
    without: float
    limit: float
    """Maximum distance of an input from this medium."""
    draws: Sequence[tuple[float, float, float]] = field(repr=False)
    all_at_queue: bool = False
    """The queue explains the losses that no backlog shows a cause of."""

    @property
    def hop(self) -> FittedHop:
        return self.search.with_values(self.rate, self.queue, self.delay)

    def parameters(self, others: Sequence[Parameter]) -> list[Parameter]:
        """The rows: those of the medium, and of `others` those that it does not replace."""
        data, medium, hop = self.search.seen.direction, self.search.medium, self.hop
        acks = OPPOSITE[data]
        rates, queues, delays = (list(one) for one in zip(*self.draws, strict=True))
        text = (
            f"replays of the input differ by {math.sqrt(self.distance):.1f} standard deviations of a repeat in goodput, "
            f"RTTs and retransmissions together, without a medium by {math.sqrt(self.without):.1f}"
        )
        method = "replays of the input"
        rows = [Parameter(path_of("medium"), "", "assumed", method, text, kind=medium.name)]
        agrees = self.distance <= MAX_LIKE
        differs = f"replays differ from the input by {math.sqrt(self.distance):.1f} standard deviations of a repeat"
        why = VARIES if agrees else differs
        if isinstance(hop.medium, Grants):
            key = "rate" if medium.bucket is None else "cap"
            # Without a standing queue a rate shows in little but the largest bursts.
            is_seen = agrees and (medium.bucket is not None or _is_known(self.search.fit[data]["rate"]))
            rows.append(of_draws(path_of("medium", key, data), "b/s", self.rate, rates, text, why=why, is_like=is_seen))
            if medium.bucket is not None:
                rows += [_burst(medium.bucket, len(self.draws)), _channel(data, medium.bucket, hop.medium)]
            used = self.rate * UPLINK_SHARE if data == "down" else self.rate / UPLINK_SHARE
            hidden = "the rate of the direction of ACKs does not show"
            drawn = guesses(used, random.Random(2), 3, len(self.draws))
            rows.append(Parameter.unseen(path_of("medium", key, acks), "b/s", hidden, used, drawn))
        elif hop.medium is not None:
            modulation = f"{hop.medium.channel}, {hop.medium.modulation}"
            rows.append(Parameter(path_of("medium", "modulation"), "", "assumed", method, text, kind=modulation))
        # Bursts alone do not show what lasts, and the delay of a queue depends on it.
        is_like = agrees and self.search.fit[data]["rate"]["evidence"]["bursts"] is None
        queue = of_draws(path_of("queue", data, "bytes"), "B", self.queue, queues, text, why=why, is_like=is_like)
        rows.append(self._by_steps(queue, STEPS[-1], PACKET))
        delay = of_draws(path_of("delay"), "ms", self.delay, delays, text, why=why, is_like=is_like)
        rows.append(self._by_steps(delay, 1.0, DELAY_STEPS[-1] * (medium.frame_ms or USUAL_FRAME_MS)))
        replaced: tuple[str, ...] = ("rate.", "jitter.", "delay", f"queue.{data}.")
        if medium.bucket is not None:
            replaced += ("shaper.",)
        if self.all_at_queue:
            replaced += (f"policer.{data}.", f"loss.{data}.")
        for row in others:
            if row.key == f"queue.{acks}.bytes":
                # As the medium's link has it.
                rows.append(replace(row, used=float(size_bytes(hop.queue[acks].bytes)), draws=()))
            elif row.key == f"loss.{data}.mean" and self.all_at_queue:
                rows.append(replace(row, status="bounded", value=None, lo=0.0, used=0.0, why=OF_QUEUE, draws=()))
            elif row.key.startswith(f"loss.{data}.") and not agrees and row.status == "identified":
                rows.append(replace(row, status="bounded", value=None, lo=0.0, why=differs))
            elif not row.key.startswith(replaced):
                rows.append(row)
        return rows

    def _by_steps(self, row: Parameter, factor: float, step: float) -> Parameter:
        """The row with an interval wider by the last step of the search, a factor and a distance:
        the draws are values that were tried.
        """
        if row.lo is None or row.hi is None or row.used is None:
            return row
        found = Interval(row.used, max(min(step, row.lo), row.lo / factor - step), row.hi * factor + step)
        why = row.why or ("" if found.is_narrow else VARIES)
        rng = random.Random(row.path)
        drawn = tuple(max(min(step, draw), draw * factor ** rng.uniform(-1, 1)) for draw in row.draws)
        return Parameter.within(
            row.path, row.unit, row.method, row.evidence, found.rounded(), drawn, used=row.used, why=why
        )


def _burst(bucket: Bucket, count: int) -> Parameter:
    """The burst of a cap, by the arrival curve."""
    rng = random.Random(3)
    drawn = tuple(bucket.burst_bytes * (1 + BURST_ERROR / 2 * rng.gauss(0, 1)) for _ in range(count))
    found = Interval(*(round(bucket.burst_bytes * factor) for factor in (1, 1 - BURST_ERROR, 1 + BURST_ERROR)))
    text = f"bursts pass at {show_rate(round(bucket.peak_bps))}, then {show_rate(round(bucket.rate_bps))}"
    return Parameter.within(path_of("medium", "burst"), "B", "slopes of the arrival curve", text, found, drawn)


def _channel(data: str, bucket: Bucket, medium: Grants) -> Parameter:
    """The rate of the channel, at which a burst passes."""
    path, why = path_of("medium", "rate", data), "bursts show a lower bound alone"
    text = f"the largest burst passed at {show_rate(round(bucket.peak_bps))}"
    used = float(rate_bps(medium.rate[data]))
    return Parameter(path, "b/s", "bounded", "largest burst", text, lo=bucket.peak_bps, used=used, why=why)


@dataclass(frozen=True)
class UnlikeMedium:
    """The medium whose replays are most like the input, and less so than its own repeats."""

    name: str
    distance: float
    limit: float
    """Maximum distance of an input from this medium."""

    def remark(self) -> str:
        return (
            f"no medium with grants or frames is like the input: replays of the most similar one, {self.name}, differ by "
            f"{math.sqrt(self.distance):.0f} standard deviations of a repeat, an input from it by {math.sqrt(self.limit):.0f} "
            "at most; this link has none"
        )


def max_distance(repeats: Sequence[float]) -> float:
    """The distance up to which an input may be one from a medium's link: that of the repeat which
    differs most, and `MAX_LIKE`.
    """
    return max(repeats) + MAX_LIKE


def recognise(
    media: Sequence[Medium],
    fit: LinkFit,
    hop: FittedHop,
    seen: Transfers,
    source: Source,
    variant: str | None,
    count: int,
    seed: int,
) -> MediumFit | UnlikeMedium | None:
    """The medium whose replays are most like the input; None if the link without one is as good. It
    is not accepted if the input differs from its replays by more than repeats of them do.

    Args:
        media: those that are tried, by the whole input.
        fit: the engine's fit to the part of the input that is replayed.
        hop: the fitted hop without a medium.
        seen: the transfers of that part.
        source: the input, for the fit to captures of replays.
        variant: the sender's congestion control, if it is known.
        count: number of draws.
        seed: of the draws.
    """
    if not media or seen.observed.goodput_bps <= 0:
        return None
    variants = [variant] if variant else list(CANDIDATES)
    rest = replace(hop, rate={}, delay=None, queue={}, jitter={})
    if any(medium.bucket is not None for medium in media):
        rest = replace(rest, shaper={})  # the cap is that shaper
    without = math.inf
    for name in variants:
        without = min(without, search_of(media[0], rest, seen, name, fit, source).distance_of(hop.link(), without))
    if without <= LIKE_A_REPEAT:
        return None
    of_queue = with_all_drops_at_queue(rest, fit[seen.direction], seen.direction)
    found = _nearest(media, of_queue or rest, fit, seen, source, variants)
    all_at_queue = of_queue is not None
    if not found:
        return None
    if of_queue is not None and found[0][0] > LIKE_A_REPEAT:
        # Losses of the channel do not make another medium of it.
        others = _nearest([search.medium for _, _, search in found], rest, fit, seen, source, variants)
        if others and others[0][0] + AS_GOOD < found[0][0]:
            found, all_at_queue = others, False
    score, point, search = found[0]
    if score > CLEARLY_BETTER * without:
        return None
    limit = max_distance(search.repeats(*point))
    if score > limit:
        return UnlikeMedium(search.medium.name, score, limit)
    drawn = _draws(search, score, point, count, seed)
    return MediumFit(search, *point, score, without, limit, drawn, all_at_queue=all_at_queue)


def with_all_drops_at_queue(hop: FittedHop, fit: DirectionFit, data: Direction) -> FittedHop | None:
    """The hop without losses and policer in the direction of the data, where the queue may have
    dropped these packets: no backlog shows it without a rate. None if it has none, or if they are
    known to be no drops of the queue.
    """
    policer = fit["policer"]
    is_policed = (
        policer is not None and not policer["evidence"]["rate_is_open"] and not policer["evidence"]["like_queue"]
    )
    if _is_known(fit["rate"]) or is_policed or (data not in hop.loss and data not in hop.policer):
        return None
    return replace(hop, loss=_without(hop.loss, data), policer=_without(hop.policer, data))


def _without(tables: Mapping[str, Table], data: Direction) -> dict[str, Table]:
    return {direction: table for direction, table in tables.items() if direction != data}


def _nearest(
    media: Sequence[Medium], rest: FittedHop, fit: LinkFit, seen: Transfers, source: Source, variants: Sequence[str]
) -> list[tuple[float, Point, Search]]:
    """Distance, values and search of the media whose replays are most like the input, in order."""
    rates, queues = _starts(fit[seen.direction], seen)
    if _is_known(fit[seen.direction]["rate"]):
        within = RATE_SHARES[0] * rates[0], RATE_SHARES[1] * rates[0]
    else:
        peak = 8e3 * fit[seen.direction]["shape"]["max_bytes"][0] / WINDOWS_MS[0]
        within = CELL_SHARES[0] * peak, CELL_SHARES[1] * peak
    ranked: list[tuple[float, Point, Search]] = []
    for medium in media:
        search = search_of(medium, rest, seen, variants[0], fit, source)
        scored = sorted(_of_rate(search, rate, queues) for rate in medium.rates(rates, within))
        if not scored:
            continue
        nearest = search.nearest([alike for score, point in scored[:CLOSE] for alike in _alike(search, score, point)])
        assert nearest is not None
        best, point = nearest
        for name in variants[1:]:
            other = search_of(medium, rest, seen, name, fit, source)
            if (found := other.distance(*point, below=best)) < best:
                best, search = found, other
        ranked.append((best, point, search))
    ranked.sort(key=lambda one: one[0])
    finalists = [(*_descend(search, score, point), search) for score, point, search in ranked[:FINALISTS]]
    return sorted(finalists, key=lambda one: one[0])


def _of_rate(search: Search, rate: float, queues: Sequence[float]) -> tuple[float, Point]:
    """The best queue and delay at a rate, by what replays without captures show.

    Frames round RTTs: the minimum RTT allows delays that differ by a part of a frame, and packets
    meet other frames at each of them.
    """

    def of(queue: float, delay: float | None = None) -> tuple[float, float, float | None]:
        return search.distance(rate, queue, delay, shape=False), queue, delay

    coarse = sorted(of(size) for size in [q for q in queues if q * 8 / rate <= MAX_QUEUE_S] or queues[:1])
    frame = search.medium.frame_ms
    starts = coarse if frame is not None else coarse[:1]
    points = []
    for _, queue, _ in starts[:STARTS]:
        around = search.delay_of(rate, queue, shape=False)
        delays = [around] if frame is None else _around(around, frame, PHASES)
        best = min(of(queue, delay) for delay in delays)
        if len(queues) > len(QUEUE_STEPS):
            best = min(best, *(of(max(MIN_QUEUE_BYTES, best[1] * step), best[2]) for step in QUEUE_STEPS))
        points.append(best)
    found, queue, delay = min(points)
    assert delay is not None
    if frame is not None:
        found, queue, delay = min(of(queue, at) for at in _around(delay, frame / PHASES, 2))
        assert delay is not None
    return found, (rate, queue, delay)


def _alike(search: Search, score: float, point: Point) -> list[Point]:
    """Points with delays within half a frame whose replays without captures are as good: how
    packets arrive shows the difference.
    """
    rate, queue, delay = point
    if search.medium.frame_ms is None:
        return [point]
    around = [(rate, queue, at) for at in _around(delay, search.medium.frame_ms / 2, PHASES)]
    return [one for one in around if search.distance(*one, shape=False) <= score + AS_GOOD]


def _around(delay: float, width: float, steps: int) -> list[float]:
    """Delays within a width to either side."""
    return [at for step in range(-steps, steps + 1) if (at := delay + step * width / steps) >= 0]


def _is_known(rate: FittedServiceRate) -> bool:
    """A queue stood long enough for a rate."""
    return bool(
        rate["status"] == "identified" and rate["evidence"]["gaps"] and rate["evidence"]["busy_s"] >= MIN_BUSY_S
    )


def _starts(fit: DirectionFit, seen: Transfers) -> tuple[list[float], list[float]]:
    """Rates and queues from which the search starts."""
    rate, queue = fit["rate"], fit["queue"]
    bursts = dict(zip(WINDOWS_MS, fit["shape"]["max_bytes"], strict=True))
    # What a retransmission of the radio held back comes at once.
    smallest = max(8e3 * bursts[ms] / (ms + HELD_BACK_MS) for ms in (10, 20, 50))
    if _is_known(rate):
        rates = [Interval.of(rate).value * factor for factor in (1.0, 1.15)]
    else:
        rates = [max(seen.observed.goodput_bps, smallest) * factor for factor in RATES]
    if queue is not None and queue["status"] == "identified":
        return rates, [Interval.of(queue).value * factor for factor in (0.7, 1.0, 1.4)]
    return rates, [float(size) for size in QUEUES]


def _descend(search: Search, score: float, point: Point) -> tuple[float, Point]:
    """The best point that steps in rate, queue and delay reach, of which each queue is a packet or
    more.
    """
    phase = search.medium.frame_ms or USUAL_FRAME_MS
    for step, part in zip(STEPS, DELAY_STEPS, strict=True):
        for _ in range(4):
            rate, queue, delay = point
            larger, smaller = max(queue * step, queue + PACKET), min(queue / step, queue - PACKET)
            around = [(rate * step, queue, delay), (rate / step, queue, delay)]
            around += [(rate, larger, delay), (rate, smaller, delay)]
            around += [(rate, queue, delay + part * phase), (rate, queue, delay - part * phase)]
            best = search.nearest([one for one in around if one[1] >= MIN_QUEUE_BYTES and one[2] >= 0], score)
            if best is None:
                break
            score, point = best
    return score, point


def _draws(search: Search, score: float, point: Point, count: int, seed: int) -> list[tuple[float, float, float]]:
    """Draws of rate, queue and delay: replays around the best one, weighted by their distance. A
    medium that is not quite like the input has wider ones.
    """
    rng = random.Random(f"medium {seed}")
    scale = max(1.0, score / len(SCALES))
    rate, queue, delay = point
    phase = search.medium.frame_ms or USUAL_FRAME_MS
    points = [point]
    spread = math.log(2.0) if search.medium.is_continuous else 0.0
    of_bursts = search.fit[search.seen.direction]["rate"]
    # Bursts alone do not show what lasts: a cap may be as low as what was seen.
    lowest = of_bursts["lo"] or rate if of_bursts["evidence"]["bursts"] and spread else rate
    for index in range(SAMPLES):
        # A half of the samples close by: a sharp input has a narrow interval.
        width = spread if index % 2 else spread / 6
        points.append(
            (
                rate * math.exp(rng.uniform(-max(width, math.log(rate / min(lowest, rate))), width)),
                max(MIN_QUEUE_BYTES, queue * math.exp(rng.uniform(-1, 1) * (0.7 if index % 2 else 0.12))),
                max(0.0, delay + phase * rng.uniform(-1, 1) * (DELAY_STEPS[0] if index % 2 else DELAY_STEPS[-1])),
            )
        )
    negligible = score - 2 * scale * math.log(NEGLIGIBLE)
    distances = [search.distance(*one, below=negligible) for one in points]
    weights = [math.exp(-max(0.0, found - score) / 2 / scale) for found in distances]
    chosen = rng.choices(points, weights, k=count)
    drawn = []
    for one in chosen:
        kernel = 1 + rng.gauss(0, 0.02)
        drawn.append(
            (
                one[0] * kernel,
                max(MIN_QUEUE_BYTES, one[1] * (1 + rng.gauss(0, 0.03))),
                one[2] * (1 + rng.gauss(0, 0.005)),
            )
        )
    return drawn


def remarks(found: MediumFit) -> list[str]:
    """Sentences on what was taken for granted, and on how like the input the medium is."""
    is_download = found.search.seen.direction == "down"
    of_uploads = (
        ": predictions of uploads may be off by 40 %, until an upload is captured as well" if is_download else ""
    )
    texts = [
        f"the medium is the one whose replays are most like the input, from a sender with {found.search.variant}; "
        f"the direction of ACKs is assumed{of_uploads}"
    ]
    if found.distance > MAX_LIKE:
        texts.append(
            f"replays differ from the input by {math.sqrt(found.distance):.0f} standard deviations of a repeat, repeats from "
            f"each other by up to {math.sqrt(found.limit - MAX_LIKE):.0f}: rate and queue may be others"
        )
    return texts
