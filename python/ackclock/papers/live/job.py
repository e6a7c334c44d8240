"""A job: the live emulation of one setting, with its link, its senders and the hosts' options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from ackclock.emulation.kernel_cc import KERNEL_NAMES
from ackclock.input.checked_table import CheckedTable
from ackclock.input.scenario.flow import Flow, instance_names
from ackclock.input.scenario.hosts import Tcp
from ackclock.input.scenario.model import Scenario, measured_ps
from ackclock.input.scenario.resolution import resolved
from ackclock.measurement.session import HEADERS
from ackclock.papers.evidence import Unobservable
from ackclock.report.run_input import FlowTable, HopTable
from ackclock.storage.environment import engine_digest

if TYPE_CHECKING:
    from ackclock.documents.engine import TestSpec, Train

PS = 1e12
BACK_PAYLOAD, BACK_GAP_NS = 20, 1_000_000_000
"""With datagrams in one direction, one a second in the opposite one, to bound the clock offset at a
negligible load.
"""
SAMPLE_MS, SAMPLE_MS_BESIDE = 50, 250
"""Interval between samples of TCP_INFO.

If one transfer ends while another runs, its samples cross the link, so they are fewer.
"""
SIZES = (60, 348, 636, 924, 1212, 1500)
MIN_BUFFER = 2304
VARIANTS = {
    **KERNEL_NAMES,
    "reno": "reno",
    "newreno": "reno",
    "cubic": "cubic",
    "cubic-2.0": "cubic",
    "bbr": "bbr",
    "bic-2.6.8": KERNEL_NAMES["bic"],
}
"""The value of TCP_CONGESTION for a paper's variant."""
NOTES = {
    "cubic-2.0": "CUBIC is the running kernel's (cut to 0.7, HyStart), not 2.6.20's (0.8)",
    "bic-2.6.8": "BIC is that of 2.6.15, without 2.6.8's fault in fast convergence, which causes most of its loss",
    "newreno": "the hosts are Linux without SACK, not Windows XP: recovery is the running kernel's",
}
BUFFERS = (
    "the receiver advertises the paper's window (TCP_WINDOW_CLAMP); the kernel fills a send buffer "
    "with up to one more segment train of 64 KB"
)
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Budget:
    """Maximum duration of a setting.

    ``longest_s`` limits unbounded streams and transfers. A scenario with events (a second flow that
    starts later) runs completely or, above ``whole_s``, not at all. ``rounds``: probes of each
    size.
    """

    longest_s: float = 60.0
    whole_s: float = 400.0
    rounds: int = 10
    repeats: int = 1

    @classmethod
    def quick(cls) -> Budget:
        """A first look: 20 s each."""
        return cls(20.0, 60.0, 4)

    @classmethod
    def full(cls) -> Budget:
        """The papers' durations, three repetitions."""
        return cls(600.0, 400.0, 32, 3)


def available() -> frozenset[str]:
    """The congestion controls that this kernel has loaded."""
    return frozenset(AVAILABLE.read_text("ascii").split()) if AVAILABLE.exists() else frozenset()


def kernel_name(variant: str) -> str:
    """The value of TCP_CONGESTION for a variant.

    Raises Unobservable if the kernel has no such congestion control.
    """
    name = VARIANTS.get(variant)
    if name is None or name not in available():
        more = "; `ackclock kernel-cc load` brings it" if variant in KERNEL_NAMES else ""
        raise Unobservable(f"this kernel has no {variant}{more}")
    return name


class Strand(TypedDict):
    """A session of `measure` with one test, and the names of the flows that it has."""

    names: Sequence[str]
    direction: Literal["down", "up"]
    start_s: float
    variant: str
    spec: TestSpec


Walk = TypedDict("Walk", {"name": str, "from": str, "sizes": list[int], "rounds": int})
"""Probes of stepped sizes from one end."""


class JobDocument(TypedDict):
    """The instructions of the two ends."""

    hops: Sequence[HopTable]
    strands: Sequence[Strand]
    walk: Walk | None
    sysctls: Mapping[str, int]
    window_s: Sequence[float]
    seconds: float
    seed: int
    load: Sequence[FlowTable]


@dataclass(frozen=True)
class Job:
    """One emulation: over ``hops``, of ``strands`` or a ``walk``. ``sysctls``: of both ends'
    namespaces. ``load``: flows that the emulator simulates on the same link."""

    hops: Sequence[HopTable]
    strands: Sequence[Strand]
    walk: Walk | None
    sysctls: Mapping[str, int]
    window_s: tuple[float, float]
    seconds: float
    seed: int
    load: Sequence[FlowTable] = ()

    @cached_property
    def document(self) -> JobDocument:
        """The instructions of the two ends."""
        return {
            "hops": list(self.hops),
            "strands": list(self.strands),
            "walk": self.walk,
            "sysctls": dict(self.sysctls),
            "window_s": list(self.window_s),
            "seconds": self.seconds,
            "seed": self.seed,
            "load": list(self.load),
        }

    @cached_property
    def key(self) -> str:
        """16 hex digits over all of it and the engine."""
        return sha256(f"{json.dumps(self.document, sort_keys=True)} {engine_digest()}".encode()).hexdigest()[:16]


