"""The runs of a comparison's first choices under the loads of the link and beside other flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ackclock.arguments.compare import CompareArguments
from ackclock.comparison import loads
from ackclock.comparison.conditions import (
    RIVALS,
    Condition,
    UnderCondition,
    not_tried,
    rivals,
    seeds_under,
)
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.judgement import (
    MAX_HOUSEHOLDS,
    SHORTLISTED,
    HouseholdJudge,
    Judge,
    Judgement,
    changes_of,
    defaults_label,
    fastest_of,
    kind_of,
    score_ratio,
    scores_of,
    shortlist,
    shortlist_of_apps,
)
from ackclock.comparison.prices import BesideRuns, jain_by_seed, of_beside, prices
from ackclock.comparison.ranking import Ranked
from ackclock.comparison.result import Prices
from ackclock.comparison.transports import for_flows, for_place
from ackclock.goals import APP_GOALS
from ackclock.input.link.bottleneck import Bottlenecks
from ackclock.input.objects import Flow
from ackclock.input.scenario.draft import Draft, Point
from ackclock.input.scenario.hosts import DEFAULT_HOST, READ_KEYS, resolve
from ackclock.input.scenario.link_draws import LinkDraws
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.harm import BOUNDED, DEFAULTS, FIRST_SEEDS, SEEDS, Harm, HarmBound, HarmRun, Place
from ackclock.simulation.household import DURATION_S, MIN_DURATION_S
from ackclock.simulation.loads import HOUSEHOLD
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_list import Metrics, RunList, estimated_cpu_s
from ackclock.storage import dataset_files

LOAD_SEEDS = 5
"""Maximum number of seeds under each load: the first ones of the comparison."""
WHOLE_S = 30.0
"""A comparison with shorter runs tests harm by runs of its own duration: it is a first look."""
HARM_SHARE = 0.05
"""The estimated CPU time of the first seeds of a choice beside other flows, as a share of that of
the comparison: where it takes more, its runs are shorter (`HarmBound.cpu_s`)."""
HOUSEHOLD_CPU_S = 12.0
"""Estimated CPU time of all runs of households: over a fast link they are shorter."""
MIN_HARM_CPU_S = 2.0
"""That CPU time at least."""
NOT_COMPARED = 100
"""The number of changes of host's defaults that are not compared: a choice as good comes first."""
LOADS, CONDITIONS = "loads", "conditions"
"""The folders of the datasets of the runs under the loads, as the path is and as it may be."""

Seeds = Mapping[int, Run]


