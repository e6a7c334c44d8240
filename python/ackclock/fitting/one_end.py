"""A link from a capture of one end.

One end shows RTTs, what was acknowledged and what was retransmitted; not in which direction a
packet waited or was lost. The rate follows from the spacing of ACKs or arrivals (`analyze`); queue
and losses are those whose replays are like the input.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Literal

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.errors import InputError
from ackclock.fitting.aqm import LEVELS_MS, with_kind
from ackclock.fitting.engine import carried_at_end
from ackclock.fitting.hop import FittedHop, LinkDescription, hop_of, used_values
from ackclock.fitting.media import distance
from ackclock.fitting.medium_fit import AS_GOOD, LIKE_A_REPEAT, NEGLIGIBLE
from ackclock.fitting.parameters import (
    ASYMMETRY,
    GUESS,
    MIN_PACKETS_BYTES,
    MIN_QUEUE_BYTES,
    Parameter,
    between,
    guesses,
    of_draws,
    path_of,
    queue_guesses,
)
from ackclock.fitting.prediction import (
    CANDIDATES,
    MAX_OPPOSITE_SHARE,
    MIN_BULK_SHARE,
    MIN_BULK_TIME,
    Observed,
    Replay,
    Transfers,
    mean_of,
)
from ackclock.format import percent

if TYPE_CHECKING:
    from ackclock.documents.analyze import Side
    from ackclock.documents.fit import FittedInput

BULK = "capture a bulk transfer, such as a download or an upload of some seconds"
REPLAYED_S = 15.0
"""Part of the input that is read and replayed."""
CLOSE = 3
"""Points of the search's grid from which other congestion controls are tried."""
HANDSHAKE_BYTES = 60
FULL_BYTES = 1500
QUEUE_ERROR = 0.08
"""Half-width of the interval of a queue, relative: other sources of RTT than this queue."""
MIN_RTTS = 10
"""Minimum number of RTT samples."""
MIN_SPACED_SHARE = 0.3
"""Minimum share of the ACKs or packets with the spacing of the rate."""
RATE_ERROR = 0.01
"""Half-width of the interval of a rate by the spacing of ACKs, relative: what the host at the other
end adds."""
RATES = (1.05, 1.3, 1.7, 2.5, 5.0)
"""Rates that are tried, relative to the goodput, where none is seen."""
QUEUES = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)
"""Queues that are tried, relative to the delay above the minimum."""
LOSSES = (0.0, 0.15, 0.4, 0.7, 1.0)
"""Losses of the channel that are tried, relative to the retransmissions."""
STEPS = (1.4, 1.15, 1.05)
FAR = 3.0
"""Ratio of a replay's distance to the smallest one beyond which another seed is not replayed."""
SAMPLES = 80
MAX_DISTANCE = 40.0
"""Distance from which on no replay is like the input."""
AGREEING = LIKE_A_REPEAT + AS_GOOD
"""Distance up to which replays agree with the input, so that they identify what they depend on."""
MIN_BULK_BYTES = 100_000
MIN_SEGMENT_BYTES = 300
"""Minimum bytes of a bulk transfer, and of its segments on average: typing shows no link."""
FULL_WINDOW = 0.8
"""Minimum share of the receive window in flight, by goodput and RTT, of a flow that it limits."""
STANDING = 0.1
"""Minimum of the median RTT above the minimum, relative to it, of a flow with a standing queue."""
OF_WINDOW = "the receive window limited the input, and no queue stood: the link may be faster"
BESIDE = "one end does not show which packets the queue dropped and which the channel lost"
NO_SPACING = "no spacing of packets shows the rate: the path has something that the replayed link has not"
WITHOUT_LOSS = (0.85, 1.0, 1.2)
"""Queues that are tried without losses of the channel, relative to the best one with them."""
AQMS = ("fq-codel", "pie")
"""Of one flow, CoDel alone is like FQ-CoDel."""
SEEDS = (1, 2)
REPEATS = range(1, 7)
"""Seeds of the replays of which one is like the input, if the link may have made it."""


