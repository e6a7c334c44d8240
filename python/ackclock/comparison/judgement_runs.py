"""The runs of a comparison's first choices under the loads of the link and beside other flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ackclock.arguments.compare import CompareArguments
from ackclock.comparison import loads
from ackclock.comparison.ack_path import Bottlenecks
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.judgement import (
    SHORTLISTED,
    Judge,
    Judgement,
    changes_of,
    defaults_label,
    fastest_of,
    shortlist,
)
from ackclock.comparison.prices import BesideRuns, jain_by_seed, of_beside, prices
from ackclock.comparison.ranking import Ranked
from ackclock.comparison.result import Prices
from ackclock.input.objects import Flow
from ackclock.input.scenario.draft import Draft
from ackclock.input.scenario.hosts import DEFAULT_HOST, READ_KEYS, resolve
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.sweep_paths import Point
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.harm import BOUNDED, DEFAULTS, FIRST_SEEDS, SEEDS, Harm, HarmBound, HarmRun, Place
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_list import Metrics, RunList
from ackclock.storage import dataset_files

LOAD_SEEDS = 5
"""Maximum number of seeds under each load: the first ones of the comparison."""
WHOLE_S = 30.0
"""A comparison with shorter runs tests harm by runs of its own duration: it is a first look."""
HARM_SHARE = 0.05
"""The estimated CPU time of the first seeds of a choice beside other flows, as a share of that of
the comparison: where it takes more, its runs are shorter (`HarmBound.cpu_s`)."""
MIN_HARM_CPU_S = 2.0
"""That CPU time at least."""
NOT_COMPARED = 100
"""The number of changes of host's defaults that are not compared: a choice as good comes first."""
LOADS = "loads"
"""The folder of the dataset of the runs under the loads."""

Seeds = Mapping[int, Run]


def max_runs(configurations: int, seeds: int, opposite: int) -> int:
    """About the number of runs of `JudgementRuns`, for the progress: the whole shortlist runs
    beside other flows, with the first seeds.
    """
    places = min(SHORTLISTED, configurations) + 1
    under_loads = len(loads.load_names(opposite)) * min(LOAD_SEEDS, seeds)
    return places * (under_loads + len(BOUNDED) * min(FIRST_SEEDS, seeds))


def stored_below(folder: Path) -> int:
    """The number of runs of the complete datasets in a folder."""
    return sum(dataset_files.stored_runs(path) for path in folder.glob("*") if path.is_dir())


