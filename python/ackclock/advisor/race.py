"""The race of actions: successive halving over shared seeds (Jamieson and Talwalkar 2016), first of
single actions, then of pairs of the best, which may get a third; the finalists are within the bound
of harm, and run with seeds that no round has seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.advisor.actions import WHO, Action
from ackclock.advisor.conditions import Condition
from ackclock.advisor.goals import of_advice, of_household, of_link
from ackclock.advisor.outcome import Beside
from ackclock.advisor.situation import Situation
from ackclock.input.link.hop import base_rtt_ps
from ackclock.input.scenario.model import Scenario
from ackclock.notebook import Progress
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.goals import SCORE, mean_score
from ackclock.simulation.harm import AS_IT_IS, OTHERS, SEEDS, TRANSFER, Harm, HarmBound, HarmRun, of_harm
from ackclock.simulation.loads import HOUSEHOLD
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_estimate import duration_text
from ackclock.simulation.run_list import Metrics, RunList, estimated_cpu_s
from ackclock.storage import dataset_files

if TYPE_CHECKING:
    from ackclock.documents.engine import Summary

FIRST_SEEDS = 2
"""Seeds of the first round; every later one has as many new ones. Under the loads of a link half as
many: each seed has a run for each load."""
FINALISTS = 5
"""Number of the best changes with the final seeds; the best of each of those who may act are
further ones."""
EXAMINED = 4
"""Number of advised changes with costs and neighbouring conditions."""
PAIRED = 4
"""Number of the best single actions of different kinds that are paired with all others."""
OF_KIND = 3
"""Number of the best actions of each kind of which all are paired with each other: two changes that
lose alone may gain together."""
PAIRS = 40
"""Number of the best pairs that get more seeds after a first one."""
EXTENDED, THIRDS = 3, 10
"""Number of the best pairs that get a third action, and of the actions that are tried as such."""
PART_GAIN = 1.02
"""A pair stays in the race if its score is this ratio of that of each of its parts."""
FINAL_SEEDS = 10
CONDITION_SEEDS = 4
COST_SEEDS = 5
UNSEEN = 1000
"""Distance of the final seeds from those of the rounds; twice this of the conditions', three times
of those of the bound of harm."""
HARM_CPU_S = 1.0
"""Estimated CPU seconds of the first runs of one change beside others, of `CPU_S` for all runs."""
LOOK_S, MIN_LOOK_S, LOOK_FAR = 30.0, 8.0, 1.25
"""The duration of the first runs beside others, of which a quarter is before the measurement, and
the ratio to the bound from which on they decide; where they take too much CPU time the minimum."""
LOOK_RTTS = 10
"""Minimum number of RTTs of these runs, with the longest queue."""
CHEAP_S = 0.05
"""Where the first runs of one change over their whole duration take so many estimated CPU seconds,
no shorter ones precede."""
WORTH = 1.02
"""Harm is measured of changes whose gain in the race is at least this ratio, and of all that would
be advised."""
HARM_CHECKS = 14
"""Number of changes whose harm is measured, about."""
CPU_S = 120.0
"""Estimated CPU seconds of all runs; measured were a third to two thirds of it."""
MIN_RTTS = 20
"""Minimum number of RTTs to which a run over a fast link is shortened."""

Actions = tuple[Action, ...]


@dataclass(frozen=True)
class Entry:
    """A scenario of a round, with its name in the tables."""

    label: str
    scenario: Scenario
    condition: str = ""
    beside: str = ""
    load: str = ""

    @property
    def params(self) -> dict[str, str]:
        return {"change": self.label, "condition": self.condition, "beside": self.beside, "load": self.load}


NO_CONDITION = Condition("")
"""The situation's own conditions."""