@dataclass(frozen=True)
class OneEnd:
    """What one end shows."""

    capture: str
    place: Literal["server", "client"]
    """Of the capture."""
    seen: Transfers
    rate_bps: float | None
    """By the spacing of ACKs or packets; None if it does not show."""
    retransmitted: int
    packets: int
    carried_bps: float = 0.0
    """A lower bound of the rate."""

    @property
    def hides_rate(self) -> bool:
        """The receive window limited the input, and no queue stood."""
        seen = self.seen.observed
        return self.seen.receive_window is not None and seen.rtt_p50_ms <= (1 + STANDING) * seen.rtt_min_ms

    @property
    def is_sender(self) -> bool:
        return (self.place == "server") == (self.seen.direction == "down")


def read(capture: str, only: str | None, until_s: float | None = REPLAYED_S) -> OneEnd:
    """The bulk flows of a capture until `until_s`.

    Raises:
        InputError: no bulk transfer in one direction, or RTTs that do not show.
    """
    from ackclock.analysis import analyze

    flows = analyze(capture, filter=only, until=until_s).document["flows"]

    def refused(statement: str, hint: str) -> InputError:
        return InputError.problem(statement, hint, file=capture, option="CAPTURE")

    # The first end of a flow is the one that opened it: the client.
    names: dict[Direction, Side] = {"down": "b2a", "up": "a2b"}
    sizes = {name: sum(flow[key]["unique_bytes"] for flow in flows) for name, key in names.items()}
    direction = max(DIRECTIONS, key=lambda name: sizes[name])
    longest = max((flow["duration_s"] for flow in flows), default=0.0)
    if not sizes[direction] or not longest or min(sizes.values()) > MAX_OPPOSITE_SHARE * sizes[direction]:
        raise refused("no bulk transfer in one direction", BULK)
    data, acks = names[direction], names[OPPOSITE[direction]]
    bulk = [
        flow
        for flow in flows
        if flow[data]["unique_bytes"] >= MIN_BULK_SHARE * sizes[direction]
        and flow["duration_s"] >= MIN_BULK_TIME * longest
    ]
    segments = sum(flow[data]["segments"] for flow in bulk)
    if sizes[direction] < max(MIN_BULK_BYTES, MIN_SEGMENT_BYTES * segments):
        raise refused(f"no bulk transfer: {sizes[direction]} bytes of data in {segments} segments", BULK)
    place = bulk[0]["vantage"]["place"] if bulk else None
    if place not in ("server", "client"):
        raise refused("a capture from neither end of the path", "capture at the server or at the client")
    is_sender = (place == "server") == (direction == "down")
    rtts = [flow[data]["rtt_ms"] if is_sender else flow[acks]["timestamp_rtt_ms"] for flow in bulk]
    rtts = [rtt for rtt in rtts if rtt["count"]]
    if sum(rtt["count"] for rtt in rtts) < MIN_RTTS:
        raise refused("too few RTTs", "capture at the sender of the data, or with TCP timestamps")
    inferred = [flow[data]["inferred_path"] for flow in bulk]
    rates = [
        rate for one in inferred if one and (one["share"] or 0.0) >= MIN_SPACED_SHARE and (rate := one["rate_bps"])
    ]
    seen = Transfers.of(direction, longest, [(flow[data], flow[acks]) for flow in bulk], rtts)
    if not is_sender:
        windows = [flow[acks]["advertised_window_bytes"]["max"] or 0 for flow in bulk]
        in_flight = seen.observed.goodput_bps / 8e3 * seen.observed.rtt_p50_ms
        if 0 < FULL_WINDOW * sum(windows) <= in_flight:
            seen = replace(seen, receive_window=max(windows))
    return OneEnd(
        capture,
        place,
        seen,
        max(rates) if rates else None,
        sum(flow[data]["retransmitted_segments"] for flow in bulk),
        segments,
        carried_at_end(capture, PacketFilter(parse_filter(only), None, until_s), direction, is_sender=is_sender),
    )


