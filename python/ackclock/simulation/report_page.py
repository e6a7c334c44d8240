"""The report of a simulation: goodput and limits of its flows, and charts of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.format import milliseconds, percent, rate, three
from ackclock.report.cells import metric_cell
from ackclock.report.link_path import link_path
from ackclock.report.page import Cell, Column, Page, Section, Table
from ackclock.report.run_input import read_input
from ackclock.report.sections import run_section, time_section
from ackclock.simulation.metrics import LIMITS, of_run, over_seeds
from ackclock.simulation.model_tables import model_levels, model_table
from ackclock.statistics import Interval, interval
from ackclock.storage.run_kind import SIMULATE

if TYPE_CHECKING:
    from ackclock.plot.time_series import Panel

Summary = Mapping[str, Any]
_LIMIT_NAMES = {
    "receive_window": "the receive window",
    "send_buffer": "the send buffer",
    "cwnd": "the congestion window",
    "application": "the application",
    "recovery": "loss recovery",
}


def page(
    scenario: Mapping[str, Any],
    summaries: Sequence[Summary],
    panels: Sequence[Panel],
    environment: Mapping[str, Any] | None = None,
    toml: str = "",
) -> Page:
    """The page of a simulation, with one summary for each seed."""
    metrics = over_seeds(of_run(summary) for summary in summaries)
    n = len(summaries)
    title = scenario.get("title") or "Simulation"
    return Page(
        title=str(title),
        subtitle=f"{_many(len(summaries[0]['flows']), 'flow')}, {scenario['duration']}, {_many(n, 'seed')}",
        answer=_answer(metrics, summaries[0]),
        because=_because(metrics),
        sections=[
            Section("Flows", [table for table in (_flows(summaries), model_table(summaries)) if table]),
            Section("Hops", [_hops(summaries)]),
            time_section(panels, "the flows and queues of the lowest seed"),
            Section("The link", [link_path(scenario["hop"])]),
            run_section(scenario, environment, toml),
        ],
        notes=["Means over seeds with the 95 % interval of the mean below."] if n > 1 else ["One seed: no intervals."],
    )


def folder_page(folder: Path) -> Page:
    """The page of a simulation by its run folder."""
    from ackclock.plot.time_series import frames_in, panels_of_run

    written = json.loads((folder / SIMULATE.document).read_text("utf-8"))
    summaries = written if isinstance(written, list) else [written]
    given = read_input(folder)
    panels = panels_of_run(frames_in(folder), model_levels(summaries[0]))
    return page(given.scenario, summaries, panels, given.environment, given.toml)


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _mean(metrics: Mapping[str, Interval], name: str) -> float:
    return metrics[name].mean if name in metrics else float("nan")


def _answer(metrics: Mapping[str, Interval], summary: Summary) -> str:
    flows = sum(flow.get("rtt_ms") is not None for flow in summary["flows"])
    who = "The TCP flow had" if flows == 1 else f"The {flows} TCP flows together had"
    goodput, rtt = rate(_mean(metrics, "goodput_bps")), milliseconds(_mean(metrics, "rtt_p95_ms"))
    return f"{who} {goodput} of goodput at a p95 RTT of {rtt}."


def _because(metrics: Mapping[str, Interval]) -> str:
    limits = {limit: _mean(metrics, f"limited_{limit}") for limit in LIMITS if f"limited_{limit}" in metrics}
    if not limits:
        return ""
    strongest = max(limits, key=lambda limit: limits[limit])
    lost = _mean(metrics, "ack_drop_share")
    acks = f" The reverse path dropped {percent(lost)} of the ACKs." if lost >= 0.01 else ""
    return (
        f"{_LIMIT_NAMES[strongest].capitalize()} limited the flows {percent(limits[strongest])} of "
        f"the time. The utilization of the bottleneck was {percent(_mean(metrics, 'utilization'))}, "
        f"queues added {milliseconds(_mean(metrics, 'queue_delay_ms'))} on average, "
        f"{percent(_mean(metrics, 'retransmission_rate'))} of the segments were retransmitted, and "
        f"there were {three(_mean(metrics, 'timeouts'))} retransmission timeouts per run.{acks}"
    )


def _over(summaries: Sequence[Summary], kind: str, index: int, *keys: str) -> dict[str, object]:
    values = []
    for summary in summaries:
        value: Any = summary[kind][index]
        for key in keys:
            value = value.get(key) if value is not None else None
        values.append(value)
    return interval(values).as_json()


def _flows(summaries: Sequence[Summary]) -> Table:
    columns = [
        Column("Flow"),
        Column("Goodput (Mb/s)", numeric=True),
        Column("RTT mean (ms)", numeric=True),
        Column("p95 RTT (ms)", numeric=True),
        Column("Retransmitted (%)", numeric=True),
        Column("Timeouts", numeric=True),
        Column("Window cuts", numeric=True),
        Column("Idle (%)", numeric=True),
    ]
    rows = []
    for index, flow in enumerate(summaries[0]["flows"]):
        note = f"{flow.get('variant') or 'UDP'}, {flow['direction']}"
        rows.append(
            [
                Cell(str(flow["flow"]), note),
                metric_cell(_over(summaries, "flows", index, "goodput_bps"), 1e-6),
                metric_cell(_over(summaries, "flows", index, "rtt_ms", "mean")),
                metric_cell(_over(summaries, "flows", index, "rtt_ms", "p95")),
                metric_cell(_over(summaries, "flows", index, "retransmission_rate"), 100.0),
                metric_cell(_over(summaries, "flows", index, "timeouts")),
                metric_cell(_over(summaries, "flows", index, "window_cuts")),
                metric_cell(_over(summaries, "flows", index, "idle_share"), 100.0),
            ]
        )
    reading = (
        "Goodput counts payload delivered in order, once. Idle is the time with data to send and no bytes in flight."
    )
    return Table(columns, rows, reading)


def _hops(summaries: Sequence[Summary]) -> Table:
    columns = [
        Column("Hop"),
        Column("Utilization (%)", numeric=True),
        Column("Queue delay, mean (ms)", numeric=True),
        Column("p95 (ms)", numeric=True),
        Column("Dropped", numeric=True),
        Column("Delivered", numeric=True),
    ]
    rows = [
        [
            Cell(str(hop["hop"]), str(hop["direction"])),
            metric_cell(_over(summaries, "hops", index, "utilization"), 100.0),
            metric_cell(_over(summaries, "hops", index, "queue_delay_ms", "mean")),
            metric_cell(_over(summaries, "hops", index, "queue_delay_ms", "p95")),
            metric_cell(_over(summaries, "hops", index, "drops")),
            metric_cell(_over(summaries, "hops", index, "delivered")),
        ]
        for index, hop in enumerate(summaries[0]["hops"])
    ]
    return Table(
        columns,
        rows,
        "One row per hop and direction, in path order. The bottleneck is the hop with the highest "
        "utilization in the direction of the data.",
    )
