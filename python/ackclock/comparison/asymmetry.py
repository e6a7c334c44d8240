"""How far a link is from carrying its own ACKs: the normalised bandwidth ratio k of a planned run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.input.link.framing import on_wire
from ackclock.input.link.grants import granted_bps
from ackclock.papers.closed_forms import normalized_bandwidth_ratio


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """k and what it was computed from: rates in bit/s, sizes in bytes on the slowest hop each way.

    With an ACK per packet and k > 1 the return path saturates before the forward one; with delayed ACKs, with k > 2.
    """

    k: float
    forward_bps: float
    reverse_bps: float
    data_bytes: int
    ack_bytes: int

    def as_json(self) -> dict[str, float | str]:
        """The ``asymmetry`` object of ``compare``'s JSON document."""
        return {
            "k": self.k,
            "forward_bps": self.forward_bps,
            "reverse_bps": self.reverse_bps,
            "data_bytes": self.data_bytes,
            "ack_bytes": self.ack_bytes,
            "implies": implied(self.k),
        }


def implied(k: float) -> str:
    """What k means for ACKs when the forward link is full (`asymmetry`, section 2), as a clause."""
    if k <= 1.0:
        return "an ACK for every segment has room on the way back"
    every = f"with an ACK for every segment one ACK in {_few(k)} gets through"
    if k <= 2.0:
        return f"{every}; with delayed ACKs all do"
    return f"{every}, with delayed ACKs one in {_few(k / 2.0)}"


def asymmetry(plan: Mapping[str, Any]) -> Asymmetry | None:
    """k of the first TCP flow of a plan (``docs/plan.md``); None where there is none, which ``why_no_asymmetry`` explains."""
    flow = _first_tcp(plan)
    if flow is None or why_no_asymmetry(plan):
        return None
    tcp, ways = flow["tcp"], ("down", "up") if flow["direction"] == "down" else ("up", "down")
    options = tcp["timestamp_bytes"] if tcp["timestamps"] else 0
    hops = [plan["hops"][index] for index in flow["hops"]]
    data = _slowest(hops, ways[0], tcp["segment"] + tcp["header"] + options)
    ack = _slowest(hops, ways[1], tcp["header"] + options)
    if data is None or ack is None:
        return None
    (forward, data_bytes), (reverse, ack_bytes) = data, ack
    k = normalized_bandwidth_ratio(forward, reverse, data_bytes, ack_bytes)
    return Asymmetry(k, forward, reverse, data_bytes, ack_bytes)


def why_no_asymmetry(plan: Mapping[str, Any]) -> str | None:
    """Why a plan's first TCP flow has no k, as a clause; None where it has."""
    flow = _first_tcp(plan)
    if flow is None:
        return "there is no TCP flow"
    hops = [plan["hops"][index] for index in flow["hops"]]
    medium = next((hop for hop in hops if hop["medium"] and hop["medium"]["kind"] != "grants"), None)
    if medium is not None:
        return f"both directions share the capacity of {medium['name']}, so that they have no ratio"
    sides = [(hop["name"], way, hop[way]["rate"]) for hop in hops for way in ("down", "up") if hop[way] and hop[way]["rate"]]
    recorded = next((name for name, _, rate in sides if rate["kind"] != "fixed"), None)
    if recorded is not None:
        return f"the rate of {recorded} is recorded, so that the ratio changes all the time"
    limited = {way for _, way, _ in sides} | {way for hop in hops if hop["medium"] for way in ("down", "up") if hop[way]}
    unlimited = next((way for way in ("down", "up") if way not in limited), None)
    return f"no hop limits the direction {unlimited}" if unlimited else None


def recorded_warning(scenario: Mapping[str, Any]) -> str | None:
    """What a reader of a comparison should know of a link that is a recording, as a sentence; None where none of its rates is one."""
    recorded = [hop["name"] for hop in scenario["hop"] if _is_recorded(hop.get("rate"))]
    if not recorded:
        return None
    return (
        f"The rate of {' and '.join(recorded)} is a recording: it plays what was carried then, and knows nothing of how a sender asks for "
        'its turn. Where ACKs or uploads wait for grants, medium = { kind = "grants" } models it.'
    )


def _is_recorded(rate: Any) -> bool:
    if not isinstance(rate, Mapping):
        return False
    return "trace" in rate or any(isinstance(side, Mapping) and "trace" in side for side in rate.values())


def _first_tcp(plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first whole TCP flow, or the last part of the first that proxies split."""
    near = {"down": "near", "up": "far"}
    feeding = {(proxy[near[way]], way) for proxy in plan.get("proxies", ()) for way in near}
    numbered = enumerate(plan["flows"])
    return next((flow for number, flow in numbered if flow["tcp"] and (number, flow["direction"]) not in feeding), None)


def _few(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.2g}"


def _slowest(hops: Sequence[Mapping[str, Any]], way: str, size: int) -> tuple[float, int] | None:
    """Rate and size on the wire at the hop where a packet of ``size`` bytes takes longest to send."""
    sides = [hop[way] for hop in hops if hop[way] and hop[way]["rate"]]
    found = [(float(side["rate"]["bps"]), on_wire(size, side["framing"])) for side in sides]
    granted = [hop["medium"][way] for hop in hops if hop["medium"] and hop[way]]
    found += [(granted_bps(side, size) / size * (size + side["packet_header"]), size + side["packet_header"]) for side in granted]
    return max(found, key=lambda rate_size: rate_size[1] / rate_size[0], default=None)
