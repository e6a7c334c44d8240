"""The figures of a run that the questions of ``on_link.toml`` ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.papers.evaluators import fairness
from ackclock.simulation.runner import RunResult

if TYPE_CHECKING:
    from ackclock.documents.simulate import SimulatedFlow
    from ackclock.statistics.summary_stats import StatName

OVERFLOW = ("queue_full", "early", "policed")
"""Causes of drops by a queue or a limit of rate, not by the channel."""


@dataclass(frozen=True)
class Measure:
    """A figure of a run: its name in tables, its unit, and how it is read from a run's flows of
    one name, all without one. The figure is not negative; NaN where the run has none.

    Two figures that are both below ``negligible`` do not differ. ``absent`` is the reason of a NaN.
    """

    label: str
    unit: str
    of: Callable[[RunResult, str], float]
    negligible: float = 0.0
    absent: str = "no figure"


def _flows(result: RunResult, name: str) -> list[SimulatedFlow]:
    return [flow for flow in result.summary["flows"] if flow["variant"] != "udp" and name in ("", flow["flow"])]


def _goodput(result: RunResult, name: str) -> float:
    flows = _flows(result, name)
    return sum(flow["goodput_bps"] or 0.0 for flow in flows) / len(flows) / 1e6


def _retransmitted(result: RunResult, name: str) -> float:
    flows = _flows(result, name)
    again, sent = (sum(int(flow[key]) for flow in flows) for key in ("retransmitted_segments", "segments_sent"))
    return 100.0 * again / max(1, sent)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _rtt(statistic: StatName) -> Callable[[RunResult, str], float]:
    def read(result: RunResult, name: str) -> float:
        return _number(_flows(result, name)[0]["rtt_ms"][statistic])

    return read


def _one_way(statistic: StatName) -> Callable[[RunResult, str], float]:
    def read(result: RunResult, name: str) -> float:
        flow = next(flow for flow in result.summary["flows"] if name in ("", flow["flow"]))
        return _number(flow["one_way_delay_ms"][statistic])

    return read


def _overflow(result: RunResult, name: str) -> float:
    """The share of the packets dropped downlink that queues and limits of rate dropped."""
    causes = [hop["drops_by_cause"] for hop in result.summary["hops"] if hop["direction"] == "down"]
    dropped = sum(sum(one.values()) for one in causes)
    return 100.0 * sum(one[cause] for one in causes for cause in OVERFLOW) / dropped if dropped else math.nan


MEASURES: dict[str, Measure] = {
    "goodput": Measure("goodput", "Mb/s", _goodput),
    "retransmitted": Measure("retransmitted", "%", _retransmitted, negligible=0.1),
    "rtt": Measure("mean RTT", "ms", _rtt("mean")),
    "rtt-median": Measure("median RTT", "ms", _rtt("p50")),
    "one-way-min": Measure("minimum one-way delay", "ms", _one_way("min")),
    "one-way-max": Measure("maximum one-way delay", "ms", _one_way("max")),
    "fairness": Measure("Jain's index", "", lambda result, _: fairness(result)),
    "overflow": Measure("drops by a full queue", "%", _overflow, absent="nothing dropped"),
    "page": Measure("mean time of a page", "s", lambda result, _: _number(result.summary["jobs"]["mean_s"])),
}
"""By the name in ``on_link.toml``. RTTs are at the sender; a goodput is the mean of the flows."""
