"""A plan: one run of a scenario in integers (crates/scenario/src/scenario/plan)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock._native import Plan
from ackclock.errors import InputError
from ackclock.input.scenario.model import Scenario

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
    return scenario.plan(seed, [capture.plan() for capture in captures], live)


__all__ = ["Capture", "Plan", "build_plan"]
