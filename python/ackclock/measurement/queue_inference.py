"""Which queue a path has, by what a stream that does not yield, TCP and sparse datagrams meet.

`infer` is a pure function of recorded facts (`ackclock.measurement.queue_facts`). Each statement is
made only where the facts decide it, else it is "unknown":

- A droptail queue drops what exceeds its limit and nothing else. The probability of a loss, given
  the bytes in the queue, is a step; jitter after the queue blurs the step by its own distribution.
- A queue for each flow (FQ-CoDel, CAKE) delays the stream and not the sparse flows beside it.
- CoDel's drop interval shrinks by the square root of the number of drops (RFC 8289, section 5.4): a
  stream that does not yield keeps its queue for seconds, while TCP is held near the target.
- PIE and DualPI2 raise their drop probability by the queueing delay (RFC 8033, section 4.2):
  within a second it holds the stream near the target. RED lets delay and loss rate settle together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.format import rate as show
from ackclock.measurement.queue_facts import Floats, QueueFacts, Train

Bools = NDArray[np.bool_]

DROPTAIL, PER_FLOW, CODEL, PIE, AQM, UNKNOWN = "droptail", "per-flow", "codel-like", "pie-like", "aqm", "unknown"

MIN_LOSSES = 12
"""Fewer losses of the stream decide nothing."""
SPARSE_SHARE = 0.25
"""A sparse flow that waits at most this share of the stream's queueing delay has a queue of its
own.
"""
MIN_QUEUE_MS = 8.0
"""A queueing delay below this separates no flows."""
FULL_SHARE = 0.6
"""Share of the excess of the stream that a full queue drops, at least."""
STEP_NATS = 0.12
"""A step explains the losses if it is worse than a free function of the queue length by at most
this log-likelihood for each loss."""
NO_STEP_NATS = 0.3
"""It does not explain them above this."""
ABOVE_LIMIT = np.array((0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 0.9999))
"""Loss rates of datagrams that find a full queue."""
SIGNIFICANT = 1e-5
"""Probability by chance of that many losses at short queues."""
HELD_SHARE = 0.3
"""TCP is held by an AQM if its median queueing delay is at most this share of the stream's
maximum.
"""
HELD_WELL = 0.1
"""Below this share, a stream that outruns the AQM while TCP is held meets CoDel."""
OVER_CHANNEL = 1.5
"""TCP is held by drops if its loss rate is above this multiple of the channel's upper bound."""
RED_SHARE = 0.15
"""RED holds TCP at more than this share of the length at which a stream settles."""
MIN_CHANNEL_LOSSES = 3
"""Fewer losses without a queue show no channel that keeps TCP from filling a queue."""
SHARED = 0.5
"""A sparse flow that waits at least this share of the stream's queueing delay is in its queue."""
CODEL_S = 1.8
"""CoDel needs longer than this to bring a stream's queueing delay back below half of its peak."""
PIE_S = 1.3
"""PIE and DualPI2 need less than this."""
WANDER = 0.15
"""The rate wanders if the 5th and the 95th percentile of its windows differ by more than this share
of the median."""
WINDOW_S = 1.0


@dataclass(frozen=True)
class Jitter:
    """Delay variation without a queue, ms: quantiles above the minimum of sparse datagrams; mean
    and standard deviation for the stream's packets, which in-order delivery changes.
    """

    p50_ms: float
    p95_ms: float
    stream_mean_ms: float
    stream_sd_ms: float
    in_order: bool


@dataclass(frozen=True)
class ChannelLoss:
    """Loss rate without a queue, with Wilson's 95 % interval."""

    rate: float
    lo: float
    hi: float
    lost: int
    sent: int


@dataclass(frozen=True)
class Rate:
    """What the link carries, IP b/s: mean with a 95 % interval, percentiles of windows of a
    second.
    """

    mean_bps: float
    lo_bps: float
    hi_bps: float
    p5_bps: float
    p50_bps: float
    p95_bps: float
    windows: int
    wanders: bool
    busy_share: float


@dataclass(frozen=True)
class TokenBucket:
    """Bytes that the path passed at the sent rate before its rate limit applied."""

    burst_bytes: float
    lo: float
    hi: float


@dataclass(frozen=True)
class Stalls:
    """Times without any arrival while datagrams were sent, after which those arrived together."""

    count: int
    longest_ms: float


