"""The normalised bandwidth ratio k of a planned run: whether a link's reverse path carries the
ACKs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypedDict

from ackclock import _native
from ackclock.closed_forms import normalized_bandwidth_ratio
from ackclock.simulation.plan import Plan

if TYPE_CHECKING:
    from ackclock.documents.parts import Direction
    from ackclock.report.run_input import HopTable


class _Tcp(TypedDict):
    """The sizes of a planned TCP flow that k needs, in bytes."""

    segment: int
    header: int
    timestamps: bool
    timestamp_bytes: int


class _Flow(TypedDict):
    """A planned flow: its hops by their numbers."""

    direction: Direction
    hops: Sequence[int]
    tcp: _Tcp | None


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """k and its operands: rates in bit/s, sizes in bytes on the slowest hop of each direction.

    With an ACK per packet the reverse path saturates first if k > 1; with delayed ACKs, if k > 2.
    """

    k: float
    forward_bps: float
    reverse_bps: float
    data_bytes: int
    ack_bytes: int

    def as_json(self) -> dict[str, float | str]:
        """The ``asymmetry`` object of ``compare``'s JSON document."""
        return {**asdict(self), "implies": implied(self.k)}


def implied(k: float) -> str:
    """The consequence of k for ACKs when the forward link is full (`asymmetry`, section 2), as a
    clause.
    """
    if k <= 1.0:
        return "the reverse path carries an ACK for every segment"
    every = f"with an ACK for every segment the reverse path carries one ACK in {_few(k)}"
    if k <= 2.0:
        return f"{every}; with delayed ACKs all"
    return f"{every}, with delayed ACKs one in {_few(k / 2.0)}"


def asymmetry(plan: Plan) -> Asymmetry | None:
    """k of the first TCP flow of a plan (``docs/inside/plan.md``); None without one (see
    ``why_no_asymmetry``).
    """
    flow = _first_tcp(plan)
    if flow is None or why_no_asymmetry(plan):
        return None
    tcp, direction = flow["tcp"], flow["direction"]
    assert tcp is not None
    options = tcp["timestamp_bytes"] if tcp["timestamps"] else 0
    data = _slowest(plan, flow, direction, tcp["segment"] + tcp["header"] + options)
    ack = _slowest(plan, flow, "up" if direction == "down" else "down", tcp["header"] + options)
    if data is None or ack is None:
        return None
    (forward, data_bytes), (reverse, ack_bytes) = data, ack
    k = normalized_bandwidth_ratio(forward, reverse, data_bytes, ack_bytes)
    return Asymmetry(k, forward, reverse, data_bytes, ack_bytes)


_VARIES = {"trace": "recorded", "schedule": "scheduled", "slots": "another one in each slot"}
"""A rate that is no constant, by its kind in a plan."""


def why_no_asymmetry(plan: Plan) -> str | None:
    """The reason why a plan's first TCP flow has no k, as a clause; None if it has one."""
    flow = _first_tcp(plan)
    if flow is None:
        return "there is no TCP flow"
    hops = [plan.document["hops"][index] for index in flow["hops"]]
    medium = next((hop for hop in hops if hop["medium"] and hop["medium"]["kind"] != "grants"), None)
    if medium is not None:
        return f"both directions share the capacity of {medium['name']}, so there is no ratio"
    sides = [
        (hop["name"], direction, hop[direction]["rate"])
        for hop in hops
        for direction in ("down", "up")
        if hop[direction] and hop[direction]["rate"]
    ]
    varies = next(((name, rate["kind"]) for name, _, rate in sides if rate["kind"] in _VARIES), None)
    if varies is not None:
        return f"the rate of {varies[0]} is {_VARIES[varies[1]]}, so the ratio varies"
    limited = {direction for _, direction, _ in sides} | {
        direction for hop in hops if hop["medium"] for direction in ("down", "up") if hop[direction]
    }
    unlimited = next((direction for direction in ("down", "up") if direction not in limited), None)
    return f"no hop limits the direction {unlimited}" if unlimited else None


def recorded_warning(hops: Sequence[HopTable]) -> str | None:
    """The note about recorded rates, as a sentence; None without one."""
    recorded = [hop["name"] for hop in hops if _is_recorded(hop.get("rate"))]
    if not recorded:
        return None
    return (
        f"The rate of {' and '.join(recorded)} is a recording: it replays past rates and does not depend on the sender's requests for "
        'capacity. If ACKs or uploads wait for grants, medium = { kind = "grants" } models it.'
    )


def _is_recorded(rate: object) -> bool:
    if not isinstance(rate, Mapping):
        return False
    return "trace" in rate or any(isinstance(side, Mapping) and "trace" in side for side in rate.values())


def _first_tcp(plan: Plan) -> _Flow | None:
    """The first TCP flow, or the last part of the first one that proxies split."""
    near = {"down": "near", "up": "far"}
    feeding = {(proxy[end], direction) for proxy in plan.document.get("proxies", ()) for direction, end in near.items()}
    numbered = enumerate(plan.document["flows"])
    return next((flow for number, flow in numbered if flow["tcp"] and (number, flow["direction"]) not in feeding), None)


def _few(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.2g}"


def _slowest(plan: Plan, flow: _Flow, direction: Direction, size: int) -> tuple[float, int] | None:
    """Rate and size on the wire at the flow's hop with the longest transmission time of a packet of
    ``size`` bytes.
    """
    hops = [plan.document["hops"][index] for index in flow["hops"]]
    sides = [hop[direction] for hop in hops if hop[direction] and hop[direction]["rate"]]
    candidates = [(float(side["rate"]["bps"]), _native.on_wire(json.dumps(side["framing"]), size)) for side in sides]
    granted = [hop["medium"][direction] for hop in hops if hop["medium"] and hop[direction]]
    candidates += [
        (
            _native.granted_bps(json.dumps(side), size) / size * (size + side["packet_header"]),
            size + side["packet_header"],
        )
        for side in granted
    ]
    return max(candidates, key=lambda rate_size: rate_size[1] / rate_size[0], default=None)
