"""Simulations and sweeps as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.axis_titles import short_paths
from ackclock.format import column_ms, column_percent, rate, rate_range, setting, size
from ackclock.simulation.apps import felt, responsiveness_text
from ackclock.simulation.transport import control_text, counts_timeouts
from ackclock.terminal import text_table

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun, Household, RunFlows
    from ackclock.simulation.run import Simulation


def simulation_tables(done: Simulation) -> list[Table]:
    """The targets of a household, what people feel of the applications, the flows of every
    seed, the packets of a QUIC stack, the hops and the flows' limits of the first seed, and the
    parts of recorded rates.
    """
    first = done.summaries[0]
    return [
        *household_table(done.household),
        *felt_table(done.summaries),
        _flows(done.summaries),
        *quic_table(first),
        _hops(first),
        *_limits(first),
        *recordings_table(done.summaries),
    ]


def household_table(household: Household | None) -> list[Table]:
    """A row for each target, below the verdict; no table without a household."""
    if household is None:
        return []
    table = text_table(household["verdict"], ["", "target", "here", "met"], [])
    for target in household["targets"]:
        table.add_row(target["app"], target["target"], target["shown"], "yes" if target["met"] else "no")
    return [table]


def felt_table(summaries: Sequence[RunFlows]) -> list[Table]:
    """A row for each application; no table without any."""
    rows = felt(summaries) if summaries else []
    if not rows:
        return []
    interval = f"; in parentheses the 95 % interval over {len(summaries)} seeds" if len(summaries) > 1 else ""
    table = text_table(f"What people feel{interval}", ["flow", "", "what"], [])
    for row in rows:
        table.add_row(*row)
    table.caption = responsiveness_text(summaries) or None
    return [table]


def _flows(summaries: Sequence[ExplainedRun]) -> Table:
    several = len(summaries) > 1
    numbers = [
        "goodput",
        "RTT ms\nmean",
        "\np95",
        "retrans-\nmitted",
        "time-\nouts",
        "cuts",
        *([] if several else ["idle"]),
    ]
    table = text_table("Flows", [*(["seed"] if several else []), "flow", "variant", "direc-\ntion"], numbers)
    for summary in summaries:
        for flow in summary["flows"]:
            if "part_of" in flow:  # a page is one row
                continue
            rtt, is_tcp = flow["rtt_ms"] or {}, flow["variant"] != "udp"
            table.add_row(
                *([str(summary["seed"])] if several else []),
                flow["flow"],
                flow["variant"] if flow["variant"] == "udp" else control_text(flow, "\n"),
                flow["direction"],
                rate(flow["goodput_bps"]),
                column_ms(rtt.get("mean")),
                column_ms(rtt.get("p95")),
                column_percent(flow["retransmission_rate"] if is_tcp else None),
                str(flow["timeouts"]) if counts_timeouts(flow) else "-",
                str(flow["window_cuts"]) if is_tcp else "-",
                *([] if several else [column_percent(flow["idle_share"] if counts_timeouts(flow) else None)]),
            )
    return table


def quic_table(summary: ExplainedRun) -> list[Table]:
    """What only a QUIC stack counts; no table without such flows."""
    flows = [flow for flow in summary["flows"] if "quic" in flow]
    if not flows:
        return []
    stack = flows[0]["quic"]["stack"]
    numbers = ["packets\nsent", "\nlost", "packets\nback", "\nbytes", "spurious\ncuts"]
    table = text_table(f"Packets of {stack} (seed {summary['seed']})", ["flow"], numbers)
    for flow in flows:
        quic = flow["quic"]
        counts = (flow["segments_sent"], flow["retransmitted_segments"], quic["back_packets"])
        table.add_row(flow["flow"], *map(str, counts), size(quic["back_bytes"]), str(quic["spurious_cuts"]))
    ended = [flow for flow in flows if flow["quic"]["closed_by"]]
    if ended:
        table.caption = "; ".join(
            f"{flow['flow']} ended at {flow['quic']['closed_s']:.1f} s: {flow['quic']['closed_by']}" for flow in ended
        )
    return [table]


def utilization(hop: Mapping[str, Any]) -> float | None:
    """The share of the time in which a hop sends, or its medium is taken by requests, grants,
    frames and the other direction, as the channel utilization of IEEE 802.11 counts it. The
    document's ``utilization`` is the share of what was sent alone: 4 % of a full upstream of GPON.
    None of a recorded rate.
    """
    time = hop.get("time")
    share: float | None = 1.0 - time["idle"] if time else hop["utilization"]
    return share


def _hops(summary: ExplainedRun) -> Table:
    numbers = ["utili-\nzation", "queue ms\nmean", "\np95", "\nmax", "drops", "delivered"]
    table = text_table(f"Hops (seed {summary['seed']})", ["hop", "direction"], numbers)
    for hop in summary["hops"]:
        delay = hop["queue_delay_ms"]
        table.add_row(
            hop["hop"],
            hop["direction"],
            column_percent(utilization(hop)),
            *(column_ms(delay[part]) for part in ("mean", "p95", "max")),
            str(hop["drops"]),
            str(hop["delivered"]),
        )
    return table


def _limits(summary: ExplainedRun) -> list[Table]:
    """A sentence for each flow, flows with the same one together; none without TCP flows."""
    flows_of: dict[str, list[str]] = {}
    for flow in summary["flows"]:
        if flow["why"] and "part_of" not in flow:
            flows_of.setdefault(flow["why"], []).append(flow["flow"])
    if not flows_of:
        return []
    table = text_table(f"Limits (seed {summary['seed']})", ["flow", "why"], [])
    for why, names in flows_of.items():
        table.add_row(", ".join(names), why)
    return [table]


def recordings_table(summaries: Sequence[ExplainedRun]) -> list[Table]:
    """Where each seed starts in the recorded rates; no table without any."""
    rows = [(summary, hop) for summary in summaries for hop in summary["hops"] if "recording" in hop]
    if not rows:
        return []
    table = text_table("Recordings", ["hop", "direction"], ["seed", "start\ns", "period\ns"])
    for summary, hop in rows:
        start, period = (f"{hop['recording'][key]:.3f}" for key in ("start_s", "period_s"))
        table.add_row(hop["hop"], hop["direction"], str(summary["seed"]), start, period)
    return [table]


MEASURED = ["goodput", "95 %\ninterval", "RTT ms\np95", "retrans-\nmitted"]


def measured_cells(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The cells below `MEASURED`, then Jain's index."""

    def mean(name: str) -> float | None:
        metric = metrics.get(name)
        return metric["mean"] if metric else None

    goodput = metrics.get("goodput_bps", {})
    has_interval = goodput.get("n", 0) > 1 and None not in (goodput.get("lo"), goodput.get("hi"))
    interval = rate_range(goodput["lo"], goodput["hi"]) if has_interval else "-"
    if has_interval and " .. " not in interval:  # narrower than the last digit of the mean
        interval = rate(mean("goodput_bps"))
    fairness = mean("jain")
    return [
        rate(mean("goodput_bps")),
        interval,
        column_ms(mean("rtt_p95_ms")),
        column_percent(mean("retransmission_rate")),
        "-" if fairness is None else f"{fairness:.3f}",
    ]


def points_table(document: Mapping[str, Any]) -> Table:
    """One row for each point of a sweep's document: goodput with its interval, p95 RTT,
    retransmission rate, Jain's index.
    """
    points = document["cells"]
    table = text_table("Sweep", short_paths(list(points[0]["params"])), ["n", *MEASURED, "Jain"])
    for point in points:
        table.add_row(*map(setting, point["params"].values()), str(point["n"]), *measured_cells(point["metrics"]))
    return table
