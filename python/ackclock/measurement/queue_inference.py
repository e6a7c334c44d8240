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
from typing import Final

import numpy as np

from ackclock.documents.measure import ChannelLosses, LossOrigin, Queue, QueueKind
from ackclock.measurement.queue_facts import QueueFacts, Train
from ackclock.measurement.stream_evidence import StreamEvidence, gap_s, jitter_stats, smooth, wilson

DROPTAIL: Final = "droptail"
PER_FLOW: Final = "per-flow"
CODEL: Final = "codel-like"
PIE: Final = "pie-like"
AQM: Final = "aqm"
UNKNOWN: Final = "unknown"

MIN_LOSSES = 12
"""Fewer losses of the stream decide nothing."""
SPARSE_SHARE = 0.25
"""A sparse flow that waits at most this share of the stream's queueing delay has a queue of its
own.
"""
MIN_QUEUE_MS = 8.0
"""A queueing delay below this separates no flows."""
STEP_NATS = 0.12
"""A step explains the losses if it is worse than a free function of the queue length by at most
this log-likelihood for each loss."""
NO_STEP_NATS = 0.3
"""It does not explain them above this."""
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
MAX_UNSEEN_LOSSES = 0.0126
"""Upper bound of the channel's loss rate up to which datagrams that all arrived show that it loses
none: of 300 at least, one in a hundred would be lost in 19 of 20 cases."""
SHARED = 0.5
"""A sparse flow that waits at least this share of the stream's queueing delay is in its queue."""
MAX_PAUSES = 0.05
"""A sender that paused for a larger share of its time hides the course of the queue's delay."""
MAX_BELOW_PAUSES = 0.02
"""A trial below the capacity with more pauses caught up by bursts, which a short queue drops."""
MAX_OVERRUN = 0.02
"""Share of the losses from which on those at the receiver's socket decide."""
CODEL_S = 1.8
"""CoDel needs longer than this to bring a stream's queueing delay back below half of its peak."""
PIE_S = 1.3
"""PIE and DualPI2 need less than this."""


def infer(facts: QueueFacts) -> Queue:
    """The statements that the facts decide."""
    stream = facts.stream
    if stream is None or np.count_nonzero(~stream.lost) < 20:
        return _without_stream(facts)
    seen = StreamEvidence.of(facts, stream, _channel(facts))
    kind, because = _kind(facts, seen)
    if stream.overrun > MAX_OVERRUN * np.count_nonzero(stream.lost):
        kind, because = UNKNOWN, "the receiving host was late and dropped datagrams itself"
    elif kind in (CODEL, PIE, AQM) and stream.pause_share > MAX_PAUSES:
        kind, because = UNKNOWN, "the sending host was late: its pauses hide the course of the queue"
    if kind == DROPTAIL and stream.pause_share <= MAX_PAUSES:
        # Below its limit such a queue drops nothing: these losses are the channel's, too.
        seen = StreamEvidence.of(facts, stream, _channel(facts, seen))
    buffer = seen.buffer_bytes() if kind == DROPTAIL else None
    queue = seen.wait_ms[~stream.lost]
    tcp = _tcp_queue_ms(facts, seen, kind)
    busy, stalls = bool(seen.filled), seen.stalls()
    return Queue(
        kind=kind,
        because=because,
        losses=_losses(seen, kind),
        buffer_bytes=buffer[0] if buffer else None,
        buffer_lo_bytes=buffer[1] if buffer else None,
        buffer_hi_bytes=buffer[2] if buffer else None,
        tcp_queue_ms=tcp,
        stream_queue_ms=float(np.quantile(queue, 0.99)) if busy else None,
        stream_queue_bytes=float(np.quantile(seen.bytes, 0.99)) if busy else None,
        stream_grows=seen.grows() if busy else None,
        rate=seen.rate,
        channel_loss=seen.channel,
        jitter=seen.jitter,
        # During a pause after the start a queue grows as it does when a burst ends.
        token_bucket=seen.token_bucket() if busy and stalls is None else None,
        stalls=stalls,
    )


