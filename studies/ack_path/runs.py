"""Today's asymmetric links crossed with what may be done to ACKs: which runs there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.cli.progress import progress
from ackclock.input.link.bottleneck import bottlenecks
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs

SEEDS = (1, 2, 3, 4, 5)
VARIANTS = ("cubic", "bbr3")
LOADS = ("alone", "upload")
"""One download by itself, or beside an upload that fills the ACKs' queue."""

LINKS: dict[str, tuple[int, int]] = {
    "docsis-3.1": (2, 5),
    "adsl2plus": (5, 30),
    "lte-uplink": (5, 20),
    "nr-uplink": (3, 8),
    "geo-100m": (20, 60),
    "leo": (5, 35),
}
"""Packaged link: the seconds after which is measured, and the run's length."""

MARKS = {"kind": "red", "min": "5 packets", "max": "15 packets", "max_p": 0.1, "weight": 0.01, "ecn": True}
"""RED that marks all packets: the congestion signal of ACK congestion control."""


@dataclass(frozen=True)
class Technique:
    """What is done for or to ACKs: a policy of the ACKs' queue by name, TCP keys, another queue,
    or what the queue does to ACKs in keys, and whether they are put in again behind it."""

    policy: str = "link"
    tcp: Mapping[str, Any] | None = None
    queue: Mapping[str, Any] | None = None
    ack: Mapping[str, Any] | None = None
    reconstruct: bool = False


TECHNIQUES: dict[str, Technique] = {
    "as it is": Technique(),
    "an ACK for each segment": Technique(tcp={"delayed_ack": False}),
    "an ACK for 8": Technique(tcp={"delayed_ack": {"segments": 8, "timer": "40 ms"}}),
    "4 ACKs per RTT": Technique(tcp={"delayed_ack": {"segments": 2, "timer": "200 ms", "per_rtt": 4}}),
    "filter safe": Technique("safe"),
    "filter safe, at the oldest ACK's position": Technique(ack={"filter": {"preset": "safe", "survivor": "head"}}),
    "filter p1": Technique("p1"),
    "CAKE with its filter": Technique("cake"),
    "filter p1, sender adapted": Technique("p1", {"max_burst": 3, "byte_counting": 65535}),
    "filter p1, reconstruction": Technique("p1", reconstruct=True),
    "acks first": Technique("acks-first"),
    "acks first, filter safe": Technique("safe+acks-first"),
    "fq-codel": Technique("fq-codel"),
    "ACK congestion control": Technique(
        tcp={"ack_congestion_control": True, "ecn": True, "timestamps": True}, queue=MARKS
    ),
}


def scenario(link: str, variant: str, load: str, technique: Technique) -> Scenario:
    """One cell's scenario; data goes down, ACKs go up."""
    start, end = LINKS[link]
    flows: list[dict[str, Any]] = [{"name": "download", "workload": {"kind": "bulk"}}]
    if load == "upload":
        flows.append({"name": "upload", "direction": "up", "workload": {"kind": "bulk"}})
    draft = draft_of(
        {
            "link": link,
            "duration": f"{end} s",
            "seeds": list(SEEDS),
            "sample": "0 s",
            "measure": {"window": [f"{start} s", f"{end} s"]},
            "tcp": {"variant": variant, **(technique.tcp or {})},
            "flow": flows,
        }
    )
    path = bottlenecks(draft.check().hop, "down")
    point: dict[str, Any] = path.keys("link", technique.policy)
    queue = path.ack_queue.written(given=True) if path.ack_queue else {}
    if technique.queue:
        limits = {key: queue[key] for key in ("packets", "bytes") if key in queue}
        point = {path.acks: {**technique.queue, **limits}}
    if technique.ack:
        point = {path.acks: {**queue, "ack": dict(technique.ack)}}
    if technique.reconstruct:
        point[path.acks.replace(".queue.", ".reconstruct.")] = {"every": "2896 B"}
    return draft.check(point)


def run(links: Sequence[str], folder: Path) -> dict[tuple[str, str, str, str], list[RunResult]]:
    """Every cell of these links by link, variant, load and technique; what the folder has is not
    run again.
    """
    keys = [
        (link, variant, load, name) for link in links for variant in VARIANTS for load in LOADS for name in TECHNIQUES
    ]
    cells = [
        RunSpec(made, seed, dict(zip(("link", "variant", "load", "technique"), key, strict=True)))
        for key in keys
        for made in [scenario(*key[:3], TECHNIQUES[key[3]])]
        for seed in SEEDS
    ]
    with progress("ack path", quiet=False) as update:
        done = run_specs(cells, store=RunStore(folder), progress=update)
    return {key: done[place * len(SEEDS) : (place + 1) * len(SEEDS)] for place, key in enumerate(keys)}
