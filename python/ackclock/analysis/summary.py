"""The summary of a capture in lines, and its worst flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.format import many, milliseconds, size

if TYPE_CHECKING:
    from ackclock.documents.engine import CaptureSummary, Report, TopRow

_KINDS = 6
"""Kinds that a line names."""


def verdict_line(summary: CaptureSummary) -> str:
    """The verdict as a line: its name and its evidence."""
    verdict = summary["verdict"]
    return f"{verdict['verdict'].replace('_', ' ')}: {verdict['evidence']}"


def connections_line(summary: CaptureSummary) -> str:
    """The connections by their beginning, as a clause."""
    counts = summary["connections"]
    reset = f" and {counts['reset']} reset" if counts["reset"] else ""
    parts = [f"{counts['established']} established"]
    parts += [
        f"{counts[key]} {key.replace('_', ' ')}"
        for key in ("refused", "unanswered", "half_open", "midstream")
        if counts[key]
    ]
    return ", ".join(parts) + reset


def mirrored_line(document: Report) -> str:
    """That packets were captured several times, as a sentence; empty if none was."""
    copies, packets = document.get("mirrored_packets", 0), document["packets"]
    if not copies:
        return ""
    each = round(copies / (packets - copies))
    if copies >= 0.9 * each * (packets - copies) > 0:
        times = "twice" if each == 1 else f"{1 + each} times"
        text = f"Each packet was captured {times}: {copies} of {packets} packets are copies"
    else:
        text = (
            f"{copies} of {packets} packets {'is a copy' if copies == 1 else 'are copies'} of one captured just before, "
            "with the same IP identification and data"
        )
    return (
        f"{text}, as a mirror port of both directions or a capture on several interfaces makes them. They are left out "
        "of all other figures."
    )


def clock_line(document: Report) -> str:
    """That timestamps step back, as a sentence; empty without the finding ``clock_steps``."""
    step_s = document.get("max_step_back_s", 0.0)
    if not any(one["finding"] == "clock_steps" for one in document["summary"].get("findings") or ()):
        return ""
    steps, packets = document["time_backwards"], document["packets"]
    return (
        f"{steps} of {packets} timestamps step back, by up to {milliseconds(1e3 * step_s)}: the clock of the capture was set, or its "
        "packets stand in another order than they passed. Findings about their order are left out."
    )


def not_decoded_line(document: Report) -> str:
    """What was not decoded, by protocol, as a sentence; empty if that is nothing but protocols by
    which hosts and switches speak to each other, beside packets that were decoded.
    """
    kinds = [(kind["kind"], kind["packets"]) for kind in document.get("not_decoded", ())]
    skipped = document["skipped"].get("fragment", 0)
    kinds += [("fragments of other packets", skipped)] if skipped else []
    kinds += [("malformed", document["malformed"])] if document["malformed"] else []
    packets = document["packets"]
    everything = bool(packets) and sum(count for _, count in kinds) >= packets
    data = {kind["kind"] for kind in document.get("not_decoded", ()) if kind["carries_data"]}
    listed = kinds if everything else [(name, count) for name, count in kinds if name in data]
    if not listed:
        return ""
    named = ", ".join(f"{name} ({count})" for name, count in listed[:_KINDS])
    more = f", {many(len(listed) - _KINDS, 'other kind')}" if len(listed) > _KINDS else ""
    count = sum(count for _, count in listed)
    what = "None of the packets was decoded" if everything else f"{count} of {packets} packets were not decoded"
    return f"{what}: {named}{more}. They are in no figure."


def tunnels_line(document: Report) -> str:
    """The tunnels that packets are in, with what they cost, as a clause; empty without any."""
    lines = []
    for tunnel in document.get("tunnels", ())[:_KINDS]:
        low, high = tunnel["min_overhead_bytes"], tunnel["max_overhead_bytes"]
        overhead = f"{low} B" if low == high else f"{low} to {high} B"
        divided = tunnel["fragmented_packets"]
        fragments = f" ({divided} in fragments: the tunnel's MTU is too large)" if divided else ""
        lines.append(
            f"{tunnel['kind']}: {many(tunnel['packets'], 'packet')}{fragments}, {overhead} of headers each; the largest "
            f"inner packet has {tunnel['largest_inner_bytes']} B, and an MTU of 1500 B carries {tunnel['inner_mtu_bytes']} B"
        )
    return "; ".join(lines)


def mptcp_line(document: Report) -> str:
    """Which of the flows are subflows of multipath TCP, as a sentence; empty without any."""
    parts = []
    for flow in document["flows"]:
        subflow = flow.get("mptcp")
        if subflow is None:
            continue
        number, first = flow["flow"], subflow["first_flow"]
        if subflow["subflow"] == "first":
            answer = "" if subflow["accepted"] else " and gets no answer to it: plain TCP"
            parts.append(f"flow {number} offers MPTCP{answer}")
        else:
            of = f"flow {first}" if first else "a connection whose handshake is not in the capture"
            refused = "" if subflow["accepted"] else ", which the server does not accept"
            parts.append(f"flow {number} is a further subflow of {of}{refused}")
    shown = "; ".join(parts[:_KINDS])
    return shown + (f"; {len(parts) - _KINDS} more" if len(parts) > _KINDS else "")


def capture_lines(document: Report) -> list[tuple[str, str]]:
    """What is said of the capture as a whole beside its connections: names and lines."""
    lines = (
        ("congestion control", controls_line(document)),
        ("UDP", udp_line(document)),
        ("MPTCP", mptcp_line(document)),
        ("tunnels", tunnels_line(document)),
        ("capture", mirrored_line(document)),
        ("clock", clock_line(document)),
        ("not decoded", not_decoded_line(document)),
    )
    return [(name, line) for name, line in lines if line]


def udp_line(document: Report) -> str:
    """The UDP flows in sum, as a clause; empty without any."""
    udp = document.get("udp")
    if not udp or not udp["flows"]:
        return ""
    quic = f", {udp['quic_flows']} of them QUIC" if udp["quic_flows"] else ""
    more = f"; {udp['left_out']} packets of further flows" if udp["left_out"] else ""
    return f"{many(udp['flows'], 'flow')}{quic}, {udp['packets']} packets, {size(udp['bytes'])}{more}"


MAX_CONTROLS = 3
"""Directions of the line of congestion controls."""


def controls_line(document: Report) -> str:
    """The congestion controls that are stated, the first directions; empty if none is."""
    stated = [
        (flow["flow"], direction, found)
        for flow in document["flows"]
        for direction, figures in (("a2b", flow["a2b"]), ("b2a", flow["b2a"]))
        if (found := figures.get("congestion_control")) and found["confident"]
    ]
    parts = [
        f"{found['family']} (flow {number} {direction}, likeliest {found['candidates'][0]['name']})"
        for number, direction, found in stated[:MAX_CONTROLS]
    ]
    more = len(stated) - len(parts)
    return ", ".join(parts) + (f", and {many(more, 'direction')} more" if more else "")


def worst_flows(summary: CaptureSummary) -> list[int]:
    """The numbers of the flows with most time lost, then with most retransmissions, then bytes."""
    by = {top["by"]: top["rows"] for top in summary["top"] if top["of"] == "flow"}
    rows = [row for key in ("time_lost_s", "retransmitted_segments", "bytes") for row in by.get(key, ())]
    return list(dict.fromkeys(row["flow"] for row in rows))


def top_rows(summary: CaptureSummary, grouping: str, by: str) -> Sequence[TopRow]:
    """The hosts, ports or flows with most of a quantity, at most ten."""
    return next((top["rows"] for top in summary["top"] if (top["of"], top["by"]) == (grouping, by)), ())
