"""Packet arrivals at a queue, drawn from a seed: what `ackclock-bench replay` and ns-3 replay."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

NOT_ECT, ECT1, ECT0 = 0, 1, 2
"""The ECN field (RFC 3168, section 5; RFC 9331)."""

Packet = tuple[int, int, int, int]
"""Time in ns, flow, IP bytes, ECN field."""


@dataclass(frozen=True)
class Arrivals:
    """Packets of `flows` flows with equal shares of `load` times the link's `rate_bps`.

    `constant` flows send a packet each gap, up to 10 % late; `poisson` flows have exponential gaps;
    `bursts` are all flows together, on and off for exponential times (means `on_s`, `off_s`), and
    `load` is that of the on periods. `sizes` are drawn evenly. A `sparse` number of further flows
    send 100 bytes each 50 ms. The share `ect` of the flows is ECT(0).
    """

    pattern: Literal["constant", "poisson", "bursts"]
    rate_bps: int
    load: float
    seconds: float
    seed: int
    flows: int = 1
    sparse: int = 0
    sizes: tuple[int, ...] = (1500,)
    ect: float = 0.0
    on_s: float = 0.4
    off_s: float = 0.4

    def packets(self) -> list[Packet]:
        """All packets, in order of time."""
        draw = random.Random(self.seed)
        on = self._on_periods(draw)
        streams = [self._stream(flow, draw.random(), on) for flow in range(self.flows)]
        streams += [self._sparse_stream(self.flows + flow, draw.random()) for flow in range(self.sparse)]
        return list(heapq.merge(*streams))

    def _ecn(self, flow: int) -> int:
        return ECT0 if (flow + 0.5) / max(self.flows, 1) < self.ect else NOT_ECT

    def _on_periods(self, draw: random.Random) -> list[tuple[float, float]]:
        if self.pattern != "bursts":
            return [(0.0, self.seconds)]
        periods, time = [], 0.0
        while time < self.seconds:
            end = time + draw.expovariate(1 / self.on_s)
            periods.append((time, min(end, self.seconds)))
            time = end + draw.expovariate(1 / self.off_s)
        return periods

    def _stream(self, flow: int, own_seed: float, on: list[tuple[float, float]]) -> Iterator[Packet]:
        draw = random.Random(own_seed)
        mean = sum(self.sizes) / len(self.sizes)
        gap = mean * 8 * self.flows / (self.rate_bps * self.load)
        for begin, end in on:
            time = begin + draw.random() * gap
            while time < end:
                late = draw.random() * gap / 10 if self.pattern != "poisson" else 0.0
                yield round((time + late) * 1e9), flow, draw.choice(self.sizes), self._ecn(flow)
                time += draw.expovariate(1 / gap) if self.pattern == "poisson" else gap

    def _sparse_stream(self, flow: int, own_seed: float) -> Iterator[Packet]:
        draw = random.Random(own_seed)
        time = draw.random() * 0.05
        while time < self.seconds:
            yield round((time + draw.random() * 0.005) * 1e9), flow, 100, NOT_ECT
            time += 0.05


def arrivals_text(packets: Sequence[Packet]) -> str:
    """A line for each packet: time in ns, flow, bytes, ECN field."""
    return "".join(f"{ns} {flow} {size} {ecn}\n" for ns, flow, size, ecn in packets)
