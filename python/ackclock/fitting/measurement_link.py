"""A link from measurements: run or schedule folders of `measure`, without captures.

The statements of measure's document have intervals of their own: capacity, queue, loss without a
queue, delay variation. Several measurements of one path are pooled: the median of their values, and
an interval that contains theirs. TCP transfers of the measurement score the link.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.errors import InputError
from ackclock.fitting.hop import LinkDescription, hop_of, used_values
from ackclock.fitting.parameters import (
    DRAWS,
    Interval,
    Parameter,
    assumed_queue,
    guesses,
    of_shaper,
    path_of,
    rtt_of,
    unlimited,
)
from ackclock.fitting.prediction import CANDIDATES, Observed, error_quantiles, held_out, verdict
from ackclock.format import percent
from ackclock.input.objects import Bulk, Flow, Link, Queue, Tcp
from ackclock.input.units import show_rate
from ackclock.storage import run_kind
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents import measure
    from ackclock.documents.engine import DirectionStats
    from ackclock.documents.fit import FitScore, HeldOut


KINDS = {"per-flow": "fq-codel", "codel-like": "codel", "pie-like": "pie"}
"""The kind of queue of a link file for what `measure` states."""
HOST_DELAY_MS = 0.15
"""What two hosts add to the smallest delay at most: their timers and interrupts."""
NOISE_MS = 0.3
"""95 % quantile of the delay variation up to which it is the hosts' own."""
UNIFORM_P95, EXPONENTIAL_P95 = 0.95, math.log(20)
"""The 95 % quantile of jitter, relative to its maximum (uniform) and to its mean (exponential)."""
UNIFORM_RATIO = 2.87
"""Ratio of the 95 % quantile and the median from which on jitter is exponential, not uniform: the
geometric mean of the ratios of both, 1.9 and 4.3."""
JITTER_ERROR = 0.15
"""Half-width of the interval of jitter by some hundred datagrams, relative."""
MIN_LOSSES = 5


def pooled(found: Sequence[Interval]) -> Interval | None:
    """One of several measurements: the median value, and an interval that contains theirs."""
    if not found:
        return None
    return Interval(median(one.value for one in found), min(one.lo for one in found), max(one.hi for one in found))


@dataclass(frozen=True)
class Statements:
    """What the measurements of a path state of one direction: its capacity with its queue, and its
    delay, of each measurement that has them.
    """

    direction: Direction
    capacities: Sequence[measure.Capacity]
    delays: Sequence[DirectionStats]

    @classmethod
    def of(cls, found: Sequence[measure.Measurement], direction: Direction) -> Statements:
        return cls(
            direction,
            [one["capacity"][direction] for one in found if direction in one["capacity"]],
            [one["delay"][direction] for one in found if one["delay"] and direction in one["delay"]],
        )

    @property
    def queues(self) -> list[measure.Queue]:
        return [one["queue"] for one in self.capacities]

    @property
    def jitters(self) -> list[measure.JitterStats]:
        return [jitter for queue in self.queues if (jitter := queue["jitter"])]

    @property
    def kind(self) -> str:
        """The kind of queue of most measurements."""
        kinds = [queue["kind"] for queue in self.queues]
        return max(kinds, key=kinds.count) if kinds else "unknown"

    @property
    def reasons(self) -> str:
        """Why the queue has its kind."""
        return "; ".join(dict.fromkeys(queue["because"] for queue in self.queues))


def documents(folder: Path) -> list[measure.Measurement] | None:
    """The documents of a measurement, or of a schedule's; None for any other input.

    Raises:
        InputError: a schedule without a finished measurement.
    """
    kind = run_kind.kind_of(folder)
    if kind == run_kind.SCHEDULE:
        files = sorted(folder.glob(f"*/{run_kind.MEASURE.document}"))
        if not files:
            raise InputError.problem(
                "a schedule without a finished measurement", "wait for the first one", file=str(folder), option="INPUT"
            )
    elif kind == run_kind.MEASURE:
        files = [folder / run_kind.MEASURE.document]
    else:
        return None
    return [read_json(file) for file in files]


