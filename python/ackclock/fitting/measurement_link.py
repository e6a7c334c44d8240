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
from typing import Any

from ackclock.errors import InputError
from ackclock.fitting.link_file import link_of
from ackclock.fitting.parameters import DIRECTIONS, DRAWS, GUESS, HOP, MIN_QUEUE_BYTES, Parameter, rounded
from ackclock.fitting.prediction import CANDIDATES, verdict
from ackclock.format import percent
from ackclock.input.units import show_rate, show_size
from ackclock.storage import run_kind
from ackclock.storage.stored_files import read_json

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
MAX_HALF_WIDTH = 0.5
"""Maximum relative half-width of the interval of a parameter that is identified."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    lo: float
    hi: float

    @staticmethod
    def pooled(found: Sequence[Interval]) -> Interval | None:
        """One of several measurements: the median value, and an interval that contains theirs."""
        if not found:
            return None
        return Interval(median(one.value for one in found), min(one.lo for one in found), max(one.hi for one in found))


def documents(folder: Path) -> list[dict[str, Any]] | None:
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


@dataclass(frozen=True)
class MeasuredLink:
    """The parameters of a path that was measured."""

    parameters: list[Parameter]
    link: dict[str, Any]
    remarks: list[str]


def measured_link(found: Sequence[Mapping[str, Any]], title: str, seed: int) -> MeasuredLink:
    """The link of measurements of one path.

    Args:
        found: documents of `measure`.
        title: of the link.
        seed: of the draws.

    Raises:
        InputError: no capacity was measured.
    """
    rates = {d: _rates(found, d) for d in DIRECTIONS}
    if not any(rates.values()):
        raise InputError.problem(
            "the measurement has no capacity", 'measure with the tests "delay,capacity,tcp"', option="INPUT"
        )
    rows = [_rate(d, rates, seed) for d in DIRECTIONS]
    used = {d: row.used or 0.0 for d, row in zip(DIRECTIONS, rows, strict=True)}
    delays = _delays(found, used, seed)
    rtt_ms = sum(row.used or 0.0 for row in delays) * (2 if len(delays) == 1 else 1)
    queues = [_queue(found, d, used[d], rtt_ms, seed) for d in DIRECTIONS]
    losses = [_loss(found, d, seed) for d in DIRECTIONS]
    jitters = [row for d in DIRECTIONS for row in _jitter(found, d, seed)]
    kinds = {d: kind for d in DIRECTIONS if (kind := _kind(found, d)) in KINDS}
    parameters = [*rows, *queues, *losses, *delays, *jitters]
    orders = {d: all(j["in_order"] for j in _statements(found, d, "jitter")) for d in DIRECTIONS}
    link = link_of(parameters, orders, title)
    for direction, kind in kinds.items():
        (hop,) = link["hop"]
        link["hop"] = [{**hop, "queue": {**hop["queue"], direction: {"kind": KINDS[kind]}}}]
        text = "; ".join(dict.fromkeys(_each(found, direction, "because")))
        path = f"hop.{HOP}.queue.{direction}"
        parameters = [_without_limit(row) if row.path == f"{path}.bytes" else row for row in parameters]
        parameters.append(
            Parameter(f"{path}.kind", "", "assumed", "what three kinds of traffic meet", text, kind=KINDS[kind])
        )
    return MeasuredLink(parameters, link, _remarks(found))


def _without_limit(row: Parameter) -> Parameter:
    return replace(row, used=None, draws=())


def _queues(found: Sequence[Mapping[str, Any]], direction: str) -> list[Mapping[str, Any]]:
    """The statements about the queue of a direction, of each measurement that has some."""
    return [one["capacity"][direction]["queue"] for one in found if direction in one["capacity"]]


def _each(found: Sequence[Mapping[str, Any]], direction: str, key: str) -> list[Any]:
    return [queue[key] for queue in _queues(found, direction) if queue[key] is not None]


def _statements(found: Sequence[Mapping[str, Any]], direction: str, key: str) -> list[Mapping[str, Any]]:
    return _each(found, direction, key)


def _rates(found: Sequence[Mapping[str, Any]], direction: str) -> list[Mapping[str, Any]]:
    return [one["capacity"][direction] for one in found if direction in one["capacity"]]


def _draws(path: str, of: Interval, seed: int) -> tuple[float, ...]:
    """Draws of a value by its interval, of which each side has its own width."""
    rng = random.Random(f"{path} {seed}")

    def one() -> float:
        at = rng.gauss(0, 1) / 1.96
        return max(0.0, of.value + at * (of.hi - of.value if at > 0 else of.value - of.lo))

    return tuple(one() for _ in range(DRAWS))


def _guesses(path: str, used: float, lo: float, seed: int) -> tuple[float, ...]:
    rng = random.Random(f"{path} {seed}")
    return tuple(max(lo, used * GUESS ** rng.uniform(-1, 1)) for _ in range(DRAWS))


def _identified(path: str, unit: str, method: str, text: str, of: Interval, seed: int) -> Parameter:
    """A row by an interval: bounded if that is wide."""
    value, lo, hi = rounded(of.value, of.lo, of.hi)
    is_known = hi - lo <= 2 * MAX_HALF_WIDTH * value
    return Parameter(
        path,
        unit,
        "identified" if is_known else "bounded",
        method,
        text,
        value if is_known else None,
        lo,
        hi,
        of.value,
        "" if is_known else "the interval is wide",
        draws=_draws(path, of, seed),
    )


def _rate(direction: str, rates: Mapping[str, Sequence[Mapping[str, Any]]], seed: int) -> Parameter:
    path, method = f"hop.{HOP}.rate.{direction}", "bits that left a standing queue over time"
    own = rates[direction]
    known = [one["queue"]["rate"] for one in own if not one["at_least"]]
    if known:
        of = Interval.pooled([Interval(one["mean_bps"], one["lo_bps"], one["hi_bps"]) for one in known])
        assert of is not None
        text = f"{sum(one['windows'] for one in known)} windows of a second, busy for {percent(known[0]['busy_share'])}"
        return _identified(path, "b/s", method, text, of, seed)
    lo = max((one["rate_bps"] for one in own if one["rate_bps"]), default=None)
    other = rates["up" if direction == "down" else "down"]
    used = max([one["rate_bps"] for one in (own or other) if one["rate_bps"]])
    why = "the stream did not fill the path" if own else "the capacity of this direction was not measured"
    return Parameter(
        path,
        "b/s",
        "bounded" if lo else "assumed",
        method if lo else "none",
        why,
        lo=lo,
        used=used,
        why=why,
        draws=_guesses(path, used, lo or 0.0, seed),
    )


def _delays(found: Sequence[Mapping[str, Any]], rates: Mapping[str, float], seed: int) -> list[Parameter]:
    """The delay of each direction where the clocks are known, else one for both."""
    tests = [one["delay"] for one in found if one["delay"] and set(one["delay"]) == set(DIRECTIONS)]
    bounds = [{d: test[d]["least_delay_interval_ms"] for d in DIRECTIONS} for test in tests]
    method = "minimum delay of sparse datagrams"
    path = f"hop.{HOP}.delay"
    if not tests or any(bound[d] is None for bound in bounds for d in DIRECTIONS):
        why = "no delays were measured in both directions"
        return [Parameter(path, "ms", "assumed", "none", why, used=0.0, why=why)]
    service = {d: 8e3 * tests[0][d]["ip_bytes"] / rates[d] for d in DIRECTIONS}
    text = f"{sum(test[d]['received'] for test in tests for d in DIRECTIONS)} datagrams"

    def interval(lo: float, hi: float) -> Interval:
        middle = (lo + hi) / 2
        return Interval(max(0.0, middle), max(0.0, lo - HOST_DELAY_MS), max(0.0, hi))

    each = {
        d: Interval.pooled([interval(*(end - service[d] for end in bound[d])) for bound in bounds]) for d in DIRECTIONS
    }
    known = [one for one in each.values() if one and one.hi - one.lo <= 2 * HOST_DELAY_MS + 0.1 * one.value]
    if len(known) == len(DIRECTIONS):
        return [
            _identified(f"{path}.{d}", "ms", method, text, one, seed) for d, one in zip(DIRECTIONS, known, strict=True)
        ]
    # The upper end of one direction's bounds has the lower end of the other's: their sum is known.
    rtts = [(sum(bound[d][0] + bound[d][1] for d in DIRECTIONS) / 2 - sum(service.values())) / 2 for bound in bounds]
    of = Interval.pooled([interval(rtt, rtt) for rtt in rtts])
    assert of is not None
    text += "; half of the sum of both directions, since the offset between the clocks is not known"
    return [_identified(path, "ms", method, text, of, seed)]


def _kind(found: Sequence[Mapping[str, Any]], direction: str) -> str:
    """The kind of most measurements."""
    kinds = [queue["kind"] for queue in _queues(found, direction)]
    return max(kinds, key=kinds.count) if kinds else "unknown"


def _queue(found: Sequence[Mapping[str, Any]], direction: str, rate: float, rtt_ms: float, seed: int) -> Parameter:
    path, method = f"hop.{HOP}.queue.{direction}.bytes", "backlog at which the stream's datagrams are lost"
    kind = _kind(found, direction)
    limits = []
    for one in _rates(found, direction):
        queue, packet = one["queue"], one["packet_bytes"]
        if kind == "droptail" and queue["kind"] == kind and queue["buffer_bytes"] is not None:
            # Without the packet in transmission, or with another one.
            value, lo, hi = (queue[key] - packet for key in ("buffer_bytes", "buffer_lo_bytes", "buffer_hi_bytes"))
            limits.append(Interval(max(value, packet), max(lo - packet, packet), hi + packet))
    of = Interval.pooled(limits)
    text = "; ".join(dict.fromkeys(_each(found, direction, "because"))) or "no queue was measured"
    if of is not None:
        return _identified(path, "B", method, text, of, seed)
    seen = max(_each(found, direction, "stream_queue_bytes"), default=0.0)
    used = float(round(max(2 * seen, rate / 8 * rtt_ms / 1e3, MIN_QUEUE_BYTES)))
    why = f"the queue is {kind}" if kind not in ("droptail", "unknown") else "no overflow shows the limit"
    return Parameter(
        path,
        "B",
        "bounded" if seen else "assumed",
        "largest backlog of the stream" if seen else "none",
        text,
        lo=seen or None,
        used=used,
        why=why,
        draws=_guesses(path, used, seen, seed),
    )


def _loss(found: Sequence[Mapping[str, Any]], direction: str, seed: int) -> Parameter:
    from ackclock.measurement.stream_evidence import wilson

    path, method = f"hop.{HOP}.loss.{direction}.mean", "loss of datagrams without a queue (Wilson's interval)"
    each = _statements(found, direction, "channel_loss")
    lost, sent = sum(one["lost"] for one in each), sum(one["sent"] for one in each)
    if not each:
        # The test `delay` alone.
        tests = [one["delay"][direction] for one in found if one["delay"] and direction in one["delay"]]
        lost, sent = sum(one["sent"] - one["received"] for one in tests), sum(one["sent"] for one in tests)
    share = wilson(lost, sent)
    text = f"{lost} of {sent} datagrams lost without a queue; their distance does not show the length of bursts"
    of = Interval(share["rate"], share["lo"], share["hi"])
    if lost >= MIN_LOSSES:
        return _identified(path, "1", method, text, of, seed)
    why = f"{lost} losses in {sent} datagrams: a bound alone"
    drawn = _draws(path, of, seed) if lost else ()
    return Parameter(path, "1", "bounded", method, text, lo=of.lo, hi=of.hi, used=of.value, why=why, draws=drawn)


def _jitter(found: Sequence[Mapping[str, Any]], direction: str, seed: int) -> list[Parameter]:
    path, method = f"hop.{HOP}.jitter.{direction}", "delay variation of sparse datagrams"
    each = _statements(found, direction, "jitter")
    if not each:
        why = "no delay variation was measured"
        return [Parameter(path, "ms", "assumed", "none", why, why=why)]
    p50, p95 = (median(one[key] for one in each) for key in ("p50_ms", "p95_ms"))
    text = f"50 and 95 % of the datagrams are at most {p50:.2f} and {p95:.2f} ms above the minimum"
    if p95 <= NOISE_MS:
        return [Parameter(path, "ms", "identified", method, text, value=0.0, lo=0.0, hi=p95)]
    is_uniform = p95 < UNIFORM_RATIO * p50
    key, share = ("high", UNIFORM_P95) if is_uniform else ("mean", EXPONENTIAL_P95)
    values = [one["p95_ms"] / share for one in each]
    of = Interval(median(values), min(values) * (1 - JITTER_ERROR), max(values) * (1 + JITTER_ERROR))
    return [_identified(f"{path}.{key}", "ms", method, text, of, seed)]


def _remarks(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the measurement states and the link does not have."""
    texts = []
    for direction in DIRECTIONS:
        texts += [
            f"{direction}: the rate wanders from {show_rate(round(rate['p5_bps']))} to "
            f"{show_rate(round(rate['p95_bps']))} (5 and 95 % of the seconds), this link has its mean"
            for rate in _statements(found, direction, "rate")
            if rate["wanders"]
        ]
        texts += [
            f"{direction}: a token bucket passes bursts of {show_size(round(bucket['burst_bytes']))}; "
            "this link has the rate alone"
            for bucket in _statements(found, direction, "token_bucket")
        ]
        texts += [
            f"{direction}: {stalls['count']} stalls of at most {stalls['longest_ms']:.0f} ms, this link has none"
            for stalls in _statements(found, direction, "stalls")
        ]
    if len(found) > 1:
        texts.append(f"{len(found)} measurements are pooled: intervals contain those of each")
    return list(dict.fromkeys(texts))


