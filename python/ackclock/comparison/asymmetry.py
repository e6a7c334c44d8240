"""How far a link is from carrying its own ACKs: the normalised bandwidth ratio k of a planned run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.papers.arithmetic import normalized_bandwidth_ratio

TCP_IP_HEADER = 40
"""Bytes of IPv4 and TCP header without options: what header compression can shrink."""
COMPRESSED_HEADER = 6
"""What CSLIP sends instead (RFC 1144), options left as they are."""


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

    def as_json(self) -> dict[str, float]:
        """The ``asymmetry`` object of ``compare``'s JSON document."""
        return {
            "k": self.k,
            "forward_bps": self.forward_bps,
            "reverse_bps": self.reverse_bps,
            "data_bytes": self.data_bytes,
            "ack_bytes": self.ack_bytes,
        }


def asymmetry(plan: Mapping[str, Any]) -> Asymmetry | None:
    """k of the first TCP flow of a plan (``docs/plan.md``); None when no TCP flow or one way has no limited rate.

    A recorded rate counts with its mean. None too where a medium is crossed: its directions share one capacity, so they have no ratio.
    """
    flow = next((flow for flow in plan["flows"] if flow["tcp"]), None)
    if flow is None:
        return None
    tcp, ways = flow["tcp"], ("down", "up") if flow["direction"] == "down" else ("up", "down")
    options = tcp["timestamp_bytes"] if tcp["timestamps"] else 0
    hops = [plan["hops"][index] for index in flow["hops"]]
    if any(hop["medium"] for hop in hops):
        return None
    data = _slowest(hops, ways[0], tcp["segment"] + tcp["header"] + options)
    ack = _slowest(hops, ways[1], tcp["header"] + options)
    if data is None or ack is None:
        return None
    (forward, data_bytes), (reverse, ack_bytes) = data, ack
    k = normalized_bandwidth_ratio(forward, reverse, data_bytes, ack_bytes)
    return Asymmetry(k, forward, reverse, data_bytes, ack_bytes)


def _slowest(hops: Sequence[Mapping[str, Any]], way: str, size: int) -> tuple[float, int] | None:
    """Rate and size on the wire at the hop where a packet of ``size`` bytes takes longest to send."""
    sides = [hop[way] for hop in hops if hop[way] and hop[way]["rate"]]
    found = [(_bps(side["rate"]), _on_wire(size, side["framing"])) for side in sides]
    return max(found, key=lambda rate_size: rate_size[1] / rate_size[0], default=None)


def _bps(rate: Mapping[str, Any]) -> float:
    return float(rate["bps"]) if rate["kind"] == "fixed" else float(rate["times_ms"].mean_bps())


def _on_wire(size: int, framing: str) -> int:
    saved = TCP_IP_HEADER - COMPRESSED_HEADER if framing == "cslip" and size >= TCP_IP_HEADER else 0
    return size - saved