def measured_link(found: Sequence[measure.Measurement], seed: int) -> LinkDescription:
    """The link of measurements of one path.

    Args:
        found: documents of `measure`.
        seed: of the draws.

    Raises:
        InputError: no capacity was measured.
    """
    sides = {d: Statements.of(found, d) for d in DIRECTIONS}
    if not any(side.capacities for side in sides.values()):
        raise InputError.problem(
            "the measurement has no capacity", 'measure with the tests "delay,capacity,tcp"', option="INPUT"
        )
    rates = {d: _rate(sides[d], sides[OPPOSITE[d]], seed) for d in DIRECTIONS}
    used = {d: row.used or 0.0 for d, row in rates.items()}
    delays = _delays(found, used, seed)
    queues = [_queue(sides[d], used[d], rtt_of(delays), seed) for d in DIRECTIONS]
    losses = [_loss(side, seed) for side in sides.values()]
    jitters = [_jitter(side, seed) for side in sides.values()]
    bursts = {d: row for d, side in sides.items() if (row := _burst(side, seed))}
    rated = [replace(row, path=path_of("shaper", d, "rate")) if d in bursts else row for d, row in rates.items()]
    queues = [of_shaper(row, d) if d in bursts else row for d, row in zip(DIRECTIONS, queues, strict=True)]
    parameters = [*rated, *bursts.values(), *queues, *losses, *delays, *jitters]
    unordered = [d for d, side in sides.items() if not all(jitter["in_order"] for jitter in side.jitters)]
    hop = hop_of(used_values(parameters), unordered=unordered)
    for direction, side in sides.items():
        if side.kind in KINDS:
            kind, path = KINDS[side.kind], hop.queue_path(direction)
            hop = hop.with_queue(direction, Queue(kind=kind))
            parameters = [
                replace(row, used=None, draws=()) if row.path == f"{path}.bytes" else row for row in parameters
            ]
            method = "what three kinds of traffic meet"
            parameters.append(Parameter(f"{path}.kind", "", "assumed", method, side.reasons, kind=kind))
    return LinkDescription(parameters, hop, _remarks(sides, len(found)))


def _draws(path: str, found: Interval, seed: int) -> tuple[float, ...]:
    """Draws of a value by its interval, of which each side has its own width."""
    rng = random.Random(f"{path} {seed}")

    def one() -> float:
        at = rng.gauss(0, 1) / 1.96
        return max(0.0, found.value + at * (found.hi - found.value if at > 0 else found.value - found.lo))

    return tuple(one() for _ in range(DRAWS))


def _guesses(path: str, used: float, lo: float, seed: int) -> tuple[float, ...]:
    return tuple(max(lo, draw) for draw in guesses(used, random.Random(f"{path} {seed}")))


def _identified(path: str, unit: str, method: str, text: str, found: Interval, seed: int) -> Parameter:
    """A row by an interval: bounded if that is wide."""
    shown, drawn = found.rounded(), _draws(path, found, seed)
    why = "" if shown.is_narrow else "the interval is wide"
    return Parameter.within(path, unit, method, text, shown, drawn, used=found.value, why=why)


def _rate(side: Statements, other: Statements, seed: int) -> Parameter:
    path, method = path_of("rate", side.direction), "bits that left a standing queue over time"
    known = [rate for one in side.capacities if not one["at_least"] and (rate := one["queue"]["rate"])]
    found = pooled([Interval(one["mean_bps"], one["lo_bps"], one["hi_bps"]) for one in known])
    if found is not None:
        text = f"{sum(one['windows'] for one in known)} windows of a second, busy for {percent(known[0]['busy_share'])}"
        return _identified(path, "b/s", method, text, found, seed)
    used = max(bps for one in side.capacities or other.capacities if (bps := one["rate_bps"]))
    if not side.capacities:
        why = "the capacity of this direction was not measured"
        return Parameter.unseen(path, "b/s", why, used, _guesses(path, used, 0.0, seed))
    why, drawn = "the stream did not fill the path", _guesses(path, used, used, seed)
    return Parameter(path, "b/s", "bounded", method, why, lo=used, used=used, why=why, draws=drawn)


def _burst(side: Statements, seed: int) -> Parameter | None:
    """The bucket of a shaper: the line behind it is not known, and faster than the stream."""
    buckets = [bucket for queue in side.queues if (bucket := queue["token_bucket"])]
    found = pooled([Interval(one["burst_bytes"], one["lo"], one["hi"]) for one in buckets])
    if found is None:
        return None
    path, method = path_of("shaper", side.direction, "burst"), "bytes above the rate before a queue grew"
    return _identified(path, "B", method, "the start of the stream", found, seed)


