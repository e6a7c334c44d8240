"""The papers' tables and figures as experiments (``<paper>/experiments.toml``): schemes on
networks, every point of a sweep, every seed.

An experiment names a scenario file. Without ``networks`` and ``schemes`` the scenario runs
unchanged. ``sweep`` and ``seeds`` replace those of the scenario, ``apart`` gives each point random
numbers of its own, and ``captures`` are taken at both ends, read during the run and removed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from ackclock.input.scenario.draft import Point, read_draft
from ackclock.input.scenario.model import Scenario
from ackclock.notebook import Progress
from ackclock.papers.readings import Alternative
from ackclock.papers.scenarios import scenario_path
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs
from ackclock.statistics import Interval, interval

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionReport, HopRow

Measure = Callable[[RunResult], float]
"""A figure of a run."""
Change = Callable[[Scenario], Scenario]
"""Returns the scenario that runs in place of another."""
Swept = str | float | Mapping[str, str | float]
"""A swept value: a number or a text, or a table such as a loss model."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A cell of a table: a network, a scheme and the swept values."""

    network: str
    scheme: str
    point: Mapping[str, Swept] = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentRuns:
    """The runs of an experiment, by setting."""

    runs: Sequence[tuple[Setting, Sequence[RunResult]]]

    def at(self, network: str, scheme: str, **swept: Swept) -> Sequence[RunResult]:
        """The runs of one setting, one for each seed; ``swept`` has values by the last part of
        their path, as in ``count=4``.

        Raises:
            KeyError: the experiment has no such place.
        """
        for setting, results in self.runs:
            text = {path.rpartition(".")[2]: value for path, value in setting.point.items()}
            if (setting.network, setting.scheme) == (network, scheme) and all(
                _is(text.get(key), value) for key, value in swept.items()
            ):
                return results
        raise KeyError((network, scheme, swept))

    def mean(self, measure: Measure, network: str, scheme: str, **swept: Swept) -> Interval:
        """A figure's mean over the seeds of a setting, with its 95 % interval."""
        return interval([measure(result) for result in self.at(network, scheme, **swept)])


def _is(swept: Swept | None, expected: Swept) -> bool:
    """Whether a swept value, or the ``mean`` of one that is a table, is the expected one."""
    return bool(swept == expected or (isinstance(swept, Mapping) and swept.get("mean") == expected))


class Experiment(TypedDict):
    """An experiment of a paper: its scenario file, and what replaces parts of it."""

    scenario: str
    networks: NotRequired[list[str]]
    schemes: NotRequired[list[str]]
    sweep: NotRequired[dict[str, list[Swept]]]
    seeds: NotRequired[int]
    apart: NotRequired[bool]
    captures: NotRequired[bool]


class ExperimentsFile(TypedDict):
    """Scenario keys of networks and schemes by dotted path, and the experiments with these."""

    networks: NotRequired[dict[str, Point]]
    schemes: NotRequired[dict[str, Point]]
    experiments: dict[str, Experiment]


@cache
def experiments_file(paper: str) -> ExperimentsFile:
    """A paper's networks, schemes and experiments (``<paper>/experiments.toml``)."""
    text = resources.files(__package__).joinpath(paper.replace("-", "_"), "experiments.toml").read_text("utf-8")
    return cast("ExperimentsFile", tomllib.loads(text))


def keys_of(network: str, scheme: str, paper: str = "asymmetry") -> Point:
    """The scenario keys of a network and a scheme, by dotted path; "" has none."""
    file = experiments_file(paper)
    return {**(file["networks"][network] if network else {}), **(file["schemes"][scheme] if scheme else {})}


