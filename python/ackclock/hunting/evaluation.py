"""The runs of a hunt: the figure of each case, kept in a file as it ends, so that an interrupted
hunt continues.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import IO, Any

from ackclock import _native
from ackclock.errors import InputError, RunFailed
from ackclock.hunting.mechanism import signature
from ackclock.hunting.objectives import HuntRun
from ackclock.hunting.plausibility import nearest
from ackclock.hunting.space import ABSENT, Settings
from ackclock.hunting.table import VARY, Constraint, HuntTable, number_of
from ackclock.input.scenario.draft import Draft, Point
from ackclock.input.scenario.model import Scenario
from ackclock.json_text import NotJson, json_value
from ackclock.simulation import engine
from ackclock.simulation.limits import explained
from ackclock.simulation.metrics import of_run_with_jain
from ackclock.simulation.plan import build_plan
from ackclock.simulation.runner import executor
from ackclock.storage.atomic_files import atomic_write
from ackclock.storage.stored_files import damaged

FILE = "evaluations.jsonl"
FAR = 1e12
"""The largest figure: an infinite ratio."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        value: the objective's figure, the median over the seeds; None where the case was not run,
            or has no figure.
        violation: how far it is from what must hold; 0 where it does.
        why: why there is no figure; empty with one.
        mechanism: what limits the flow that the objective is about, why, and the costliest event of
            its loss recovery (`mechanism.signature`); empty where the case was not run.
    """

    value: float | None
    violation: float = 0.0
    why: str = ""
    mechanism: str = ""

    @property
    def counts(self) -> bool:
        """Whether the case has a figure, and all that must hold does."""
        return self.value is not None and self.violation == 0.0


@dataclass
class Store:
    """The outcomes by the key of their case, in a file with a line for each; in memory without a
    folder. A line that a killed process left torn is dropped.
    """

    folder: Path | None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    elapsed_s: dict[int, float] = field(default_factory=dict)
    """The seconds of the search at the end of each generation."""
    _file: IO[bytes] | None = None

    def open(self) -> None:
        """Read what an earlier process has stored."""
        if self.folder is None:
            return
        path = self.folder / FILE
        whole = 0
        if path.exists():
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            for number, line in enumerate(content[:whole].splitlines(), 1):
                try:
                    self._take(json_value(line))
                except NotJson as error:
                    raise damaged(path, f"line {number} is not JSON ({error.reason})") from None
        self._file = path.open("r+b" if path.exists() else "wb")
        self._file.truncate(whole)
        self._file.seek(whole)

    def _take(self, line: Mapping[str, Any]) -> None:
        if "generation" in line:
            self.elapsed_s[line["generation"]] = line["elapsed_s"]
        elif "mechanism" in line:  # earlier versions kept none: their cases are run again
            self.outcomes[line["case"]] = Outcome(line["value"], line["violation"], line["why"], line["mechanism"])

    def add(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome; it is on the disk when this returns."""
        self.outcomes[key] = outcome
        self._append(_line(key, outcome))

    def end_generation(self, number: int, elapsed_s: float) -> None:
        """Keep the time of the search at the end of a generation."""
        self.elapsed_s[number] = round(elapsed_s, 3)
        self._append({"generation": number, "elapsed_s": self.elapsed_s[number]})

    def _append(self, line: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def rewrite(self) -> None:
        """Write the outcomes in the order of their keys: equal hunts have equal files."""
        self.close()
        if self.folder is not None:
            lines = [json.dumps(_line(key, self.outcomes[key])) for key in sorted(self.outcomes)]
            atomic_write(self.folder / FILE, "".join(f"{line}\n" for line in lines).encode())


def _line(key: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "case": key,
        "value": outcome.value,
        "violation": outcome.violation,
        "why": outcome.why,
        "mechanism": outcome.mechanism,
    }


class Evaluator:
    """Runs cases, each once. Its draft has the scenario of the cases."""

    def __init__(self, draft: Draft, table: HuntTable, store: Store, *, workers: int | None = None) -> None:
        self.draft = Draft(draft.document, VARY)
        self.table = table
        self.store = store
        self.workers = workers
        self.asked = 0
        """Cases that were asked for, those that were stored among them."""

    def key(self, settings: Settings) -> str:
        """16 hex digits over a case: those of equal points are equal."""
        return sha256(json.dumps(self.table.space.point(settings), sort_keys=True).encode()).hexdigest()[:16]

    def evaluate(self, cases: Sequence[Settings]) -> list[Outcome]:
        """The outcome of each case, in order. Raises RunFailed."""
        keys = [self.key(case) for case in cases]
        self.asked += len(keys)
        missing = {key: case for key, case in zip(keys, cases, strict=True) if key not in self.store.outcomes}
        with executor(self.workers) as threads:
            futures = {threads.submit(self.run, case): key for key, case in missing.items()}
            for future in as_completed(futures):
                self.store.add(futures[future], future.result())
        return [self.store.outcomes[key] for key in keys]

    def one(self, settings: Settings) -> Outcome:
        """The outcome of one case."""
        return self.evaluate([settings])[0]

    def further(self, settings: Settings, count: int) -> list[Outcome]:
        """The outcomes of a case with so many seeds that the search did not have, kept as those of
        cases are. Raises RunFailed.
        """
        scenarios = self.scenarios(self.table.space.point(settings))
        first = max(scenarios[0].seeds) + 1
        keys = {f"{self.key(settings)}-{seed}": seed for seed in range(first, first + count)}
        with executor(self.workers) as threads:
            missing = (key for key in keys if key not in self.store.outcomes)
            futures = {threads.submit(self._outcome, scenarios, [keys[key]]): key for key in missing}
            for future in as_completed(futures):
                self.store.add(futures[future], future.result())
        return [self.store.outcomes[key] for key in keys]

    def run(self, settings: Settings) -> Outcome:
        """Run one case. Raises RunFailed."""
        point = self.table.space.point(settings)
        try:
            violation = self._of_keys(point)
            if violation > 0.0:
                return Outcome(None, 1.0 + violation, "a constraint of keys")
            scenarios = self.scenarios(point)
            if self.table.plausible is not None:
                far = nearest(scenarios[0].hop).decades / self.table.plausible - 1.0
                if far > 0.0:
                    return Outcome(None, 1.0 + min(far, FAR), "no packaged link is near")
        except InputError as error:
            return Outcome(None, FAR, str(error))
        return self._outcome(scenarios, scenarios[0].seeds)

    def _outcome(self, scenarios: Sequence[Scenario], seeds: Sequence[int]) -> Outcome:
        """The outcome of a case's scenarios with these seeds."""
        values, violations, mechanism = [], [], ""
        for seed in seeds:
            runs = [self.run_of(scenario, seed) for scenario in scenarios]
            mechanism = mechanism or signature(runs[0], self.table.objective)
            values.append(self.table.objective.value(runs))
            violations.append(self._of_metrics(runs[0]))
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return Outcome(None, 1.0, "no figure", mechanism)
        value = min(max(median(known), -FAR), FAR)
        return Outcome(value, max(violations), mechanism=mechanism)

    def scenarios(self, point: Point) -> list[Scenario]:
        """The scenario of a case: one, or one for each compared value. Raises InputError."""
        sides = self.table.objective.sides
        points = [{**point, self.table.objective.key: side} for side in sides] if sides else [point]
        return [self.draft.check(left_out(one)) for one in points]

    def run_of(self, scenario: Scenario, seed: int) -> HuntRun:
        """One run of a case. Raises RunFailed."""
        plan = build_plan(scenario, seed)
        try:
            done = engine.run(plan)
        except RunFailed as error:
            raise error.within(f"{scenario.title or 'a case'}, seed {seed}") from error
        return HuntRun(scenario, explained(done.summary, plan.document), done.series)

    def _of_keys(self, point: Point) -> float:
        """The violation of the constraints of keys."""
        constraints = [one for one in self.table.constraints if one.key]
        if not constraints:
            return 0.0
        data = self.draft.written(left_out(point))
        return sum(one.violation(_ratio(data, one)) for one in constraints)

    def _of_metrics(self, run: HuntRun) -> float:
        """The violation of the constraints of metrics."""
        constraints = [one for one in self.table.constraints if one.metric]
        if not constraints:
            return 0.0
        metrics = of_run_with_jain(run.summary)
        return sum(one.violation(metrics.get(one.metric, math.nan)) for one in constraints)


def _ratio(data: dict[str, Any], constraint: Constraint) -> float:
    value = number_of(_native.value_at(data, constraint.key))
    if not constraint.over:
        return value
    over = number_of(_native.value_at(data, constraint.over))
    return value / over if over else math.nan


def left_out(point: Point) -> Point:
    """A point as `Draft.check` takes it. The keys that are left out go first: what stands inside of
    them may be set by others.
    """
    gone: Point = {path: None for path, value in point.items() if value == ABSENT}
    return {**gone, **{path: value for path, value in point.items() if path not in gone}}