@dataclass(frozen=True)
class QueueStatements:
    """The statements about one direction; ``because`` names the evidence of ``kind``."""

    kind: str
    because: str
    losses: str
    """overflow, aqm, channel, both, none or unknown."""
    buffer_bytes: float | None
    """Limit of a droptail queue that overflowed, with the packet in transmission."""
    buffer_lo_bytes: float | None
    buffer_hi_bytes: float | None
    tcp_queue_ms: float | None
    """Median queueing delay that TCP connections meet."""
    stream_queue_ms: float | None
    """Maximum queueing delay (99th percentile) of the stream that does not yield."""
    stream_queue_bytes: float | None
    stream_grows: bool | None
    """The stream's queue still grew at its end: it can become longer."""
    rate: Rate | None
    channel_loss: ChannelLoss | None
    jitter: Jitter | None
    token_bucket: TokenBucket | None
    stalls: Stalls | None

    def as_json(self) -> dict[str, Any]:
        """The statements for the document."""
        return asdict(self)


def wilson(lost: int, sent: int) -> ChannelLoss:
    """A proportion with Wilson's 95 % interval; 0 to 1 without observations."""
    if not sent:
        return ChannelLoss(0.0, 0.0, 1.0, 0, 0)
    z, share = 1.959964, lost / sent
    centre = (share + z * z / (2 * sent)) / (1 + z * z / sent)
    half = z / (1 + z * z / sent) * math.sqrt(share * (1 - share) / sent + z * z / (4 * sent * sent))
    return ChannelLoss(share, max(0.0, centre - half), min(1.0, centre + half), lost, sent)


def infer(facts: QueueFacts) -> QueueStatements:
    """The statements that the facts decide."""
    stream = facts.stream
    if stream is None or np.count_nonzero(~stream.lost) < 20:
        return _without_stream(facts)
    seen = _Seen.of(facts, stream, _channel(facts))
    kind, because = _kind(facts, seen)
    if kind == DROPTAIL:
        # Below its limit such a queue drops nothing: these losses are the channel's, too.
        seen = _Seen.of(facts, stream, _channel(facts, seen))
    buffer = _buffer(seen) if kind == DROPTAIL else None
    queue = seen.wait_ms[~stream.lost]
    tcp = _tcp_queue_ms(facts, seen, kind)
    busy, stalls = bool(seen.filled), _stalls(stream, seen)
    return QueueStatements(
        kind=kind,
        because=because,
        losses=_losses(seen, kind),
        buffer_bytes=buffer[0] if buffer else None,
        buffer_lo_bytes=buffer[1] if buffer else None,
        buffer_hi_bytes=buffer[2] if buffer else None,
        tcp_queue_ms=tcp,
        stream_queue_ms=float(np.quantile(queue, 0.99)) if busy else None,
        stream_queue_bytes=float(np.quantile(seen.bytes, 0.99)) if busy else None,
        stream_grows=_grows(seen) if busy else None,
        rate=seen.rate,
        channel_loss=seen.channel,
        jitter=seen.jitter,
        # During a pause after the start a queue grows as it does when a burst ends.
        token_bucket=_token_bucket(seen) if busy and stalls is None else None,
        stalls=stalls,
    )


def _without_stream(facts: QueueFacts) -> QueueStatements:
    idle = facts.idle
    channel = wilson(int(idle.lost.sum()), len(idle.lost)) if idle is not None else None
    jitter = _jitter(idle, None, 0.0) if idle is not None and not idle.lost.all() else None
    return QueueStatements(
        UNKNOWN, "no stream filled the path", UNKNOWN, None, None, None, None, None, None, None, None, channel,
        jitter, None, None,
    )  # fmt: skip