class Experiments:
    """Runs each experiment on first use. ``folder`` stores the runs; stored runs are reused. With
    an ``alternative`` its keys replace those of the paper's readings; ``change`` then returns the
    scenario that runs in place of a checked one.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        workers: int | None = None,
        folder: Path | None = None,
        progress: Progress | None = None,
        paper: str = "asymmetry",
        alternative: Alternative | None = None,
        change: Change | None = None,
    ) -> None:
        self.paper = paper
        self._alternative = alternative
        self._change = change
        self._seeds = tuple(seeds)
        self._workers = workers
        self._store = RunStore(folder) if folder else None
        self._progress = progress
        self._done: dict[str, ExperimentRuns] = {}
        self._scratch: TemporaryDirectory[str] | None = None

    def __call__(self, name: str) -> ExperimentRuns:
        """The runs of ``[experiments.<name>]``."""
        if name not in self._done:
            self._done[name] = self._run(name)
        return self._done[name]

    @property
    def ran(self) -> frozenset[str]:
        """The names of the experiments that ran."""
        return frozenset(self._done)

    def _run(self, name: str) -> ExperimentRuns:
        experiment = experiments_file(self.paper)["experiments"][name]
        captures = "pcap" if experiment.get("captures") else None
        store = self._temporary() if captures else self._store
        settings_with_scenarios = settings_of(experiment, self.paper, name, self._alternative)
        seeds = self._seeds[: experiment.get("seeds", len(self._seeds))]
        step = 1000 if experiment.get("apart") else 0
        specs = [
            RunSpec(
                scenario,
                seed + step * index,
                {"network": setting.network, "scheme": setting.scheme, **setting.point},
                captures,
            )
            for index, (setting, scenario) in enumerate(settings_with_scenarios)
            for seed in seeds
        ]
        if self._change:
            specs = [replace(spec, scenario=self._change(spec.scenario)) for spec in specs]
        results = list(run_specs(specs, workers=self._workers, store=store, progress=self._progress))
        each = len(seeds)
        return ExperimentRuns(
            [(setting, results[at * each : (at + 1) * each]) for at, (setting, _) in enumerate(settings_with_scenarios)]
        )

    def analysed(self, result: RunResult, flow: str, direction: str) -> DirectionReport:
        """The analysis of a flow's data direction, from the captures of both ends."""
        from ackclock.analysis import analyze

        ends = ("server", "client") if direction == "down" else ("client", "server")
        captures = [Path(result.folder or ".") / "captures" / f"{flow}.{end}.pcap" for end in ends]
        first = analyze(*captures).document["flows"][0]
        return first["b2a"] if direction == "down" else first["a2b"]

    def _temporary(self) -> RunStore:
        """A temporary store: captures are large and quickly reproduced, so they are removed with
        this object.
        """
        if self._scratch is None:
            self._scratch = TemporaryDirectory(prefix="ackclock-captures-")
        return RunStore(Path(self._scratch.name))


def settings_of(
    experiment: Experiment, paper: str, name: str = "", alternative: Alternative | None = None
) -> list[tuple[Setting, Scenario]]:
    """Every setting of an experiment, with its checked scenario; ``name`` is the experiment's, for
    the keys of an ``alternative`` reading.
    """
    draft = read_draft(scenario_path(experiment["scenario"]))
    if sweep := experiment.get("sweep"):
        draft = draft.replaced({"sweep": sweep})
    # A network may replace values of a point, such as the length of a loss burst.
    return [
        (
            Setting(on, by, dict(point)),
            draft.check(
                {
                    **point,
                    **keys_of(on, by, paper),
                    **(alternative.keys_of(name, by, point.values()) if alternative else {}),
                }
            ),
        )
        for on in experiment.get("networks", [""])
        for by in experiment.get("schemes", [""])
        for point in draft.points()
    ]


def throughput_bps(result: RunResult) -> float:
    """The throughput of all flows of a run, in bits/s.

    P1 counts packets of 1000 bytes, headers included.
    """
    return sum(flow_bps(result))


def total_mbps(result: RunResult) -> float:
    """The throughput of all flows of a run, in Mb/s."""
    return throughput_bps(result) / 1e6


def total_kbps(result: RunResult) -> float:
    """The throughput of all flows of a run, in kb/s."""
    return throughput_bps(result) / 1e3


def known(figure: float | None) -> float:
    """A figure that a run of the experiment has. Raises TypeError without it: a live run may lack
    what every simulated one has.
    """
    if figure is None:
        raise TypeError("a run without this figure")
    return figure


def flow_bps(result: RunResult) -> list[float]:
    """Each flow's throughput in bits/s, over the measurement window."""
    return [known(flow["throughput_bps"]) for flow in result.summary["flows"]]


def hop_of(result: RunResult, name: str, direction: str) -> HopRow:
    """The summary of one direction of a hop."""
    return next(hop for hop in result.summary["hops"] if (hop["hop"], hop["direction"]) == (name, direction))
