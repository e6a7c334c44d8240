"""The report of a simulation: goodput and limits of its flows, and charts of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ackclock.format import milliseconds, percent, rate, sentence, significant, three
from ackclock.limitations import scenario_facts
from ackclock.report.cells import metric_cell
from ackclock.report.link_path import link_path
from ackclock.report.page import Cell, Column, Page, Section, Table
from ackclock.report.run_input import RunInput, read_input
from ackclock.report.sections import run_section, time_section
from ackclock.simulation.apps import felt, responsiveness_text
from ackclock.simulation.household import is_household, judgement
from ackclock.simulation.metrics import of_run, over_seeds, together_bps
from ackclock.simulation.model_tables import model_levels, model_table
from ackclock.simulation.transport import control_text
from ackclock.statistics import Interval, interval
from ackclock.storage.run_kind import SIMULATE
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.parts import Estimate
    from ackclock.documents.simulate import ExplainedRun
    from ackclock.plot.time_series import Panel


def page(given: RunInput, summaries: Sequence[ExplainedRun], panels: Sequence[Panel]) -> Page:
    """The page of a simulation, with one summary for each seed."""
    scenario = given.scenario
    metrics = over_seeds(of_run(summary) for summary in summaries)
    n = len(summaries)
    title = scenario.get("title") or "Simulation"
    return Page(
        title=str(title),
        subtitle=f"{_flows_shown(summaries[0]['flows'])}, {scenario['duration']}, {_many(n, 'seed')}",
        answer=judgement(summaries)["verdict"] if is_household(summaries[0]) else _answer(metrics, summaries),
        because=_because(metrics, summaries[0]),
        sections=[
            *_household(summaries),
            *_felt(summaries),
            time_section(panels, "the flows and queues of the lowest seed"),
            Section("Flows", [table for table in (_flows(summaries), model_table(summaries)) if table]),
            Section("Hops", [_hops(summaries)]),
            Section("The link", [link_path(scenario["hop"], scenario.get("tunnel", ()))]),
            run_section(given),
        ],
        notes=["Means over seeds with the 95 % interval of the mean below."] if n > 1 else ["One seed: no intervals."],
        kind="simulate",
        facts=scenario_facts(scenario),
    )


def _household(summaries: Sequence[ExplainedRun]) -> list[Section]:
    """The targets of a household; none of another run."""
    if not is_household(summaries[0]):
        return []
    rows = [
        [Cell(target["app"]), Cell(target["target"]), Cell(target["shown"], tone="good" if target["met"] else "bad")]
        for target in judgement(summaries)["targets"]
    ]
    reading = (
        "The median over the seeds, of the time with a download and an upload. The page alone is the first one, before "
        "they begin."
    )
    return [Section("A household", [Table([Column(""), Column("Target"), Column("Here")], rows, reading)])]


def _felt(summaries: Sequence[ExplainedRun]) -> list[Section]:
    """What people feel of the applications; none without any."""
    rows = [[Cell(name, kind), Cell(text)] for name, kind, text in felt(summaries)]
    if responsive := responsiveness_text(summaries):
        rows.append([Cell("responsiveness"), Cell(responsive)])
    reading = (
        "Calls: mean opinion score of ITU-T G.107, 1 (bad) to 4.5. Pages: from the first SYN to the last byte. Videos: "
        "the picture that was played for the longest time, and the mean bitrate. Conferences: "
        "the frames of the direction in which each figure is worse. Games: "
        "answers of the server after the deadline."
    )
    return (
        [Section("What people feel", [Table([Column("Flow"), Column("What people feel")], rows, reading)])]
        if rows
        else []
    )


def folder_page(folder: Path) -> Page:
    """The page of a simulation by its run folder."""
    from ackclock.plot.time_series import frames_in, panels_of_run

    written = read_json(folder / SIMULATE.document)
    summaries = written if isinstance(written, list) else [written]
    given = read_input(folder)
    panels = panels_of_run(frames_in(folder), model_levels(summaries[0]))
    return page(given, summaries, panels)


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _flows_shown(flows: Sequence[Mapping[str, Any]]) -> str:
    """The number of flows and their congestion controls."""
    variants = list(dict.fromkeys(control_text(flow) for flow in flows))
    return f"{_many(len(flows), 'flow')} ({', '.join(variants)})"


def _mean(metrics: Mapping[str, Interval], name: str) -> float:
    return metrics[name].mean if name in metrics else float("nan")


def _answer(metrics: Mapping[str, Interval], summaries: Sequence[ExplainedRun]) -> str:
    """What people feel, then the goodput of each direction and the p95 RTT."""
    goodputs: list[tuple[int, str]] = []
    directions = []
    for direction in ("down", "up"):
        flows = [
            [f for f in s["flows"] if f["variant"] != "udp" and f["direction"] == direction and not f.get("feeds")]
            for s in summaries
        ]
        if flows[0]:
            mean = math.fsum(map(together_bps, flows)) / len(summaries)
            goodputs.append((len(flows[0]), rate(mean)))
            directions.append(direction)
    if not goodputs:
        return _answer_of_apps(metrics) or "The run has no TCP flow."
    rtt = milliseconds(_mean(metrics, "rtt_p95_ms"))
    if sum(shown for shown, _ in goodputs) == 1:
        return (
            f"{_answer_of_apps(metrics)} The TCP flow had {goodputs[0][1]} of goodput at a p95 RTT of {rtt}.".lstrip()
        )
    parts = [
        f"{_many(shown, 'TCP flow')} {direction}{' together' if shown > 1 else ''} had {text}"
        for (shown, text), direction in zip(goodputs, directions, strict=True)
    ]
    return f"{_answer_of_apps(metrics)} {' and '.join(parts)} of goodput, at a mean p95 RTT of {rtt}.".lstrip()


def _answer_of_apps(metrics: Mapping[str, Interval]) -> str:
    """The calls, pages and games in one sentence; empty without any."""
    parts = []
    if "call_mos" in metrics:
        parts.append(f"calls: MOS {_mean(metrics, 'call_mos'):.1f}")
    if "page_load_s" in metrics:
        parts.append(f"pages: {significant(_mean(metrics, 'page_load_s'), 2)} s")
    elif "page_incomplete_share" in metrics:
        parts.append("pages: none was complete")
    if "video_stalls" in metrics:
        stall = _mean(metrics, "video_stall_s")
        parts.append(f"videos: {significant(stall, 2)} s of stalls" if stall else "videos: no stall")
    if "conference_bps" in metrics:
        parts.append(f"conferences: {rate(_mean(metrics, 'conference_bps'))}")
    if "game_late_share" in metrics:
        parts.append(f"late answers of games: {percent(_mean(metrics, 'game_late_share'))}")
    return f"{sentence('; '.join(parts))}." if parts else ""


def _because(metrics: Mapping[str, Interval], summary: ExplainedRun) -> str:
    """What limits each flow of the first seed, and retransmissions and lost ACKs over all seeds."""
    flows_of: dict[str, list[str]] = {}
    for flow in summary["flows"]:
        if (why := flow.get("why")) and "part_of" not in flow:
            flows_of.setdefault(why, []).append(flow["flow"])
    if not flows_of:
        return ""
    several = sum(map(len, flows_of.values())) > 1
    limits = " ".join(f"{', '.join(names)}: {why}" if several else why for why, names in flows_of.items())
    lost = _mean(metrics, "ack_drop_share")
    acks = f" The reverse path dropped {percent(lost)} of the ACKs." if lost >= 0.01 else ""
    return (
        f"{limits} {percent(_mean(metrics, 'retransmission_rate'))} of the segments were retransmitted, and "
        f"there were {three(_mean(metrics, 'timeouts'))} retransmission timeouts per run.{acks}"
    )


def _over(summaries: Sequence[ExplainedRun], kind: Literal["flows", "hops"], index: int, *keys: str) -> Estimate:
    values = []
    for summary in summaries:
        value: Any = (summary["flows"] if kind == "flows" else summary["hops"])[index]
        for key in keys:
            value = value.get(key) if value is not None else None
        values.append(value)
    return interval(values, scale="log").as_json()


def _flows(summaries: Sequence[ExplainedRun]) -> Table:
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
        if "part_of" in flow:  # a page is one row
            continue
        note = f"{control_text(flow)}, {flow['direction']}"
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


def _hops(summaries: Sequence[ExplainedRun]) -> Table:
    columns = [
        Column("Hop"),
        Column("Utilization (%)", numeric=True),
        Column("Full (%)", numeric=True),
        Column("Sending (%)", numeric=True),
        Column("Overhead (%)", numeric=True),
        Column("Blocked (%)", numeric=True),
        Column("Queue delay, mean (ms)", numeric=True),
        Column("p95 (ms)", numeric=True),
        Column("Dropped", numeric=True),
        Column("Delivered", numeric=True),
    ]
    rows = [
        [
            Cell(str(hop["hop"]), str(hop["direction"])),
            metric_cell(_over(summaries, "hops", index, "utilization"), 100.0),
            metric_cell(_over(summaries, "hops", index, "full_share"), 100.0),
            *(
                metric_cell(_over(summaries, "hops", index, "time", part), 100.0)
                for part in ("sending", "overhead", "blocked")
            ),
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
        "One row per hop and direction, in path order. Full is the share of the time without free capacity; sending, "
        "overhead and blocked (the other direction uses the medium) are the shares of the time that are not idle."
        + _recordings(summaries),
    )


def _recordings(summaries: Sequence[ExplainedRun]) -> str:
    """Where each seed starts in the recorded rates, as sentences; empty without any."""
    found = ""
    for index, hop in enumerate(summaries[0]["hops"]):
        if "recording" in hop:
            starts = ", ".join(f"{one['hops'][index]['recording']['start_s']:.3f} s" for one in summaries)
            found += f" The recording of {hop['hop']} {hop['direction']} starts at {starts} (by seed)."
    return found