def _jitter(idle: Train, stream: Train | None, service_s: float) -> Jitter:
    """The sparse datagrams' variation, and that of consecutive packets `service_s` apart.

    In-order delivery makes a packet wait for the earlier ones: P(J <= x) is the product of
    F(x + k g) over the earlier packets k, with the service time g.
    """
    values = np.sort(idle.delay_ms[~idle.lost])
    values = values - values[0]
    arrivals = (stream.sent_s + 1e-3 * stream.delay_ms)[~stream.lost] if stream is not None else np.zeros(0)
    in_order = len(arrivals) < 2 or np.mean(np.diff(arrivals) < -1e-6) < 0.001
    p50, p95 = (float(np.quantile(values, q)) for q in (0.5, 0.95))
    mean, sd = float(values.mean()), float(values.std())
    gap_ms = 1e3 * service_s
    if in_order and gap_ms > 0 and values[-1] > gap_ms:
        grid = np.linspace(0.0, values[-1], 400)
        share = np.ones_like(grid)
        for k in range(min(2000, math.ceil(values[-1] / gap_ms)) + 1):
            share *= np.searchsorted(values, grid + k * gap_ms, side="right") / len(values)
        density = np.diff(share, prepend=0.0)
        mean = float((density * grid).sum())
        sd = math.sqrt(max(0.0, float((density * grid**2).sum()) - mean**2))
    return Jitter(p50, p95, mean, sd, bool(in_order))


@dataclass(frozen=True)
class _Seen:
    """The stream, reconstructed: queueing delay of each packet (that of the neighbours if it was
    lost), and the bytes that it found in the queue.
    """

    train: Train
    wait_ms: Floats
    bytes: Floats
    noise_ms: float
    service_s: float
    channel: ChannelLoss
    """Loss without a queue, of other trains."""
    jitter: Jitter | None
    rate: Rate | None
    filled: bool
    """A queue grew, beyond the jitter."""

    @property
    def noise_bytes(self) -> float:
        """Standard deviation of the reconstructed queue, bytes."""
        return 1e-3 * self.noise_ms * self.train.ip_bytes / self.service_s

    @staticmethod
    def of(facts: QueueFacts, stream: Train, channel: ChannelLoss) -> _Seen:
        """Reconstruct the queue; the service time and the waits are estimated in turn."""
        arrived = ~stream.lost
        arrivals = np.sort((stream.sent_s + 1e-3 * stream.delay_ms)[arrived])
        service_s = float((arrivals[-1] - arrivals[0]) / max(1, len(arrivals) - 1))
        idle = facts.idle if facts.idle is not None and not facts.idle.lost.all() else None
        rate: Rate | None = None
        jitter: Jitter | None = None
        base = 0.0
        for _ in range(3):
            jitter = _jitter(idle, stream, service_s) if idle is not None else None
            pauses = _pauses_ms(arrivals, service_s, jitter)
            if jitter is not None and (len(pauses) or (rate is not None and rate.wanders)):
                # Sparse datagrams wait for the link's service, which is no jitter after the queue.
                jitter = replace(jitter, stream_mean_ms=0.0, stream_sd_ms=0.0)
            base = _base_ms(idle, stream, jitter, service_s)
            wait = _filled_in(stream.delay_ms - base)
            noise = jitter.stream_sd_ms if jitter else 0.0
            rate = _rate(stream, wait, base, noise, service_s, channel)
            if rate is not None:
                service_s = stream.ip_bytes * 8 / rate.mean_bps
        threshold = max(2.5e3 * service_s, 4 * noise)
        smooth = _smooth(wait, max(9, round(0.05 / max(1e-6, _gap_s(stream)))))
        return _Seen(
            stream,
            wait,
            _queued_bytes(stream, base, channel.rate),
            noise,
            service_s,
            channel,
            jitter,
            rate,
            bool(np.mean(smooth > threshold) > 0.2),
        )


def _gap_s(train: Train) -> float:
    return float(np.median(np.diff(train.sent_s))) if len(train.sent_s) > 1 else 1.0


def _base_ms(idle: Train | None, stream: Train, jitter: Jitter | None, service_s: float) -> float:
    """Delay of a packet of the stream without a queue, jitter included."""
    own = float(np.nanmin(stream.delay_ms))
    if idle is None or jitter is None:
        return own
    minimum = float(np.nanmin(idle.delay_ms))
    longer = 1e3 * service_s * (1 - idle.ip_bytes / stream.ip_bytes)
    return minimum + longer + jitter.stream_mean_ms


def _filled_in(wait_ms: Floats) -> Floats:
    lost = np.isnan(wait_ms)
    at = np.arange(len(wait_ms))
    out = wait_ms.copy()
    out[lost] = np.interp(at[lost], at[~lost], wait_ms[~lost])
    return out


