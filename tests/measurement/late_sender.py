"""A stream whose sender is not always scheduled, over a link of a fixed rate with a droptail
queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ackclock.measurement.queue_facts import Train

CATCH_UP_S = 0.01
"""A late sender makes up for this much (crates/measure/src/udp/train.rs)."""


def sending_times(gap_s: float, seconds: float, runs: Callable[[], Iterator[tuple[float, float]]]) -> Iterator[float]:
    """When a sender sends that runs only within these intervals: at its due times, at most twice as
    fast as requested to catch up, and 10 ms behind its plan at most.
    """
    intervals = runs()
    begin, end = next(intervals)
    planned, last = 0.0, -gap_s
    while planned < seconds:
        now = max(planned, last + gap_s / 2, begin)
        while now >= end:
            begin, end = next(intervals)
            now = max(now, begin)
        yield now
        planned = max(planned, now - CATCH_UP_S) + gap_s
        last = now


def pauses(run_s: float, pause_s: float, seed: int) -> Callable[[], Iterator[tuple[float, float]]]:
    """Intervals of a process that shares its processor: exponential times with these means."""

    def runs() -> Iterator[tuple[float, float]]:
        rng, now = np.random.default_rng(seed), 0.0
        while True:
            end = now + rng.exponential(run_s)
            yield now, end
            now = end + rng.exponential(pause_s)

    return runs


def always() -> Iterator[tuple[float, float]]:
    """A process that is scheduled at once."""
    yield 0.0, float("inf")


def stream(
    link_bps: float,
    queue_bytes: float,
    asked_bps: float,
    seconds: float,
    runs: Callable[[], Iterator[tuple[float, float]]] = always,
    *,
    ip_bytes: int = 1200,
    delay_s: float = 0.02,
    link_pauses: Callable[[float], float] = lambda at: at,
) -> Train:
    """The stream's datagrams. ``link_pauses`` is when a link that is free at a time serves
    again."""
    gap_s, service_s = ip_bytes * 8 / asked_bps, ip_bytes * 8 / link_bps
    sent_s, delay_ms, free = [], [], 0.0
    for at in sending_times(gap_s, seconds, runs):
        sent_s.append(at)
        if max(0.0, free - at) * link_bps / 8 > queue_bytes:
            delay_ms.append(np.nan)
            continue
        free = link_pauses(max(free, at)) + service_s
        delay_ms.append(1e3 * (free - at + delay_s))
    times = np.array(sent_s) - sent_s[0]
    return Train(ip_bytes, times, np.array(delay_ms), gap_s, max(0, round(seconds / gap_s) - len(times)))


def sparse(seconds: float = 10.0, delay_s: float = 0.02) -> Train:
    """The datagrams of the test `delay` over the same link, idle."""
    count = round(seconds * 25)
    return Train(48, 0.04 * np.arange(count, dtype=float), np.full(count, 1e3 * delay_s), 0.04)