def _delays(found: Sequence[measure.Measurement], rates: Mapping[Direction, float], seed: int) -> list[Parameter]:
    """The delay of each direction where the clocks are known, else one for both."""
    tests = [test for one in found if (test := one["delay"]) and set(test) == set(DIRECTIONS)]
    bounds = [
        {d: bound for d in DIRECTIONS if (bound := test[d]["min_delay_interval_ms"]) is not None} for test in tests
    ]
    method, path = "minimum delay of sparse datagrams", path_of("delay")
    if not tests or any(len(bound) < len(DIRECTIONS) for bound in bounds):
        return [Parameter.unseen(path, "ms", "no delays were measured in both directions", 0.0)]
    service = {d: 8e3 * tests[0][d]["ip_bytes"] / rates[d] for d in DIRECTIONS}
    text = f"{sum(test[d]['received'] for test in tests for d in DIRECTIONS)} datagrams"

    def interval(lo: float, hi: float) -> Interval:
        return Interval((lo + hi) / 2, lo - HOST_DELAY_MS, hi).at_least(0.0)

    each = {d: pooled([interval(*(end - service[d] for end in bound[d])) for bound in bounds]) for d in DIRECTIONS}
    known = {d: one for d, one in each.items() if one and one.hi - one.lo <= 2 * HOST_DELAY_MS + 0.1 * one.value}
    if len(known) == len(DIRECTIONS):
        return [_identified(path_of("delay", d), "ms", method, text, one, seed) for d, one in known.items()]
    # The upper end of one direction's bounds has the lower end of the other's: their sum is known.
    rtts = [(sum(bound[d][0] + bound[d][1] for d in DIRECTIONS) / 2 - sum(service.values())) / 2 for bound in bounds]
    half = pooled([interval(rtt, rtt) for rtt in rtts])
    assert half is not None
    text += "; half of the sum of both directions, since the offset between the clocks is not known"
    return [_identified(path, "ms", method, text, half, seed)]


def _queue(side: Statements, rate: float, rtt_ms: float, seed: int) -> Parameter:
    path, kind = path_of("queue", side.direction, "bytes"), side.kind
    text = side.reasons or "no queue was measured"
    limits = []
    for one in side.capacities if kind == "droptail" else ():
        queue, packet = one["queue"], one["packet_bytes"]
        limit, lo, hi = queue["buffer_bytes"], queue["buffer_lo_bytes"], queue["buffer_hi_bytes"]
        if queue["kind"] == kind and limit is not None and lo is not None and hi is not None:
            # Without the packet in transmission, or with another one.
            limits.append(
                Interval(max(limit - packet, packet), max(lo - packet - packet, packet), hi - packet + packet)
            )
    found = pooled(limits)
    if found is not None:
        return _identified(path, "B", "backlog at which the stream's datagrams are lost", text, found, seed)
    seen = max((size for queue in side.queues if (size := queue["stream_queue_bytes"]) is not None), default=0.0)
    used = float(round(assumed_queue(seen, rate, rtt_ms)))
    why = f"the queue is {kind}" if kind not in ("droptail", "unknown") else "no overflow shows the limit"
    return unlimited(path, seen, used, text, "largest backlog of the stream", why, _guesses(path, used, seen, seed))


def _loss(side: Statements, seed: int) -> Parameter:
    from ackclock.measurement.stream_evidence import wilson

    path, method = path_of("loss", side.direction, "mean"), "loss of datagrams without a queue (Wilson's interval)"
    counts = [(loss["lost"], loss["sent"]) for queue in side.queues if (loss := queue["channel_loss"])]
    # The test `delay` alone.
    counts = counts or [(test["sent"] - test["received"], test["sent"]) for test in side.delays]
    lost, sent = sum(lost for lost, _ in counts), sum(sent for _, sent in counts)
    share = wilson(lost, sent)
    text = f"{lost} of {sent} datagrams lost without a queue; their distance does not show the length of bursts"
    found = Interval(share["rate"], share["lo"], share["hi"])
    if lost >= MIN_LOSSES:
        return _identified(path, "1", method, text, found, seed)
    why = f"{lost} losses in {sent} datagrams: a bound alone"
    return Parameter.within(path, "1", method, text, found, _draws(path, found, seed) if lost else (), why=why)


