"""Evaluators: functions from runs to evidence for a claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock.papers.claims import Claim
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.experiments import Experiments, Measure, Swept
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval, jain_index

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionReport
    from ackclock.documents.simulate import SimulatedFlow


@dataclass(frozen=True)
class ExperimentPoint:
    """A point of an experiment: its name, the scheme, the network and the swept values by the last
    part of their path.
    """

    experiment: str
    scheme: str = ""
    network: str = ""
    swept: Mapping[str, Swept] = field(default_factory=dict)

    def of(self, scheme: str) -> ExperimentPoint:
        """The same point with another scheme."""
        return ExperimentPoint(self.experiment, scheme, self.network, self.swept)


def point(experiment: str, scheme: str = "", network: str = "", **swept: Swept) -> ExperimentPoint:
    """An `ExperimentPoint`."""
    return ExperimentPoint(experiment, scheme, network, swept)


@dataclass(frozen=True)
class ExperimentData:
    """The figures of experiments, each run on first use."""

    runs: Experiments
    _analysed: dict[tuple[int, str], DirectionReport] = field(default_factory=dict)

    def analysis(self, result: RunResult, flow: str, direction: str = "down") -> DirectionReport:
        """The analysis of a flow's data direction, from the captures of both ends."""
        key = (id(result), flow)
        if key not in self._analysed:
            self._analysed[key] = self.runs.analysed(result, flow, direction)
        return self._analysed[key]

    def results(self, spot: ExperimentPoint) -> Sequence[RunResult]:
        """The runs of a point, one for each seed."""
        return self.runs(spot.experiment).at(spot.network, spot.scheme, **spot.swept)

    def each(self, spot: ExperimentPoint, measure: Measure) -> list[float]:
        """A figure for each seed."""
        return [measure(result) for result in self.results(spot)]

    def mean(self, spot: ExperimentPoint, measure: Measure) -> Interval:
        """A figure's mean over the seeds."""
        return interval(self.each(spot, measure))

    def ratio(self, spot: ExperimentPoint, base: ExperimentPoint, measure: Measure) -> Interval:
        """The ratio of a figure at two points, for each seed: the points share their seeds."""
        return interval([a / b for a, b in zip(self.each(spot, measure), self.each(base, measure), strict=True) if b])

    def gain(self, spot: ExperimentPoint, base: ExperimentPoint, measure: Measure) -> Interval:
        """The increase of a figure over that of another point, in per cent."""
        return interval(
            [
                100.0 * (a / b - 1.0)
                for a, b in zip(self.each(spot, measure), self.each(base, measure), strict=True)
                if b
            ]
        )


def computed_number(value: float, why: str) -> Evaluate:
    """An analytical number, compared by the claim's tolerance."""
    return lambda claim: Evidence(interval([value]), why, by="arithmetic")


def computed_statement(statement: bool, why: str, value: float | None = None) -> Evaluate:
    """An analytical statement."""
    return lambda claim: Evidence(None if value is None else interval([value]), why, holds=statement, by="arithmetic")


def measured_number(
    find: Callable[[], Interval], why: str | Callable[[], str] = "", also: Callable[[], Mapping[str, Interval]] = dict
) -> Evaluate:
    """A measured number, compared by the claim's tolerance."""

    def evaluate(claim: Claim) -> Evidence:
        return Evidence(find(), why if isinstance(why, str) else why(), also=also())

    return evaluate


def one_trace(find: Callable[[], Interval], why: str) -> Evaluate:
    """A number of the paper's one trace, or one on which the paper contradicts itself: ours is
    shown without a verdict.
    """
    return lambda claim: Evidence(find(), why, decidable=False)


def table_cell(find: Callable[[], Interval], case: str, why: str = "") -> Evaluate:
    """A measured number of a claim with several tolerances; ``case`` selects one."""
    return lambda claim: Evidence(find(), why, case=case)


def statement(find: Callable[[], tuple[bool, str] | tuple[bool, str, Interval]]) -> Evaluate:
    """An ordering or a pattern: whether it holds, a description, and optionally a number."""

    def evaluate(claim: Claim) -> Evidence:
        holds, why, *ours = find()
        return Evidence(ours[0] if ours else None, why, holds=holds)

    return evaluate


def goodput_mbps(result: RunResult) -> float:
    """The mean goodput of the TCP flows, in Mb/s (wimax-simulated, section 3: the sum over
    connections by their number).
    """
    flows = [flow for flow in result.summary["flows"] if flow["variant"] != "udp"]
    return sum(flow["goodput_bps"] or 0.0 for flow in flows) / len(flows) / 1e6


def fairness(result: RunResult) -> float:
    """Jain's index of the TCP flows' goodputs."""
    return jain_index([flow["goodput_bps"] or 0.0 for flow in result.summary["flows"] if flow["variant"] != "udp"])


def flow_of(result: RunResult, name: str = "") -> SimulatedFlow:
    """The summary of a flow; without a name, of the first one."""
    return next(flow for flow in result.summary["flows"] if name in ("", flow["flow"]))


def format_values(values: Mapping[str, float], unit: str = "", digits: int = 3) -> str:
    """Values as text, such as 'A 1.2, B 3.4 Mb/s'."""
    return ", ".join(f"{name} {value:.{digits}g}" for name, value in values.items()) + (f" {unit}" if unit else "")