def _smooth(values: Floats, width: int) -> Floats:
    width = min(width, len(values))
    kernel = np.ones(width) / width
    return np.convolve(np.pad(values, (width // 2, width - 1 - width // 2), mode="edge"), kernel, mode="valid")


def _spread_ms(train: Train) -> float:
    """The 95th percentile of the delay, above its minimum."""
    delays = train.delay_ms[~train.lost]
    return float(np.quantile(delays, 0.95) - delays.min()) if len(delays) else 0.0


SHORT_QUEUE = 0.6
"""Share of a droptail queue's limit below which it surely did not overflow."""


def _channel(facts: QueueFacts, droptail: _Seen | None = None) -> ChannelLoss:
    """Losses of the trains that no queue delayed, and of the stream where a droptail queue was
    short.
    """
    lost = sent = 0
    quiet_ms = 5.0 + (_spread_ms(facts.idle) if facts.idle is not None else 0.0)
    for train in (facts.idle, *facts.below):
        # A trial met a queue where the rate wanders.
        if train is not None and len(train.sent_s) and (train is facts.idle or _spread_ms(train) <= quiet_ms):
            lost, sent = lost + int(train.lost.sum()), sent + len(train.lost)
    if droptail is not None:
        longest = float(np.quantile(droptail.bytes, 0.99)) - 4 * droptail.noise_bytes
        short = droptail.bytes < SHORT_QUEUE * longest
        lost, sent = lost + int(droptail.train.lost[short].sum()), sent + int(short.sum())
    return wilson(lost, sent)


def _queued_bytes(stream: Train, base_ms: float, channel_rate: float) -> Floats:
    """Bytes in the queue when each packet was sent: those sent and not lost,
    less those that have left. Packets lost after the queue were in it, too.
    """
    arrived = ~stream.lost
    left = np.sort((stream.sent_s + 1e-3 * (stream.delay_ms - base_ms))[arrived])
    entered: Floats = np.cumsum(arrived).astype(float) - arrived
    gone = np.searchsorted(left, stream.sent_s, side="right")
    return (entered - gone) * stream.ip_bytes / max(0.05, 1 - channel_rate)


def _rate(
    stream: Train, wait_ms: Floats, base_ms: float, noise_ms: float, service_s: float, channel: ChannelLoss
) -> Rate | None:
    """What the link carried while its queue was not empty, in windows of a second.

    Packets lost after the bottleneck were carried: the received rate is divided by 1 - channel
    loss.
    """
    order = np.argsort((stream.sent_s + 1e-3 * stream.delay_ms)[~stream.lost], kind="stable")
    left = (stream.sent_s + 1e-3 * (stream.delay_ms - base_ms))[~stream.lost][order]
    smooth = _smooth(wait_ms, max(5, round(0.02 / max(1e-6, _gap_s(stream)))))[~stream.lost][order]
    busy = smooth > max(1.5e3 * service_s, 2.5 * noise_ms)
    if busy.sum() < 10:
        return None
    first, last = int(np.argmax(busy)), len(busy) - 1 - int(np.argmax(busy[::-1]))
    # After the last datagram the queue drains without new arrivals, at the same rate.
    span = left[last] - left[first]
    if span <= 0:
        return None
    width = min(WINDOW_S, span / 3)
    count = max(1, math.floor(span / width + 1e-9))
    edges = left[first] + width * np.arange(count + 1)
    cumulative = np.interp(edges, left, np.arange(len(left)))
    busy_sum = np.concatenate(([0], np.cumsum(busy)))
    at = np.searchsorted(left, edges)
    kept, rates = [], []
    for n in range(count):
        inside = max(1, at[n + 1] - at[n])
        full = (busy_sum[at[n + 1]] - busy_sum[at[n]]) / inside
        kept.append(full >= 0.95 or at[n + 1] == at[n])
        rates.append((cumulative[n + 1] - cumulative[n]) * stream.ip_bytes * 8 / width)
    good = np.array(rates)[np.array(kept)] / (1 - channel.rate)
    if len(good) == 0:
        return None
    # All of a busy period counts, as the mean of windows has rounding of a packet at each edge.
    mean = float(good.mean())
    if all(kept):
        mean = float((last - first) * stream.ip_bytes * 8 / span / (1 - channel.rate))
    p5, p50, p95 = (float(np.quantile(good, q)) for q in (0.05, 0.5, 0.95))
    sd = float(good.std(ddof=1)) if len(good) > 1 else 0.0
    lag = float(np.corrcoef(good[:-1], good[1:])[0, 1]) if len(good) > 3 and sd > 1e-9 * mean else 0.0
    effective = max(1.0, len(good) * (1 - max(0.0, min(0.95, lag))) / (1 + max(0.0, min(0.95, lag))))
    half = 1.96 * sd / math.sqrt(effective) + stream.ip_bytes * 8 / span
    lo, hi = mean - half, mean + half
    lo, hi = lo * (1 - channel.rate) / (1 - channel.lo), hi * (1 - channel.rate) / (1 - min(0.5, channel.hi))
    rounding = 2 * stream.ip_bytes * 8 / width
    wanders = len(good) >= 3 and p95 - p5 > max(WANDER * p50, 2 * rounding)
    return Rate(mean, float(lo), float(hi), p5, p50, p95, len(good), bool(wanders), float(np.mean(kept)))


def _kind(facts: QueueFacts, seen: _Seen) -> tuple[str, str]:
    lost = seen.train.lost
    if not seen.filled:
        return UNKNOWN, "no queue grew"
    added = _beside_stream_ms(facts)
    usual = float(np.median(seen.wait_ms[~lost]))
    shared = False
    if added is not None and usual >= max(MIN_QUEUE_MS, 6 * seen.noise_ms):
        if added <= SPARSE_SHARE * usual:
            return PER_FLOW, f"sparse flows waited {added:.1f} ms beside a stream that waited {usual:.0f} ms"
        if added < SHARED * usual:
            return UNKNOWN, "sparse flows waited, but less than the stream"
        shared = True
    per_flow = _per_flow_beside_tcp(facts, seen)
    if not shared and per_flow is not None:
        return PER_FLOW, per_flow
    if lost.sum() < MIN_LOSSES:
        return UNKNOWN, "the stream lost too few datagrams"
    early = _early_losses(seen)
    nats = _step_deficit(seen)
    held = _held(facts, seen)
    if early >= SIGNIFICANT and nats <= STEP_NATS:
        if held is None and seen.channel.lost < MIN_CHANNEL_LOSSES and _tcp_share(facts, seen) <= HELD_SHARE:
            return UNKNOWN, "TCP did not fill the queue that the stream filled"
        if not _full(seen):
            return UNKNOWN, "the queue still grew when the stream ended"
        if held is None or held > HELD_SHARE:
            return DROPTAIL, "losses began where the queue was longest, and only there"
        if held <= HELD_WELL:
            return CODEL, "the stream met a limit, and drops held TCP far below it"
        return UNKNOWN, "the stream met a limit, and drops held TCP below it"
    if early < SIGNIFICANT or nats > NO_STEP_NATS:
        return _aqm(seen, held, _tcp_share(facts, seen))
    return UNKNOWN, "the losses do not decide it"


def _full(seen: _Seen) -> bool:
    """At its end the stream lost what the link does not carry, as it does at a limit."""
    rate = seen.rate
    if rate is None or rate.wanders:
        return True
    last = seen.train.lost[-len(seen.train.lost) // 5 :]
    return float(last.mean()) >= FULL_SHARE * (1 - rate.mean_bps / max(rate.mean_bps, seen.train.sent_bps))


def _beside_stream_ms(facts: QueueFacts) -> float | None:
    """Added RTT of three in four sparse connections beside the stream."""
    times = np.array(facts.beside_stream_ms)
    if len(times) < 3 or facts.idle_rtt_ms is None:
        return None
    return float(np.quantile(times, 0.75)) - facts.idle_rtt_ms


def _per_flow_beside_tcp(facts: QueueFacts, seen: _Seen) -> str | None:
    """Sparse datagrams wait less than the TCP connections that fill the direction."""
    probes, idle = facts.beside_tcp, facts.idle
    if probes is None or idle is None or probes.lost.all() or len(facts.tcp_rtt_ms) < 5 or facts.idle_rtt_ms is None:
        return None
    sparse = float(np.nanquantile(probes.delay_ms, 0.75) - np.nanquantile(idle.delay_ms, 0.5))
    loaded = float(np.median(facts.tcp_rtt_ms)) - facts.idle_rtt_ms
    if loaded >= max(MIN_QUEUE_MS, 6 * seen.noise_ms) and sparse <= 0.15 * loaded:
        return f"sparse flows waited {sparse:.1f} ms beside TCP connections that waited {loaded:.0f} ms"
    return None


def _early_losses(seen: _Seen) -> float:
    """Probability by chance of the losses before the queue first came near its maximum.

    The expected rate is the channel's upper bound.
    """
    from scipy.stats import binom

    margin = max(3.0 * seen.train.ip_bytes, 3 * seen.noise_bytes)
    high = float(np.quantile(seen.bytes, 0.98))
    near = np.flatnonzero(seen.bytes >= min(high - margin, 0.8 * high))
    ramp = int(near[0]) if len(near) else len(seen.bytes)
    lost = int(seen.train.lost[:ramp].sum())
    bound = min(0.5, seen.channel.hi) if seen.channel.lost else min(0.5, 3.0 / max(1, seen.channel.sent))
    return float(binom.sf(lost - 1, ramp, bound)) if lost else 1.0


def _step_deficit(seen: _Seen) -> float:
    """Log-likelihood that a blurred step lacks of a free function of the queue length, for each
    loss.
    """
    from scipy.stats import norm

    lost, queue = seen.train.lost, seen.bytes
    size, count = seen.train.ip_bytes, len(queue)
    base = min(0.3, max(1e-4, seen.channel.rate))
    tenth = np.minimum(9, np.arange(count) * 10 // count)
    # A queue that holds no more than the stream leaves at its limit was not seen to be shorter.
    longest = float(np.quantile(queue[~lost], 0.99))
    first = longest - max(1.5 * size, 4 * seen.noise_bytes, 0.1 * longest)
    best = -math.inf
    for blur in {0.2 * size, *(math.hypot(0.2 * size, k * seen.noise_bytes) for k in (0.5, 1.0, 1.5))}:
        values, inverse = np.unique(np.floor(queue / (0.25 * blur)).astype(int), return_inverse=True)
        cell = inverse * 10 + tenth
        n = np.bincount(cell, minlength=10 * len(values)).reshape(-1, 10)
        k = np.bincount(cell, weights=lost.astype(float), minlength=10 * len(values)).reshape(-1, 10)
        centre = (values + 0.5) * 0.25 * blur
        for limit in np.linspace(first, longest + size + 2 * seen.noise_bytes, 40):
            step = norm.cdf((centre - limit) / blur)
            p = np.clip(base + (ABOVE_LIMIT[:, None] - base) * step, 1e-6, 1 - 1e-6)
            # The loss rate above the limit follows the link's rate: one for each tenth of the time.
            best = max(best, float((np.log(p) @ k + np.log1p(-p) @ (n - k)).max(axis=0).sum()))
    # Free: by queue length in coarser bins and by tenths of the time.
    coarse = np.clip(np.floor(12 * queue / max(1.0, queue.max())), 0, 11).astype(int)
    cell = np.unique(coarse * 10 + tenth, return_inverse=True)[1]
    free_n = np.bincount(cell).astype(float)
    free_k = np.bincount(cell, weights=lost.astype(float))
    p = np.clip(free_k / free_n, 1e-6, 1 - 1e-6)
    free = float((free_k * np.log(p) + (free_n - free_k) * np.log1p(-p)).sum())
    free -= 0.5 * (len(free_n) - 10) * math.log(count)
    return (free - best) / max(1, int(lost.sum()))


def _aqm(seen: _Seen, held: float | None, share: float) -> tuple[str, str]:
    """CoDel-like or PIE-like, by the course of the delay.

    PIE and DualPI2 raise their drop probability within a second to what holds the delay; RED lets
    it settle at one length. CoDel shortens its drop interval by the square root of the number of
    drops: the queue is short again after seconds only.
    """
    lost, wait = seen.train.lost, seen.wait_ms
    undecided = AQM, "losses began below the longest queue; the stream's delay does not show why"
    elapsed = seen.train.sent_s - seen.train.sent_s[0]
    if elapsed[-1] < 3.0 or (seen.rate is not None and seen.rate.wanders):
        return undecided
    smooth = _smooth(wait, max(9, round(0.1 / max(1e-6, _gap_s(seen.train)))))
    peak_at = int(np.argmax(smooth))
    peak = float(smooth[peak_at])
    late = elapsed > 0.5 * elapsed[-1]
    level, spread_ms = float(smooth[late].mean()), float(smooth[late].std())
    early_loss = float(lost[elapsed < 0.1 * elapsed[-1]].mean())
    if level > 0.9 * peak:
        # RED's loss rate grows with the queue; where it jumps, the queue met its limit.
        if held is not None and held <= HELD_WELL:
            return CODEL, "the stream outran the drops that held TCP"
        if share > RED_SHARE and spread_ms < 0.03 * level and early_loss < 0.6 * float(lost[late].mean()):
            return PIE, "delay and loss rate settled together"
        return undecided
    above = np.flatnonzero(smooth > 0.5 * peak)
    # The first time above half of the peak.
    ends = np.flatnonzero(smooth[peak_at:] <= 0.5 * peak)
    if not len(ends):
        return undecided
    above_s = float(elapsed[peak_at + int(ends[0])] - elapsed[above[0]])
    if above_s >= CODEL_S:
        return CODEL, f"the stream's queue was above half of its peak for {above_s:.1f} s"
    if above_s <= PIE_S and level < 0.5 * peak:
        return PIE, f"drops shortened the stream's queue within {above_s:.1f} s"
    return undecided


def _tcp_queue_ms(facts: QueueFacts, seen: _Seen | None, kind: str) -> float | None:
    """Median queueing delay of TCP; with a queue for each flow by its own RTTs."""
    probes, idle = facts.beside_tcp, facts.idle
    if kind == PER_FLOW:
        if len(facts.tcp_rtt_ms) < 5 or facts.idle_rtt_ms is None:
            return None
        return max(0.0, float(np.median(facts.tcp_rtt_ms)) - facts.idle_rtt_ms)
    if probes is None or idle is None or probes.lost.all() or idle.lost.all():
        return None
    begin = probes.sent_s[0] + 0.25 * (probes.sent_s[-1] - probes.sent_s[0])
    settled = probes.delay_ms[probes.sent_s >= begin]
    if np.isnan(settled).all():
        return None
    return max(0.0, float(np.nanmedian(settled) - np.nanmedian(idle.delay_ms)))


def _held(facts: QueueFacts, seen: _Seen) -> float | None:
    """TCP's median queueing delay over the stream's maximum; None if it shows nothing.

    It shows an AQM only if TCP lost more than a channel that the other trains allow for.
    """
    share = _tcp_share(facts, seen)
    wanders = seen.rate is not None and seen.rate.wanders
    if share == math.inf or wanders or facts.tcp_retransmitted < 3 or not facts.tcp_segments:
        return None
    if facts.tcp_retransmitted / facts.tcp_segments < OVER_CHANNEL * _channel(facts, seen).hi:
        return None
    return share


def _tcp_share(facts: QueueFacts, seen: _Seen) -> float:
    """TCP's median queueing delay over the stream's maximum; infinite without either."""
    tcp = _tcp_queue_ms(facts, seen, UNKNOWN)
    top = float(np.quantile(seen.wait_ms[~seen.train.lost], 0.99))
    wanders = seen.rate is not None and seen.rate.wanders
    return math.inf if tcp is None or wanders or top < MIN_QUEUE_MS else tcp / top


def _losses(seen: _Seen, kind: str) -> str:
    lost = int(seen.train.lost.sum())
    if not lost and not seen.channel.lost:
        return "none"
    channel = seen.channel.lo > 1e-4 and seen.channel.lost >= MIN_CHANNEL_LOSSES
    expected = seen.channel.hi * len(seen.train.lost)
    if lost <= 1.5 * expected + 4 and channel:
        return "channel"
    if kind == UNKNOWN or (seen.channel.lost and not channel):
        return UNKNOWN
    if channel:
        return "both"
    return "overflow" if kind == DROPTAIL else "aqm"


def _buffer(seen: _Seen) -> tuple[float, float, float]:
    """Bytes in the queue where a datagram was dropped: the limit is less than a packet above
    them.
    """
    at = seen.bytes[seen.train.lost]
    at = at[at >= 0.7 * np.quantile(at, 0.9)]
    half = seen.train.ip_bytes / 2
    value = float(np.median(at)) + half + seen.train.ip_bytes
    error = half + 2 * seen.noise_bytes / math.sqrt(max(1, len(at) / 10))
    return value, value - error, value + error


def _grows(seen: _Seen) -> bool:
    """The delay of the last tenth is the longest, and above that of the tenth before."""
    parts = [seen.wait_ms[part].mean() for part in np.array_split(np.arange(len(seen.wait_ms)), 10)]
    return bool(parts[-1] >= max(parts[:-1]) and parts[-1] > 1.05 * parts[-2])


def _token_bucket(seen: _Seen) -> TokenBucket | None:
    """The bytes above the rate that passed without a queue at the start of the stream.

    Without a burst the queue grows from the first packet on, by the sent rate less the capacity.
    The bytes are those sent until then, as a loaded sender does not keep its rate.
    """
    if seen.rate is None or seen.rate.wanders:
        return None
    train = seen.train
    rate, sent_bps = seen.rate.mean_bps, train.sent_bps
    if sent_bps < 1.05 * rate:
        return None
    # The time at which the queue first stays.
    threshold = max(2.5e3 * seen.service_s, 4 * seen.noise_ms)
    smooth = _smooth(seen.wait_ms, max(5, round(0.02 / max(1e-6, _gap_s(train)))))
    start = int(np.argmax(smooth > threshold))
    elapsed = train.sent_s[: start + 1] - train.sent_s[0]
    above = train.ip_bytes * np.arange(start + 1) - rate / 8 * elapsed
    # A full bucket does not fill further.
    above -= np.minimum.accumulate(above)
    queued = 1e-3 * threshold * rate / 8
    burst = max(0.0, float(above[-1]) - queued)
    error = max(4 * train.ip_bytes, 0.15 * burst, 0.02 * (sent_bps - rate) / 8)
    return TokenBucket(burst, burst - error, burst + error) if burst > 4 * error else None


def _stalls(stream: Train, seen: _Seen) -> Stalls | None:
    """Pauses of the arrivals that no jitter and no queue explains: a queue was there, nothing
    left.
    """
    arrivals = np.sort((stream.sent_s + 1e-3 * stream.delay_ms)[~stream.lost])
    long = _pauses_ms(arrivals, seen.service_s, seen.jitter)
    return Stalls(len(long), float(long.max())) if len(long) else None


def _pauses_ms(arrivals: Floats, service_s: float, jitter: Jitter | None) -> Floats:
    """Intervals of arrivals far above the service time and the jitter."""
    gaps_ms: Floats = 1e3 * np.diff(arrivals)
    usual = max(20.0, 20e3 * service_s, 8 * (jitter.p95_ms if jitter else 0.0))
    return gaps_ms[gaps_ms > usual]


def sentences(direction: str, queue: Mapping[str, Any]) -> list[str]:
    """The statements about one direction as sentences, from the document's ``queue``."""
    out = []
    kinds = {
        DROPTAIL: "is droptail",
        PER_FLOW: "has a queue for each flow",
        CODEL: "is CoDel-like",
        PIE: "drops by a probability (PIE-like)",
        AQM: "is an AQM",
        UNKNOWN: "is of unknown kind",
    }
    out.append(f"The queue {direction} {kinds[queue['kind']]}: {queue['because']}.")
    rate = queue["rate"]
    if rate and rate["wanders"]:
        out.append(
            f"The rate {direction} wanders: {show(rate['p5_bps'])} to {show(rate['p95_bps'])} in windows of a second "
            f"(median {show(rate['p50_bps'])})."
        )
    if queue["buffer_bytes"] is not None:
        size = f"The buffer {direction} holds {queue['buffer_bytes'] / 1e3:.0f} kB"
        waits = "" if queue["stream_queue_ms"] is None else f", which is {queue['stream_queue_ms']:.0f} ms of queue"
        out.append(f"{size}{waits}.")
    elif queue["stream_queue_ms"] is not None and queue["kind"] != UNKNOWN:
        prefix = "at least " if queue["stream_grows"] else ""
        if queue["tcp_queue_ms"] is not None:
            out.append(f"TCP {direction} meets {queue['tcp_queue_ms']:.0f} ms of queue.")
        out.append(f"A stream {direction} that does not yield piles up {prefix}{queue['stream_queue_ms']:.0f} ms.")
    origins = {
        "overflow": "overflow of the queue",
        "aqm": "drops of the AQM",
        "channel": "channel losses",
        "both": "drops of the queue and channel losses",
    }
    if queue["losses"] in origins:
        out.append(f"Losses {direction} are {origins[queue['losses']]}.")
    return out
