"""The parameters of a fitted link: values, intervals, and what the captures do not identify."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.fitting import evidence

if TYPE_CHECKING:
    from ackclock.documents.engine import (
        ChannelFit,
        DirectionFit,
        FittedBaseDelay,
        FittedChannelLoss,
        FittedFramingEvidence,
        FittedNone,
        FittedQueueLimit,
        FittedServiceRate,
        FramingFit,
        Jitter,
        JitterParameter,
        LinkFit,
        PeriodicStalls,
        PolicerFit,
        ShaperFit,
    )
    from ackclock.documents.fit import FittedParameter, NotIdentified

    Fitted = (
        FittedServiceRate
        | FittedBaseDelay
        | FittedQueueLimit
        | FittedChannelLoss
        | FittedFramingEvidence
        | FittedNone
        | JitterParameter
    )

HOP = "access"
"""Name of the fitted hop."""
MIN_QUEUE_BYTES = 15_000
"""Minimum of an assumed queue: ten full packets."""
MIN_PACKETS_BYTES = 4500
"""Minimum of a queue that is taken from the other direction's: three full packets."""
NS_PER_MS = 1e6
ROUNDED_TO = 100.0
"""Parts of an interval to which its ends and value are rounded."""
DRAWS = 400
"""Number of joint draws."""
GUESS = 4.0
"""Factor by which an assumed rate or queue may be wrong: its draws reach that far, so that a
comparison that depends on it is a tie."""
ASYMMETRY = 10.0
"""Factor by which the direction of the ACKs may be slower than that of the data."""
LONG_QUEUE_S = 2.0
"""Time of a queue that no link exceeds whose limit is not seen: buffers of a second and more are
common (Gettys and Nichols 2012)."""
MORE_LINKS = 2.0
"""Factor by which a link is faster than one with the service times of all links of its path: two
that are alike."""
VARIES = "replays with other values are as like the input"
MAX_HALF_WIDTH = 0.5
"""Maximum relative half-width of the interval of a parameter that is identified."""
MAX_OVERHEAD_RANGE = 8.0
"""Maximum range in bytes of an overhead that is identified: encapsulations differ by as much."""
SHARED_QUEUE_ERROR = 1.3
"""Factor by which the limit of a queue that others fill as well may differ from its largest backlog
by the delays."""


@dataclass(frozen=True)
class Parameter:
    """One parameter at its path in the link file.

    `status` is "identified" (a value with a 95 % interval), "bounded" (an interval, no value) or
    "assumed" (neither). `used` is the value in the link file, None where the key is left out.
    `kind` is the value of a key that is a word. `draws` are in the unit, in the order of the other
    parameters' draws.
    """

    path: str
    unit: str
    status: Literal["identified", "bounded", "assumed"]
    method: str
    evidence: str
    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    used: float | None = None
    why: str = ""
    kind: str = ""
    draws: Sequence[float] = field(default=(), repr=False)

    @classmethod
    def unseen(
        cls, path: str, unit: str, why: str, used: float | None = None, draws: Sequence[float] = ()
    ) -> Parameter:
        """An assumed one of which the input shows nothing."""
        return cls(path, unit, "assumed", "none", why, used=used, why=why, draws=draws)

    @classmethod
    def within(
        cls,
        path: str,
        unit: str,
        method: str,
        text: str,
        found: Interval,
        draws: Sequence[float] = (),
        *,
        used: float | None = None,
        why: str = "",
    ) -> Parameter:
        """One with an interval: bounded if there is a reason `why`, else identified."""
        used = found.value if used is None else used
        row = cls(path, unit, "bounded", method, text, None, found.lo, found.hi, used, why, draws=draws)
        return row if why else replace(row, status="identified", value=found.value)

    def with_interval(self, found: Interval) -> Parameter:
        return replace(self, value=found.value, lo=found.lo, hi=found.hi)

    @property
    def key(self) -> str:
        """The path in the hop."""
        return self.path.removeprefix(f"hop.{HOP}.")

    def row(self) -> FittedParameter:
        """The row of the document."""
        row: FittedParameter = {
            "path": self.path,
            "value": self.value,
            "unit": self.unit,
            "lo": self.lo,
            "hi": self.hi,
            "status": self.status,
            "method": self.method,
            "evidence": self.evidence,
        }
        return {**row, "kind": self.kind} if self.kind else row

    def not_identified(self) -> NotIdentified:
        """The row of the document's `not_identified`."""
        return {"path": self.path, "why": self.why, "default": self.used}


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    lo: float
    hi: float

    @classmethod
    def of(cls, fitted: Fitted, scale: float = 1.0) -> Interval:
        """That of an identified parameter of the engine's."""
        value, lo, hi = fitted["value"], fitted["lo"], fitted["hi"]
        assert value is not None and lo is not None and hi is not None
        return cls(value * scale, lo * scale, hi * scale)

    @property
    def is_narrow(self) -> bool:
        """Narrow enough for a value."""
        return self.hi - self.lo <= 2 * MAX_HALF_WIDTH * self.value

    def at_least(self, minimum: float) -> Interval:
        return Interval(max(self.value, minimum), max(self.lo, minimum), max(self.hi, minimum))

    def rounded(self) -> Interval:
        """Without the digits that the interval does not support; the interval is widened by
        rounding, never narrowed.
        """
        width = self.hi - self.lo
        if not width > 0 or not math.isfinite(width):
            return self
        digits = -math.floor(math.log10(width / ROUNDED_TO))
        step = 10.0**-digits
        # The second rounding removes the binary rest of the division.
        steps = round(self.value / step), math.floor(self.lo / step), math.ceil(self.hi / step)
        return Interval(*(round(count * step, max(digits, 0)) for count in steps))