def _without_stream(facts: QueueFacts) -> Queue:
    idle = facts.idle
    channel = wilson(int(idle.lost.sum()), len(idle.lost)) if idle is not None else None
    jitter = jitter_stats(idle, None, 0.0) if idle is not None and not idle.lost.all() else None
    return Queue(
        kind=UNKNOWN,
        because="no stream filled the path",
        losses=UNKNOWN,
        buffer_bytes=None,
        buffer_lo_bytes=None,
        buffer_hi_bytes=None,
        tcp_queue_ms=None,
        stream_queue_ms=None,
        stream_queue_bytes=None,
        stream_grows=None,
        rate=None,
        channel_loss=channel,
        jitter=jitter,
        token_bucket=None,
        stalls=None,
    )


def _spread_ms(train: Train) -> float:
    """The 95th percentile of the delay, above its minimum."""
    delays = train.delay_ms[~train.lost]
    return float(np.quantile(delays, 0.95) - delays.min()) if len(delays) else 0.0


SHORT_QUEUE = 0.6
"""Share of a droptail queue's limit below which it surely did not overflow."""


def _channel(facts: QueueFacts, droptail: StreamEvidence | None = None) -> ChannelLosses:
    """Losses of the trains that no queue delayed, and of the stream where a droptail queue was
    short.
    """
    lost = sent = 0
    quiet_ms = 5.0 + (_spread_ms(facts.idle) if facts.idle is not None else 0.0)
    for train in (facts.idle, *facts.below):
        if train is None or not len(train.sent_s) or train.overrun:
            continue
        # A trial met a queue where the rate wanders.
        if train is facts.idle or (_spread_ms(train) <= quiet_ms and train.pause_share <= MAX_BELOW_PAUSES):
            lost, sent = lost + int(train.lost.sum()), sent + len(train.lost)
    if droptail is not None:
        longest = float(np.quantile(droptail.bytes, 0.99)) - 4 * droptail.noise_bytes
        short = droptail.bytes < SHORT_QUEUE * longest
        lost, sent = lost + int(droptail.train.lost[short].sum()), sent + int(short.sum())
    return wilson(lost, sent)


def _kind(facts: QueueFacts, seen: StreamEvidence) -> tuple[QueueKind, str]:
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
    early = seen.chance_of_early_losses()
    nats = seen.step_deficit_nats()
    held = _held(facts, seen)
    if early >= SIGNIFICANT and nats <= STEP_NATS:
        if held is None and seen.channel["lost"] < MIN_CHANNEL_LOSSES and _tcp_share(facts, seen) <= HELD_SHARE:
            return UNKNOWN, "TCP did not fill the queue that the stream filled"
        if not seen.is_full():
            return UNKNOWN, "the queue still grew when the stream ended"
        if held is None or held > HELD_SHARE:
            return DROPTAIL, "losses began where the queue was longest, and only there"
        if held <= HELD_WELL:
            return CODEL, "the stream met a limit, and drops held TCP far below it"
        return UNKNOWN, "the stream met a limit, and drops held TCP below it"
    if early < SIGNIFICANT or nats > NO_STEP_NATS:
        return _aqm(seen, held, _tcp_share(facts, seen))
    return UNKNOWN, "the losses do not decide it"


def _beside_stream_ms(facts: QueueFacts) -> float | None:
    """Added RTT of three in four sparse connections beside the stream."""
    times = np.array(facts.beside_stream_ms)
    if len(times) < 3 or facts.idle_rtt_ms is None:
        return None
    return float(np.quantile(times, 0.75)) - facts.idle_rtt_ms


def _per_flow_beside_tcp(facts: QueueFacts, seen: StreamEvidence) -> str | None:
    """Sparse datagrams wait less than the TCP connections that fill the direction."""
    probes, idle = facts.beside_tcp, facts.idle
    if probes is None or idle is None or probes.lost.all() or len(facts.tcp_rtt_ms) < 5 or facts.idle_rtt_ms is None:
        return None
    sparse = float(np.nanquantile(probes.delay_ms, 0.75) - np.nanquantile(idle.delay_ms, 0.5))
    loaded = float(np.median(facts.tcp_rtt_ms)) - facts.idle_rtt_ms
    if loaded >= max(MIN_QUEUE_MS, 6 * seen.noise_ms) and sparse <= 0.15 * loaded:
        return f"sparse flows waited {sparse:.1f} ms beside TCP connections that waited {loaded:.0f} ms"
    return None


