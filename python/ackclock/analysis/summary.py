"""The summary of a capture in lines, and its worst flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.format import many, milliseconds, size

if TYPE_CHECKING:
    from ackclock.documents.engine import CaptureSummary, Report, TopRow


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


def udp_line(document: Report) -> str:
    """The UDP flows in sum, as a clause; empty without any."""
    udp = document.get("udp")
    if not udp or not udp["flows"]:
        return ""
    quic = f", {udp['quic_flows']} of them QUIC" if udp["quic_flows"] else ""
    more = f"; {udp['left_out']} packets of further flows" if udp["left_out"] else ""
    return f"{many(udp['flows'], 'flow')}{quic}, {udp['packets']} packets, {size(udp['bytes'])}{more}"


def worst_flows(summary: CaptureSummary) -> list[int]:
    """The numbers of the flows with most time lost, then with most retransmissions, then bytes."""
    by = {top["by"]: top["rows"] for top in summary["top"] if top["of"] == "flow"}
    rows = [row for key in ("time_lost_s", "retransmitted_segments", "bytes") for row in by.get(key, ())]
    return list(dict.fromkeys(row["flow"] for row in rows))


def top_rows(summary: CaptureSummary, grouping: str, by: str) -> Sequence[TopRow]:
    """The hosts, ports or flows with most of a quantity, at most ten."""
    return next((top["rows"] for top in summary["top"] if (top["of"], top["by"]) == (grouping, by)), ())
