"""What stands on the path: proxies, rewritten options, policers, slow handshakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding, many, partner
from ackclock.format import milliseconds

_FAR = 0.6
"""An answer in less than this share of the least time that data takes did not come from the far end."""


_ENOUGH_PACKETS = 10
_SAME_TIME_S = 3600.0
"""Clocks of two captures may differ, but four numbers are hardly used again within this."""
_RESET = "Harmless where a program closes with data still to read, as measuring tools do at the end of a test; otherwise ask there why it gave up."


def of_handshake(document: Mapping[str, Any], flow: Mapping[str, Any]) -> list[Finding]:
    """A proxy in mid-path, and SYNs that had to be repeated."""
    found = []
    if signs := _proxy_signs(flow, partner(document, flow)) + _nothing_in_common(document, flow):
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
        evidence = f"The connection ended with a reset{_who_reset(flow)}, not with FINs."
        found.append(Finding("a2b", "reset", evidence, advice=_RESET))
    return found


def _who_reset(flow: Mapping[str, Any]) -> str:
    """Whose side resets come from, if the capture has them of one only; something on the path may have made them."""
    sides = [who for way, who in (("a2b", "client"), ("b2a", "server")) if flow[way]["resets"]]
    return f" from the {sides[0]}'s side" if len(sides) == 1 else ""


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


def _nothing_in_common(document: Mapping[str, Any], flow: Mapping[str, Any]) -> list[str]:
    """The same connection by its addresses and ports in both captures, but no packet of the one in the other: numbers begin anew in between."""
    second = document.get("second")
    if second is None or any(first == flow["flow"] for first, _ in document.get("partners", ())):
        return []
    ends = (flow["client"], flow["server"])
    mine = [other for other in document["flows"] if (other["client"], other["server"]) == ends]
    theirs = [other for other in second["flows"] if (other["client"], other["server"]) == ends]
    if len(mine) != 1 or len(theirs) != 1 or min(flow["packets"], theirs[0]["packets"]) < _ENOUGH_PACKETS:
        return []
    apart = abs(float(document["start_s"] or 0.0) + flow["start_s"] - float(second["start_s"] or 0.0) - theirs[0]["start_s"])
    if apart > _SAME_TIME_S:
        return []
    told = "both captures have this connection by its addresses and ports, but no packet in common: sequence numbers begin anew in between"
    found = [told]
    answers = _answers(flow, theirs[0])
    if answers is not None and max(answers) > 1.25 * min(answers):
        found.append(
            f"one side's data is answered after {milliseconds(min(answers))}, the other's after {milliseconds(max(answers))}"
        )
    return found


def _answers(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float] | None:
    """Least round trips from each end's capture to whoever answers there, ms: equal where the ends talk to each other."""
    places = {flow["vantage"]["place"]: flow["vantage"] for flow in (one, other)}
    server, client = places.get("server"), places.get("client")
    if server is None or client is None or not server["to_client_ms"] or not client["to_server_ms"]:
        return None
    return float(server["to_client_ms"]), float(client["to_server_ms"])
