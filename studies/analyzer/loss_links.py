"""Links of every kind of queue with losses of a known cause, drawn at random by seed: droptail in
packets and bytes, at the tail and at the head, token buckets, CoDel, FQ-CoDel, PIE and RED; random
loss, bursts, outages and stalls; one flow or many, with and without offloads.

A link's truth is the simulator's record, which has the cause of each drop. Links that lose fewer
than `FEW` packets are not judged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.documents.engine import Summary
from studies.analyzer.captures import Case, joined, run

Keys = dict[str, Any]
FEW = 8
QUEUES = ("packets", "bytes", "front", "token bucket", "codel", "fq-codel", "pie", "red")
TROUBLES = ("none", "random", "bursts", "outage", "stall", "only random", "only bursts")
NEGLIGIBLE, NEAR = 0.15, 0.1
"""A share below the first counts as none; one within the second of the truth is right."""


@dataclass(frozen=True)
class LossLink:
    """A case, its kind of queue, and what else loses packets or stops."""

    case: Case
    queue: str
    trouble: str

    @property
    def name(self) -> str:
        flows = f"{self.case.flow.get('count', 1)} flows" if "count" in self.case.flow else "1 flow"
        offloads = f", offloads at {' and '.join(self.case.offloads)}" if self.case.offloads else ""
        hop = self.case.hop
        rate = hop["rate"] if "rate" in hop else f"bucket of {hop['medium']['cap']['down']}, {hop['medium']['burst']}"
        return (
            f"{self.queue} queue, {self.trouble}: {rate}, {hop['delay']}, {self.case.tcp['variant']}, "
            f"{flows}{offloads}, seed {self.case.seed}"
        )


def loss_links(count: int, seed: int) -> Iterator[LossLink]:
    """`count` links; each kind of queue and each trouble about equally often."""
    draw = random.Random(f"loss links {seed}")
    for number in range(count):
        queue = QUEUES[number % len(QUEUES)]
        trouble = TROUBLES[draw.randrange(len(TROUBLES))]
        yield _drawn(draw, queue, trouble, seed * 10_000 + number + 1)


def _drawn(draw: random.Random, queue: str, trouble: str, seed: int) -> LossLink:
    megabits, delay = round(10 ** draw.uniform(0.0, 1.5), 2), round(draw.uniform(5, 60), 1)
    product = megabits * 1e6 / 8 * 2e-3 * delay
    size = int(max(15_000, draw.uniform(0.4, 2.5) * product))
    hop: Keys = {"name": "air", "delay": f"{delay} ms"}
    if queue == "token bucket":
        hop["medium"] = {
            "kind": "grants",
            "standard": "docsis-3.1",
            "rate": {"down": "200 Mb/s", "up": "40 Mb/s"},
            "cap": {"down": f"{megabits} Mb/s", "up": "10 Mb/s"},
            "burst": f"{int(draw.uniform(20, 400))} kB",
        }
        hop["queue"] = {"down": {"kind": "droptail", "bytes": f"{size} B"}, "up": {"kind": "droptail", "packets": 300}}
    else:
        hop["rate"] = {"down": f"{megabits} Mb/s", "up": f"{max(2.0, megabits)} Mb/s"}
        hop["queue"] = {"down": _queue(queue, size), "up": {"kind": "droptail", "packets": 300}}
    tcp: Keys = {"host": "linux-6", "variant": draw.choice(("cubic", "cubic", "reno", "bbr")), "ecn": False}
    seconds = min(40.0, max(12.0, 6000 * 0.012 / megabits))
    many = draw.random() < 0.35 and megabits >= 4
    flow: Keys = {"workload": {"kind": "bulk"}}
    if many:
        flow |= {"count": draw.choice((4, 10, 20)), "start": "uniform(0 s, 1 s)"}
    if trouble.startswith("only"):
        # The queue holds more than all windows, so nothing overflows.
        window = max(8, int(draw.uniform(0.3, 0.9) * product / 1024 / flow.get("count", 1)))
        tcp["receive_buffer"] = f"{window} KiB"
        whole = int(max(60_000, 3 * product, 1.5 * window * 1024 * flow.get("count", 1)))
        if queue in ("packets", "bytes", "front", "token bucket"):
            hop["queue"] = {**hop["queue"], "down": _queue("bytes", whole)}
    hop |= _trouble(draw, trouble, seconds)
    offloads = draw.choice(((), (), ("server",), ("client",), ("server", "client")))
    gro_us = draw.choice((50, 1000))
    return LossLink(Case(hop, tcp, f"{seconds:.1f} s", seed, flow, offloads=offloads, gro_us=gro_us), queue, trouble)


def _queue(kind: str, size: int) -> Keys:
    packets = max(10, size // 1500)
    queues: dict[str, Keys] = {
        "packets": {"kind": "droptail", "packets": packets},
        "bytes": {"kind": "droptail", "bytes": f"{size} B"},
        "front": {"kind": "droptail", "bytes": f"{size} B", "drop": "front"},
        "red": {"kind": "red", "packets": max(30, packets)},
    }
    return queues.get(kind, {"kind": kind})


def _trouble(draw: random.Random, kind: str, seconds: float) -> Keys:
    mean = round(10 ** draw.uniform(-2.6, -1.7), 5)
    if kind.endswith("random"):
        return {"loss": {"down": mean}}
    if kind.endswith("bursts"):
        sojourn = f"{draw.uniform(10, 60):.0f} ms"
        return {"loss": {"down": {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": sojourn}}}
    if kind == "outage":
        start, length = draw.uniform(0.3, 0.7) * seconds, draw.uniform(0.1, 0.6)
        return {"outage": {"down": [{"start": f"{start:.2f} s", "end": f"{start + length:.2f} s"}]}}
    if kind == "stall":
        every, gap = draw.uniform(3, 5), draw.uniform(0.25, 0.8)
        return {"handover": {"down": {"every": f"{every:.2f} s", "gap": f"{gap:.2f} s"}}}
    return {}


def random_share(summary: Summary) -> tuple[int, float | None]:
    """Downlink packets lost, and the share that no queue dropped; none without losses."""
    causes = [hop["drops_by_cause"] for hop in summary["hops"] if hop["direction"] == "down"]
    total = sum(sum(cause.values()) for cause in causes)
    others = sum(cause.get(name, 0) for cause in causes for name in ("loss", "outage", "handover", "retries"))
    return total, others / total if total else None


def right_verdicts(share: float) -> set[str]:
    """What may be said of this share of losses outside the queue; within a third of `NEAR` of a
    limit either side's."""
    margin = NEAR / 3
    verdicts = {"both"} if NEGLIGIBLE - margin <= share <= 1 - NEGLIGIBLE + margin else set()
    verdicts |= {"congestion"} if share < NEGLIGIBLE + margin else set()
    return verdicts | ({"radio"} if share > 1 - NEGLIGIBLE - margin else set())


