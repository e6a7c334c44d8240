"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.format import column_ms, column_percent, rate

if TYPE_CHECKING:
    from ackclock.simulation.run import Simulation
    from ackclock.simulation.sweep import Sweep


def simulation_tables(done: Simulation) -> list[Table]:
    """The flows of every seed, and the hops of the first seed."""
    return [_flows(done.summaries), _hops(done.summaries[0])]


def _table(title: str, text: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table with columns of text, then columns of numbers."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in text:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _flows(summaries: Sequence[Mapping[str, Any]]) -> Table:
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
    table = _table("Flows", [*(["seed"] if several else []), "flow", "variant", "direction"], numbers)
    for summary in summaries:
        for flow in summary["flows"]:
            rtt, is_tcp = flow["rtt_ms"] or {}, flow["variant"] != "udp"
            table.add_row(
                *([str(summary["seed"])] if several else []),
                flow["flow"],
                flow["variant"],
                flow["direction"],
                rate(flow["goodput_bps"]),
                column_ms(rtt.get("mean")),
                column_ms(rtt.get("p95")),
                column_percent(flow["retransmission_rate"] if is_tcp else None),
                str(flow["timeouts"]) if is_tcp else "-",
                str(flow["window_cuts"]) if is_tcp else "-",
                *([] if several else [column_percent(flow["idle_share"] if is_tcp else None)]),
            )
    return table


def _hops(summary: Mapping[str, Any]) -> Table:
    numbers = ["used", "queue ms\nmean", "\np95", "\nmax", "drops", "delivered"]
    table = _table(f"Hops (seed {summary['seed']})", ["hop", "direction"], numbers)
    for hop in summary["hops"]:
        delay = hop["queue_delay_ms"]
        table.add_row(
            hop["hop"],
            hop["direction"],
            column_percent(hop["utilization"]),
            *(column_ms(delay[part]) for part in ("mean", "p95", "max")),
            str(hop["drops"]),
            str(hop["delivered"]),
        )
    return table


_MEASURED = ["goodput", "95 %\ninterval", "RTT ms\np95", "retrans-\nmitted"]


def sweep_table(sweep: Sweep) -> Table:
    """One row for each point: goodput with its interval, p95 RTT, retransmission rate, Jain's
    index.
    """
    table = _table("Sweep", _short(list(sweep.points[0].params)), ["n", *_MEASURED, "Jain"])
    for point in sweep.points:
        table.add_row(
            *(str(value) for value in point.params.values()), str(len(point.results)), *_measured(point.metrics)
        )
    return table


def _short(paths: Sequence[str]) -> list[str]:
    """The last part of each path, or the last parts that make it unique."""
    for parts in range(1, 8):
        short = [".".join(path.split(".")[-parts:]) for path in paths]
        if len(set(short)) == len(short):
            break
    return short


def _measured(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    def mean(name: str) -> float | None:
        metric = metrics.get(name)
        return metric["mean"] if metric else None

    goodput = metrics.get("goodput_bps", {})
    has_interval = goodput.get("n", 0) > 1 and goodput.get("lo") is not None
    fairness = mean("jain")
    return [
        rate(mean("goodput_bps")),
        f"± {rate((goodput['hi'] - goodput['lo']) / 2)}" if has_interval else "-",
        column_ms(mean("rtt_p95_ms")),
        column_percent(mean("retransmission_rate")),
        "-" if fairness is None else f"{fairness:.3f}",
    ]


def emulation_tables(document: Mapping[str, Any]) -> list[Table]:
    """Release errors of an emulation, and its hops. Times in microseconds."""
    audit = _table(
        "Emulation", ["", "verdict"], ["release error us\np50", "\np99", "\nmax", "missed", "lost", "load", "steal"]
    )
    error = document["release_error_us"]
    audit.add_row(
        document["link"],
        "valid" if document["valid"] else "INVALID",
        *(_us(error[name]) for name in ("p50", "p99", "max")),
        str(document["deadline_misses"]),
        str(document["unintended_drops"]),
        f"{document['load']:.1f}",
        f"{document['steal_percent']:.1f} %",
    )
    hops = _table("Hops", ["hop", "direction"], ["configured", "achieved", "drops", "delivered"])
    for hop in document["hops"]:
        rates = (rate(hop["asked_bps"]), rate(hop["achieved_bps"]))
        hops.add_row(hop["hop"], hop["direction"], *rates, str(hop["drops"]), str(hop["delivered"]))
    return [audit, hops]


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def document_tables(kind: str, document: Mapping[str, Any]) -> list[Table]:
    """A finished run by its document: the ranking of a comparison, the points of a sweep, or the
    totals of a reproduction.
    """
    if kind == "compare":
        table = _table("Ranking", ["rank", "choice"], _MEASURED)
        metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
        for ranked in document["ranking"]:
            table.add_row(str(ranked["rank"]), ranked["label"], *_measured(metrics[ranked["label"]])[: len(_MEASURED)])
        return [table]
    if "cells" in document:
        table = _table("Sweep", _short(list(document["cells"][0]["params"])), ["n", *_MEASURED, "Jain"])
        for cell in document["cells"]:
            table.add_row(*map(str, cell["params"].values()), str(cell["n"]), *_measured(cell["metrics"]))
        return [table]
    table = _table("Claims", ["verdict"], ["claims"])
    for verdict, count in document["totals"].items():
        table.add_row(verdict, str(count))
    return [table]
