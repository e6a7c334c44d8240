"""A plan: one run of a scenario, all values integers (docs/inside/plan.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ackclock import congestion_control
from ackclock.errors import InputError
from ackclock.input.link.hop import hop_plan
from ackclock.input.link.trace import Recording
from ackclock.input.scenario.flow import BACK, Flow, instance_names
from ackclock.input.scenario.hosts import Tcp
from ackclock.input.scenario.model import ENDS, Scenario, measured_ps
from ackclock.simulation.split_tcp import split

MAX_SUPER_SEGMENT_BYTES = 65_535
"""IP length of the longest super-segment: the length field of IPv4."""
GRO_INTERVAL_PS = 50_000_000
"""GRO merges what arrives within 50 us.

By studies/analyzer/segment_sizes.csv: where packets arrive 72 us apart or more, 5 % of the bytes at
most are merged; at 12 us nearly all are.
"""


@dataclass(frozen=True)
class Capture:
    """A packet capture to write.

    Attributes:
        flow: the flow's name.
        end: "server", "client" or "middle".
        after: for "middle": the number of hops between the server and the capture.
        format: "pcap" or "pcapng".
        offloads: merge segments as the host's GSO, TSO and GRO do; not for "middle".
    """

    flow: str
    end: str
    path: Path
    format: str = "pcap"
    after: int = 0
    offloads: bool = False

    def plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = {
            "flow": self.flow,
            "end": self.end,
            "path": str(self.path.absolute()),
            "format": self.format,
        }
        if self.offloads:
            plan["offloads"] = {"max_bytes": MAX_SUPER_SEGMENT_BYTES, "gro_ps": GRO_INTERVAL_PS}
        return {**plan, "after": self.after} if self.end == "middle" else plan


@dataclass(frozen=True)
class Plan:
    """A plan with `Recording` objects in place of their times, cheap to compare and to hash."""

    document: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the plan without its captures; recordings count by their contents."""
        hashed = {key: value for key, value in self.document.items() if key != "captures"}
        return hashlib.sha256(_dumps(hashed).encode()).hexdigest()

    def text(self) -> str:
        """The JSON that the engine reads."""
        text = _dumps(self.document)
        for recording in _recordings(self.document):
            text = text.replace(f'"{recording.digest}"', _times_text(recording))
        return text

    def expanded(self) -> dict[str, Any]:
        """The plan as plain JSON values, recordings included."""
        plan: dict[str, Any] = json.loads(self.text())
        return plan


def _dumps(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), default=lambda recording: recording.digest)


@lru_cache(maxsize=16)
def _times_text(recording: Recording) -> str:
    return json.dumps(recording.times_ms, separators=(",", ":"))


def _recordings(document: dict[str, Any]) -> set[Recording]:
    sides = [side for hop in document["hops"] for side in (hop["down"], hop["up"]) if side]
    return {side["rate"]["times_ms"] for side in sides if side["rate"] and side["rate"]["kind"] == "trace"}


def build_plan(scenario: Scenario, seed: int, captures: Sequence[Capture] = (), *, live: bool = False) -> Plan:
    """The plan of `scenario` with one seed. Only an emulation may have a live flow, which is
    traffic of real hosts.

    Raises InputError for a live flow without ``live``.
    """
    if not live and any(flow.is_live for flow in scenario.flow):
        raise InputError.problem(
            'a flow with workload = { kind = "live" } is for real hosts',
            "run `ackclock emulate`, or give it another kind",
        )
    flows, proxies = _flows(scenario)
    if live:
        _process_at_once(flows)
    optional: dict[str, Any] = {"proxies": proxies} if proxies else {}
    return Plan(
        {
            **optional,
            "seed": seed,
            "duration_ps": scenario.duration,
            "sample_ps": scenario.sample,
            "clients": scenario.clients,
            "measure": _measure(scenario),
            "hops": [hop_plan(hop) for hop in scenario.hop],
            "flows": flows,
            "captures": [capture.plan() for capture in captures],
        }
    )


def _measure(scenario: Scenario) -> dict[str, Any]:
    window = scenario.measure.window
    if isinstance(window, str):
        return {"kind": window}
    start, end = measured_ps(window, scenario.duration)
    return {"kind": "interval", "from_ps": start, "to_ps": end}


def _tcp(tcp: Tcp) -> dict[str, Any]:
    keys = tcp.plan()
    if congestion_control.is_user(keys["variant"]):
        name = keys["variant"]
        keys |= {"variant": "reno", "user_variant": {"name": name, "digest": congestion_control.digest(name)}}
    return keys


def _process_at_once(flows: Sequence[dict[str, Any]]) -> None:
    """Simulated hosts beside real ones: what the emulator is late is their processing time (ADR
    9).
    """
    for flow in flows:
        for tcp in filter(None, (flow["tcp"], flow.get("tcp_client"))):
            tcp.pop("processing_jitter", None)
            tcp.pop("gro_ps", None)


def _tcp_of_ends(scenario: Scenario, flow: Flow) -> dict[str, Any]:
    if flow.is_udp:
        return {"tcp": None}
    server, client = (_tcp(scenario.tcp_of(flow, end)) for end in ENDS)
    return {"tcp": server} if client == server else {"tcp": server, "tcp_client": client}


def _flows(scenario: Scenario) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The flows, and the proxies between the parts of split connections."""
    flows: list[dict[str, Any]] = []
    proxies: list[dict[str, Any]] = []
    for base, flow in zip(scenario.flow_names(), scenario.flow, strict=True):
        shared = {
            "direction": flow.direction,
            "hops": scenario.hops_of(flow),
            **scenario.overhead_ps(flow),
            "workload": flow.workload.plan(),
            **_tcp_of_ends(scenario, flow),
        }
        low, high = scenario.start_ps(flow)
        for index, name in enumerate(instance_names(flow, base)):
            later, place = divmod(index, flow.count)
            shift = later * (flow.repeat.every if flow.repeat else 0)
            single = {
                "name": name,
                "client": place % scenario.clients,
                "start": {"low_ps": low + shift, "high_ps": high + shift},
                "stop_ps": None if flow.stop is None else flow.stop + shift,
                **shared,
            }
            if flow.is_spread:
                flows.extend(_pages(flow, single, len(flows)))
                continue
            parts, between = split(scenario, flow, single, len(flows), _tcp)
            flows.extend(parts)
            proxies.extend(between)
    return flows, proxies


def _pages(flow: Flow, single: Mapping[str, Any], first: int) -> Iterator[dict[str, Any]]:
    """The flows of web pages whose requests and answers have connections of their own
    (asymmetry paper, section 6); the first one has the index `first` in the plan.
    """
    web, name = flow.workload, single["name"]
    think = web.plan()["think"]
    previous: list[int] = []
    for number in range(web.jobs):
        page = {**single, "job": {"name": name, "number": number}}
        title = f"{name}.{number + 1}" if web.jobs > 1 else name
        start = {"after": previous, "start": think} if previous else {}
        sizes = {"workload": {"kind": "transfer", "bytes": web.request}}
        yield {**page, "name": f"{title}.request", "direction": BACK[flow.direction], **sizes, **start}
        request = first + number * (1 + web.answers)
        for answer in range(1, web.answers + 1):
            at_once = {"after": [request], "start": {"low_ps": 0, "high_ps": 0}}
            sizes = {"workload": {"kind": "transfer", "bytes": web.size}}
            yield {**page, "name": f"{title}.answer-{answer}", **sizes, **at_once}
        previous = list(range(request + 1, request + 1 + web.answers))