def path_share(flows: list[Any], direction: str = "b2a") -> tuple[int, float | None]:
    """Losses of all flows, and the share that the analyzer attributes to no queue."""
    found = [
        (flow[direction]["lost"]["between_captures"], flow[direction]["loss_cause"]["radio_share"])
        for flow in flows
        if "lost" in flow[direction]
    ]
    total = sum(lost for lost, _ in found)
    return total, sum(lost * (share or 0.0) for lost, share in found) / total if total else None


def verdict_of(share: float) -> str:
    """The verdict of a share, as the analyzer forms it."""
    return "congestion" if share < NEGLIGIBLE else "radio" if share > 1 - NEGLIGIBLE else "both"


@dataclass(frozen=True)
class LossScore:
    """A link's losses and their share outside the queue, by the simulator and by the analyzer."""

    name: str
    lost: int
    share: float
    found_lost: int
    found_share: float | None
    evidence: str

    @property
    def verdict(self) -> str:
        """The analyzer's verdict for all flows together."""
        return "unclear" if self.found_share is None else verdict_of(self.found_share)

    @property
    def is_right(self) -> bool:
        """Whether verdict and share are right."""
        return self.is_verdict_right and abs((self.found_share or 0.0) - self.share) <= NEAR

    @property
    def is_verdict_right(self) -> bool:
        """Whether the verdict is right."""
        return self.verdict in right_verdicts(self.share)


def loss_score(link: LossLink, folder: Path) -> LossScore | None:
    """Simulate a link and analyze the captures of both ends; None if it loses fewer than `FEW`
    packets."""
    lost, share = random_share(run(link.case, folder))
    if lost < FEW or share is None:
        return None
    flows = joined(folder).document["flows"]
    found_lost, found_share = path_share(flows)
    with_losses = [flow["b2a"] for flow in flows if flow["b2a"].get("lost", {}).get("between_captures")]
    worst = max(with_losses, key=lambda direction: direction["lost"]["between_captures"], default=None)
    evidence = worst["loss_cause"]["evidence"] if worst else ""
    return LossScore(link.name, lost, share, found_lost, found_share, evidence)
