"""A simulation in one screen: alike flows in one row, the busy hops, and the verdict last."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.format import column_ms, column_percent, joined, many, rate, significant
from ackclock.simulation.apps import felt_of_alike, responsiveness_sentence
from ackclock.simulation.terminal_tables import utilization
from ackclock.statistics import mean_of_known
from ackclock.terminal import first_that_fits, text_table

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun, Household

MAX_ROWS = 8
"""Rows of a table of flows or of hops."""
BUSY = 0.05
"""Utilization from which on a hop is shown, also without drops."""
MAX_REASONS = 3
_COUNTS = ("timeouts", "window_cuts")
_REST = "`--all` prints each flow of each seed, all hops and all limits."


def screen(
    summaries: Sequence[ExplainedRun], household: Household | None, limits: Sequence[str] = ()
) -> tuple[list[Table], list[str]]:
    """The tables and the sentences below them, ``limits`` among them, which fit 80 columns and 24
    lines together. Of several seeds they have means.
    """
    flows, kinds = _flows(summaries)
    hops = _hops(summaries)
    reasons = _reasons(summaries[0])
    responsive = responsiveness_sentence(summaries)
    verdict = [*([responsive] if responsive else []), *([household["verdict"]] if household else [])]
    lines = [_REST, *limits, *reasons[:MAX_REASONS], *verdict]
    felt = felt_table(summaries, kinds)
    # What is left out first where the screen is too small for all.
    choices: list[list[Table]] = [[*felt, flows, *hops], [*felt, flows], [flows, *hops], [*felt], [flows]]
    fewest = [_REST, *limits, *(verdict or reasons[:1])]
    below = (lines, [_REST, *limits, *reasons[:1], *verdict], fewest)
    return first_that_fits([*product(choices, below), (felt[:1] or [flows], fewest)])


def _alike(name: str) -> str:
    """What flows that are alike are called: their name without its number."""
    return re.sub(r"[-.]?\d+$", "", name) or name


def felt_table(summaries: Sequence[ExplainedRun], kinds: Mapping[str, int]) -> list[Table]:
    """What people feel, a row for applications that are alike; no table without any."""
    rows = felt_of_alike(summaries, _alike)
    if not rows:
        return []
    table = text_table("What people feel", ["flow", "what"], [])
    for name, text in rows:
        table.add_row(_named(name, kinds.get(name, 1)), text)
    return [table]


def _named(name: str, number: int) -> str:
    return f"{number} x {name}" if number > 1 else name


def _flows(summaries: Sequence[ExplainedRun]) -> tuple[Table, dict[str, int]]:
    """A row for flows of one name, congestion control and direction, and how many of each name
    there are.
    """
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for summary in summaries:
        for flow in summary["flows"]:
            if "part_of" not in flow:  # a page is one row
                key = (_alike(str(flow["flow"])), str(flow["variant"]), str(flow["direction"]))
                groups.setdefault(key, []).append(flow)
    seeds = len(summaries)
    title = f"Flows, means over {many(seeds, 'seed')}" if seeds > 1 else "Flows"
    numbers = ["goodput", "RTT ms\nmean", "\np95", "retrans-\nmitted", "time-\nouts", "cuts"]
    table = text_table(title, ["flow", "variant", "direc-\ntion"], numbers)
    by_goodput = sorted(groups.items(), key=lambda group: -_mean(group[1], "goodput_bps", 0.0))
    kept = {key for key, _ in by_goodput[:MAX_ROWS]}
    for (name, variant, direction), flows in groups.items():
        if (name, variant, direction) not in kept:
            continue
        is_tcp = variant != "udp"
        retransmitted = column_percent(_mean(flows, "retransmission_rate") if is_tcp else None)
        table.add_row(
            _named(name, len(flows) // seeds),
            variant,
            direction,
            rate(_mean(flows, "goodput_bps")),
            *(column_ms(_mean([flow["rtt_ms"] or {} for flow in flows], part)) for part in ("mean", "p95")),
            retransmitted,
            *(_count(_mean(flows, key)) if is_tcp else "-" for key in _COUNTS),
        )
    numbers_of: dict[str, int] = {}
    for (name, _, _), flows in groups.items():
        numbers_of[name] = numbers_of.get(name, 0) + len(flows) // seeds
    notes = []
    if any(number > 1 for number in numbers_of.values()):
        notes.append("Flows that are alike have one row: goodput and counts are means of one.")
    if len(groups) > MAX_ROWS:
        notes.append(f"{len(groups) - MAX_ROWS} further kinds of flows have less goodput.")
    if notes:
        table.caption, table.caption_justify = " ".join(notes), "left"
    return table, numbers_of


def _mean(rows: Sequence[Mapping[str, Any]], key: str, default: Any = None) -> Any:
    found = mean_of_known(row.get(key) for row in rows)
    return default if found != found else found


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value.is_integer() or value >= 10 else significant(value, 2)


def _hops(summaries: Sequence[ExplainedRun]) -> list[Table]:
    """The hops that were busy or that dropped packets; no table without any."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for summary in summaries:
        for hop in summary["hops"]:
            row = {**hop, "utilization": utilization(hop)}
            groups.setdefault((str(hop["hop"]), str(hop["direction"])), []).append(row)
    busy = {
        key: rows for key, rows in groups.items() if _mean(rows, "utilization", 0.0) >= BUSY or _mean(rows, "drops", 0)
    }
    shown = sorted(busy.items(), key=lambda group: -_mean(group[1], "utilization", 0.0))[:MAX_ROWS]
    if not shown:
        return []
    numbers = ["utili-\nzation", "queue ms\nmean", "\np95", "\nmax", "drops", "delivered"]
    table = text_table("Busy hops", ["hop", "direction"], numbers)
    for (name, direction), rows in shown:
        delays = [row["queue_delay_ms"] for row in rows]
        table.add_row(
            name,
            direction,
            column_percent(_mean(rows, "utilization")),
            *(column_ms(_mean(delays, part)) for part in ("mean", "p95", "max")),
            *(f"{_mean(rows, key):.0f}" for key in ("drops", "delivered")),
        )
    return [table]


def _reasons(summary: ExplainedRun) -> list[str]:
    """What limits the flows, a sentence for those with the same reason; the fastest flows first."""
    flows_of: dict[str, list[str]] = {}
    for flow in sorted(summary["flows"], key=lambda flow: -(flow["goodput_bps"] or 0.0)):
        if flow["why"] and "part_of" not in flow:
            flows_of.setdefault(flow["why"], []).append(str(flow["flow"]))
    reasons = []
    for why, names in flows_of.items():
        stems: dict[str, int] = {}
        for name in names:
            stems[_alike(name)] = stems.get(_alike(name), 0) + 1
        who = joined([_named(name, number) for name, number in stems.items()])
        reasons.append(f"{who}: {why}" if len(summary["flows"]) > 1 else why)
    return reasons
