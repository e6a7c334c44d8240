"""The race of actions: successive halving over shared seeds (Jamieson and Talwalkar 2016), first of
single actions, then of pairs of the best; the finalists run with seeds that no round has seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.advisor.actions import WHO, Action
from ackclock.advisor.goals import of_advice
from ackclock.advisor.situation import Situation
from ackclock.input.scenario.model import Scenario
from ackclock.notebook import Progress
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_estimate import duration_text
from ackclock.simulation.run_list import RunList, estimated_cpu_s
from ackclock.storage import dataset_files

FIRST_SEEDS = 2
"""Seeds of the first round; every later one has as many new ones."""
FINALISTS = 5
"""Number of the best changes with the final seeds; the best of each of those who may act are
further ones."""
EXAMINED = 4
"""Number of advised changes with costs and neighbouring conditions."""
PAIRED = 4
"""Number of the best single actions of different kinds that are paired with all others."""
PART_GAIN = 1.02
"""A pair stays in the race if its score is this ratio of that of each of its parts."""
FINAL_SEEDS = 10
CONDITION_SEEDS = 4
COST_SEEDS = 5
UNSEEN = 1000
"""Distance of the final seeds from those of the rounds; twice this of the conditions'."""
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

    @property
    def params(self) -> dict[str, str]:
        return {"change": self.label, "condition": self.condition, "beside": self.beside}


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

    def run(self, name: str, entries: Sequence[Entry], seeds: Sequence[int]) -> list[dict[int, Run]]:
        """The metrics of each entry by seed. Finished chunks of an earlier call are reused."""
        runs = RunList(
            [entry.params for entry in entries],
            [entry.scenario for entry in entries],
            tuple(seeds),
            of_advice,
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
            texts = data.table("summaries")["summary"].to_list()
            self.summaries = texts
        if folder:
            dataset_files.write_points(folder, [entry.params for entry in entries], list(seeds))
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

    summaries: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)


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

    @classmethod
    def within(cls, situation: Situation, actions: int, cpu_s: float) -> Sizes:
        """Sizes whose estimated CPU time is `cpu_s` at most, where the fewest seeds and the
        shortest runs allow it. The estimate is the same on every machine. A scenario keeps its
        duration.
        """
        scenario = situation.scenario()
        each = estimated_cpu_s(scenario)
        full, small = cls(), cls(6, 3, 3)
        if each * full.runs(actions) <= cpu_s:
            return full
        if each * small.runs(actions) <= cpu_s or not situation.is_link:
            return small
        rtt_s = sum(side.delay for hop in scenario.hop for side in (hop.down, hop.up) if side) / 1e12
        own_s = scenario.duration / 1e12
        wanted = own_s * cpu_s / (each * small.runs(actions))
        return cls(6, 3, 3, max(min(own_s, MIN_RTTS * rtt_s), min(wanted, own_s), 2.0))

    def runs(self, actions: int) -> int:
        """The number of all runs, about."""
        rounds = FIRST_SEEDS * ((2 + PAIRED) * actions + 30)
        return rounds + self.final * (FINALISTS + 4) + (EXAMINED + 1) * (10 * self.condition + 3 * self.cost)


def race(
    runs: Runs,
    actions: Sequence[Action],
    score: str,
    seed: int,
    wanted: Sequence[Callable[[Actions], bool]] = (),
) -> tuple[list[Actions], dict[str, dict[int, Run]]]:
    """The finalists, best first, and the metrics of all changes that ran, by label and seed. The
    best of each of those who may act, and the best of each of `wanted`, are finalists, too.

    A round keeps the better half of the changes, at least `FINALISTS`, and the best of each kind
    that is better than no change: a kind may be worth its place in a pair only.
    """
    found: dict[str, dict[int, Run]] = {}
    first = seed

    def run(name: str, changes: Sequence[Actions], count: int) -> None:
        nonlocal first
        entries = [Entry(label_of(one), runs.situation.scenario(one)) for one in ((), *changes)]
        for entry, of_seed in zip(entries, runs.run(name, entries, range(first, first + count)), strict=True):
            found.setdefault(entry.label, {}).update(of_seed)
        first += count

    def gain(change: Actions) -> float:
        return mean_gain(found[label_of(change)], found[label_of(())], score)

    left: list[Actions] = [(action,) for action in actions]
    number = 0
    while True:
        number += 1
        run(f"round-{number}", left, FIRST_SEEDS)
        ordered = sorted(left, key=gain, reverse=True)
        if len(ordered) <= FINALISTS + PAIRED or number == 3:
            break
        half = ordered[: max(FINALISTS, math.ceil(len(ordered) / 2))]
        kinds = {change[0].kind for change in half}
        for change in ordered[len(half) :]:
            if change[0].kind not in kinds and gain(change) > 1.0:
                kinds.add(change[0].kind)
                half.append(change)
        left = half
    tried = sorted(((action,) for action in actions), key=gain, reverse=True)
    best: dict[str, Actions] = {}
    for change in tried:
        best.setdefault(change[0].kind, change)
    singles = ordered[: max(2, FINALISTS - 2)]
    set_apart = [one for one in list(best.values())[:PAIRED] if one not in singles]
    pairs = _pairs(actions, tried, list(best.values())[:PAIRED])
    for name in ("pairs-1", "pairs-2"):
        if pairs:
            run(name, [*pairs, *singles, *set_apart], FIRST_SEEDS)
            pairs = [pair for pair in pairs if gain(pair) >= PART_GAIN * max(gain((one,)) for one in pair)]
            pairs = sorted(pairs, key=gain, reverse=True)[: 2 * FINALISTS]
    near = sorted([*singles, *pairs], key=gain, reverse=True)
    finalists = near[:FINALISTS]
    added: list[Actions | None] = [next((one for one in tried if one[0].who == (who,)), None) for who in WHO]
    added += [next(filter(are, [*near, *tried]), None) for are in wanted]
    for one in added:
        if one and gain(one) >= 1.0 and label_of(one) not in map(label_of, finalists):
            finalists.append(one)
    return finalists, found


def _pairs(actions: Sequence[Action], singles: Sequence[Actions], best: Sequence[Actions]) -> list[Actions]:
    """The pairs of the best actions with all others: a queue that does nothing for a flow that its
    window limits may be worth much once the window is open.
    """
    found = [(one[0], other[0]) for one in best for other in singles]
    places = {action.label: place for place, action in enumerate(actions)}
    ordered = [sorted(pair, key=lambda action: places[action.label]) for pair in found]
    return list({(a.label, b.label): (a, b) for a, b in ordered if compatible(a, b)}.values())


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