def jobs_of(scenario: Scenario, budget: Budget, seed: int) -> list[Job]:
    """A scenario as emulations: one, or one for each flow of probes.

    Raises Unobservable where it cannot be done live.
    """
    document = resolved(scenario)
    hops = tuple(document["hop"])
    if all(flow.workload.kind == "probe" for flow in scenario.flow):
        return [
            _walk(flow, name, _hops_of(scenario, flow, hops), budget, seed)
            for name, flow in zip(scenario.flow_names(), scenario.flow, strict=True)
        ]
    seconds = _seconds(scenario, budget)
    strands = tuple(_strands(scenario, seconds))
    window = (0.0, seconds)
    if not isinstance(scenario.window, str):
        low, high = measured_ps(scenario.window, round(seconds * PS))
        window = (low / PS, high / PS)
    load = tuple(
        table for table, flow in zip(document["flow"], scenario.flow, strict=True) if flow.workload.kind == "onoff"
    )
    return [Job(hops, strands, None, _sysctls(scenario), window, seconds, seed, load)]


def _seconds(scenario: Scenario, budget: Budget) -> float:
    whole = scenario.duration / PS
    if any(flow.start[1] or flow.stop for flow in scenario.flow):
        if whole > budget.whole_s:
            raise Unobservable(f"its course takes {whole:.0f} s of real time, which --quick omits")
        return whole
    return min(whole, budget.longest_s)


def _strands(scenario: Scenario, seconds: float) -> Iterator[Strand]:
    for base, flow in zip(scenario.flow_names(), scenario.flow, strict=True):
        begin = flow.start[0] / PS
        lasts = min(seconds, (flow.stop / PS) if flow.stop else seconds) - begin
        if flow.workload.kind == "cbr":
            variant, spec = "udp", _datagrams(flow.workload, flow.direction, lasts)
        elif flow.workload.kind == "bulk":
            tcp = scenario.tcp_of(flow)
            variant, spec = str(tcp.keys["variant"]), _bulk(flow, tcp, lasts, alone=_alone(scenario))
        elif flow.workload.kind == "onoff":  # the emulator simulates other users' load
            continue
        else:
            raise Unobservable(f"a workload that `measure` has no test for ({flow.workload.table_name.lower()})")
        yield {
            "names": instance_names(flow, base),
            "direction": flow.direction,
            "start_s": begin,
            "variant": variant,
            "spec": spec,
        }


def _alone(scenario: Scenario) -> bool:
    """Whether nothing but one flow has both ends outside of the emulator."""
    return len([flow for flow in scenario.flow if flow.workload.kind != "onoff"]) == 1


def _datagrams(stream: CheckedTable, direction: str, seconds: float) -> TestSpec:
    gap_ns = round(stream.packet * 8e9 / stream.rate)
    count = max(1, round(seconds * 1e9 / gap_ns))
    there: Train = {"payload": stream.packet - HEADERS, "gap_ns": gap_ns, "count": count}
    back: Train = {"payload": BACK_PAYLOAD, "gap_ns": BACK_GAP_NS, "count": max(2, round(seconds))}
    return {"datagrams": {"down": there, "up": back} if direction == "down" else {"down": back, "up": there}}


def _bulk(flow: Flow, tcp: Tcp, seconds: float, *, alone: bool) -> TestSpec:
    """The papers' buffers, since the kernel doubles a requested size: the doubled receive buffer
    has room for the window, which is limited to the paper's; a send buffer that bounds the flow is
    requested with half its size.
    """
    count = flow.instances
    send, window = (
        size if isinstance(size := tcp.keys[key], int) else None for key in ("send_buffer", "receive_buffer")
    )
    if send is not None and (window is None or send < window):
        send = max(MIN_BUFFER, send // 2)
    sample = SAMPLE_MS if alone else SAMPLE_MS_BESIDE
    return {
        "bulk": {
            "down": count if flow.direction == "down" else 0,
            "up": count if flow.direction == "up" else 0,
            "congestion": kernel_name(tcp.keys["variant"]),
            "send_buffer": send,
            "receive_buffer": window,
            "receive_window": window,
            "duration_ns": round(seconds * 1e9),
            "sample_ns": sample * 1_000_000,
        }
    }


def _sysctls(scenario: Scenario) -> dict[str, int]:
    """The options that a host of the paper's has off.

    All TCP flows of a scenario share the hosts.
    """
    found: dict[str, int] = {}
    for flow in scenario.flow:
        if not flow.is_udp:
            tcp = scenario.tcp_of(flow).keys
            text = {
                "tcp_timestamps": tcp["timestamps"],
                "tcp_window_scaling": tcp["window_scaling"],
                "tcp_sack": tcp["sack"],
            }
            found.update({name: int(bool(value)) for name, value in text.items()})
    return found


def _hops_of(scenario: Scenario, flow: Flow, hops: Sequence[HopTable]) -> list[HopTable]:
    """The tables of the hops that a flow passes."""
    names = {hop.name for hop in scenario.hops_of(flow)}
    return [hop for hop in hops if hop["name"] in names]


def _walk(flow: Flow, name: str, hops: Sequence[HopTable], budget: Budget, seed: int) -> Job:
    """Probes of different sizes over a part of the link, emulated as a link of its own: an emulated
    link's inner hops send no ICMP errors.
    """
    probe = flow.workload
    sizes = [probe.first] if probe.first == probe.last else [min(max(size, probe.first), probe.last) for size in SIZES]
    rounds = min(probe.rounds, budget.rounds if len(sizes) > 1 else max(budget.rounds, probe.rounds))
    walk: Walk = {
        "name": name,
        "from": "server" if flow.direction == "down" else "client",
        "sizes": sizes,
        "rounds": rounds,
    }
    seconds = 4.0 + len(sizes) * rounds
    return Job(hops, (), walk, {}, (0.0, seconds), seconds, seed)