@dataclass
class Search:
    """Replays of the input over a rate, a queue and independent losses in the direction of data."""

    end: OneEnd
    variant: str
    tried: dict[tuple[int, int, int], float] = field(default_factory=dict)

    @cached_property
    def replay(self) -> Replay:
        return self.end.seen.replay()

    def distance(self, rate: float, queue: float, loss: float, limit: float = math.inf) -> float:
        """The distance of the mean of all seeds' replays; of one that is beyond `limit`, of the
        first seed's replay alone.
        """
        key = (round(100 * math.log(rate)), round(50 * math.log(queue)), round(1e5 * loss))
        if key not in self.tried:
            link = self.hop(rate, queue, loss, delay_interval(self.end, rate)[1]).link()
            runs = self.replay.runs(link, self.variant, SEEDS[:1])
            if (far := self._distance_of(runs)) > limit:
                return far
            self.tried[key] = self._distance_of([*runs, *self.replay.runs(link, self.variant, SEEDS[1:])])
        return self.tried[key]

    def as_like(self, rate: float, queue: float, limit: float) -> str | None:
        """The kind of AQM whose replays are within the distance `limit` of the input, if any."""
        hop = self.hop(rate, queue, 0.0, delay_interval(self.end, rate)[1])
        data = self.end.seen.direction
        links = ((kind, with_kind(hop, data, kind, ms).link()) for kind in AQMS for ms in LEVELS_MS[kind])
        for kind, link in links:
            first = self.replay.runs(link, self.variant, SEEDS[:1])
            if self._distance_of(first) <= FAR * limit + AGREEING:
                runs = [*first, *self.replay.runs(link, self.variant, SEEDS[1:])]
                if self._distance_of(runs) <= limit:
                    return kind
        return None

    def _distance_of(self, runs: Sequence[Observed]) -> float:
        # The minimum RTT is that of the handshake, which a simulation's samples do not have.
        seen = self.end.seen.observed
        return distance(replace(mean_of(runs), rtt_min_ms=seen.rtt_min_ms), seen)

    def hop(self, rate: float, queue: float, loss: float, delay_ms: float) -> FittedHop:
        data = self.end.seen.direction
        acks = OPPOSITE[data]
        queues = {f"queue.{data}.bytes": queue, f"queue.{acks}.bytes": max(queue, MIN_QUEUE_BYTES)}
        return hop_of(
            {f"rate.{data}": rate, f"rate.{acks}": rate, **queues, f"loss.{data}.mean": loss, "delay": delay_ms}
        )


def delay_interval(end: OneEnd, rate: float) -> tuple[float, float, float]:
    """Lower end, value and upper end of each direction's delay in ms: half of the minimum RTT, less
    the service times of a full packet, of a handshake's, or of none.
    """
    half = end.seen.observed.rtt_min_ms / 2
    full, handshake = (8e3 * length / rate for length in (FULL_BYTES / 2, HANDSHAKE_BYTES))
    return max(0.0, half - full), max(0.0, half - handshake), half


def unlike(distance: float) -> str:
    """A link whose replays are not like the input."""
    if distance > MAX_DISTANCE:
        return (
            f"this link cannot be of this form: its replays differ from the input by {math.sqrt(distance):.0f} standard "
            "deviations of a repeat: the path has something that a link of one rate, queue and loss has not"
        )
    return f"{differing(distance)}: they do not identify the queue and the losses"


def differing(distance: float) -> str:
    """How far replays are from the input."""
    return f"replays differ from the input by {math.sqrt(distance):.1f} standard deviations of a repeat"


def agreed(rows: Sequence[Parameter], distance: float) -> list[Parameter]:
    """The rows, of which those of queues, losses and jitter are assumed where replays do not agree
    with the input.
    """
    if distance <= MAX_DISTANCE:
        return list(rows)
    why = differing(distance)

    def depends(row: Parameter) -> bool:
        return row.key.startswith(("queue.", "loss.", "jitter.", "shaper."))

    return [unidentified(row, why) if depends(row) and not row.kind else row for row in rows]


