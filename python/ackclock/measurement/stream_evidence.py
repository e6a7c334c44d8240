"""What a stream that does not yield shows about the queue of its direction.

`StreamEvidence` reconstructs the queue from the stream's delays and losses, and answers single
questions about it. `ackclock.measurement.queue_inference` decides with the answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ackclock.documents.measure import ArrivalStalls, BucketBurst, ChannelLosses, JitterStats, RateWindows
from ackclock.measurement.queue_facts import Floats, QueueFacts, Train

FULL_SHARE = 0.6
"""Share of the excess of the stream that a full queue drops, at least."""
ABOVE_LIMIT = np.array((0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 0.9999))
"""Loss rates of datagrams that find a full queue."""
WANDER = 0.15
"""The rate wanders if the 5th and the 95th percentile of its windows differ by more than this share
of the median."""
WINDOW_S = 1.0
MIN_IDLE_S = 3e-4
"""A shorter time without a datagram to send is an error of the reconstructed departures."""
MAX_IDLE = 0.25
"""A window in which the sender left the link idle for a larger share shows no rate."""
IDLE_ERROR = 0.1
"""Relative error of the time in which the link was idle."""


@dataclass(frozen=True)
class StreamEvidence:
    """The stream with the queue that it met, reconstructed.

    Attributes:
        train: the stream's datagrams.
        wait_ms: queueing delay of each packet, of a lost one that of its neighbours.
        bytes: bytes that each packet found in the queue.
        noise_ms: standard deviation of the jitter in ``wait_ms``.
        service_s: time that the link takes for a packet.
        channel: loss without a queue, of other trains.
        jitter: delay variation without a queue; None without sparse datagrams.
        rate: what the link carried while its queue was not empty.
        filled: a queue grew, beyond the jitter.
    """

    train: Train
    wait_ms: Floats
    bytes: Floats
    noise_ms: float
    service_s: float
    channel: ChannelLosses
    jitter: JitterStats | None
    rate: RateWindows | None
    filled: bool

    @property
    def noise_bytes(self) -> float:
        """Standard deviation of the reconstructed queue, bytes."""
        return 1e-3 * self.noise_ms * self.train.ip_bytes / self.service_s

    @staticmethod
    def of(facts: QueueFacts, stream: Train, channel: ChannelLosses) -> StreamEvidence:
        """Reconstruct the queue; the service time and the waits are estimated in turn."""
        arrivals = np.sort((stream.sent_s + 1e-3 * stream.delay_ms)[~stream.lost])
        service_s = float((arrivals[-1] - arrivals[0]) / max(1, len(arrivals) - 1))
        idle = facts.idle if facts.idle is not None and not facts.idle.lost.all() else None
        rate: RateWindows | None = None
        jitter: JitterStats | None = None
        base = 0.0
        for _ in range(3):
            jitter = jitter_stats(idle, stream, service_s) if idle is not None else None
            pauses = _pauses_ms(stream, service_s, jitter)
            if jitter is not None and (len(pauses) or (rate is not None and rate["wanders"])):
                # Sparse datagrams wait for the link's service, which is no jitter after the queue.
                jitter = {**jitter, "stream_mean_ms": 0.0, "stream_sd_ms": 0.0}
            base = _base_ms(idle, stream, jitter, service_s)
            wait = _filled_in(stream.delay_ms - base)
            noise = jitter["stream_sd_ms"] if jitter else 0.0
            rate = _rate(stream, wait, base, noise, service_s, channel)
            if rate is not None:
                service_s = stream.ip_bytes * 8 / rate["mean_bps"]
        threshold = max(2.5e3 * service_s, 4 * noise)
        smoothed = smooth(wait, max(9, round(0.05 / max(1e-6, gap_s(stream)))))
        return StreamEvidence(
            stream,
            wait,
            _queued_bytes(stream, base, channel["rate"]),
            noise,
            service_s,
            channel,
            jitter,
            rate,
            bool(np.mean(smoothed > threshold) > 0.2),
        )

    def is_full(self) -> bool:
        """At its end the stream lost what the link does not carry, as it does at a limit."""
        rate = self.rate
        if rate is None or rate["wanders"]:
            return True
        last = self.train.lost[-len(self.train.lost) // 5 :]
        return float(last.mean()) >= FULL_SHARE * (1 - rate["mean_bps"] / max(rate["mean_bps"], self.train.sent_bps))

    def chance_of_early_losses(self) -> float:
        """Probability by chance of the losses before the queue first came near its maximum.

        The expected rate is the channel's upper bound.
        """
        from scipy.stats import binom

        margin = max(3.0 * self.train.ip_bytes, 3 * self.noise_bytes)
        high = float(np.quantile(self.bytes, 0.98))
        near = np.flatnonzero(self.bytes >= min(high - margin, 0.8 * high))
        ramp = int(near[0]) if len(near) else len(self.bytes)
        lost = int(self.train.lost[:ramp].sum())
        bound = min(0.5, self.channel["hi"]) if self.channel["lost"] else min(0.5, 3.0 / max(1, self.channel["sent"]))
        return float(binom.sf(lost - 1, ramp, bound)) if lost else 1.0

    def step_deficit_nats(self) -> float:
        """Log-likelihood that a blurred step lacks of a free function of the queue length, for each
        loss.
        """
        from scipy.stats import norm

        lost, queue = self.train.lost, self.bytes
        size, count = self.train.ip_bytes, len(queue)
        base = min(0.3, max(1e-4, self.channel["rate"]))
        tenth = np.minimum(9, np.arange(count) * 10 // count)
        # A queue that holds no more than the stream leaves at its limit was not seen to be shorter.
        longest = float(np.quantile(queue[~lost], 0.99))
        first = longest - max(1.5 * size, 4 * self.noise_bytes, 0.1 * longest)
        best = -math.inf
        for blur in {0.2 * size, *(math.hypot(0.2 * size, k * self.noise_bytes) for k in (0.5, 1.0, 1.5))}:
            values, inverse = np.unique(np.floor(queue / (0.25 * blur)).astype(int), return_inverse=True)
            cell = inverse * 10 + tenth
            n = np.bincount(cell, minlength=10 * len(values)).reshape(-1, 10)
            k = np.bincount(cell, weights=lost.astype(float), minlength=10 * len(values)).reshape(-1, 10)
            centre = (values + 0.5) * 0.25 * blur
            for limit in np.linspace(first, longest + size + 2 * self.noise_bytes, 40):
                step = norm.cdf((centre - limit) / blur)
                p = np.clip(base + (ABOVE_LIMIT[:, None] - base) * step, 1e-6, 1 - 1e-6)
                # The loss rate above the limit follows the link's rate: one for each tenth.
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

    def buffer_bytes(self) -> tuple[float, float, float]:
        """Bytes in the queue where a datagram was dropped: the limit is less than a packet above
        them.
        """
        at = self.bytes[self.train.lost]
        at = at[at >= 0.7 * np.quantile(at, 0.9)]
        half = self.train.ip_bytes / 2
        value = float(np.median(at)) + half + self.train.ip_bytes
        error = half + 2 * self.noise_bytes / math.sqrt(max(1, len(at) / 10))
        return value, value - error, value + error

    def grows(self) -> bool:
        """The delay of the last tenth is the longest, and above that of the tenth before."""
        parts = [self.wait_ms[part].mean() for part in np.array_split(np.arange(len(self.wait_ms)), 10)]
        return bool(parts[-1] >= max(parts[:-1]) and parts[-1] > 1.05 * parts[-2])

    def token_bucket(self) -> BucketBurst | None:
        """The bytes above the rate that passed without a queue at the start of the stream.

        Without a burst the queue grows from the first packet on, by the sent rate less the
        capacity. The bytes are those sent until then, as a loaded sender does not keep its rate.
        """
        if self.rate is None or self.rate["wanders"]:
            return None
        train = self.train
        rate, sent_bps = self.rate["mean_bps"], train.sent_bps
        if sent_bps < 1.05 * rate:
            return None
        # The time at which the queue first stays.
        threshold = max(2.5e3 * self.service_s, 4 * self.noise_ms)
        smoothed = smooth(self.wait_ms, max(5, round(0.02 / max(1e-6, gap_s(train)))))
        start = int(np.argmax(smoothed > threshold))
        elapsed = train.sent_s[: start + 1] - train.sent_s[0]
        above = train.ip_bytes * np.arange(start + 1) - rate / 8 * elapsed
        # A full bucket does not fill further.
        above -= np.minimum.accumulate(above)
        queued = 1e-3 * threshold * rate / 8
        burst = max(0.0, float(above[-1]) - queued)
        error = max(4 * train.ip_bytes, 0.15 * burst, 0.02 * (sent_bps - rate) / 8)
        return BucketBurst(burst_bytes=burst, lo=burst - error, hi=burst + error) if burst > 4 * error else None

    def stalls(self) -> ArrivalStalls | None:
        """Pauses of the arrivals that no jitter, no queue and no pause of the sender explains: a
        queue was there, nothing left.
        """
        long = _pauses_ms(self.train, self.service_s, self.jitter)
        return ArrivalStalls(count=len(long), longest_ms=float(long.max())) if len(long) else None


def wilson(lost: int, sent: int) -> ChannelLosses:
    """A proportion with Wilson's 95 % interval; 0 to 1 without observations."""
    if not sent:
        return ChannelLosses(rate=0.0, lo=0.0, hi=1.0, lost=0, sent=0)
    z, share = 1.959964, lost / sent
    centre = (share + z * z / (2 * sent)) / (1 + z * z / sent)
    half = z / (1 + z * z / sent) * math.sqrt(share * (1 - share) / sent + z * z / (4 * sent * sent))
    # At both ends the difference is 0 but for its rounding.
    lo, hi = centre - half if lost else 0.0, centre + half if lost < sent else 1.0
    return ChannelLosses(rate=share, lo=lo, hi=hi, lost=lost, sent=sent)


