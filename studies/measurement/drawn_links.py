"""Statements of ``measure`` about links drawn from a seed, scored as right, false or unknown.

The links have the seven queues, four kinds of jitter, losses after the queue, and fixed or recorded
rates. The recordings are drawn, too: a rate that changes every 0.2 s to 3 s.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.documents.measure import Queue
from ackclock.measurement.queue_inference import infer
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
DOCSIS_HEADERS = 28
"""Ethernet with its check sequence, and the MAC header (docs/models/grants.md)."""
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
    bucket_bytes: int | None = None
    """Depth of a token bucket."""
    stall_ms: float | None = None
    """Duration of each pause of the link."""


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


def draw_bursts(seed: int, count: int, folder: Path) -> Iterator[DrawnLink]:
    """Draw links with a token bucket (a capped subscriber of a faster medium) and links that pause
    (a recording of one rate with pauses), in turn, with droptail queues."""
    for number in range(count):
        rng = random.Random(f"bursts-{seed}-{number}")
        rate = round(10 ** rng.uniform(6.0, 7.5))
        # A stall must not fill the queue.
        size = round(rate / 8 * rng.uniform(0.3, 0.6))
        hop: dict[str, Any] = {"name": "line", "delay": f"{rng.uniform(5, 50):.1f} ms"}
        hop["queue"] = {"kind": "droptail", "bytes": f"{size} B"}
        bucket = stall = None
        carried: float | None = None
        if number % 2 == 0:
            bucket = round(rate / 8 * rng.uniform(0.1, 1.0))
            fast = f"{rng.uniform(6, 20) * rate:.0f} b/s"
            hop["medium"] = {
                "kind": "grants",
                "standard": "docsis-3.1",
                "rate": {"down": fast, "up": fast},
                "cap": {"down": f"{rate} b/s", "up": f"{rate} b/s"},
                "burst": f"{bucket} B",
            }
            words = f"{rate / 1e6:.2f} Mb/s, token bucket of {bucket / 1e3:.0f} kB"
            # The medium's rates count its own headers.
            share = (PAYLOAD + 28) / (PAYLOAD + 28 + DOCSIS_HEADERS)
            carried, bucket = share * rate, round(share * bucket)
        else:
            stall, every = rng.uniform(60, 250), rng.uniform(2, 5)
            path = folder / f"pauses-{seed}-{number}"
            opportunities = (1e3 * (n + 1) * 12_000 / rate for n in range(round(RECORDING_S * rate / 12_000)))
            times = (at for at in opportunities if at % (1e3 * every) > stall)
            path.write_text("".join(f"{round(at)}\n" for at in times))
            hop["rate"] = {"trace": str(path)}
            words = f"{rate / 1e6:.2f} Mb/s, pauses of {stall:.0f} ms every {every:.1f} s"
        link = {"title": f"bursts {number}", "source": "test", "hop": [hop]}
        yield DrawnLink(
            words, link, "droptail", carried, size + PAYLOAD + 28, 0.0, 7000 * seed + 20 * number, bucket, stall
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


def score(drawn: DrawnLink, found: Queue) -> dict[str, str]:
    """Each statement about a link: right, false or unknown."""
    packet = PAYLOAD + 28
    verdicts = {"kind": _same(found["kind"], KINDS[drawn.queue])}
    if found["kind"] == "aqm":
        verdicts["kind"] = FALSE if drawn.queue == "droptail" else UNKNOWN
    if drawn.buffer_bytes is None:
        verdicts["buffer"] = RIGHT if found["buffer_bytes"] is None else FALSE
    elif found["buffer_bytes"] is None:
        verdicts["buffer"] = UNKNOWN
    else:
        error = abs(found["buffer_bytes"] - drawn.buffer_bytes)
        verdicts["buffer"] = RIGHT if error <= max(0.1 * drawn.buffer_bytes, packet) else FALSE
    cause = "overflow" if drawn.queue == "droptail" else "aqm"
    verdicts["losses"] = _same(found["losses"], "both" if drawn.loss else cause)
    if drawn.stall_ms is not None:
        pass  # whether the rate of a link that pauses wanders is a matter of definition
    elif found["rate"] is None:
        verdicts["wanders"] = UNKNOWN
    else:
        verdicts["wanders"] = RIGHT if found["rate"]["wanders"] == (drawn.rate_bps is None) else FALSE
    if drawn.rate_bps is not None:
        near = found["rate"] is not None and abs(found["rate"]["mean_bps"] / drawn.rate_bps - 1) <= 0.02
        verdicts["capacity"] = UNKNOWN if found["rate"] is None else RIGHT if near else FALSE
    verdicts["token bucket"] = _bucket(drawn, found)
    verdicts["stalls"] = _stalls(drawn, found)
    return verdicts


def _bucket(drawn: DrawnLink, found: Queue) -> str:
    """A stated burst must be within 15 % or four packets of the depth; a bucket that is not stated
    is unknown."""
    if found["token_bucket"] is None:
        return RIGHT if drawn.bucket_bytes is None else UNKNOWN
    if drawn.bucket_bytes is None:
        return FALSE
    error = abs(found["token_bucket"]["burst_bytes"] - drawn.bucket_bytes)
    return RIGHT if error <= max(0.15 * drawn.bucket_bytes, 4 * (PAYLOAD + 28)) else FALSE


def _stalls(drawn: DrawnLink, found: Queue) -> str:
    """The longest stated pause must be within 10 % of the link's, or 5 ms."""
    if found["stalls"] is None:
        return RIGHT if drawn.stall_ms is None else UNKNOWN
    if drawn.stall_ms is None:
        return FALSE
    return RIGHT if abs(found["stalls"]["longest_ms"] - drawn.stall_ms) <= max(0.1 * drawn.stall_ms, 5.0) else FALSE


def _same(stated: str, truth: str) -> str:
    return UNKNOWN if stated == "unknown" else RIGHT if stated == truth else FALSE


def scored(drawn_links: Iterable[DrawnLink], seconds: float = 10.0) -> Iterator[tuple[DrawnLink, Queue]]:
    """Measure each drawn link over its simulation."""
    for drawn in drawn_links:
        path = SimulatedPath(drawn.link, "down", drawn.seed, seconds, PAYLOAD)
        yield drawn, infer(path.facts())


def totals(verdicts: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """By statement: how many are right, false and unknown."""
    names = dict.fromkeys(name for one in verdicts for name in one)
    return {name: Counter(one[name] for one in verdicts if name in one) for name in names}
