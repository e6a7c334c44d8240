"""The links: token buckets of the running kernel, links of ns-3, and recorded cellular links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.analyzer.host_namespaces import HierarchicalTokenBucket, PathConfig, TokenBucket

VARIANTS = ("cubic", "bbr")
KERNEL_S = 20
NS3_S = 20.0
RECORDED_S = 120.0

Captures = tuple[Path, Path]
"""At the server's end and at the client's end."""


@dataclass(frozen=True)
class KernelLink:
    """A qdisc of the running kernel, with the delay of an emulated hop of 1 Gb/s."""

    name: str
    title: str
    bucket: TokenBucket | HierarchicalTokenBucket
    delay_ms: float
    keys: dict[str, str] = field(default_factory=dict)

    def path(self, variant: str, repeat: int) -> PathConfig:
        """The testbed's path for one run."""
        hop = {"rate": '"1 Gb/s"', "delay": f'"{self.delay_ms} ms"', **self.keys}
        return PathConfig(hop, self.bucket, congestion_control=variant, seed=repeat)


@dataclass(frozen=True)
class Ns3Link:
    """A link of ns-3; `arguments` of bottleneck.cc."""

    name: str
    title: str
    arguments: Sequence[str]


@dataclass(frozen=True)
class RecordedLink:
    """A recorded rate in each direction, with the simulator's TCP."""

    name: str
    title: str
    recording: str
    delay_ms: float
    queue: str

    def hops(self, folder: Path) -> list[dict[str, Any]]:
        """The link; `folder` has the recordings."""
        traces = {d: {"trace": str(folder / f"{self.recording}.{d}.gz")} for d in ("down", "up")}
        queue = {"kind": "droptail", "bytes": self.queue}
        return [{"name": "access", "rate": traces, "delay": f"{self.delay_ms} ms", "queue": queue}]


KERNEL = (
    KernelLink("tbf 10 Mb/s", "burst 16 kB, limit 100 kB, RTT 40 ms", TokenBucket(10_000_000, 16_000, 100_000), 20),
    KernelLink("tbf 2 Mb/s", "burst 4 kB, limit 256 kB, RTT 30 ms", TokenBucket(2_000_000, 4_000, 256_000), 15),
    KernelLink("tbf 30 Mb/s", "burst 256 kB, limit 300 kB, RTT 16 ms", TokenBucket(30_000_000, 256_000, 300_000), 8),
    KernelLink("htb 20 Mb/s", "a FIFO of 50 packets, RTT 60 ms", HierarchicalTokenBucket(20_000_000, 16_000, 50), 30),
    KernelLink(
        "tbf 20 Mb/s, lossy",
        "0.5 % lost, limit 150 kB, RTT 30 ms",
        TokenBucket(20_000_000, 32_000, 150_000),
        15,
        {"loss.down": "0.005"},
    ),
)
NS3 = (
    Ns3Link("ns-3 FIFO", "8 Mb/s, 60 packets, RTT 42 ms", ("--rate=8Mbps", "--delay=20ms", "--packets=60")),
    Ns3Link("ns-3 FQ-CoDel", "12 Mb/s, RTT 62 ms", ("--rate=12Mbps", "--delay=30ms", "--queue=fq-codel")),
    Ns3Link("ns-3 PIE", "6 Mb/s, RTT 52 ms", ("--rate=6Mbps", "--delay=25ms", "--queue=pie")),
)
RECORDED = (
    RecordedLink("LTE, T-Mobile", "500 kB, RTT 40 ms", "TMobile-LTE-short", 20, "500 kB"),
    RecordedLink("LTE, Verizon", "500 kB, RTT 40 ms", "Verizon-LTE-short", 20, "500 kB"),
    RecordedLink("UMTS, T-Mobile, driving", "150 kB, RTT 80 ms", "TMobile-UMTS-driving", 40, "150 kB"),
)

CAUSES = {
    ("tbf 20 Mb/s, lossy", "cubic"): (
        "the hosts: over the link's own parameters (20 Mb/s, 15 ms, 150 kB, 0.5 % lost) the simulator's cubic carries "
        "7.2 Mb/s, 6.7 to 8.0 of 20 seeds, the kernel's with GSO and GRO 5.9 to 6.4"
    ),
    ("ns-3 FQ-CoDel", "bbr"): "two downloads of ns-3 differ as much as the prediction does: see `spread`; not traced",
    ("ns-3 PIE", "cubic"): "two downloads of ns-3 differ as much as the prediction does: see `spread`; not traced",
    ("ns-3 PIE", "bbr"): "ns-3's own BBR sends hardly anything at PIE's drops, the simulator's does; not traced",
    ("UMTS, T-Mobile, driving", "bbr"): (
        "the link has two outcomes: 0.73 Mb/s in six of ten seeds, 1.08 in four, by where BBR's probes meet outages; a delay "
        "of 41 ms in place of 40 alone makes it 0.74 in all"
    ),
}
"""Why a prediction with a variant is off, by what was traced or simulated on 2026-11-26."""

Maker = Callable[[str, int, Path], Captures]
"""Captures of a download with a variant, of the repetition with a number, into a folder."""