def score(found: Sequence[Mapping[str, Any]], link: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The prediction of the TCP transfers of the measurements, of which no parameter is made; None,
    with the reason, without any.

    Its p95 RTT is that of the sender's smoothed RTT, beside which the simulation has that of single
    RTTs.
    """
    flows = [
        flow
        for one in found
        for flow in one["flows"]
        if flow["purpose"] == "tcp" and flow["goodput_bps"] and flow["rtt_ms"]
    ]
    if not flows:
        return None, 'the measurement has no TCP transfer: measure with the test "tcp"'
    rows = [_prediction(flow, link) for flow in flows]
    goodputs, rtts = ([abs(row[key]) for row in rows] for key in ("goodput_error", "rtt_p95_error"))

    def of(errors: Sequence[float]) -> dict[str, float]:
        ordered = sorted(errors)
        return {"median": median(ordered), "p90": ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]}

    return {
        "held_out": rows,
        "goodput_error": of(goodputs),
        "rtt_p95_error": of(rtts),
        "repeat_spread": None,
        "naive": None,
        **verdict(median(goodputs), median(rtts)),
    }, ""


def _prediction(flow: Mapping[str, Any], link: Mapping[str, Any]) -> dict[str, Any]:
    """The errors of one transfer."""
    from ackclock.api import simulate

    variant = flow["variant"] if flow["variant"] in CANDIDATES else CANDIDATES[0]
    rtt = flow["rtt_ms"]
    run = simulate(
        {"hop": link["hop"]},
        [{"name": "flow", "direction": flow["direction"], "workload": {"kind": "bulk"}}],
        duration=f"{flow['duration_s']:.3f} s",
        seeds=[1, 2, 3],
        tcp={"variant": variant},
        sample="0 s",
    )
    each = [summary["flows"][0] for summary in run.summaries]
    goodput = fmean(own["goodput_bps"] or 0.0 for own in each)
    p95 = fmean(own["rtt_ms"]["p95"] or 0.0 for own in each)
    simulated = fmean(own["retransmission_rate"] or 0.0 for own in each)
    retransmitted = flow["retransmission_rate"]
    return {
        "variant": variant,
        "direction": flow["direction"],
        "buffers": "auto",
        "from_s": 0.0,
        "to_s": flow["duration_s"],
        "goodput_error": goodput / flow["goodput_bps"] - 1,
        "rtt_p95_error": p95 / rtt["p95"] - 1,
        "retransmission_ratio": simulated / retransmitted if retransmitted else None,
    }
