"""The figures of a run folder or a capture, as samples: of seeds, of flows, or of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.axis_titles import short_paths
from ackclock.errors import InputError
from ackclock.folder_damage import damage_named
from ackclock.format import setting
from ackclock.simulation.metrics import of_run_with_jain
from ackclock.statistics import Moments
from ackclock.storage import dataset_files
from ackclock.storage.run_kind import ANALYZE, COMPARE, MEASURE, SIMULATE, SWEEP, RunKind
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.compare import Comparison
    from ackclock.documents.measure import Flow, Measurement
    from ackclock.documents.simulate import ExplainedRun, Sweep

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

    def add(self, where: str, metrics: Iterable[str], *rows: Mapping[str, object]) -> None:
        """Add a value of each of the metrics, dotted paths in `rows`: the mean of those rows that
        have a value, NaN without any.
        """
        for metric in metrics:
            values = [value for row in rows if not math.isnan(value := _at(row, metric))]
            mean = math.fsum(values) / len(values) if values else math.nan
            self.samples.setdefault((where, metric.replace(".", "_")), []).append(mean)

    def found(self) -> dict[Where, Moments]:
        """Number, mean and standard deviation of every figure that has a value."""
        every = {where: Moments.of(values) for where, values in self.samples.items()} | self.moments
        return {where: moments for where, moments in every.items() if moments.n}


def _at(value: Any, path: str) -> float:
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
    summaries: list[ExplainedRun] = read_json(folder / SIMULATE.document)
    figures = Figures(SIMULATE.command, "seed", tuple(summary["seed"] for summary in summaries))
    for summary in summaries:
        flows = [flow for flow in summary["flows"] if not flow.get("feeds")]
        if any(flow["variant"] != "udp" for flow in flows):
            figures.add("all flows", RUN_FIGURES, of_run_with_jain(summary))
        for flow in flows if len(flows) > 1 or flows[0]["variant"] == "udp" else ():
            figures.add(f"flow {flow['flow']}", FLOW_FIGURES, flow)
        for hop in summary["hops"]:
            figures.add(f"hop {hop['hop']} {hop['direction']}", HOP_FIGURES, hop)
    return figures


def _sweep(folder: Path) -> Figures:
    document: Sweep = read_json(folder / SWEEP.document)
    return _cells(folder, SWEEP, [_place(cell["params"]) for cell in document["cells"]])


def _place(params: Mapping[str, Any]) -> str:
    """The swept values of a point, by their short keys, as documents name it."""
    named = zip(short_paths(list(params)), params.values(), strict=True)
    return ", ".join(f"{name} {setting(value)}" for name, value in named)


def _comparison(folder: Path) -> Figures:
    document: Comparison = read_json(folder / COMPARE.document)
    return _cells(folder, COMPARE, [cell["label"] for cell in document["cells"]])


def _cells(folder: Path, kind: RunKind, labels: Sequence[str]) -> Figures:
    """The figures of each point of a dataset over its seeds."""
    seeds = dataset_files.Points.read(folder).seeds
    figures = Figures(kind.command, "seed", tuple(seeds))
    rows = dataset_files.scan(folder, "runs").sort("run").collect()
    for row in rows.iter_rows(named=True):
        figures.add(labels[row["run"] // len(seeds)], CELL_FIGURES, row)
    return figures


def _measurement(folder: Path) -> Figures:
    document: Measurement = read_json(folder / MEASURE.document)
    figures = Figures(MEASURE.command, "test")
    tests: dict[tuple[str, int], list[Flow]] = {}
    for flow in document["flows"]:
        where = f"{flow['purpose']} {flow['direction']} {flow['label']}".strip()
        tests.setdefault((where, flow["test"]), []).append(flow)
    for (where, _), flows in tests.items():
        figures.add(where, MEASURED_FIGURES, *flows)
    for transfers in document["transfers"]:
        where = f"transfers {transfers['direction']} {transfers['size']}"
        times = {"handshake_ms": transfers["handshake_ms"], "completion_ms": transfers["completion_ms"]}
        for metric, stats in times.items():
            if stats and stats["mean"] is not None:
                figures.moments[where, metric] = Moments(stats["count"], stats["mean"], stats["sd"] or 0.0)
    for direction, delay in (document["delay"] or {}).items():
        figures.add(f"delay {direction}", DELAY_FIGURES, delay)
    return figures


def file_figures(files: Sequence[Path]) -> Figures:
    """The figures of tests of another program, one value for each file. Raises InputError for files
    of several programs.
    """
    from ackclock.other_programs import read_program_test

    figures: Figures | None = None
    for path in files:
        test = read_program_test(path)
        if figures is None:
            figures = Figures(test.program, "test")
        elif figures.kind != test.program:
            raise InputError(f"a test of {test.program}", f"tests of {figures.kind}, as {files[0]}", file=str(path))
        for where, values in test.figures.items():
            for metric, value in values.items():
                figures.samples.setdefault((where, metric), []).append(value)
    assert figures is not None
    return figures


def _analysis(folder: Path) -> Figures:
    from ackclock.analysis.folder import FLOWS

    return capture_figures(read_table(folder / FLOWS))


@dataclass(frozen=True)
class CapturedFlow:
    """The figures of a flow, and its time."""

    start_s: float
    duration_s: float
    figures: Mapping[str, float | None]

    def is_beside(self, other: CapturedFlow) -> bool:
        """They share a part of the longer one's time."""
        ends = self.start_s + self.duration_s, other.start_s + other.duration_s
        common = min(ends) - max(self.start_s, other.start_s)
        longer = max(self.duration_s, other.duration_s)
        return longer > 0.0 and common >= SHARED * longer


def capture_figures(flows: pl.DataFrame) -> Figures:
    """The figures of the flows of an analysis, by server port and data direction.

    Concurrent flows share the state of the path and are no independent values: their mean is one.
    """
    figures = Figures("analyze", "flow")
    by_role: dict[str, list[CapturedFlow]] = {}
    for flow in flows.iter_rows(named=True):
        data = max(("b2a", "a2b"), key=lambda side: flow[f"{side}_unique_bytes"] or 0)
        if flow[f"{data}_unique_bytes"]:
            port, sender = str(flow["server"]).rpartition(":")[2], "server" if data == "b2a" else "client"
            of_data = {metric: flow.get(f"{data}_{metric}") for metric in CAPTURE_FIGURES}
            found = {**of_data, "handshake_rtt_ms": flow["handshake_rtt_ms"]}
            captured = CapturedFlow(flow["start_s"] or 0.0, flow["duration_s"] or 0.0, found)
            by_role.setdefault(f"port {port}, data from the {sender}", []).append(captured)
    for where, role in by_role.items():
        groups: list[list[CapturedFlow]] = []
        for one in sorted(role, key=lambda one: one.start_s):
            if groups and any(one.is_beside(other) for other in groups[-1]):
                groups[-1].append(one)
            else:
                groups.append([one])
        for together in groups:
            figures.add(where, (*CAPTURE_FIGURES, "handshake_rtt_ms"), *(one.figures for one in together))
    return figures


READERS: dict[RunKind, Callable[[Path], Figures]] = {
    SIMULATE: _simulation,
    SWEEP: _sweep,
    COMPARE: _comparison,
    ANALYZE: _analysis,
    MEASURE: _measurement,
}
"""The kinds of run folder that have a difference."""
