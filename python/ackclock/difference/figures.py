"""The figures of a run folder or a capture, as samples: of seeds, of flows, or of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.folder_damage import damage_named
from ackclock.simulation.metrics import of_run_with_jain
from ackclock.statistics import Moments
from ackclock.storage import dataset_files
from ackclock.storage.run_kind import COMPARE, MEASURE, SIMULATE, SWEEP, RunKind
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl

RUN_FIGURES = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "retransmission_rate", "timeouts", "jain")
"""The figures of a run, over all TCP flows; `jain` of two flows or more."""
FLOW_FIGURES = ("goodput_bps", "rtt_ms.p95", "retransmission_rate", "timeouts", "completed_s")
"""The figures of each flow of a simulation."""
HOP_FIGURES = ("queue_delay_ms.p95", "utilization", "drops")
"""The figures of each hop and direction of a simulation."""
CELL_FIGURES = ("goodput_bps", "rtt_p95_ms", "retransmission_rate", "jain")
"""The figures of a point of a sweep or a configuration of a comparison."""
CAPTURE_FIGURES = (
    "goodput_bps",
    "rtt_ms_mean",
    "rtt_ms_p95",
    "retransmission_rate",
    "rto_retransmits",
    "window_limited_share",
)
"""The figures of a flow in a capture, of the direction with more data."""
MEASURED_FIGURES = ("goodput_bps", "rtt_ms.mean", "rtt_ms.p95", "retransmission_rate")
"""The figures of a bulk test of a measurement: means over its concurrent connections."""
DELAY_FIGURES = ("delay_variation_ms.mean", "delay_variation_ms.p95", "loss_rate")
"""The figures of a direction of the test `delay` of a measurement."""
SHARED = 0.5
"""Flows that share this part of the longer one's time are concurrent."""

Where = tuple[str, str]
"""A figure's place and its metric."""


@dataclass
class Figures:
    """The figures of one side.

    Attributes:
        kind: the command of the run folder, "analyze" for a capture.
        samples: the values of each figure; with `seeds`, one for each seed in their order.
        seeds: the seeds of all samples; None without seeds.
        moments: figures of which only number, mean and standard deviation are known.
        unit: what one value of a sample is.
    """

    kind: str
    unit: str
    seeds: tuple[int, ...] | None = None
    samples: dict[Where, list[float]] = field(default_factory=dict)
    moments: dict[Where, Moments] = field(default_factory=dict)

    def add(self, where: str, metrics: Iterable[str], row: Mapping[str, Any]) -> None:
        """Add a value of each of the metrics, a dotted path in `row`; NaN without a value."""
        for metric in metrics:
            self.samples.setdefault((where, metric.replace(".", "_")), []).append(_at(row, metric))

    def found(self) -> dict[Where, Moments]:
        """Number, mean and standard deviation of every figure that has a value."""
        every = {where: Moments.of(values) for where, values in self.samples.items()} | self.moments
        return {where: moments for where, moments in every.items() if moments.n}


def _at(row: Mapping[str, Any], path: str) -> float:
    value: Any = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return math.nan if value is None else float(value)


def folder_figures(folder: Path, kind: RunKind) -> Figures:
    """The figures of a finished run folder of a kind that `READERS` has. Raises InputError
    if a file is damaged.
    """
    with damage_named(folder):
        return READERS[kind](folder)


def _simulation(folder: Path) -> Figures:
    summaries = read_json(folder / SIMULATE.document)
    figures = Figures(SIMULATE.command, "seed", tuple(summary["seed"] for summary in summaries))
    for summary in summaries:
        flows = [flow for flow in summary["flows"] if not flow.get("feeds")]
        if any(flow["variant"] != "udp" for flow in flows):
            figures.add("all flows", RUN_FIGURES, of_run_with_jain(summary))
        for flow in flows if len(flows) > 1 or flows[0]["variant"] == "udp" else ():
            figures.add(f"flow {flow['flow']}", FLOW_FIGURES, flow)
        for hop in summary["hops"]:
            figures.add(" ".join(["hop", hop["hop"], hop["direction"], *map(str, _station(hop))]), HOP_FIGURES, hop)
    return figures


def _station(hop: Mapping[str, Any]) -> tuple[object, ...]:
    """The station of a shared medium's queue; empty without one."""
    return () if hop.get("station") is None else ("station", hop["station"])