@dataclass
class Runs:
    """Runs of an advice, in datasets of the run folder, one for each round."""

    situation: Situation
    folder: Path | None
    workers: int | None = None
    progress: Progress | None = None
    planned: int = 0
    done: int = 0
    rounds: list[dict[str, Any]] = field(default_factory=list)

    @property
    def first_seeds(self) -> int:
        """Number of new seeds of a round."""
        return FIRST_SEEDS // 2 if self.situation.loads else FIRST_SEEDS

    def scored(
        self,
        name: str,
        changes: Sequence[tuple[Actions, Condition]],
        seeds: Sequence[int],
        *,
        sparse: bool = True,
    ) -> list[dict[int, Run]]:
        """The metrics of the situation with each change under its condition, by seed; of a link
        those of all loads (`over_loads`). `sparse`: beside the sparse flows.
        """
        loads = self.situation.loads
        is_household = HOUSEHOLD in loads
        sparse = sparse and not is_household
        views = {load: self.situation.under(load) for load in loads} or {"": self.situation}
        entries = [
            Entry(
                label_of(actions),
                view.scenario(actions, condition.point, condition.flows, sparse=sparse),
                condition.text,
                load=load,
            )
            for actions, condition in changes
            for load, view in views.items()
        ]
        found = self.run(name, entries, seeds, of_household if is_household else of_link if loads else of_advice)
        if not loads:
            return found
        each = len(loads)
        direction = self.situation.direction
        return [
            {
                seed: over_loads(
                    {load: found[each * place + index][seed] for index, load in enumerate(loads)}, direction
                )
                for seed in seeds
            }
            for place in range(len(changes))
        ]

    def harm(self, name: str, runs: Sequence[HarmRun], seeds: Sequence[int]) -> list[dict[int, Run]]:
        """The metrics of runs of a bound of harm, by seed."""
        entries = [Entry(run.label, run.scenario, beside=run.companion, load=run.direction) for run in runs]
        return self.run(name, entries, seeds, of_harm)

    def run(
        self, name: str, entries: Sequence[Entry], seeds: Sequence[int], metrics: Metrics = of_advice
    ) -> list[dict[int, Run]]:
        """The metrics of each entry by seed. Finished chunks of an earlier call are reused."""
        runs = RunList(
            [entry.params for entry in entries],
            [entry.scenario for entry in entries],
            tuple(seeds),
            metrics,
            "none",
            of_seed=self.situation.with_draw if self.situation.draws else None,
        )
        folder = self.folder / name if self.folder else None
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        data = Dataset(runs, folder)
        later = max(0, self.planned - self.done - len(runs))
        progress = self._with_time_left if self.progress else None
        run_missing(data, workers=self.workers, progress=progress, before=self.done, later=later)
        self.done += len(runs)
        found: list[dict[int, Run]] = [dict(zip(seeds, rows, strict=True)) for rows in data.metrics()]
        if name == "baseline":
            self.summaries = list(data.summaries(range(len(runs))))
        if folder:
            dataset_files.Points(seeds, [entry.params for entry in entries]).write(folder)
            data.join()
            data.clear()
        about = {"name": name, "runs": len(runs), "changes": len(entries), "seeds": list(seeds)}
        self.rounds.append({**about, "digest": data.digest(), **({"folder": str(folder)} if folder else {})})
        return found

    def _with_time_left(self, done: int, total: int, label: str) -> None:
        """Reports progress with the time left by the rate of all runs so far."""
        assert self.progress
        if 0 < done < total and label:
            left_s = (time.monotonic() - self.began) * (total - done) / done
            label = f"{label}; about {duration_text(left_s)} left"
        self.progress(done, total, label)

    def metrics_of_load(self, load: str, of: Mapping[int, Run]) -> dict[int, Run]:
        """The metrics of a load in those of all loads, by seed."""
        return {
            seed: {name.partition(":")[2]: value for name, value in run.items() if name.startswith(f"{load}:")}
            for seed, run in of.items()
        }

    summaries: list[Summary] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)


