"""Media that send at fixed times (grants, frames): which of them an input may have, and replays of
the input over them.

Arrival times show the period alone. `medium_fit` chooses by the distance of the replays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.errors import InvalidValue, NoPath
from ackclock.fitting.engine import shape_of
from ackclock.fitting.hop import FittedHop
from ackclock.fitting.parameters import (
    MIN_PACKETS_BYTES,
    NS_PER_MS,
)
from ackclock.fitting.prediction import Observed, Replay, Source, Transfers
from ackclock.input.objects import Grants, Link, Queue, Wimax
from ackclock.input.units import show_rate, show_size

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionFit, LinkFit, LinkShape

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
SEEDS = (1, 2, 3)
CAPS = (1.0, 1.03)
"""Caps that are tried, relative to the mean rate: headers count in a cap."""
MIN_PEAK = 2.0
"""Minimum rate of a channel, relative to a cap on it."""
Point = tuple[float, float, float]
"""Rate in bit/s, queue in bytes and delay in ms."""
WINDOWS_MS = (2, 5, 10, 20, 50)
"""Windows of the engine's `max_bytes`."""
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
REPEATS = (11, 12, 13, 14, 15)
"""Seeds of the replays that are compared with the others, as repeats of the input."""


def distance(simulated: Observed, seen: Observed) -> float:
    """Squared differences of logarithms, in standard deviations, added up."""
    total = 0.0
    for name, scale in SCALES.items():
        both = getattr(simulated, name), getattr(seen, name)
        term = (math.log(both[0] / both[1]) / scale) ** 2 if min(both) > 0 else MAX_TERM
        total += min(term, MAX_TERM)
    ratio = math.log((simulated.retransmission_rate + 3e-4) / (seen.retransmission_rate + 3e-4))
    return total + min((ratio / RETRANSMISSION_SCALE) ** 2, MAX_TERM)


def shape_distance(simulated: LinkShape | None, seen: LinkShape | None) -> float:
    """Squared differences of two links in how packets arrive, in standard deviations, added up: of
    the largest bursts, and of the quantiles of the delays of packets that waited for no other.
    `MAX_SHAPE` where one has no packet at both ends.
    """
    if simulated is None or seen is None:
        return MAX_SHAPE
    total = 0.0
    for direction in DIRECTIONS:
        own, other = simulated[direction], seen[direction]
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
            found += shape_distance(self._captured(self.with_values(rate, queue, delay).link()), shape_of(self.fit))
        self.tried[key] = (found, delay)
        return found

    def _key(self, rate: float, queue: float, delay: float | None, shape: bool) -> str:
        """Links closer than 2 %, and 50 us in the delay, are one."""
        values = [round(50 * math.log(rate)) if self.medium.is_continuous else self.medium.table(rate, rate)]
        return repr((values, round(50 * math.log(queue)), delay if delay is None else round(20 * delay), shape))

    def distance_of(self, link: Link, below: float) -> float:
        """The distance of a replay over any link, as `distance` has it."""
        found = distance(self.replay.simulated(link, self.variant, [1]), self.seen.observed)
        return found if found >= below else found + shape_distance(self._captured(link), shape_of(self.fit))

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

    def _captured(self, link: Link, seed: int = 1) -> LinkShape | None:
        """How packets arrive in captures of a replay; None if nothing of one of its flows did."""
        with TemporaryDirectory() as folder:
            names = self.replay.captured(link, self.variant, seed, Path(folder))
            try:
                return self.source.replay_shape(names)
            except NoPath:
                return None

    def delay_of(self, rate: float, queue: float, *, shape: bool = True) -> float:
        """The delay in ms at which the minimum RTT of a link that was tried fits."""
        return self.tried[self._key(rate, queue, None, shape)][1]


def search_of(medium: Medium, rest: FittedHop, seen: Transfers, variant: str, fit: LinkFit, source: Source) -> Search:
    """The search over a medium, with the replays that an earlier one of the same has made."""
    delay_ms = max(0.0, seen.observed.rtt_min_ms / 2 - START_MS)
    key = repr((medium, rest, seen, variant))
    return source.searches.setdefault(key, Search(medium, rest, seen, variant, delay_ms, fit, source))