def unidentified(row: Parameter, why: str) -> Parameter:
    """The row without what it identified."""
    return row if row.status != "identified" else replace(row, status="assumed", value=None, lo=None, hi=None, why=why)


def distance_of(end: OneEnd, hop: FittedHop, variant: str | None) -> float:
    """The distance of the most similar of some replays over a link from what one end shows, or of
    the first that is like it: the runs of a link with bursts of losses differ from each other.
    """
    seen = end.seen
    replay = seen.replay()

    def of(name: str, seed: int) -> float:
        simulated = replay.simulated(hop.link(), name, [seed])
        return distance(replace(simulated, rtt_min_ms=seen.observed.rtt_min_ms), seen.observed)

    smallest = math.inf
    for seed, name in product(REPEATS, [variant] if variant else CANDIDATES):
        smallest = min(smallest, of(name, seed))
        if smallest <= MAX_DISTANCE:
            break
    return smallest


def remarks(end: OneEnd) -> list[str]:
    """What a second capture would show."""
    other = {"server": "client", "client": "server"}[end.place]
    return [f"one end was captured: a second capture, at the {other}, shows each direction's delays and losses"]


def fit_one_end(end: OneEnd, variant: str | None, count: int, seed: int) -> tuple[LinkDescription, float]:
    """The link whose replays are most like what one end shows, and their distance.

    Args:
        end: what it shows.
        variant: the sender's congestion control, if it is known.
        count: number of draws.
        seed: of the draws.
    """
    seen = end.seen.observed
    rates = [end.rate_bps] if end.rate_bps else [factor * seen.goodput_bps for factor in RATES]
    losses = [factor * seen.retransmission_rate for factor in LOSSES] if end.retransmitted else [0.0]
    variants = [variant] if variant else list(CANDIDATES)
    search = Search(end, variants[0])
    rates = sorted({max(rate, end.carried_bps) for rate in rates})
    first: list[tuple[float, float, float, float, Search]] = []
    nearest = math.inf
    for rate in rates:
        standing = max(rate / 8e3 * (seen.rtt_p95_ms - seen.rtt_min_ms), 2 * MIN_PACKETS_BYTES)
        for factor in QUEUES:
            queue = max(MIN_PACKETS_BYTES, factor * standing)
            for loss in losses:
                far = search.distance(rate, queue, loss, FAR * nearest + AGREEING)
                nearest = min(nearest, far)
                first.append((far, rate, queue, loss, search))
    first.sort(key=lambda one: one[0])
    for name in variants[1:]:
        other = Search(end, name)
        first += [(other.distance(*one[1:4]), *one[1:4], other) for one in first[:CLOSE]]
    score, rate, queue, loss, search = min(first, key=lambda one: one[0])
    score, (rate, queue, loss) = _descend(search, score, (rate, queue, loss))
    found = rate, queue, loss
    drawn = _draws(search, score, found, count, seed) if end.rate_bps else _guessed(end, found, count, seed)
    without = math.inf
    if loss:
        of_queue = min((one for one in first if not one[3]), key=lambda one: one[0])
        near = min((search.distance(rate, queue * step, 0.0), (rate, queue * step, 0.0)) for step in WITHOUT_LOSS)
        starts = [near, (of_queue[4].distance(*of_queue[1:4]), of_queue[1:4])]
        without = min(_descend(search, *start)[0] for start in starts)
    point = rate, queue, loss, delay_interval(end, rate)[1]
    as_good = max(score, LIKE_A_REPEAT) + AS_GOOD
    may_be_queue = without <= as_good
    parameters = _parameters(end, point, drawn, score, may_be_queue=may_be_queue)
    own = (f"queue.{end.seen.direction}.bytes", f"loss.{end.seen.direction}.mean")
    if loss and not may_be_queue:
        parameters = [_open(row) if row.key in own and row.status == "identified" else row for row in parameters]
    # An AQM drops at a backlog that a short queue never has.
    is_limit = end.retransmitted and any(row.key in own and row.status == "identified" for row in parameters)
    if is_limit and (kind := search.as_like(rate, queue, as_good)):
        why = f"replays with {kind} are as like the input"
        parameters = [unidentified(row, why) if row.key in own else row for row in parameters]
    texts = [*remarks(end), *([unlike(score)] if score > AGREEING else [])]
    return LinkDescription(parameters, hop_of(used_values(parameters)), texts), score