def over_loads(runs: Mapping[str, Run], direction: str) -> dict[str, float]:
    """The metrics of a link from those of its loads with one seed: the scores are the means over
    the loads (`mean_score`), the other metrics those of the transfer in `direction` alone; of a
    household all are its own. `LOAD:METRIC` are those of each load.
    """
    found = {f"{load}:{name}": value for load, run in runs.items() for name, value in run.items()}
    if HOUSEHOLD in runs:
        return {**found, **runs[HOUSEHOLD]}
    found |= runs[direction]
    for name in (name for name in runs[direction] if name.startswith(SCORE)):
        found[name] = mean_score(name.removeprefix(SCORE), runs.values())
    return found


def label_of(actions: Actions) -> str:
    """Actions in a few words; "as it is" without any."""
    return " and ".join(action.label for action in actions) or "as it is"


@dataclass(frozen=True)
class Sizes:
    """How many seeds and how long the runs are."""

    final: int = FINAL_SEEDS
    condition: int = CONDITION_SEEDS
    cost: int = COST_SEEDS
    duration_s: float | None = None
    """None: that of the scenario."""
    loads: int = 1
    """Number of loads, each with a run for each seed."""

    @classmethod
    def within(cls, situation: Situation, actions: int, cpu_s: float) -> Sizes:
        """Sizes whose estimated CPU time is `cpu_s` at most, where the fewest seeds and the
        shortest runs allow it. The estimate is the same on every machine. A scenario keeps its
        duration.
        """
        scenario = situation.scenario()
        count = len(situation.loads)
        if count:
            # The mean over the loads. A sparse flow adds little, but the estimate takes the rate of
            # its direction.
            views = [situation.under(load).scenario(sparse=False) for load in situation.loads]
            each = sum(map(estimated_cpu_s, views)) / count
            full, small = cls(6, 2, 3, loads=count), cls(5, 2, 3, loads=count)
        else:
            each = estimated_cpu_s(scenario)
            full, small = cls(), cls(6, 3, 3)
        if each * full.runs(actions) <= cpu_s:
            return full
        if each * small.runs(actions) <= cpu_s or not situation.is_link:
            return small
        rtt_s = base_rtt_ps(scenario.hop) / 1e12
        own_s = scenario.duration / 1e12
        wanted = own_s * cpu_s / (each * small.runs(actions))
        return replace(small, duration_s=max(min(own_s, MIN_RTTS * rtt_s), min(wanted, own_s), 2.0))

    def runs(self, actions: int) -> int:
        """The number of all runs, about, without those of the bound of harm."""
        seeds = FIRST_SEEDS // 2 if self.loads > 1 else FIRST_SEEDS
        rounds = seeds * ((2 + PAIRED) * actions + 30)
        finals = (self.final + self.cost) * (FINALISTS + 4)
        return self.loads * (rounds + finals + (EXAMINED + 1) * 10 * self.condition)


