"""Statements of ``measure`` about links drawn from a seed, scored as right, false or unknown.

The links have the seven queues, four kinds of jitter, losses after the queue, and fixed or recorded
rates. The recordings are drawn, too: a rate that changes every 0.2 s to 3 s.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.measurement.queue_inference import QueueStatements, infer
from studies.measurement.simulated_path import SimulatedPath

KINDS = {
    "droptail": "droptail",
    "fq-codel": "per-flow",
    "cake": "per-flow",
    "codel": "codel-like",
    "pie": "pie-like",
    "dualpi2": "pie-like",
    "red": "pie-like",
}
"""The true kind of each queue."""
QUEUES = ("droptail", "fq-codel", "droptail", "codel", "pie", "cake", "droptail", "dualpi2", "red")
"""Queues in turn: a third of the links is droptail, as only those have a buffer to state."""
JITTERS = ("none", "none", "normal", "uniform", "exponential", "none", "out of order")
RECORDING_S = 60
PAYLOAD = 1172
RIGHT, FALSE, UNKNOWN = "right", "false", "unknown"


@dataclass(frozen=True)
class DrawnLink:
    """A link file as a dict, with its true values."""

    name: str
    link: Mapping[str, Any]
    queue: str
    rate_bps: float | None
    """None: a recorded rate."""
    buffer_bytes: int | None
    loss: float
    seed: int


def draw(seed: int, count: int, folder: Path) -> Iterator[DrawnLink]:
    """Draw links; recordings are written into ``folder``."""
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        queue = QUEUES[number % len(QUEUES)]
        recorded = rng.random() < 0.15
        rate = 10 ** rng.uniform(5.9, 7.7)
        hop: dict[str, Any] = {"name": "line", "delay": f"{rng.uniform(5, 70):.1f} ms"}
        hop["rate"] = (
            {"trace": str(_recording(rng, rate, folder / f"{seed}-{number}"))} if recorded else f"{rate:.0f} b/s"
        )
        jitter = "none" if recorded else rng.choice(JITTERS)
        if jitter != "none":
            hop["jitter"] = _jitter(rng, jitter)
        loss = rng.uniform(0.003, 0.02) if rng.random() < 0.3 else 0.0
        if loss:
            hop["loss"] = {"mean": round(loss, 5)}
        size = max(8 * (PAYLOAD + 28), round(rate / 8 * rng.uniform(0.03, 0.4)))
        hop["queue"] = {"kind": queue, **({"bytes": f"{size} B"} if queue == "droptail" else {})}
        words = [f"{rate / 1e6:.2f} Mb/s", "recorded" * recorded, queue, f"{size / 1e3:.0f} kB" * (queue == "droptail")]
        words += [f"jitter {jitter}" * (jitter != "none"), f"loss {100 * loss:.1f} %" * (loss > 0)]
        yield DrawnLink(
            ", ".join(word for word in words if word),
            {"title": f"drawn {number}", "source": "test", "hop": [hop]},
            queue,
            None if recorded else float(f"{rate:.0f}"),
            size + PAYLOAD + 28 if queue == "droptail" else None,
            loss,
            1000 * seed + 20 * number,
        )


def _jitter(rng: random.Random, kind: str) -> dict[str, Any]:
    scale = rng.uniform(0.5, 6)
    if kind == "normal":
        return {"kind": "normal", "mean": f"{2 * scale:.2f} ms", "sd": f"{scale:.2f} ms"}
    if kind == "exponential":
        return {"kind": "exponential", "mean": f"{scale:.2f} ms"}
    return {"kind": "uniform", "high": f"{2 * scale:.2f} ms", "in_order": kind == "uniform"}


def _recording(rng: random.Random, mean_bps: float, path: Path) -> Path:
    """Opportunities to send 1500 bytes, by their millisecond; the rate changes at random."""
    times, at, credit = [], 0.0, 0.0
    while at < RECORDING_S * 1e3:
        until, rate = at + 1e3 * rng.uniform(0.2, 3), mean_bps * 2 ** rng.uniform(-1.5, 1)
        while at < until:
            at, credit = at + 1, credit + rate / 8e3
            while credit >= 1500:
                times.append(int(at))
                credit -= 1500
    path.write_text("".join(f"{time}\n" for time in times))
    return path


def score(drawn: DrawnLink, found: QueueStatements) -> dict[str, str]:
    """Each statement about a link: right, false or unknown."""
    packet = PAYLOAD + 28
    verdicts = {"kind": _same(found.kind, KINDS[drawn.queue])}
    if found.kind == "aqm":
        verdicts["kind"] = FALSE if drawn.queue == "droptail" else UNKNOWN
    if drawn.buffer_bytes is None:
        verdicts["buffer"] = RIGHT if found.buffer_bytes is None else FALSE
    elif found.buffer_bytes is None:
        verdicts["buffer"] = UNKNOWN
    else:
        error = abs(found.buffer_bytes - drawn.buffer_bytes)
        verdicts["buffer"] = RIGHT if error <= max(0.1 * drawn.buffer_bytes, packet) else FALSE
    cause = "overflow" if drawn.queue == "droptail" else "aqm"
    verdicts["losses"] = _same(found.losses, "both" if drawn.loss else cause)
    if found.rate is None:
        verdicts["wanders"] = UNKNOWN
    else:
        verdicts["wanders"] = RIGHT if found.rate.wanders == (drawn.rate_bps is None) else FALSE
    if drawn.rate_bps is not None:
        near = found.rate is not None and abs(found.rate.mean_bps / drawn.rate_bps - 1) <= 0.02
        verdicts["capacity"] = UNKNOWN if found.rate is None else RIGHT if near else FALSE
    return verdicts


def _same(stated: str, truth: str) -> str:
    return UNKNOWN if stated == "unknown" else RIGHT if stated == truth else FALSE


def scored(seed: int, count: int, folder: Path, seconds: float = 10.0) -> Iterator[tuple[DrawnLink, QueueStatements]]:
    """Measure each drawn link over its simulation."""
    for drawn in draw(seed, count, folder):
        path = SimulatedPath(drawn.link, "down", drawn.seed, seconds, PAYLOAD)
        yield drawn, infer(path.facts())


def totals(verdicts: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """By statement: how many are right, false and unknown."""
    names = dict.fromkeys(name for one in verdicts for name in one)
    return {name: Counter(one[name] for one in verdicts if name in one) for name in names}
