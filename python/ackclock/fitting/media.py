"""Links whose medium sends at fixed times (grants, frames): which medium, and its rate and queue.

Arrival times show the period alone. Each medium that may have it replays the input; the distance of
its replays from the input weighs rates, queues and delays.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.errors import InputError, InvalidValue
from ackclock.fitting.hop import FittedHop
from ackclock.fitting.parameters import (
    MIN_PACKETS_BYTES,
    NS_PER_MS,
    Interval,
    Parameter,
    guesses,
    path_of,
)
from ackclock.fitting.prediction import CANDIDATES, Observed, Replay, Source, Transfers
from ackclock.input.objects import Grants, Link, Queue, Wimax
from ackclock.input.units import rate_bps, show_rate, show_size, size_bytes

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionFit, FittedServiceRate, LinkFit

PACKET = 1500
MIN_QUEUE_BYTES = 2 * PACKET
START_MS = 5.0
"""What a medium adds to half of the minimum RTT, to start from."""
UPLINK_SHARE = 1 / 3
"""Assumed rate of the direction that carried ACKs alone: media for access are asymmetric."""
FRAMES_MS = (2.0, 2.5, 4.0, 5.0, 8.0, 10.0, 12.5, 20.0)
"""Frames of 802.16."""
USUAL_FRAME_MS = 5.0
MIN_FRAME_JITTER_MS = 1.0
"""Minimum 95 % quantile of the delays above their floor, in both directions, of a medium that sends
at fixed times: hosts have less."""
MIN_DROPS = 3
CAPPED = "docsis-3.1"
STANDARDS = ("lte", "nr", "docsis-3.1")
RATES = (1.0, 1.5, 2.3, 4.0, 8.0, 32.0)
"""Rates that are tried where no queue stood, relative to the smallest that is possible."""
QUEUES = (4500, 6000, 7500, 9000, 10_500, 12_000, 18_000, 36_000, 72_000, 150_000, 300_000, 600_000, 1_200_000)
QUEUE_STEPS = (0.7, 0.85, 1.2, 1.4)
"""Queues that are tried, and those around the best of them relative to it."""
REPLAYED_S = 15.0
"""Part of the input that is replayed: from its start, with the slow start's burst."""
SEEDS = (1, 2, 3)
MAX_QUEUE_S = 4.0
MIN_BUSY_S = 1.0
"""Time of a standing queue from which on its rate is the medium's: bursts are faster."""
CAPS = (1.0, 1.03)
"""Caps that are tried, relative to the mean rate: headers count in a cap."""
MIN_PEAK = 2.0
"""Minimum rate of a channel, relative to a cap on it."""
BURST_ERROR = 0.1
"""Half-width of the interval of a burst, relative."""
CELL_SHARES = (0.3, 1.1)
"""Rates of cells that are tried, relative to the largest burst's: a cell sends it in a part of the
frame."""
RATE_SHARES = (0.85, 1.25)
"""The same relative to a rate that is known."""
Point = tuple[float, float, float]
"""Rate in bit/s, queue in bytes and delay in ms."""
WINDOWS_MS = (2, 5, 10, 20, 50)
"""Windows of the engine's `max_bytes`."""
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
SCALES = {"goodput_bps": 0.03, "rtt_min_ms": 0.03, "rtt_p50_ms": 0.05, "rtt_mean_ms": 0.03, "rtt_p95_ms": 0.06}
"""Relative differences from the input that are one standard deviation: that of a repeat."""
RETRANSMISSION_SCALE = 0.4
BURST_SCALE = 0.25
DELAY_SCALE_MS = 0.5
DELAY_SCALE = 0.1
"""One standard deviation of the largest bursts (relative), and of the quantiles of the delays."""
MAX_SHAPE_TERM = 20.0
MAX_SHAPE = 200.0
MAX_TERM = 50.0
"""Maximum of one squared difference: one figure that no link has does not hide the others."""
MAX_LIKE = 30.0
"""Sum of squared differences up to which an input is like the replays of a medium: the values of
rate, queue and delay that are tried are so far apart."""
REPEATS = (11, 12, 13, 14, 15)
"""Seeds of the replays that are compared with the others, as repeats of the input."""
LIKE_A_REPEAT = 6.0
"""Distance of the link without a medium from the input up to which no medium is clearly more like
it: one standard deviation in each figure."""
CLEARLY_BETTER = 0.5
"""Maximum ratio of the distances of a medium and of the link without one."""