@dataclass
class JudgementRuns:
    """The runs of the first choices, each kind in a dataset of its own.

    Attributes:
        arguments: those of the comparison.
        draft: the comparison's scenario; `flows` are its flows, the first is compared.
        path: the queues that the configurations vary; None: none.
        seeds: those of the comparison.
        folder: of the datasets; None: in memory.
        before, planned: the number of runs of the comparison, and about that of all, for the
            progress.
        cells_cpu_s: their estimated CPU time.
        reopen: called before the first new run in a finished run folder.
    """

    arguments: CompareArguments
    draft: Draft
    flows: Sequence[Flow]
    path: Bottlenecks | None
    seeds: Sequence[int]
    folder: Path | None
    of_seed: Callable[[Scenario, int], Scenario] | None
    before: int
    planned: int
    cells_cpu_s: float
    reopen: Callable[[], object] | None
    datasets: list[Dataset] = field(default_factory=list)

    @property
    def direction(self) -> str:
        """Of the data of the compared flows."""
        return str(self.flows[0].direction)

    @cached_property
    def usual(self) -> str:
        """The host's own variant."""
        return str(resolve(READ_KEYS({"host": self.arguments.host or DEFAULT_HOST})).keys["variant"])

    @cached_property
    def bound(self) -> HarmBound:
        """The bound of harm, and the runs beside other flows."""
        duration_s = self.draft.check().duration / 1e12
        return HarmBound(
            self._place(None),
            [self.direction],
            self._beside,
            first_seed=self.seeds[0],
            cpu_s=max(MIN_HARM_CPU_S, HARM_SHARE * self.cells_cpu_s),
            run_s=duration_s if duration_s < WHOLE_S else None,
            first_seeds=min(FIRST_SEEDS, len(self.seeds)),
            seed_count=min(SEEDS, len(self.seeds)),
        )

    def results(
        self,
        ranking: Sequence[Ranked],
        metrics: Mapping[Configuration, Seeds],
        low_latency: Ranked | None,
    ) -> tuple[Judgement, Prices]:
        """What is recommended, and what the first choices cost others."""
        goal, may_harm = self.arguments.goal, self.arguments.may_harm
        picked = shortlist(ranking, goal, self.usual, low_latency)
        defaults = defaults_label(ranking, self.usual)
        by_label = {one.configuration.label: one for one in picked}
        tried: dict[str, Configuration | None] = {label: one.configuration for label, one in by_label.items()}
        tried.setdefault(defaults, None)
        under_loads = self._under_loads(tried)

        def harm_of(label: str) -> Sequence[Harm]:
            return self.bound.check({label: self._place(tried[label])})[label]

        judge = Judge(
            goal,
            may_harm,
            under_loads,
            defaults,
            harm_of,
            lambda label: jain_by_seed(self._beside_of(label, defaults)["cubic"]),
            {defaults: NOT_COMPARED}
            | {label: changes_of(one.configuration, self.usual) for label, one in by_label.items()},
        )
        fastest = fastest_of([one for one in ranking if one.delivers]).configuration.label
        choices, recommended = judge.decide(fastest, [one.configuration.label for one in ranking])
        self.bound.check({})  # The host's defaults beside others, where nothing else was tested.
        judgement = Judgement(
            goal,
            may_harm,
            recommended,
            fastest,
            defaults,
            min(LOAD_SEEDS, len(self.seeds)),
            self.bound.seed_count,
            self.bound.measured_s,
            tuple(choices),
        )
        tested = [label for label in tried if label in judge.harm or label == defaults]
        asked = under_loads[defaults].get(self.direction) or next(iter(under_loads[defaults].values()))
        runs = {
            label: BesideRuns(
                metrics[by_label[label].configuration] if label in by_label else asked,
                under_loads[label].get(self.direction) or next(iter(under_loads[label].values())),
                self._beside_of(label, defaults),
                self.direction,
            )
            for label in tested
        }
        if self.arguments.progress:
            self.arguments.progress(self.before, self.before, "")
        tied = {label: one.tied_with for label, one in by_label.items()}
        priced, references = prices(runs, tied, defaults)
        return judgement, Prices(priced, references, self.datasets, self.bound.seed_count)

    def _point(self, choice: Configuration | None) -> Point:
        """Sweep parameters of a configuration; None: the host's defaults over the link as it is."""
        return choice.point(self.path) if choice else {}

    def _place(self, choice: Configuration | None) -> Place:
        return Place(self.draft, {"host": self.arguments.host} if self.arguments.host else {}, self._point(choice))

    def _beside_of(self, label: str, defaults: str) -> dict[str, Seeds]:
        """The runs of a choice beside each companion."""
        name = DEFAULTS if label == defaults else label
        return {one: self.bound.seeds(name, self.direction, one) for one in BOUNDED}

    def _under_loads(self, tried: Mapping[str, Configuration | None]) -> dict[str, dict[str, Seeds]]:
        """The metrics of each choice under each load, by seed."""
        names = loads.load_names(len(self.flows) - 1)
        drafts = loads.drafts(self.draft, self.flows, names)
        keys = [(label, name) for label in tried for name in names]
        found = self._run(
            LOADS,
            [{"label": label, "load": name} for label, name in keys],
            [drafts[name].check(self._point(tried[label])) for label, name in keys],
            tuple(self.seeds[:LOAD_SEEDS]),
            loads.of_load,
        )
        by_key = dict(zip(keys, found, strict=True))
        return {label: {name: by_key[label, name] for name in names} for label in tried}

    def _beside(self, name: str, runs: Sequence[HarmRun], seeds: Sequence[int]) -> list[Seeds]:
        params = [{"label": run.label, "direction": run.direction, "beside": run.companion} for run in runs]
        return self._run(name, params, [run.scenario for run in runs], tuple(seeds), of_beside)

    def _run(
        self,
        name: str,
        params: Sequence[Mapping[str, str]],
        scenarios: Sequence[Scenario],
        seeds: tuple[int, ...],
        metrics: Metrics,
    ) -> list[Seeds]:
        """The metrics of runs by seed; those of the run folder are reused."""
        runs = RunList(
            params, scenarios, seeds, metrics, "all" if self.arguments.series == "all" else "none", of_seed=self.of_seed
        )
        folder = self.folder / name if self.folder else None
        data = Dataset(runs, folder)
        if self.reopen and data.missing():
            self.reopen()
            self.reopen = None
        later = max(0, self.planned - self.before - len(runs))
        run_missing(
            data, workers=self.arguments.workers, progress=self.arguments.progress, before=self.before, later=later
        )
        self.before += len(runs)
        self.datasets.append(data)
        return [dict(zip(seeds, rows, strict=True)) for rows in data.metrics()]