@dataclass
class Bound:
    """The bound of harm for the changes of an advice.

    Attributes:
        runs: those of the advice.
        look: the shorter runs that decide where a mean is far from the bound.
        found: the harm of each change that was measured, by its label.
    """

    runs: Runs
    bound: HarmBound
    look: HarmBound
    found: dict[str, list[Harm]] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Runs, seed: int, cpu_s: float) -> Bound:
        """The bound for the hosts and the path of a situation; `cpu_s` are those of all runs."""
        situation = runs.situation
        whole = HarmBound(
            situation.default_place(),
            situation.directions,
            runs.harm,
            first_seed=seed + 3 * UNSEEN,
            as_it_is=None if situation.has_default_tcp else situation.place(),
            cpu_s=max(CHEAP_S, HARM_CPU_S * min(1.0, cpu_s / CPU_S)),
        )
        each = sum(estimated_cpu_s(whole.default.scenario(one, OTHERS[0], 1.0, 0.0)) for one in whole.directions)
        # Estimates of one second of a run.
        allowed_s = whole.cpu_s / (each * len(whole.companions) * whole.first_seeds)
        wanted_s = max(min(LOOK_S, allowed_s), MIN_LOOK_S, LOOK_RTTS * situation.longest_rtt_s)
        whole_s = whole.settle_s + whole.measured_s
        look_s = float(round(min(wanted_s, whole_s)))
        if look_s == whole_s or each * whole_s * len(whole.companions) * whole.first_seeds <= CHEAP_S:
            return cls(runs, whole, whole)
        look = replace(whole, run_s=look_s, far=LOOK_FAR, name="harm-look", found={}, near=set())
        return cls(runs, replace(whole, look=look, found={}, near=set()), look)

    @property
    def planned(self) -> int:
        """The number of its runs, about."""
        each = len(self.bound.directions) * len(self.bound.companions)
        return each * (HARM_CHECKS * self.bound.first_seeds + SEEDS)

    def measure(self, changes: Sequence[Actions]) -> None:
        """Measures the harm of changes that were not measured before."""
        new = {label_of(one): one for one in changes if label_of(one) not in self.found}
        if new:
            self.found |= self.bound.check({label: self.runs.situation.place(one) for label, one in new.items()})

    def beside(self, changes: Sequence[Actions], seeds: int) -> dict[str, Beside]:
        """The runs of one flow beside each companion, with each change and without, by label; of so
        many seeds at least.
        """
        places = {label_of(one): self.runs.situation.place(one) for one in changes}
        companions = (*OTHERS, TRANSFER)
        self.look.measure(places, companions, seeds)
        return {
            label: {
                (direction, companion): (
                    self.look.seeds(label, direction, companion),
                    self.look.seeds(AS_IT_IS, direction, companion),
                )
                for direction in self.bound.directions
                for companion in companions
            }
            for label in places
        }

    def allows(self, change: Actions) -> bool:
        """Whether a change is not known to be beyond the bound."""
        return not self.found.get(label_of(change))


class NoBound:
    """Every change is allowed (`--may-harm`)."""

    def measure(self, changes: Sequence[Actions]) -> None:
        """Nothing is measured."""

    def allows(self, change: Actions) -> bool:
        """Every change is."""
        return True


@dataclass(frozen=True)
class Left:
    """Why a change has left the race: it ran with `seeds` seeds, with which `better` others had a
    larger gain.
    """

    seeds: int
    better: int


@dataclass
class Raced:
    """What a race has found.

    Attributes:
        finalists: best first.
        metrics: of all changes that ran, by label and seed.
        left: of the changes that are no finalists, by label.
    """

    finalists: list[Actions]
    metrics: dict[str, dict[int, Run]]
    left: dict[str, Left] = field(default_factory=dict)