def _sweep(folder: Path) -> Figures:
    from ackclock.simulation.sweep_page import label

    document = read_json(folder / SWEEP.document)
    return _cells(folder, SWEEP, [label(cell["params"]) for cell in document["cells"]])


def _comparison(folder: Path) -> Figures:
    document = read_json(folder / COMPARE.document)
    return _cells(folder, COMPARE, [cell["label"] for cell in document["cells"]])


def _cells(folder: Path, kind: RunKind, labels: Sequence[str]) -> Figures:
    """The figures of each point of a dataset over its seeds."""
    seeds = dataset_files.read_points(folder)["seeds"]
    figures = Figures(kind.command, "seed", tuple(seeds))
    rows = dataset_files.scan(folder, "runs").sort("run").collect()
    for row in rows.iter_rows(named=True):
        figures.add(labels[row["run"] // len(seeds)], CELL_FIGURES, row)
    return figures


def _measurement(folder: Path) -> Figures:
    document = read_json(folder / MEASURE.document)
    figures = Figures(MEASURE.command, "test")
    tests: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for flow in document["flows"]:
        where = f"{flow['purpose']} {flow['direction']} {flow['label']}".strip()
        tests.setdefault((where, flow["test"]), []).append(flow)
    for (where, _), flows in tests.items():
        means = {metric: _mean(_at(flow, metric) for flow in flows) for metric in MEASURED_FIGURES}
        for metric, value in means.items():
            figures.samples.setdefault((where, metric.replace(".", "_")), []).append(value)
    for transfers in document["transfers"]:
        where = f"transfers {transfers['direction']} {transfers['size']}"
        for metric in ("handshake_ms", "completion_ms"):
            if stats := transfers[metric]:
                figures.moments[where, metric] = Moments(stats["count"], stats["mean"], stats["sd"] or 0.0)
    for direction, delay in (document["delay"] or {}).items():
        figures.add(f"delay {direction}", DELAY_FIGURES, delay)
    return figures


def _mean(values: Iterable[float]) -> float:
    found = [value for value in values if not math.isnan(value)]
    return math.fsum(found) / len(found) if found else math.nan


def _analysis(folder: Path) -> Figures:
    from ackclock.analysis.folder import FLOWS

    return capture_figures(read_table(folder / FLOWS))


def capture_figures(flows: pl.DataFrame) -> Figures:
    """The figures of the flows of an analysis, by server port and data direction.

    Concurrent flows share the state of the path and are no independent values: their mean is one.
    """
    figures = Figures("analyze", "flow")
    by_role: dict[str, list[Mapping[str, Any]]] = {}
    for flow in flows.iter_rows(named=True):
        data = max(("b2a", "a2b"), key=lambda side: flow[f"{side}_unique_bytes"] or 0)
        if flow[f"{data}_unique_bytes"]:
            sender = "server" if data == "b2a" else "client"
            row = {metric: flow.get(f"{data}_{metric}") for metric in CAPTURE_FIGURES}
            times = {key: flow[key] or 0.0 for key in ("start_s", "duration_s")}
            port = str(flow["server"]).rpartition(":")[2]
            by_role.setdefault(f"port {port}, data from the {sender}", []).append(
                {**row, **times, "handshake_rtt_ms": flow["handshake_rtt_ms"]}
            )
    for where, rows in by_role.items():
        for together in _concurrent(rows):
            for metric in (*CAPTURE_FIGURES, "handshake_rtt_ms"):
                figures.samples.setdefault((where, metric), []).append(_mean(_at(row, metric) for row in together))
    return figures


def _concurrent(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Flows in groups of concurrent ones, by start."""
    groups: list[list[Mapping[str, Any]]] = []
    for row in sorted(rows, key=lambda row: float(row["start_s"])):
        if groups and any(_share_time(row, other) for other in groups[-1]):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _share_time(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    ends = [one["start_s"] + one["duration_s"] for one in (row, other)]
    common = min(ends) - max(row["start_s"], other["start_s"])
    longer = max(row["duration_s"], other["duration_s"])
    return bool(longer > 0.0 and common >= SHARED * longer)


def _readers() -> dict[RunKind, Callable[[Path], Figures]]:
    from ackclock.storage.run_kind import ANALYZE

    return {
        SIMULATE: _simulation,
        SWEEP: _sweep,
        COMPARE: _comparison,
        ANALYZE: _analysis,
        MEASURE: _measurement,
    }


READERS = _readers()
"""The kinds of run folder that have a difference."""
