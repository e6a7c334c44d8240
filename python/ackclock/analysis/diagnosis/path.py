"""What stands on the path: proxies, rewritten options, policers, slow handshakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.view import Finding, many, partner
from ackclock.report.numbers import milliseconds

_FAR = 0.6
"""An answer in less than this share of the least time that data takes did not come from the far end."""


_RESET = "Harmless where a program closes with data still to read, as measuring tools do at the end of a test; otherwise look at which side sent it."


def of_handshake(document: Mapping[str, Any], flow: Mapping[str, Any]) -> list[Finding]:
    """A proxy in the middle, and SYNs that had to be repeated."""
    found = []
    if signs := _proxy_signs(flow, partner(document, flow)):
        evidence = f"{'; '.join(signs)}: something between client and server answers for them, a split-TCP proxy."
        evidence = evidence[0].upper() + evidence[1:]
        advice = "Each side of it has its own windows, losses and round trips: capture on both sides of it."
        found.append(Finding("a2b", "split_tcp_proxy", evidence, advice=advice))
    again = sum(flow[way]["causes"].get("handshake", {}).get("count", 0) for way in ("a2b", "b2a"))
    if again:
        wait = flow["handshake_rtt_ms"]
        evidence = f"The handshake needed {many(again, 'retransmission')} of SYN or SYN-ACK"
        evidence += f" and took {milliseconds(wait)}." if wait else "."
        found.append(Finding("a2b", "handshake_loss", evidence))
    if flow["handshake"]["ended"] == "reset":
        found.append(Finding("a2b", "reset", "The connection ended with a reset, not with FINs.", advice=_RESET))
    return found


def _proxy_signs(flow: Mapping[str, Any], other: Mapping[str, Any] | None) -> list[str]:
    signs = []
    for way, who in (("a2b", "client"), ("b2a", "server")):
        ttl = flow[way]["ttl"]
        if ttl["syn"] and ttl["data"] and abs(ttl["syn"] - ttl["data"]) > 1:
            signs.append(f"the {who}'s SYN arrives with {ttl['syn']} hops to live, its data with {ttl['data']}")
    rewritten = []
    if other is not None:
        ours, theirs = flow["handshake"], other["handshake"]
        named = (
            ("client_mss", "the client's MSS"),
            ("server_mss", "the server's MSS"),
            ("client_window_scale", "the client's window scale"),
            ("server_window_scale", "the server's window scale"),
        )
        rewritten = [f"{name} ({ours[key]} and {theirs[key]})" for key, name in named if ours[key] != theirs[key]]
        # At the server's end the answer comes at once; only the capture near the client tells who gave it.
        near_client = ours if flow["a2b"].get("sender_side_capture", 1) == 1 else theirs
        answer, least = near_client["server_side_ms"], flow["a2b"].get("one_way_delay_ms", {}).get("min")
        back = flow["b2a"].get("one_way_delay_ms", {}).get("min")
        if answer is not None and least is not None and back is not None and answer < _FAR * (least + back):
            signs.append(
                f"the SYN is answered after {milliseconds(answer)}, before it can have reached the other capture and come back"
            )
    # An MSS that a router lowers (clamping) is common and no proxy; with other signs it is one more.
    if rewritten and (signs or len(rewritten) > 1):
        signs.append(f"options of the handshake differ between the captures: {', '.join(rewritten)}")
    return signs