def distance(simulated: Observed, seen: Observed) -> float:
    """Squared differences of logarithms, in standard deviations, added up."""
    total = 0.0
    for name, scale in SCALES.items():
        both = getattr(simulated, name), getattr(seen, name)
        term = (math.log(both[0] / both[1]) / scale) ** 2 if min(both) > 0 else MAX_TERM
        total += min(term, MAX_TERM)
    ratio = math.log((simulated.retransmission_rate + 3e-4) / (seen.retransmission_rate + 3e-4))
    return total + min((ratio / RETRANSMISSION_SCALE) ** 2, MAX_TERM)


def shape_distance(simulated: LinkFit | None, seen: LinkFit | None) -> float:
    """Squared differences of two fits in how packets arrive, in standard deviations, added up: of
    the largest bursts, and of the quantiles of the delays of packets that waited for no other.
    `MAX_SHAPE` where one has no packet at both ends.
    """
    if simulated is None or seen is None:
        return MAX_SHAPE
    total = 0.0
    for direction in DIRECTIONS:
        own, other = simulated[direction]["shape"], seen[direction]["shape"]
        for size, seen_size in zip(own["max_bytes"], other["max_bytes"], strict=True):
            if seen_size:
                total += min((math.log(max(size, 1) / seen_size) / BURST_SCALE) ** 2, MAX_SHAPE_TERM)
        if not own["delays"] or not other["delays"]:
            total += MAX_TERM * (len(own["delays"]) != len(other["delays"]))
            continue
        # From the median: one early packet moves the minimum by a slot.
        middle = len(other["delays"]) // 2
        for one, two in zip(own["delays"], other["delays"], strict=True):
            difference = one - own["delays"][middle] - (two - other["delays"][middle])
            scale = DELAY_SCALE_MS * NS_PER_MS + DELAY_SCALE * abs(two - other["delays"][middle])
            total += min((difference / scale) ** 2, MAX_SHAPE_TERM)
    return total


@dataclass(frozen=True)
class Bucket:
    """A token bucket that the arrivals show: mean rate, burst, and the rate at which a burst
    passes.
    """

    direction: Direction
    rate_bps: float
    burst_bytes: float
    peak_bps: float

    def channel(self, down: float, up: float) -> dict[str, str]:
        """The rates of a channel with these caps, in bit/s; a burst passes at its rate."""
        peak = max(self.peak_bps, MIN_PEAK * max(down, up))
        share = UPLINK_SHARE if self.direction == "down" else 1 / UPLINK_SHARE
        channel = {self.direction: peak, OPPOSITE[self.direction]: peak * share}
        return {name: show_rate(round(bps)) for name, bps in channel.items()}


@dataclass(frozen=True)
class Medium:
    """A medium by name, such as "lte" or "wimax, frames of 5 ms"."""

    name: str
    standard: str | None = None
    frame_ms: float | None = None
    bucket: Bucket | None = None
    """Of a cap on the mean rate, which is then the rate that the search moves."""

    def table(self, rate: float, up: float) -> Grants | Wimax:
        """The medium with about this rate of the downlink, in bit/s."""
        if self.standard is None:
            assert self.frame_ms is not None
            return min(_cells(self.frame_ms), key=lambda cell: abs(math.log(cell[1] / rate)))[0]
        both = {"down": show_rate(round(rate)), "up": show_rate(round(up))}
        if self.bucket is None:
            return Grants(standard=self.standard, rate=both)
        burst = show_size(round(self.bucket.burst_bytes))
        return Grants(standard=self.standard, rate=self.bucket.channel(rate, up), cap=both, burst=burst)

    def rates(self, rates: Sequence[float], within: tuple[float, float]) -> list[float]:
        """The rates to start from; of cells those within these rates, in bit/s."""
        if self.bucket is not None:
            return [self.bucket.rate_bps * factor for factor in CAPS]
        if self.frame_ms is None:
            return list(rates)
        return [float(bps) for _, bps in _cells(self.frame_ms) if within[0] <= bps <= within[1]]

    @property
    def is_continuous(self) -> bool:
        """Any rate is possible."""
        return self.standard is not None