def max_runs(configurations: int, seeds: int, goal: str, opposite: int, conditions: int = 0) -> int:
    """About the number of runs of `JudgementRuns`, for the progress: the whole shortlist runs
    beside other flows, with the first seeds.
    """
    under_loads = len(loads.load_names(goal, opposite)) * min(LOAD_SEEDS, seeds)
    under_conditions = conditions * min(RIVALS + 1, configurations) * under_loads
    if goal in APP_GOALS:
        beside_others = 2 * len(BOUNDED) * min(FIRST_SEEDS, seeds)
        return min(MAX_HOUSEHOLDS, configurations) * under_loads + beside_others + under_conditions
    places = min(SHORTLISTED, configurations) + 1
    return places * (under_loads + len(BOUNDED) * min(FIRST_SEEDS, seeds)) + under_conditions


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
        draws: the joint draws of a fitted link.
        before, planned: the number of runs of the comparison, and about that of all, for the
            progress.
        cells_cpu_s: their estimated CPU time.
        reopen: called before the first new run in a finished run folder.
        conditions: other paths, over which the recommendation may be another.
        household_s: the duration of a household's run in s.
        notes: what did not run, as sentences.
    """

    arguments: CompareArguments
    draft: Draft
    flows: Sequence[Flow]
    path: Bottlenecks | None
    seeds: Sequence[int]
    folder: Path | None
    draws: LinkDraws | None
    before: int
    planned: int
    cells_cpu_s: float
    reopen: Callable[[], object] | None
    conditions: Sequence[Condition] = ()
    household_s: float = DURATION_S
    notes: list[str] = field(default_factory=list)
    datasets: list[Dataset] = field(default_factory=list)
    bounds: dict[Configuration, HarmBound] = field(default_factory=dict)
    """Of a household: that of each choice of queues."""

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
            run_s=duration_s if duration_s < WHOLE_S and self.goal not in APP_GOALS else None,
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
        goal, may_harm = self.goal, self.arguments.may_harm
        is_household = goal in APP_GOALS
        picked = (
            shortlist_of_apps(ranking, self.usual)
            if is_household
            else shortlist(ranking, goal, self.usual, low_latency)
        )
        defaults = defaults_label(ranking, self.usual)
        by_label = {one.configuration.label: one for one in picked}
        tried: dict[str, Configuration | None] = {label: one.configuration for label, one in by_label.items()}
        tried.setdefault(defaults, None)
        under_loads = self._under_loads(tried)

        def harm_of(label: str) -> Sequence[Harm]:
            if is_household:
                return self._harm_of_variant(label, tried[label])
            return self.bound.check({label: self._place(tried[label])})[label]

        judge = (HouseholdJudge if is_household else Judge)(
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
        choices, recommended = judge.decide(
            "" if is_household else fastest, [one.configuration.label for one in ranking]
        )
        if not is_household:
            self.bound.check({})  # The host's defaults beside others, where nothing else was tested.
        kinds = {label: kind_of(choice) if choice else label for label, choice in tried.items()}
        order = [choice.label for choice in choices]
        compared = [recommended or defaults, *rivals(order, recommended or defaults, kinds.__getitem__)]
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
            tuple(self._under_conditions({label: tried[label] for label in compared}, defaults)),
            self.household_s if is_household else None,
        )
        if self.arguments.progress:
            self.arguments.progress(self.before, self.before, "")
        if is_household:
            return judgement, Prices([], [], self.datasets, self.bound.seed_count)
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
        tied = {label: one.tied_with for label, one in by_label.items()}
        priced, references = prices(runs, tied, defaults)
        return judgement, Prices(priced, references, self.datasets, self.bound.seed_count)

    @property
    def goal(self) -> str:
        """What the recommendation is judged by."""
        return str(self.arguments.goal)

    def _folder(self, name: str) -> str:
        """The folder of a dataset under the loads: households of another duration, which another
        version may choose, are not those of this one.
        """
        return f"{name}-{self.household_s:g}s" if self.goal in APP_GOALS else name

    def _shorten_household(self, choices: int) -> None:
        """The duration of a household whose runs would take too long over a fast link."""
        whole = loads.drafts(self.draft, self.flows, [HOUSEHOLD])[HOUSEHOLD].check()
        runs = choices * min(LOAD_SEEDS, len(self.seeds))
        estimated_s = runs * estimated_cpu_s(whole)
        shorter_s = DURATION_S * HOUSEHOLD_CPU_S / estimated_s
        if shorter_s < DURATION_S:
            self.household_s = float(max(round(shorter_s), MIN_DURATION_S))
            self.notes.append(
                f"A household of {self.household_s:.0f} s in place of {DURATION_S:.0f} s, because the link is fast."
            )

    def _point(self, choice: Configuration | None) -> Point:
        """Sweep parameters of a configuration; None: the host's defaults over the link as it is."""
        return choice.point(self.path) if choice else {}

    def _of_load(self, draft: Draft, choice: Configuration | None, path: Mapping[str, Any] | None = None) -> Scenario:
        """A choice under a load, or over a path with other values."""
        return draft.check({**for_flows(self._point(choice), draft.document.data["flow"]), **(path or {})})

    def _place(self, choice: Configuration | None, path: Mapping[str, Any] | None = None) -> Place:
        """The comparison's path, or with other values of it, and the TCP of a choice."""
        host = {"host": self.arguments.host} if self.arguments.host else {}
        return Place(self.draft, host, {**for_place(self._point(choice)), **(path or {})})

    def _harm_of_variant(self, label: str, choice: Configuration | None) -> Sequence[Harm]:
        """Where a choice takes more from others than the host's own variant before the same queues:
        what queues give and take is in the household's own figures.
        """
        if choice is None or choice.variant == self.usual:
            return []
        base = replace(choice, variant=self.usual)
        if base not in self.bounds:
            name = f"harm-{base.label}"
            self.bounds[base] = replace(
                self.bound, default=self._place(base), name=name, found={}, near=set(), batches=0
            )
        return self.bounds[base].check({label: self._place(choice)})[label]

    def _beside_of(self, label: str, defaults: str) -> dict[str, Seeds]:
        """The runs of a choice beside each companion."""
        name = DEFAULTS if label == defaults else label
        return {one: self.bound.seeds(name, self.direction, one) for one in BOUNDED}

    def _under_loads(self, tried: Mapping[str, Configuration | None]) -> dict[str, dict[str, Seeds]]:
        """The metrics of each choice under each load, by seed."""
        names = loads.load_names(self.goal, len(self.flows) - 1)
        if self.goal in APP_GOALS:
            self._shorten_household(len(tried))
        drafts = loads.drafts(self.draft, self.flows, names, self.household_s)
        keys = [(label, name) for label in tried for name in names]
        found = self._run(
            self._folder(LOADS),
            [{"label": label, "load": name} for label, name in keys],
            [self._of_load(drafts[name], tried[label]) for label, name in keys],
            tuple(self.seeds[:LOAD_SEEDS]),
            loads.of_load,
        )
        by_key = dict(zip(keys, found, strict=True))
        return {label: {name: by_key[label, name] for name in names} for label in tried}

    def _under_conditions(self, chosen: Mapping[str, Configuration | None], defaults: str) -> list[UnderCondition]:
        """The first of these choices beside each other one where the path is another.

        The `defaults` do no harm. A first look tries this only where it takes few of the runs.
        """
        goal = self.goal
        names = loads.load_names(goal, len(self.flows) - 1)
        drafts = loads.drafts(self.draft, self.flows, names, self.household_s)
        keys = [(one, label, name) for one in self.conditions for label in chosen for name in names]
        scenarios = [self._of_load(drafts[name], chosen[label], one.point) for one, label, name in keys]
        if not scenarios or len(chosen) < 2 or goal == "fairness":
            return []
        count = seeds_under(
            sum(map(estimated_cpu_s, scenarios)),
            self.cells_cpu_s,
            min(LOAD_SEEDS, len(self.seeds)),
            is_first_look=goal in APP_GOALS or self.draft.check().duration / 1e12 < WHOLE_S,
        )
        if not count:
            self.notes.append(not_tried(self.conditions))
            return []
        params = [{"label": label, "load": name, "condition": one.text} for one, label, name in keys]
        changed = [key for one in self.conditions for key in one.point]
        found = iter(
            self._run(self._folder(CONDITIONS), params, scenarios, tuple(self.seeds[:count]), loads.of_load, changed)
        )
        rows = []
        for one in self.conditions:
            first, *others = [(label, scores_of(goal, {name: next(found) for name in names})) for label in chosen]
            for label, scores in others:
                gain = score_ratio(first[1], scores)
                harms = None
                if gain.is_loss:
                    harms = label != defaults and self._harms_under(one, label, chosen[label])
                rows.append(UnderCondition(one.text, label, gain, harms))
        return rows

    def _harms_under(self, condition: Condition, label: str, choice: Configuration | None) -> bool:
        """Whether a choice is beyond the bound of harm where the path is another."""
        if self.arguments.may_harm:
            return False
        name = f"harm-{self.conditions.index(condition)}-{label}"
        default = self._place(None, condition.point)
        run = partial(self._beside, changed=list(condition.point))
        bound = replace(self.bound, default=default, run=run, name=name, found={}, near=set(), batches=0)
        return bool(bound.check({label: self._place(choice, condition.point)})[label])

    def _beside(
        self, name: str, runs: Sequence[HarmRun], seeds: Sequence[int], changed: Sequence[str] = ()
    ) -> list[Seeds]:
        params = [{"label": run.label, "direction": run.direction, "beside": run.companion} for run in runs]
        return self._run(name, params, [run.scenario for run in runs], tuple(seeds), of_beside, changed)

    def _run(
        self,
        name: str,
        params: Sequence[Mapping[str, str]],
        scenarios: Sequence[Scenario],
        seeds: tuple[int, ...],
        metrics: Metrics,
        changed: Sequence[str] = (),
    ) -> list[Seeds]:
        """The metrics of runs by seed; those of the run folder are reused. Keys of the path that a
        condition has `changed` are not drawn.
        """
        of_seed = partial(self.draws.scenario, kept=changed) if self.draws else None
        runs = RunList(
            params, scenarios, seeds, metrics, "all" if self.arguments.series == "all" else "none", of_seed=of_seed
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