def _aqm(seen: StreamEvidence, held: float | None, share: float) -> tuple[QueueKind, str]:
    """CoDel-like or PIE-like, by the course of the delay.

    PIE and DualPI2 raise their drop probability within a second to what holds the delay; RED lets
    it settle at one length. CoDel shortens its drop interval by the square root of the number of
    drops: the queue is short again after seconds only.
    """
    lost, wait = seen.train.lost, seen.wait_ms
    undecided: tuple[QueueKind, str] = AQM, "losses began below the longest queue; the stream's delay does not show why"
    elapsed = seen.train.sent_s - seen.train.sent_s[0]
    if elapsed[-1] < 3.0 or (seen.rate is not None and seen.rate["wanders"]):
        return undecided
    smoothed = smooth(wait, max(9, round(0.1 / max(1e-6, gap_s(seen.train)))))
    peak_at = int(np.argmax(smoothed))
    peak = float(smoothed[peak_at])
    late = elapsed > 0.5 * elapsed[-1]
    level, spread_ms = float(smoothed[late].mean()), float(smoothed[late].std())
    early_loss = float(lost[elapsed < 0.1 * elapsed[-1]].mean())
    if level > 0.9 * peak:
        # RED's loss rate grows with the queue; where it jumps, the queue met its limit.
        if held is not None and held <= HELD_WELL:
            return CODEL, "the stream outran the drops that held TCP"
        if share > RED_SHARE and spread_ms < 0.03 * level and early_loss < 0.6 * float(lost[late].mean()):
            return PIE, "delay and loss rate settled together"
        return undecided
    above = np.flatnonzero(smoothed > 0.5 * peak)
    # The first time above half of the peak.
    ends = np.flatnonzero(smoothed[peak_at:] <= 0.5 * peak)
    if not len(ends):
        return undecided
    above_s = float(elapsed[peak_at + int(ends[0])] - elapsed[above[0]])
    if above_s >= CODEL_S:
        return CODEL, f"the stream's queue was above half of its peak for {above_s:.1f} s"
    if above_s <= PIE_S and level < 0.5 * peak:
        return PIE, f"drops shortened the stream's queue within {above_s:.1f} s"
    return undecided


def _tcp_queue_ms(facts: QueueFacts, seen: StreamEvidence | None, kind: QueueKind) -> float | None:
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


def _held(facts: QueueFacts, seen: StreamEvidence) -> float | None:
    """TCP's median queueing delay over the stream's maximum; None if it shows nothing.

    It shows an AQM only if TCP lost more than a channel that the other trains allow for.
    """
    share = _tcp_share(facts, seen)
    wanders = seen.rate is not None and seen.rate["wanders"]
    if share == math.inf or wanders or facts.tcp_retransmitted < 3 or not facts.tcp_segments:
        return None
    if facts.tcp_retransmitted / facts.tcp_segments < OVER_CHANNEL * _channel(facts, seen)["hi"]:
        return None
    return share


def _tcp_share(facts: QueueFacts, seen: StreamEvidence) -> float:
    """TCP's median queueing delay over the stream's maximum; infinite without either."""
    tcp = _tcp_queue_ms(facts, seen, UNKNOWN)
    top = float(np.quantile(seen.wait_ms[~seen.train.lost], 0.99))
    wanders = seen.rate is not None and seen.rate["wanders"]
    return math.inf if tcp is None or wanders or top < MIN_QUEUE_MS else tcp / top


def _losses(seen: StreamEvidence, kind: QueueKind) -> LossOrigin:
    lost = int(seen.train.lost.sum())
    if not lost and not seen.channel["lost"]:
        return "none"
    channel = seen.channel["lo"] > 1e-4 and seen.channel["lost"] >= MIN_CHANNEL_LOSSES
    expected = seen.channel["hi"] * len(seen.train.lost)
    if lost <= 1.5 * expected + 4 and channel:
        return "channel"
    if kind == UNKNOWN or (not channel and (seen.channel["lost"] or seen.channel["hi"] > MAX_UNSEEN_LOSSES)):
        return UNKNOWN
    if channel:
        return "both"
    return "overflow" if kind == DROPTAIL else "aqm"