@lru_cache
def _cells(frame_ms: float) -> tuple[tuple[Wimax, int], ...]:
    """802.16 cells with their rates: common channels and all modulations."""
    from ackclock.input.checked_table import ReadBy, words

    cells = []
    for channel in ("3.5 MHz", "7 MHz", "10 MHz"):
        for modulation in words("Wimax", "contention_modulation"):
            cell = Wimax(channel=channel, frame=f"{frame_ms:g} ms", modulation=modulation, dl_ul="3:1")
            try:
                cells.append((cell, ReadBy("Medium")(cell.to_dict()).nominal_bps["down"]))
            except InvalidValue:  # a modulation of OFDMA
                continue
    return tuple(cells)


def candidates(fit: LinkFit) -> list[Medium]:
    """The media that may have the periods of a fit's arrivals, or delays in both directions that no
    distribution describes; none if nothing points to a medium.
    """
    periods = [period["ns"] / 1e6 for d in DIRECTIONS if (period := fit[d]["frame_period"])]
    if not periods:
        # A window of a few packets departs in the period of the link, too. Delays of both
        # directions show it then, or a queue that drops packets and is never seen to stand.
        framed = all(
            not fit[d]["jitter"]["is_described"] and (fit[d]["jitter"]["p95"] or 0.0) >= MIN_FRAME_JITTER_MS * NS_PER_MS
            for d in DIRECTIONS
        )
        # A policer has no queue that would be seen to stand.
        policed = any(fit[d]["policer"] is not None for d in DIRECTIONS)
        if policed or (not framed and not any(_drops_unseen(fit[d]) for d in DIRECTIONS)):
            return []
        periods = [USUAL_FRAME_MS]
    # A station may use every other frame: its period is then twice the frame.
    frames = [ms for ms in FRAMES_MS if any(period in (ms, 2 * ms) for period in periods)]
    buckets = [
        Bucket(d, bucket[0], bucket[1], 8e3 * fit[d]["shape"]["max_bytes"][0] / WINDOWS_MS[0])
        for d in DIRECTIONS
        if (bucket := fit[d]["token_bucket"]) is not None
    ]
    if buckets:
        # An access network that shapes its subscribers; a shaper hides the channel's own rate.
        return [Medium(f"{CAPPED} with a cap", standard=CAPPED, bucket=bucket) for bucket in buckets]
    cells = [Medium(f"802.16 with frames of {ms:g} ms", frame_ms=ms) for ms in frames]
    return [*(Medium(name, standard=name) for name in STANDARDS), *cells]


def _drops_unseen(fit: DirectionFit) -> bool:
    """A queue dropped packets of a direction in which none was seen to stand."""
    policed = fit["policer"]["evidence"]["drops"] if fit["policer"] is not None else 0
    at_queue = fit["lost"] - policed - fit["loss"]["mean"]["evidence"]["lost"]
    return bool(at_queue >= MIN_DROPS and not fit["rate"]["evidence"]["gaps"])


