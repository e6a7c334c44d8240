"""Downloads whose congestion control is known: every variant of the simulator over drawn links, and
downloads whose window is not the limit, of which none may be stated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from studies.analyzer.captures import Case

Keys = dict[str, Any]
OLD_HOSTS = {"cubic-2.0": "linux-2.6.20"}
"""Hosts of variants; the others are on linux-6."""
MARKED = ("dctcp", "prague")
"""Variants that need a queue that marks."""
OTHER_LIMITS = ("application", "receive window", "send buffer", "short")
PACKETS = 60_000
"""A run ends when the link could have carried this many, after half a minute at the earliest."""
SECONDS = 35.0


@dataclass(frozen=True)
class DrawnSender:
    """A download: its variant, or what limits it instead of its window."""

    number: int
    variant: str
    other_limit: str
    case: Case

    @property
    def name(self) -> str:
        hop = self.case.hop
        queue = " ".join(str(value) for value in hop["queue"]["down"].values())
        return f"{self.number} {self.variant} {hop['rate']} {hop['delay']} {queue} {hop.get('loss', '')} {self.other_limit}"


def drawn_senders(variants: list[str], count: int, seed: int) -> Iterator[DrawnSender]:
    """So many draws: the variants in turn, and after each fifth a download with another limit."""
    draw = random.Random(f"senders {seed}")
    for number in range(count):
        limit = OTHER_LIMITS[number // 6 % len(OTHER_LIMITS)] if number % 6 == 5 else ""
        variant = variants[(number - number // 6) % len(variants)]
        yield _drawn(draw, number, seed * 10_000 + number + 1, variant, limit)


def _drawn(draw: random.Random, number: int, seed: int, variant: str, limit: str) -> DrawnSender:
    trip = round(10 ** draw.uniform(1, 2.2), 1)
    # A window of 8 to 400 segments.
    megabits = min(100.0, max(1.0, 10 ** draw.uniform(0.9, 2.6) * 1500 * 8 / trip / 1000))
    product = megabits * 1e6 / 8 * trip / 1000
    queue: Keys = {"kind": "droptail", "bytes": f"{int(max(12_000, 10 ** draw.uniform(-0.7, 0.4) * product))} B"}
    if variant in MARKED:
        marks = max(4, int(draw.uniform(0.1, 0.5) * product / 1500))
        queue = {"kind": "droptail", "bytes": f"{int(4 * product + 60_000)} B", "mark": f"{marks} packets"}
    elif draw.random() < 0.25:
        queue = {"kind": draw.choice(("codel", "pie", "fq-codel")), "ecn": False}
    hop: Keys = {
        "name": "access",
        "rate": f"{megabits:.3f} Mb/s",
        "delay": f"{trip / 2:.2f} ms",
        "queue": {"down": queue, "up": {"kind": "droptail", "packets": 1000}},
    }
    if limit:
        # Nothing else reduces the window.
        hop["queue"]["down"] = {"kind": "droptail", "bytes": f"{int(2 * product + 60_000)} B"}
    elif draw.random() < 0.4:
        hop["loss"] = {"down": round(10 ** draw.uniform(-4, -2), 5)}
    tcp: Keys = {"host": OLD_HOSTS.get(variant, "linux-6"), "variant": variant}
    if variant in MARKED:
        tcp["ecn"] = "accecn" if variant == "prague" else True
    flow: Keys = {"workload": {"kind": "bulk"}}
    seconds = min(90.0, max(SECONDS, PACKETS * 0.012 / megabits / 3))
    if limit == "application":
        # Answers on one connection, and pauses between them.
        web = {"kind": "web", "request": "400 B", "answers": 1, "jobs": 10_000, "think": "200 ms", "persistent": True}
        flow = {"workload": {**web, "size": f"{int(max(6_000, 0.3 * product))} B"}}
    elif limit == "receive window":
        tcp["receive_buffer"] = f"{max(8, int(0.7 * product / 1024))} KiB"
    elif limit == "send buffer":
        tcp["send_buffer"] = f"{max(8, int(0.7 * product / 1024))} KiB"
    elif limit == "short":
        seconds = 3.0
    seconds = min(seconds, max(3.0, PACKETS * 0.012 / megabits + 5))
    if limit != "short":
        seconds = max(seconds, 32.0)
    return DrawnSender(number, variant, limit, Case(hop, tcp, f"{seconds:.1f} s", seed, flow))