def _open(row: Parameter) -> Parameter:
    """The row of a queue or of losses beside each other: what one drops the other may have."""
    return replace(row, status="bounded", value=None, why=BESIDE)


def _descend(
    search: Search, score: float, point: tuple[float, float, float]
) -> tuple[float, tuple[float, float, float]]:
    """The best point that steps in rate, queue and loss reach; one without a loss stays so."""
    end = search.end
    for step in STEPS:
        for _ in range(4):
            rate, queue, loss = point
            around = [(rate, queue * step, loss), (rate, queue / step, loss)]
            around += [(rate, queue, loss * step), (rate, queue, loss / step)] if loss else []
            around += [] if end.rate_bps else [(rate * step, queue, loss), (rate / step, queue, loss)]
            possible = [one for one in around if one[0] >= end.carried_bps and one[1] >= MIN_PACKETS_BYTES]
            scored = [(search.distance(*one, FAR * score + AGREEING), one) for one in possible]
            best = min(scored, default=(score, point))
            if best[0] >= score:
                break
            score, point = best
    return score, point


def _guessed(
    end: OneEnd, best: tuple[float, float, float], count: int, seed: int
) -> list[tuple[float, float, float, float]]:
    """Draws of the same where no spacing shows the rate: the path has something that the replayed
    link has not, such as a policer, grants or jitter, and is like it by chance.
    """
    rng = random.Random(f"one end {seed}")
    rate, queue, loss = best
    rates = between(max(end.carried_bps, rate / GUESS), rate * GUESS, rng, count)
    queues = queue_guesses(queue, rng, rate, count=count)
    half = delay_interval(end, rate)[2]
    return [
        (rate, size, loss * rng.random(), rng.uniform(half / 2, half)) for rate, size in zip(rates, queues, strict=True)
    ]


def _draws(
    search: Search, score: float, best: tuple[float, float, float], count: int, seed: int
) -> list[tuple[float, float, float, float]]:
    """Draws of rate, queue, loss and delay, weighted by the distance of replays."""
    rng = random.Random(f"one end {seed}")
    rate, queue, loss = best
    mean = search.end.seen.observed.retransmission_rate
    points = [best]
    for index in range(SAMPLES):
        width = 0.6 if index % 2 else 0.15
        own = rate if search.end.rate_bps else rate * math.exp(rng.uniform(-width, width))
        own = max(own, search.end.carried_bps)
        lost = min(0.5, max(0.0, loss * math.exp(rng.uniform(-width, width)) if loss else mean * rng.uniform(0, 0.3)))
        points.append((own, max(MIN_PACKETS_BYTES, queue * math.exp(rng.uniform(-width, 2 * width))), lost))
    scale = max(1.0, score / 6)
    negligible = -2 * scale * math.log(NEGLIGIBLE)

    def weight(point: tuple[float, float, float]) -> float:
        return math.exp(-max(0.0, search.distance(*point, score + FAR * negligible) - score) / 2 / scale)

    weights = [weight(point) for point in points]
    drawn = []
    for point in rng.choices(points, weights, k=count):
        error = RATE_ERROR if search.end.rate_bps else 0.03
        lo, _, hi = delay_interval(search.end, point[0])
        own = point[0] * (1 + rng.gauss(0, error / 2))
        drawn.append((own, point[1] * (1 + rng.gauss(0, QUEUE_ERROR)), point[2], rng.uniform(lo, hi)))
    return drawn