def _jitter(side: Statements, seed: int) -> Parameter:
    path, method, each = path_of("jitter", side.direction), "delay variation of sparse datagrams", side.jitters
    if not each:
        return Parameter.unseen(path, "ms", "no delay variation was measured")
    p50, p95 = median(one["p50_ms"] for one in each), median(one["p95_ms"] for one in each)
    text = f"50 and 95 % of the datagrams are at most {p50:.2f} and {p95:.2f} ms above the minimum"
    if p95 <= NOISE_MS:
        return Parameter(path, "ms", "identified", method, text, value=0.0, lo=0.0, hi=p95)
    key, share = ("high", UNIFORM_P95) if p95 < UNIFORM_RATIO * p50 else ("mean", EXPONENTIAL_P95)
    values = [one["p95_ms"] / share for one in each]
    found = Interval(median(values), min(values) * (1 - JITTER_ERROR), max(values) * (1 + JITTER_ERROR))
    return _identified(f"{path}.{key}", "ms", method, text, found, seed)


def _remarks(sides: Mapping[Direction, Statements], count: int) -> list[str]:
    """What the measurements state and the link does not have."""
    texts = []
    for direction, side in sides.items():
        texts += [
            f"{direction}: the rate wanders from {show_rate(round(rate['p5_bps']))} to "
            f"{show_rate(round(rate['p95_bps']))} (5 and 95 % of the seconds), this link has its mean"
            for queue in side.queues
            if (rate := queue["rate"]) and rate["wanders"]
        ]
        texts += [
            f"{direction}: {stalls['count']} stalls of at most {stalls['longest_ms']:.0f} ms, this link has none"
            for queue in side.queues
            if (stalls := queue["stalls"])
        ]
    if count > 1:
        texts.append(f"{count} measurements are pooled: intervals contain those of each")
    return list(dict.fromkeys(texts))


def score(found: Sequence[measure.Measurement], link: Link) -> tuple[FitScore | None, str]:
    """The prediction of the TCP transfers of the measurements, of which no parameter is made; None,
    with the reason, without any.

    Its p95 RTT is that of the sender's smoothed RTT, beside which the simulation has that of single
    RTTs.
    """
    rows = [
        row for one in found for flow in one["flows"] if flow["purpose"] == "tcp" and (row := _prediction(flow, link))
    ]
    if not rows:
        return None, 'the measurement has no TCP transfer: measure with the test "tcp"'
    goodputs, rtts = ([abs(row["goodput_error"]) for row in rows], [abs(row["rtt_p95_error"]) for row in rows])
    return {
        "held_out": rows,
        "goodput_error": error_quantiles(goodputs),
        "rtt_p95_error": error_quantiles(rtts),
        "repeat_spread": None,
        "naive": None,
        **verdict(median(goodputs), median(rtts)),
    }, ""


def _prediction(flow: measure.Flow, link: Link) -> HeldOut | None:
    """The errors of one transfer; None without its figures."""
    from ackclock.api import simulate

    rtt = flow["rtt_ms"]
    if not flow["goodput_bps"] or not rtt or rtt["p95"] is None:
        return None
    variant = flow["variant"] if flow["variant"] in CANDIDATES else CANDIDATES[0]
    run = simulate(
        link,
        [Flow(name="flow", direction=flow["direction"], workload=Bulk())],
        duration=f"{flow['duration_s']:.3f} s",
        seeds=[1, 2, 3],
        tcp=Tcp(variant=variant),
        sample="0 s",
    )
    each = [summary["flows"][0] for summary in run.summaries]
    predicted = Observed(
        fmean(own["goodput_bps"] or 0.0 for own in each),
        fmean(own["rtt_ms"]["p95"] or 0.0 for own in each),
        fmean(own["retransmission_rate"] or 0.0 for own in each),
    )
    measured = Observed(flow["goodput_bps"], rtt["p95"], flow["retransmission_rate"] or 0.0)
    return held_out(variant, flow["direction"], (0.0, flow["duration_s"]), predicted, measured)