def race(
    runs: Runs,
    actions: Sequence[Action],
    score: str,
    seed: int,
    wanted: Sequence[Callable[[Actions], bool]] = (),
    bound: Bound | NoBound | None = None,
) -> Raced:
    """The finalists, best first, and the metrics of all changes that ran. The best of each of those
    who may act, and the best of each of `wanted`, are finalists, too. All are within the bound of
    harm.

    A round keeps the better half of the changes, at least `FINALISTS`, and the best of each kind
    that is better than no change: a kind may be worth its place in a pair only. So may a change
    that does harm alone, such as a sender that yields to others before a queue that separates
    them; the best of its kind within the bound then has its own pairs.
    """
    limit = bound or NoBound()
    found: dict[str, dict[int, Run]] = {}
    gone: dict[str, Left] = {}
    first = seed

    def run(name: str, changes: Sequence[Actions], count: int = runs.first_seeds) -> None:
        nonlocal first
        every = [(), *changes]
        seeds = range(first, first + count)
        for change, of_seed in zip(
            every, runs.scored(name, [(one, NO_CONDITION) for one in every], seeds), strict=True
        ):
            found.setdefault(label_of(change), {}).update(of_seed)
        first += count

    def gain(change: Actions) -> float:
        return mean_gain(found[label_of(change)], found[label_of(())], score)

    def measure(changes: Sequence[Actions]) -> None:
        limit.measure([one for one in changes if gain(one) >= WORTH])

    def first_allowed(changes: Sequence[Actions], count: int) -> list[Actions]:
        """The first `count` changes within the bound that lose nothing."""
        allowed: list[Actions] = []
        waiting = [one for one in changes if gain(one) >= 1.0]
        while waiting and len(allowed) < count:
            some = waiting[: count - len(allowed)]
            measure(some)
            allowed += [one for one in some if limit.allows(one)]
            waiting = waiting[len(some) :]
        return allowed

    def best_part(pair: Actions) -> float:
        """The gain of the better action of a pair; one that does harm alone is no alternative."""
        return max((gain((one,)) for one in pair if limit.allows((one,))), default=0.0)

    def changes_score(change: Actions) -> bool:
        """Whether a run with a change has another score than without: one that has none may have
        one beside a change that does.
        """
        return any(run[score] != found[label_of(())][seed][score] for seed, run in found[label_of(change)].items())

    def gain_if_tried(change: Actions) -> float:
        return gain(change) if label_of(change) in found else 0.0

    def leave(changes: Sequence[Actions], kept: Sequence[Actions]) -> None:
        order = sorted(changes, key=gain, reverse=True)
        labels = set(map(label_of, kept))
        gone.update(
            (label_of(one), Left(len(found[label_of(one)]), place))
            for place, one in enumerate(order)
            if label_of(one) not in labels
        )

    left: list[Actions] = [(action,) for action in actions]
    number = 0
    while True:
        number += 1
        run(f"round-{number}", left)
        ordered = sorted(left, key=gain, reverse=True)
        if len(ordered) <= FINALISTS + PAIRED or number == 3:
            break
        half = ordered[: max(FINALISTS, math.ceil(len(ordered) / 2))]
        kinds = {change[0].kind for change in half}
        for change in ordered[len(half) :]:
            if change[0].kind not in kinds and gain(change) > 1.0:
                kinds.add(change[0].kind)
                half.append(change)
        leave(left, half)
        left = half
    tried = sorted(((action,) for action in actions), key=gain, reverse=True)
    kinds_of: dict[str, list[Actions]] = {}
    for change in tried:
        kinds_of.setdefault(change[0].kind, []).append(change)
    paired = [of_kind[0] for of_kind in kinds_of.values()][:PAIRED]
    singles = first_allowed(ordered, max(2, FINALISTS - 2))
    measure(paired)
    for change in [one for one in paired if not limit.allows(one)]:
        of_kind = [one for one in tried if one[0].kind == change[0].kind and one != change]
        paired += [one for one in first_allowed(of_kind, 1) if one not in paired]
    set_apart = [one for one in paired if one not in singles]
    few = [change for of_kind in kinds_of.values() for change in of_kind[:OF_KIND]]
    inert = {label_of(change) for change in tried if not changes_score(change)}
    every = [*product(paired, tried), *combinations(few, 2)]
    every += [pair for pair in combinations(tried, 2) if same_queue(pair[0][0], pair[1][0])]
    pairs = _pairs(actions, [pair for pair in every if not inert.issuperset(map(label_of, pair))])
    screened = runs.first_seeds > 1 and len(pairs) > PAIRS
    if screened:
        run("pairs-1", [*pairs, *singles, *set_apart], 1)
        screen = sorted(pairs, key=gain, reverse=True)[:PAIRS]
        leave(pairs, screen)
        pairs = screen
    for number in (1 + screened, 2 + screened):
        if pairs:
            run(f"pairs-{number}", [*pairs, *singles, *set_apart])
            strongest = sorted(pairs, key=gain, reverse=True)[: 4 * FINALISTS]
            better = {part.label for pair in strongest for part in pair if PART_GAIN * gain((part,)) > gain(pair)}
            measure([(part,) for part in actions if part.label in better])
            kept = [pair for pair in strongest if gain(pair) >= PART_GAIN * best_part(pair)]
            leave(pairs, kept[: 2 * FINALISTS])
            pairs = kept[: 2 * FINALISTS]
    extended = pairs[:EXTENDED]
    triples = _triples(actions, extended, gain_if_tried)
    if triples:
        run("triples", [*triples, *extended, *singles])
        triples = [one for one in triples if gain(one) >= PART_GAIN * max(gain(pair) for pair in extended)]
        triples = sorted(triples, key=gain, reverse=True)[:EXTENDED]
    near = sorted([*singles, *pairs, *triples], key=gain, reverse=True)
    finalists = first_allowed(near, FINALISTS) or [one for one in tried[:1] if limit.allows(one)]
    leave([*near, *tried], finalists)
    options: list[Callable[[Actions], bool]] = [lambda one, who=who: one[0].who == (who,) for who in WHO]  # type: ignore[misc]
    for place, is_wanted in enumerate([*options, *wanted]):
        pool = [one for one in ([*near, *tried] if place >= len(options) else tried) if is_wanted(one)]
        for one in first_allowed(pool, 1):
            if label_of(one) not in map(label_of, finalists):
                finalists.append(one)
                gone.pop(label_of(one), None)
    return Raced(finalists, found, gone)


