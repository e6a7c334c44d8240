"""Findings about the path and the handshake: proxies, rewritten options, retransmitted SYNs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.capture_context import CaptureContext
from ackclock.analysis.diagnosis.failures import TTL_DIFFERENCE
from ackclock.analysis.diagnosis.flow_context import Finding, many
from ackclock.format import milliseconds

_FAR = 0.6
"""A SYN-ACK sooner than this share of the data's minimum RTT is not from the remote host."""


ENOUGH_PACKETS = 10
"""Minimum packets of a connection that two captures must have in common."""
_SAME_TIME_S = 3600.0
"""Maximum difference of the captures' clocks for which equal addresses and ports are the same
connection.
"""


def of_handshake(capture: CaptureContext, flow: Mapping[str, Any]) -> list[Finding]:
    """A proxy on the path, and retransmitted SYNs of a connection that was established."""
    findings = []
    if signs := _proxy_signs(flow, capture.partner(flow)) + _nothing_in_common(capture, flow):
        evidence = f"{'; '.join(signs)}: a split-TCP proxy is between client and server."
        evidence = evidence[0].upper() + evidence[1:]
        advice = "Each side of it has its own windows, losses and RTT: capture on both sides."
        findings.append(Finding("a2b", "split_tcp_proxy", evidence, advice=advice))
    retransmitted = sum(flow[direction]["causes"].get("handshake", {}).get("count", 0) for direction in ("a2b", "b2a"))
    if retransmitted and flow["handshake"]["complete"]:
        wait = flow["handshake_rtt_ms"]
        evidence = f"The handshake needed {many(retransmitted, 'retransmission')} of SYN or SYN-ACK and took {milliseconds(wait)}."
        findings.append(Finding("a2b", "handshake_loss", evidence))
    return findings


def _proxy_signs(flow: Mapping[str, Any], other: Mapping[str, Any] | None) -> list[str]:
    signs = []
    for direction, who in (("a2b", "client"), ("b2a", "server")):
        ttl = flow[direction]["ttl"]
        if ttl["syn"] and ttl["data"] and abs(ttl["syn"] - ttl["data"]) > TTL_DIFFERENCE:
            signs.append(f"the {who}'s SYN has a TTL of {ttl['syn']}, its data one of {ttl['data']}")
    rewritten = []
    if other is not None:
        ours, there = flow["handshake"], other["handshake"]
        named = (
            ("client_mss", "the client's MSS"),
            ("server_mss", "the server's MSS"),
            ("client_window_scale", "the client's window scale"),
            ("server_window_scale", "the server's window scale"),
        )
        rewritten = [f"{name} ({ours[key]} and {there[key]})" for key, name in named if ours[key] != there[key]]
        # At the server the SYN-ACK is immediate; the capture near the client shows its origin.
        near_client = ours if flow["a2b"].get("sender_side_capture", 1) == 1 else there
        answer, minimum = near_client["server_side_ms"], flow["a2b"].get("one_way_delay_ms", {}).get("min")
        back = flow["b2a"].get("one_way_delay_ms", {}).get("min")
        if answer is not None and minimum is not None and back is not None and answer < _FAR * (minimum + back):
            signs.append(
                f"the SYN-ACK comes after {milliseconds(answer)}, too early for a round trip to the other capture"
            )
    # MSS clamping by a router is common and no evidence of a proxy by itself.
    if rewritten and (signs or len(rewritten) > 1):
        signs.append(f"options of the handshake differ between the captures: {', '.join(rewritten)}")
    return signs


def _nothing_in_common(capture: CaptureContext, flow: Mapping[str, Any]) -> list[str]:
    """The same connection by addresses and ports in both captures, without a common packet: its
    sequence numbers are different.
    """
    if capture.partner(flow) is not None:
        return []
    here, there = capture.with_ends_of(flow)
    if here != 1 or len(there) != 1 or min(flow["packets"], there[0]["packets"]) < ENOUGH_PACKETS:
        return []
    document, second = capture.head, capture.head["second"]
    apart = abs(
        float(document["start_s"] or 0.0) + flow["start_s"] - float(second["start_s"] or 0.0) - there[0]["start_s"]
    )
    if apart > _SAME_TIME_S:
        return []
    statement = (
        "both captures have this connection by its addresses and ports, but no packet in common: "
        "it has other sequence numbers in each"
    )
    findings = [statement]
    trips = _answers(flow, there[0])
    if trips is not None and max(trips) > 1.25 * min(trips):
        findings.append(
            f"one side's data is answered after {milliseconds(min(trips))}, the other's after "
            f"{milliseconds(max(trips))}"
        )
    return findings


def _answers(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float] | None:
    """Minimum RTTs in ms from the capture at each end to the host that answers there; equal if the
    ends have one connection.
    """
    places = {flow["vantage"]["place"]: flow["vantage"] for flow in (one, other)}
    server, client = places.get("server"), places.get("client")
    if server is None or client is None or not server["to_client_ms"] or not client["to_server_ms"]:
        return None
    return float(server["to_client_ms"]), float(client["to_server_ms"])