def _parameters(
    end: OneEnd,
    best: tuple[float, float, float, float],
    drawn: Sequence[tuple[float, float, float, float]],
    score: float,
    *,
    may_be_queue: bool = False,
) -> list[Parameter]:
    data = end.seen.direction
    acks = OPPOSITE[data]
    rate, queue, loss, delay = best
    rates, queues, losses, delays = (tuple(one) for one in zip(*drawn, strict=True))
    text = f"replays of the input differ by {math.sqrt(score):.1f} standard deviations of a repeat"
    replays, spacing = "replays of the input", f"spacing of the {'ACKs' if end.is_sender else 'packets'}"
    agrees = score <= AGREEING and end.rate_bps is not None
    unseen = "one end does not show the direction of ACKs"
    standing = max(queue, MIN_QUEUE_BYTES)
    loss_path = path_of("loss", data, "mean")
    losing = f"{end.retransmitted} of {end.packets} segments retransmitted ({percent(end.retransmitted / max(1, end.packets))})"
    if loss and not end.rate_bps:
        hi = max(losses)
        lossy = Parameter(
            loss_path, "1", "bounded", replays, losing, lo=0.0, hi=hi, used=loss, why=NO_SPACING, draws=losses
        )
    elif loss and may_be_queue:
        why = "replays without a loss of the channel are as like the input: a queue may have dropped the packets"
        hi = sorted(losses)[int(0.975 * len(losses))]
        lossy = Parameter(loss_path, "1", "bounded", replays, losing, lo=0.0, hi=hi, used=loss, why=why, draws=losses)
    elif loss:
        lossy = _row(loss_path, "1", loss, losses, replays, losing, is_like=agrees)
    else:
        hi = max(sorted(losses)[int(0.975 * len(losses))], 3 / max(1, end.packets))
        why = "the queue explains the retransmissions" if end.retransmitted else "nothing was retransmitted"
        lossy = Parameter(loss_path, "1", "bounded", replays, losing, lo=0.0, hi=hi, used=0.0, why=why)
    rate_row = _row(
        path_of("rate", data),
        "b/s",
        rate,
        rates,
        spacing if end.rate_bps else replays,
        text,
        is_like=end.rate_bps is not None,
    )
    if not end.rate_bps:
        rate_row = replace(rate_row, lo=min(rate, end.carried_bps), hi=None, why=NO_SPACING)
    if end.hides_rate:
        # No queue stood that a drop would show.
        queues = queue_guesses(queue, random.Random(3), rate, count=len(drawn))
    halves = "half of the minimum RTT in each direction, less service times: one end does not show them apart"
    return [
        rate_of_window(end, rate_row),
        Parameter.unseen(
            path_of("rate", acks),
            "b/s",
            unseen,
            rate,
            guesses(rate, random.Random(1), count=len(drawn), below=ASYMMETRY),
        ),
        _row(path_of("queue", data, "bytes"), "B", queue, queues, replays, text, is_like=agrees and not end.hides_rate),
        Parameter.unseen(
            path_of("queue", acks, "bytes"),
            "B",
            unseen,
            float(round(standing)),
            queue_guesses(standing, random.Random(2), rate, count=len(drawn)),
        ),
        lossy,
        _row(
            path_of("delay"),
            "ms",
            delay,
            delays,
            "minimum RTT",
            halves,
            is_like=agrees,
        ),
    ]


def rate_of_window(end: OneEnd, row: Parameter) -> Parameter:
    """The row of the rate of the data, as a lower bound where the receive window hides the rate."""
    if not end.hides_rate or row.used is None:
        return row
    lo = min(row.used, end.carried_bps or end.seen.observed.goodput_bps)
    rng = random.Random(row.path)
    drawn = tuple(row.used * GUESS ** rng.random() for _ in row.draws)
    return replace(row, status="bounded", value=None, lo=lo, hi=None, why=OF_WINDOW, draws=drawn)


def _row(
    path: str, unit: str, value: float, draws: Sequence[float], method: str, text: str, *, is_like: bool = True
) -> Parameter:
    why = "no replay is like the input, or several with different values are"
    return of_draws(path, unit, value, draws, text, method=method, why=why, is_like=is_like)


def document_inputs(end: OneEnd) -> list[FittedInput]:
    """`inputs` of the document."""
    seen = end.seen
    return [{"capture": end.capture, "run": 1, "end": end.place, "flows": seen.flows, "duration_s": seen.duration_s}]