@dataclass
class Search:
    """Replays of the input over one medium. The delay follows from the minimum RTT."""

    medium: Medium
    hop: FittedHop
    """What the link has beside rate, delay, queue and jitter."""
    seen: Transfers
    variant: str
    delay_ms: float
    fit: LinkFit
    """The engine's fit to the part of the input that is replayed."""
    source: Source
    tried: dict[str, tuple[float, float]] = field(default_factory=dict)
    at_least: dict[str, float] = field(default_factory=dict)
    """Distances without how packets arrive, where these alone were enough."""

    @cached_property
    def replay(self) -> Replay:
        return self.seen.replay()

    def with_values(self, rate: float, queue: float, delay_ms: float) -> FittedHop:
        """The hop with these values. `queue`: bytes in the direction of the data."""
        data = self.seen.direction
        is_down = data == "down"
        down, up = (rate, rate * UPLINK_SHARE) if is_down else (rate / UPLINK_SHARE, rate)
        share = UPLINK_SHARE if is_down else 1 / UPLINK_SHARE
        sizes = {data: round(queue), OPPOSITE[data]: max(round(queue * share), MIN_PACKETS_BYTES)}
        return replace(
            self.hop,
            medium=self.medium.table(down, up),
            delay=f"{round(delay_ms * 1e3)} us",
            queue={d: Queue(kind="droptail", bytes=show_size(sizes[d])) for d in DIRECTIONS},
        )

    def distance(
        self, rate: float, queue: float, delay: float | None = None, *, shape: bool = True, below: float = math.inf
    ) -> float:
        """The distance of replays from the input, with or without how packets arrive. Without a
        delay in ms, it is set until the minimum RTT fits.

        A distance that is not less than `below` may be too small, but is not less than `below`: how
        packets arrive is not replayed for it.
        """
        key = self._key(rate, queue, delay, shape)
        if key in self.tried:
            return self.tried[key][0]
        if self.at_least.get(key, -math.inf) >= below:
            return self.at_least[key]
        seen = self.seen.observed
        set_for = delay
        delay = self.delay_ms if delay is None else delay
        for last in (False, True):
            link = self.with_values(rate, queue, delay).link()
            simulated = self.replay.simulated(link, self.variant, SEEDS if shape else SEEDS[:1])
            error = seen.rtt_min_ms - simulated.rtt_min_ms
            is_close = abs(error) <= SCALES["rtt_min_ms"] * seen.rtt_min_ms / 2
            if set_for is not None or last or is_close or not simulated.rtt_min_ms:
                break
            delay = self.delay_ms = max(0.0, delay + error / 2)
        found = distance(simulated, seen)
        if shape:
            if found >= below:
                self.at_least[key] = found
                return found
            found += shape_distance(self._captured(self.with_values(rate, queue, delay).link()), self.fit)
        self.tried[key] = (found, delay)
        return found

    def _key(self, rate: float, queue: float, delay: float | None, shape: bool) -> str:
        """Links closer than 2 %, and 50 us in the delay, are one."""
        values = [round(50 * math.log(rate)) if self.medium.is_continuous else self.medium.table(rate, rate)]
        return repr((values, round(50 * math.log(queue)), delay if delay is None else round(20 * delay), shape))

    def distance_of(self, link: Link, below: float) -> float:
        """The distance of a replay over any link, as `distance` has it."""
        found = distance(self.replay.simulated(link, self.variant, [1]), self.seen.observed)
        return found if found >= below else found + shape_distance(self._captured(link), self.fit)

    def nearest(self, points: Sequence[Point], below: float = math.inf) -> tuple[float, Point] | None:
        """The one of these points whose distance is the smallest, and less than `below`."""
        best = None
        for point in points:
            if (found := self.distance(*point, below=below)) < below:
                below, best = found, point
        return None if best is None else (below, best)

    def repeats(self, rate: float, queue: float, delay: float) -> list[float]:
        """The distances of further replays from those that the input is compared with: what an
        input from this medium's own link may have.
        """
        link = self.with_values(rate, queue, delay).link()
        simulated, captured = self.replay.simulated(link, self.variant, SEEDS), self._captured(link)
        return [
            distance(simulated, self.replay.simulated(link, self.variant, [seed]))
            + shape_distance(captured, self._captured(link, seed))
            for seed in REPEATS
        ]

    def _captured(self, link: Link, seed: int = 1) -> LinkFit | None:
        """The engine's fit to captures of a replay; None of one of whose flows nothing arrived."""
        with TemporaryDirectory() as folder:
            names = self.replay.captured(link, self.variant, seed, Path(folder) / "run")
            try:
                return self.source.replay_fit(names)
            except InputError:
                return None

    def delay_of(self, rate: float, queue: float, *, shape: bool = True) -> float:
        """The delay in ms at which the minimum RTT of a link that was tried fits."""
        return self.tried[self._key(rate, queue, None, shape)][1]


