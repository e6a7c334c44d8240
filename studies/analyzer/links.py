"""Simulated links on which losses have a known cause: the hundred that the verdict was first judged
on, and any number of others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ackclock.documents.engine import Summary
from studies.analyzer.captures import Case

Keys = dict[str, Any]
TRUTHS = ("congestion", "radio", "both")
FEW = 4
"""Fewer packets lost than this may be called unclear."""


def plain_links(count: int, seed: int = 1) -> Iterator[Case]:
    """Overflow alone, random loss alone (a window that fills no buffer), or both, over one droptail
    hop of few speeds and delays.
    """
    draw = random.Random(seed)
    for number in range(count):
        truth = TRUTHS[number % 3]
        megabits, delay = draw.choice((1, 2, 5)), draw.choice((10, 30, 60))
        bdp = megabits * 1e6 / 8 * 2e-3 * delay
        queue = int(max(15_000, draw.uniform(0.5, 2.0) * bdp))
        hop: Keys = {
            "name": "air",
            "rate": f"{megabits} Mb/s",
            "delay": f"{delay} ms",
            "queue": {"kind": "droptail", "bytes": f"{queue} B"},
        }
        tcp: Keys = {"host": "linux-6", "variant": draw.choice(("cubic", "reno"))}
        if truth != "congestion":
            hop["loss"] = {"down": draw.choice((0.002, 0.005)) if truth == "both" else draw.choice((0.005, 0.02))}
        if truth == "radio":
            tcp["receive_buffer"] = f"{max(8, int(0.8 * bdp / 1024))} KiB"
        yield Case(hop, tcp, "15 s", seed * 1000 + number + 1 if seed != 1 else number + 1)


def other_links(count: int, seed: int) -> Iterator[Case]:
    """Any rate and delay, queues in packets or bytes from very short to long, drops at the front,
    managed queues, loss alone or in bursts, before the bottleneck, in it or behind it, jitter
    behind it, senders of all ages."""
    draw = random.Random(f"other links {seed}")
    for number in range(count):
        yield _other(draw, TRUTHS[number % 3], seed * 1000 + number + 1)


def _other(draw: random.Random, truth: str, seed: int) -> Case:
    megabits, delay = round(10 ** draw.uniform(-0.3, 1.3), 2), round(draw.uniform(4, 90), 1)
    bdp = megabits * 1e6 / 8 * 2e-3 * delay
    hop: Keys = {"name": "bottleneck", "rate": f"{megabits} Mb/s", "delay": f"{delay} ms", "queue": _queue(draw, bdp)}
    lossy = None if truth == "congestion" else _loss(draw, truth)
    tcp: Keys = draw.choice(
        (
            {"host": "linux-6", "variant": "cubic"},
            {"host": "linux-6", "variant": "reno"},
            {"host": "linux-6", "variant": "bbr"},
            {"host": "linux-2.6.20", "variant": "reno"},
            {"host": "linux-2.6.15", "variant": "bic"},
        )
    )
    tcp = {**tcp, "ecn": False}
    if truth == "radio":
        # The queue and one round trip hold more than the window, so nothing overflows.
        tcp["receive_buffer"] = f"{max(8, int(draw.uniform(0.3, 1.4) * bdp / 1024))} KiB"
        hop["queue"] = {"kind": "droptail", "bytes": f"{int(max(30_000, 1.5 * bdp))} B"}
    elsewhere: Keys = {
        "name": "radio",
        "rate": f"{round(5 * megabits, 2)} Mb/s",
        "delay": f"{draw.uniform(1, 20):.1f} ms",
    }
    if draw.random() < 0.3:
        elsewhere["jitter"] = {"down": {"kind": "uniform", "low": "0 ms", "high": f"{draw.uniform(0.2, 3):.2f} ms"}}
    place = draw.choice(("in it", "behind it", "before it"))
    if place == "in it":
        return Case(hop | ({"loss": {"down": lossy}} if lossy else {}), tcp, "20 s", seed)
    if lossy:
        elsewhere["loss"] = {"down": lossy}
    order = (hop, elsewhere) if place == "behind it" else (elsewhere, hop)
    return Case(order[0], tcp, "20 s", seed, beyond=(order[1],))


def _queue(draw: random.Random, bdp: float) -> Keys:
    packets = int(10 ** draw.uniform(0.8, 2.2))
    size = int(max(8_000, draw.uniform(0.2, 3.0) * bdp))
    return draw.choice(
        (
            {"kind": "droptail", "packets": packets},
            {"kind": "droptail", "bytes": f"{size} B"},
            {"kind": "droptail", "bytes": f"{size} B", "drop": "front"},
            {"kind": "droptail", "packets": packets},
            {"kind": draw.choice(("codel", "pie", "fq-codel"))},
        )
    )


def _loss(draw: random.Random, truth: str) -> Any:
    mean = round(10 ** draw.uniform(-2.7, -1.7), 5) * (0.6 if truth == "both" else 1.0)
    if draw.random() < 0.3:
        return {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": f"{draw.uniform(5, 60):.0f} ms"}
    return mean


def lost_by(summary: Summary) -> tuple[int, int]:
    """Downlink packets lost by overflow or an AQM, and by the channel."""
    causes = [hop["drops_by_cause"] for hop in summary["hops"] if hop["direction"] == "down"]
    total, radio = sum(sum(cause.values()) for cause in causes), sum(cause["loss"] for cause in causes)
    return total - radio, radio


def true_verdicts(summary: Summary) -> set[str]:
    """What may be said, by the run's own counters; a share below 15 % of either counts as none, as
    in the analyzer.
    """
    queue, radio = lost_by(summary)
    if queue + radio == 0:
        return {"unclear"}
    share = radio / (queue + radio)
    right = "congestion" if share < 0.15 else "radio" if share > 0.85 else "both"
    return {right, "unclear"} if queue + radio < FEW else {right}