def of_draws(
    path: str,
    unit: str,
    value: float,
    draws: Sequence[float],
    text: str,
    *,
    method: str = "replays of the input",
    why: str = VARIES,
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


def path_of(*keys: str) -> str:
    """A path in the fitted hop."""
    return ".".join(("hop", HOP, *keys))


def guesses(
    used: float, rng: random.Random, factor: float = GUESS, count: int = DRAWS, *, below: float | None = None
) -> tuple[float, ...]:
    """Draws of a value that may be too small by this factor, and too large by the factor `below`
    (default: the same).
    """
    return between(used / (factor if below is None else below), used * factor, rng, count)


def between(low: float, high: float, rng: random.Random, count: int = DRAWS) -> tuple[float, ...]:
    """Draws whose logarithm is uniform."""
    return tuple(low * (high / low) ** rng.random() for _ in range(count))


def queue_guesses(
    used: float, rng: random.Random, rate_bps: float = 0.0, seen: float = 0.0, count: int = DRAWS
) -> tuple[float, ...]:
    """Draws of a queue's limit in bytes that no drop shows: from three packets, or the largest
    backlog, to a queue of `LONG_QUEUE_S`.
    """
    low = max(seen, min(used / GUESS, MIN_PACKETS_BYTES))
    return between(low, max(low, used * GUESS, rate_bps / 8 * LONG_QUEUE_S), rng, count)


def parameters_of(fit: LinkFit) -> list[Parameter]:
    """All parameters of the engine's fit, in the order of a hop's keys."""
    rates = {direction: _rate(fit, direction) for direction in DIRECTIONS}
    stalls = [row for direction in DIRECTIONS for row in _stalls(fit[direction]["periodic_stalls"], direction)]
    late = [row for direction in DIRECTIONS for row in _reordering(fit[direction], direction)]
    delays = _delays(fit)
    rtt_ms = rtt_of(delays)
    queues = [_queue(fit, direction, rates, rtt_ms) for direction in DIRECTIONS]
    losses = [row for direction in DIRECTIONS for row in _loss(fit[direction]["loss"], direction)]
    jitters = [row for direction in DIRECTIONS for row in _jitter(fit[direction]["jitter"], direction)]
    policers = [row for direction in DIRECTIONS for row in _policer(fit[direction]["policer"], direction)]
    shapers = {direction: found for direction in DIRECTIONS if (found := fit[direction]["shaper"])}
    framings = [row for direction in DIRECTIONS for row in _framing(fit[direction]["framing"], direction)]
    of_busy_link = [
        *(row for d in DIRECTIONS for row in (_shaper(shapers[d], d) if d in shapers else [rates[d]])),
        *(of_shaper(row, d) if d in shapers else row for d, row in zip(DIRECTIONS, queues, strict=True)),
    ]
    return [*policers, *framings, *of_busy_link, *losses, *delays, *jitters, *late, *stalls]


def rtt_of(delays: Sequence[Parameter]) -> float:
    """The RTT in ms without queues, of the delays of both directions or of one for both."""
    return sum(delay.used or 0.0 for delay in delays) * (2 if len(delays) == 1 else 1)


def _framing(found: FramingFit | None, direction: Direction) -> list[Parameter]:
    if found is None:
        return []
    path, method, text = path_of("framing", direction), "service times of lengths", evidence.framing(found)
    fitted, mpu = found["overhead"], float(found["mpu"])
    overhead = Interval.of(fitted)
    is_wide = overhead.hi - overhead.lo > MAX_OVERHEAD_RANGE
    why = "packets of these lengths take as long with each overhead in this interval" if is_wide else ""
    status: Literal["identified", "assumed"] = "identified" if found["knows_cells"] else "assumed"
    no_cells = "" if found["knows_cells"] else "PTM at a rate higher by a 64th takes as long, within a byte"
    rows = [
        Parameter(f"{path}.cells", "", status, method, text, kind=found["cells"], why=no_cells),
        Parameter.within(f"{path}.overhead", "B", method, text, overhead, fitted["draws"], why=why),
    ]
    shortest = Parameter(f"{path}.mpu", "B", "identified", method, text, value=mpu, lo=mpu, hi=mpu, used=mpu)
    return [*rows, shortest] if mpu else rows


def _policer(found: PolicerFit | None, direction: Direction) -> list[Parameter]:
    if found is None:
        return []
    facts, method = found["evidence"], "drops over the deficit of a token bucket"
    text = evidence.policer(facts)
    rate, burst = Interval.of(found["rate"]), Interval.of(found["burst"])
    open_rate = "a bucket of any rate in this interval drops the same packets" if facts["rate_is_open"] else ""
    open_burst = "" if burst.is_narrow else "the interval is wide"
    if facts["like_queue"]:
        open_burst = open_rate = "a queue of so few packets drops the same ones"
    return [
        Parameter.within(path_of("policer", direction, key), unit, method, text, of.rounded(), draws, why=why)
        for key, unit, of, draws, why in (
            ("rate", "b/s", rate, found["rate"]["draws"], open_rate),
            ("burst", "B", burst, found["burst"]["draws"], open_burst),
        )
    ]


def _shaper(found: ShaperFit, direction: Direction) -> list[Parameter]:
    """The rate of a busy link is that of the shaper, and bursts have that of the line."""
    text, method, peak = (
        evidence.shaper(found["evidence"]),
        "delays over the deficit of a token bucket",
        found["evidence"]["peak"],
    )
    path = path_of("rate", direction)
    why = "bursts passed at this rate: their sender may be slower than the line"
    drawn = _guesses(path, peak, peak, None)
    return [
        _identified(path_of("shaper", direction, "rate"), "b/s", method, text, found["rate"]),
        _identified(path_of("shaper", direction, "burst"), "B", method, text, found["burst"]),
        Parameter(path, "b/s", "bounded", "rate of bursts", text, lo=peak, used=peak, why=why, draws=drawn),
    ]


def of_shaper(queue: Parameter, direction: Direction) -> Parameter:
    """The row of a queue, as that of a shaper's."""
    return replace(queue, path=path_of("shaper", direction, "queue", "bytes"))


def _rate(fit: LinkFit, direction: Direction) -> Parameter:
    fitted = fit[direction]["rate"]
    facts = fitted["evidence"]
    path, method, text = path_of("rate", direction), evidence.METHODS[facts["method"]], evidence.rate(fitted)
    if fitted["status"] == "identified":
        row = _identified(path, "b/s", method, text, fitted)
        return _shared(row, fitted) if serves_others(fitted) else row
    other = fit[OPPOSITE[direction]]["rate"]
    lo, hi = fitted["lo"], fitted["hi"]
    # ACKs alone need less than their direction carries.
    assumed = [rate for rate in (other["value"], other["lo"]) if rate is not None][:1]
    used, factor, below = min(max([*assumed, lo or 0.0]), math.inf if hi is None else hi) or None, GUESS, ASYMMETRY
    if facts["bursts"] is not None:
        # Service times that do not agree are those of a token bucket and of its bursts.
        assert lo is not None and hi is not None
        used, factor = math.sqrt(lo * hi) if facts["method"] == "mode" else lo, hi / lo
        below = factor
    elif facts["all_links"] is not None:
        used, factor, below = facts["all_links"], MORE_LINKS, MORE_LINKS
    elif facts["contradicted"] is not None:
        used = lo
    why, draws = evidence.no_rate(facts), _guesses(path, used, lo, hi, factor, below)
    return Parameter(path, "b/s", "bounded", method, text, lo=lo, hi=hi, used=used, why=why, draws=draws)


def serves_others(fitted: FittedServiceRate) -> bool:
    """A busy link has a sharp service time and a lower mean rate: it served packets of others."""
    return fitted["status"] == "identified" and fitted["evidence"]["own"] is not None


def _shared(row: Parameter, fitted: FittedServiceRate) -> Parameter:
    """The rate of a link that serves others as well: from what was left to the rate of its service
    times.
    """
    hi = fitted["evidence"]["own"]
    assert row.value is not None and row.lo is not None and hi is not None
    rng = random.Random(row.path)
    return replace(
        row,
        status="bounded",
        value=None,
        hi=Interval(row.value, row.lo, hi).rounded().hi,
        used=row.value,
        why="the link served others as well: what was left for these flows, to its own rate",
        draws=tuple(rng.uniform(row.lo, hi) for _ in row.draws),
    )


def _guesses(
    path: str,
    used: float | None,
    lo: float | None,
    hi: float | None,
    factor: float = GUESS,
    below: float = GUESS,
) -> tuple[float, ...]:
    """Draws of an assumed value: its logarithm is uniform, as far as the bounds allow."""
    if not used:
        return ()
    low = max(used / below, lo or 0.0)
    high = max(min(used * factor, hi if hi is not None else math.inf), low)
    return between(low, high, random.Random(path))


def _queue(fit: LinkFit, direction: Direction, rates: Mapping[Direction, Parameter], rtt_ms: float) -> Parameter:
    path, fitted = path_of("queue", direction, "bytes"), fit[direction]["queue"]
    text = evidence.queue(fitted)
    if fitted is not None and fitted["status"] == "identified":
        row = _identified(path, "B", "step of the loss rate over the backlog", text, fitted)
        return _less_one_packet(row, fitted["evidence"]["packet"])
    seen = fitted["evidence"]["max_accepted"] if fitted is not None else 0.0
    rate = rates[direction].used or 0.0
    other, other_rate = fit[OPPOSITE[direction]]["queue"], rates[OPPOSITE[direction]].used
    why = evidence.no_queue(fitted)
    by_delay = fitted["evidence"]["by_delay"] if fitted is not None else None
    if by_delay is not None and fit[direction]["lost"]:
        # The losses are those of the full queue.
        used = float(round(max(seen, by_delay)))
        low, high = max(seen, used / SHARED_QUEUE_ERROR), used * SHARED_QUEUE_ERROR
        return unlimited(path, seen, used, text, "largest backlog", why, between(low, high, random.Random(path)))
    seen = max(seen, by_delay or 0.0)
    if other is not None and other["status"] == "identified" and other_rate:
        used = max(seen, Interval.of(other).value * rate / other_rate, MIN_PACKETS_BYTES)
        why += "; taken to hold as long a queue in time as the other direction's"
    else:
        used = assumed_queue(seen, rate, rtt_ms)
    used = float(round(used))
    drawn = queue_guesses(used, random.Random(path), rate, seen)
    return unlimited(path, seen, used, text, "largest backlog", why, drawn)


def assumed_queue(seen: float, rate_bps: float, rtt_ms: float) -> float:
    """The bytes of a queue that was never seen to overflow: twice its largest backlog, or one
    bandwidth-delay product.
    """
    return max(2 * seen, rate_bps / 8 * rtt_ms / 1e3, MIN_QUEUE_BYTES)


def unlimited(
    path: str, seen: float, used: float, text: str, method: str, why: str, draws: Sequence[float]
) -> Parameter:
    """A queue whose limit does not show: at least the backlog that was seen."""
    if not seen:
        return Parameter(path, "B", "assumed", "none", text, used=used, why=why, draws=draws)
    return Parameter(path, "B", "bounded", method, text, lo=seen, used=used, why=why, draws=draws)


def _less_one_packet(row: Parameter, packet: int) -> Parameter:
    """The limit of a queue, with an interval and draws down by one packet: ACKs clock departures to
    the ends of services, and the packet in transmission may count or not.
    """
    assert row.lo is not None
    draws = tuple(max(float(packet), draw - packet * (number % 2)) for number, draw in enumerate(row.draws))
    return replace(row, lo=max(float(packet), row.lo - packet), draws=draws)


def _loss(fitted: ChannelFit, direction: str) -> list[Parameter]:
    mean, sojourn = fitted["mean"], fitted["bad_sojourn"]
    path, text = path_of("loss", direction, "mean"), evidence.loss(mean)
    facts = mean["evidence"]
    method = "likelihood of Gilbert's channel" if facts["is_bursty"] else "likelihood of independent losses"
    if mean["status"] == "identified":
        rows = [_identified(path, "1", method, text, mean)]
    else:
        share = facts["lost"] / facts["packets"] if facts["packets"] else 0.0
        lo, hi, why = mean["lo"], mean["hi"], evidence.no_loss(mean)
        drawn = tuple(mean["draws"]) if share else ()
        rows = [Parameter(path, "1", "bounded", method, text, lo=lo, hi=hi, used=share, why=why, draws=drawn)]
    if facts["is_bursty"] and sojourn is not None:
        path = path_of("loss", direction, "bad_sojourn")
        if sojourn["status"] == "identified":
            return [*rows, _identified(path, "ms", method, text, sojourn, 1 / NS_PER_MS)]
        assert sojourn["lo"] is not None and sojourn["hi"] is not None
        lo, hi = sojourn["lo"] / NS_PER_MS, sojourn["hi"] / NS_PER_MS
        why = f"{facts['bursts']} bursts are too few for their length"
        drawn = tuple(draw / NS_PER_MS for draw in sojourn["draws"])
        used = math.sqrt(lo * hi)
        rows.append(Parameter(path, "ms", "bounded", method, text, lo=lo, hi=hi, used=used, why=why, draws=drawn))
    return rows


def _delays(fit: LinkFit) -> list[Parameter]:
    """The delay of each direction with known clocks, else one for both."""
    every: dict[str, FittedBaseDelay | FittedNone] = (
        {path_of("delay", direction): fit[direction]["base_delay"] for direction in DIRECTIONS}
        if fit["known_clocks"]
        else {path_of("delay"): fit["delay"]}
    )
    text, method = evidence.delay(fit), "minimum delay of packets that found an empty path"
    rows = []
    for path, fitted in every.items():
        if fitted["status"] == "identified":
            rows.append(_identified(path, "ms", method, text, fitted, 1 / NS_PER_MS))
            continue
        lo, hi = (None if end is None else max(0.0, end / NS_PER_MS) for end in (fitted["lo"], fitted["hi"]))
        if lo is None or hi is None:
            why = "no packet found the path empty, so that every delay includes queueing"
            rows.append(Parameter(path, "ms", "bounded", "minimum delay", text, lo=0.0, hi=hi, used=hi, why=why))
            continue
        why = "the rate has a lower bound alone: it may be delay or the service of a packet"
        rng, middle = random.Random(path), (lo + hi) / 2
        drawn = tuple(rng.uniform(lo, hi) for _ in range(DRAWS))
        found = Interval(middle, lo, hi).rounded()
        rows.append(Parameter.within(path, "ms", "minimum delay", text, found, drawn, used=middle, why=why))
    return rows


def _jitter(fitted: Jitter, direction: str) -> list[Parameter]:
    path, text = path_of("jitter", direction), evidence.jitter(fitted)
    if fitted["family"] is None:
        if fitted["status"] == "identified":
            hi = (fitted["p95"] or 0.0) / NS_PER_MS
            return [Parameter(path, "ms", "identified", "delays above their floor", text, value=0.0, lo=0.0, hi=hi)]
        return [Parameter(path, "ms", "assumed", "none", text, why=evidence.no_jitter(fitted))]
    method = f"{fitted['family']['kind']} distribution of the delays above their floor"
    why = "no distribution of a link file describes the delays"
    if fitted["is_described"]:
        why = "hosts timestamped packets late: the delays have what they add, too"
    return [
        _identified(f"{path}.{one['key']}", "ms", method, text, one, 1 / NS_PER_MS)
        if fitted["status"] == "identified"
        else Parameter(f"{path}.{one['key']}", "ms", "assumed", method, text, used=one["value"] / NS_PER_MS, why=why)
        for one in fitted["parameters"]
    ]


def _stalls(stalls: PeriodicStalls | None, direction: str) -> list[Parameter]:
    if stalls is None:
        return []
    text, method = f"{stalls['stalls']} times at which the link sent nothing of what waited", "period of the stalls"
    times = {"every": stalls["every"], "gap": stalls["gap"]}
    return [
        _identified(path_of("handover", direction, key), "ms", method, text, time, 1 / NS_PER_MS)
        for key, time in times.items()
    ]


def _reordering(fit: DirectionFit, direction: str) -> list[Parameter]:
    found = fit["reordering"]
    if found is None or (fit["jitter"]["in_order"] is False and fit["jitter"]["family"] is not None):
        return []
    text, method = f"others overtook {found['overtaken']} of {found['arrived']} packets", "packets that others overtook"
    return [
        _identified(path_of("reorder", direction, "mean"), "1", method, text, found["mean"]),
        _identified(path_of("reorder", direction, "delay"), "ms", method, text, found["delay"], 1 / NS_PER_MS),
    ]


def _identified(path: str, unit: str, method: str, text: str, fitted: Fitted, scale: float = 1.0) -> Parameter:
    found = Interval.of(fitted, scale)
    if unit == "ms":  # an unloaded path may be shorter than what the clocks resolve
        found = found.at_least(0.0)
    return Parameter.within(path, unit, method, text, found.rounded(), tuple(draw * scale for draw in fitted["draws"]))