def jitter_stats(idle: Train, stream: Train | None, service_s: float) -> JitterStats:
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
    return JitterStats(p50_ms=p50, p95_ms=p95, stream_mean_ms=mean, stream_sd_ms=sd, in_order=bool(in_order))


def gap_s(train: Train) -> float:
    return float(np.median(np.diff(train.sent_s))) if len(train.sent_s) > 1 else 1.0


def _base_ms(idle: Train | None, stream: Train, jitter: JitterStats | None, service_s: float) -> float:
    """Delay of a packet of the stream without a queue, jitter included."""
    of_stream = float(np.nanmin(stream.delay_ms))
    if idle is None or jitter is None:
        return of_stream
    minimum = float(np.nanmin(idle.delay_ms))
    longer = 1e3 * service_s * (1 - idle.ip_bytes / stream.ip_bytes)
    return minimum + longer + jitter["stream_mean_ms"]


def _filled_in(wait_ms: Floats) -> Floats:
    lost = np.isnan(wait_ms)
    at = np.arange(len(wait_ms))
    out = wait_ms.copy()
    out[lost] = np.interp(at[lost], at[~lost], wait_ms[~lost])
    return out


def smooth(values: Floats, width: int) -> Floats:
    width = min(width, len(values))
    kernel = np.ones(width) / width
    return np.convolve(np.pad(values, (width // 2, width - 1 - width // 2), mode="edge"), kernel, mode="valid")


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
    stream: Train, wait_ms: Floats, base_ms: float, noise_ms: float, service_s: float, channel: ChannelLosses
) -> RateWindows | None:
    """What the link carried while its queue was not empty, in windows of a second.

    Packets lost after the bottleneck were carried: the received rate is divided by 1 - channel
    loss.
    """
    order = _in_arrival_order(stream)
    left = (stream.sent_s + 1e-3 * (stream.delay_ms - base_ms))[order]
    smoothed = smooth(wait_ms, max(5, round(0.02 / max(1e-6, gap_s(stream)))))[order]
    busy = smoothed > max(1.5e3 * service_s, 2.5 * noise_ms)
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
    # The link is idle from a departure to the next datagram that the sender sent, lost or not.
    idle = np.clip(_next_sent_s(stream, order) - (left[:-1] + service_s), 0.0, np.diff(left))
    idle[idle <= max(MIN_IDLE_S, 4e-3 * noise_ms, 2 * service_s)] = 0.0
    idle_s = np.interp(edges, left, np.concatenate(([0.0], np.cumsum(idle))))
    busy_sum = np.concatenate(([0], np.cumsum(busy)))
    at = np.searchsorted(left, edges)
    kept, rates = [], []
    for n in range(count):
        inside = max(1, at[n + 1] - at[n])
        full = (busy_sum[at[n + 1]] - busy_sum[at[n]]) / inside
        without = idle_s[n + 1] - idle_s[n]
        kept.append((full >= 0.95 or at[n + 1] == at[n]) and without <= MAX_IDLE * width)
        rates.append((cumulative[n + 1] - cumulative[n]) * stream.ip_bytes * 8 / max(1e-9, width - without))
    good = np.array(rates)[np.array(kept)] / (1 - channel["rate"])
    if len(good) == 0:
        return None
    # All of a busy period counts, as the mean of windows has rounding of a packet at each edge.
    mean = float(good.mean())
    idle_share = float(idle[first:last].sum() / span)
    if all(kept):
        mean = float((last - first) * stream.ip_bytes * 8 / (span * (1 - idle_share)) / (1 - channel["rate"]))
    p5, p50, p95 = (float(np.quantile(good, q)) for q in (0.05, 0.5, 0.95))
    sd = float(good.std(ddof=1)) if len(good) > 1 else 0.0
    lag = float(np.corrcoef(good[:-1], good[1:])[0, 1]) if len(good) > 3 and sd > 1e-9 * mean else 0.0
    effective = max(1.0, len(good) * (1 - max(0.0, min(0.95, lag))) / (1 + max(0.0, min(0.95, lag))))
    half = 1.96 * sd / math.sqrt(effective) + stream.ip_bytes * 8 / span + IDLE_ERROR * idle_share * mean
    lo, hi = mean - half, mean + half
    lo, hi = (
        lo * (1 - channel["rate"]) / (1 - channel["lo"]),
        hi * (1 - channel["rate"]) / (1 - min(0.5, channel["hi"])),
    )
    rounding = 2 * stream.ip_bytes * 8 / width
    wanders = len(good) >= 3 and p95 - p5 > max(WANDER * p50, 2 * rounding)
    return RateWindows(
        mean_bps=mean,
        lo_bps=float(lo),
        hi_bps=float(hi),
        p5_bps=p5,
        p50_bps=p50,
        p95_bps=p95,
        windows=len(good),
        wanders=bool(wanders),
        busy_share=float(np.mean(kept)),
    )


def _in_arrival_order(train: Train) -> NDArray[np.intp]:
    """The numbers of the datagrams that arrived, in the order of their arrivals."""
    arrived = np.flatnonzero(~train.lost)
    return arrived[np.argsort((train.sent_s + 1e-3 * train.delay_ms)[arrived], kind="stable")]


def _next_sent_s(train: Train, order: NDArray[np.intp]) -> Floats:
    """When the sender sent the datagram after each of these but the last, lost or not."""
    sent: Floats = train.sent_s[np.minimum(order[:-1] + 1, len(train.sent_s) - 1)]
    return sent


def _pauses_ms(train: Train, service_s: float, jitter: JitterStats | None) -> Floats:
    """Intervals of arrivals far above the service time and the jitter, from the time at which the
    next datagram that was sent could have arrived: before it, the sender paused.
    """
    order = _in_arrival_order(train)
    arrivals = (train.sent_s + 1e-3 * train.delay_ms)[order]
    expected = np.maximum(arrivals[:-1], _next_sent_s(train, order) + 1e-3 * float(np.nanmin(train.delay_ms)))
    gaps_ms: Floats = 1e3 * (arrivals[1:] - expected)
    usual = max(20.0, 20e3 * service_s, 8 * (jitter["p95_ms"] if jitter else 0.0))
    return gaps_ms[gaps_ms > usual]