def _pairs(actions: Sequence[Action], pairs: Sequence[tuple[Actions, Actions]]) -> list[Actions]:
    """The pairs of single actions that go together, each once, its actions in their own order."""
    places = {action.label: place for place, action in enumerate(actions)}
    ordered = [sorted((*one, *other), key=lambda action: places[action.label]) for one, other in pairs]
    return list({(a.label, b.label): (a, b) for a, b in ordered if compatible(a, b)}.values())


def _triples(actions: Sequence[Action], pairs: Sequence[Actions], gain: Callable[[Actions], float]) -> list[Actions]:
    """The pairs, each with the actions that go with both and gain most with either."""
    places = {action.label: place for place, action in enumerate(actions)}
    found: dict[str, Actions] = {}
    for pair in pairs:
        thirds = [action for action in actions if all(compatible(action, part) for part in pair)]
        with_a_part = {
            third.label: max(map(gain, _pairs(actions, [((part,), (third,)) for part in pair]))) for third in thirds
        }
        for third in sorted(thirds, key=lambda one: with_a_part[one.label], reverse=True)[:THIRDS]:
            triple = tuple(sorted((*pair, third), key=lambda action: places[action.label]))
            found.setdefault(label_of(triple), triple)
    return list(found.values())


def same_queue(a: Action, b: Action) -> bool:
    """Whether two actions give two hops, or the two directions of one, the same kind of queue."""
    values = [change.to for action in (a, b) for change in action.changes]
    queues = all(".queue." in change.path for action in (a, b) for change in action.changes)
    return queues and len(values) == 2 and values[0] == values[1]


def compatible(a: Action, b: Action) -> bool:
    """Whether two actions change different things: no key of one is that of the other or in it, and
    no interface gets two root qdiscs.
    """
    if a.kind == b.kind or a.roots & b.roots:
        return False
    paths = [(one.path, other.path) for one in a.changes for other in b.changes]
    return not any(f"{x}.".startswith(f"{y}.") or f"{y}.".startswith(f"{x}.") for x, y in paths)


def mean_gain(of: Mapping[int, Run], base: Mapping[int, Run], metric: str) -> float:
    """The ratio of the means of a metric over shared seeds; 0 without values."""
    common = sorted(of.keys() & base.keys())
    pairs = [(of[seed].get(metric, math.nan), base[seed].get(metric, math.nan)) for seed in common]
    both = [(a, b) for a, b in pairs if not (math.isnan(a) or math.isnan(b))]
    below = math.fsum(b for _, b in both)
    return math.fsum(a for a, _ in both) / below if below > 0.0 else 0.0