def search_of(medium: Medium, rest: FittedHop, seen: Transfers, variant: str, fit: LinkFit, source: Source) -> Search:
    """The search over a medium, with the replays that an earlier one of the same has made."""
    delay_ms = max(0.0, seen.observed.rtt_min_ms / 2 - START_MS)
    key = repr((medium, rest, seen, variant))
    return source.searches.setdefault(key, Search(medium, rest, seen, variant, delay_ms, fit, source))


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
        if isinstance(hop.medium, Grants):
            key = "rate" if medium.bucket is None else "cap"
            rows.append(of_draws(path_of("medium", key, data), "b/s", self.rate, rates, text))
            if medium.bucket is not None:
                rows += [_burst(medium.bucket, len(self.draws)), _channel(data, medium.bucket, hop.medium)]
            used = self.rate * UPLINK_SHARE if data == "down" else self.rate / UPLINK_SHARE
            why = "the rate of the direction of ACKs does not show"
            drawn = guesses(used, random.Random(2), 3, len(self.draws))
            rows.append(Parameter.unseen(path_of("medium", key, acks), "b/s", why, used, drawn))
        elif hop.medium is not None:
            modulation = f"{hop.medium.channel}, {hop.medium.modulation}"
            rows.append(Parameter(path_of("medium", "modulation"), "", "assumed", method, text, kind=modulation))
        # Bursts alone do not show what lasts, and the delay of a queue depends on it.
        lasts = self.search.fit[data]["rate"]["evidence"]["bursts"] is None
        rows.append(self._queue_row(path_of("queue", data, "bytes"), queues, text, lasts=lasts))
        rows.append(of_draws(path_of("delay"), "ms", self.delay, delays, text, is_like=lasts))
        replaced: tuple[str, ...] = ("rate.", "jitter.", "delay", f"queue.{data}.")
        if medium.bucket is not None:
            replaced += ("shaper.",)
        for row in others:
            if row.key == f"queue.{acks}.bytes":
                # As the medium's link has it.
                rows.append(replace(row, used=float(size_bytes(hop.queue[acks].bytes)), draws=()))
            elif not row.key.startswith(replaced):
                rows.append(row)
        return rows

    def _queue_row(self, path: str, queues: Sequence[float], text: str, *, lasts: bool) -> Parameter:
        """The row of the queue, with an interval wider by the last step of the search and a packet:
        the draws are values that were tried.
        """
        row = of_draws(path, "B", self.queue, queues, text, is_like=lasts)
        if row.lo is None or row.hi is None:
            return row
        found = Interval(self.queue, max(float(PACKET), row.lo / STEPS[-1] - PACKET), row.hi * STEPS[-1] + PACKET)
        why = row.why or ("" if found.is_narrow else "replays with other values are as like the input")
        rng = random.Random(path)
        drawn = tuple(max(float(PACKET), draw * STEPS[-1] ** rng.uniform(-1, 1)) for draw in queues)
        return Parameter.within(path, "B", row.method, text, found.rounded(), drawn, used=self.queue, why=why)


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


def of_draws(
    path: str,
    unit: str,
    value: float,
    draws: Sequence[float],
    text: str,
    *,
    method: str = "replays of the input",
    why: str = "replays with other values are as like the input",
    is_like: bool = True,
) -> Parameter:
    """A parameter by the draws' central 95 %: identified if the interval is narrow, and if a replay
    is like the input; else bounded, with the reason `why`.
    """
    ordered = sorted(draws)
    lo, hi = (ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.025, 0.975))
    found = Interval(value, min(lo, value), max(hi, value))
    why = "" if is_like and found.is_narrow else why
    return Parameter.within(path, unit, method, text, found.rounded(), tuple(draws), used=value, why=why)


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
    if not ranked:
        return None
    ranked.sort(key=lambda one: one[0])
    finalists = [(*_descend(search, score, point), search) for score, point, search in ranked[:FINALISTS]]
    score, point, search = min(finalists, key=lambda one: one[0])
    if score > CLEARLY_BETTER * without:
        return None
    limit = max_distance(search.repeats(*point))
    if score > limit:
        return UnlikeMedium(search.medium.name, score, limit)
    return MediumFit(search, *point, score, without, limit, _draws(search, score, point, count, seed))


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
