"""`hunt`: search a scenario's ranges for the cases in which its objective is worst, make them
simple, and write each as a scenario of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ackclock import _native
from ackclock.errors import InputError
from ackclock.format import joined, many, sentence
from ackclock.hunting import verification
from ackclock.hunting.case_files import write_case
from ackclock.hunting.evaluation import FAR, Evaluator, Outcome, Store, left_out
from ackclock.hunting.mechanism import NAMED_NEEDS, Mechanism, mechanism, needs_text
from ackclock.hunting.objectives import Objective
from ackclock.hunting.plausibility import nearest
from ackclock.hunting.result import Hunt
from ackclock.hunting.search import BARRIER, RandomSearch, searcher
from ackclock.hunting.shrinking import Shrinking, Shrunk, simplest
from ackclock.hunting.space import Settings
from ackclock.hunting.table import HuntTable, read_hunt
from ackclock.input.scenario.draft import Draft, draft_of, read_draft
from ackclock.input.scenario.fingerprint import fingerprint
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import scenario_hash
from ackclock.notebook import Progress, notebook_progress
from ackclock.storage import atomic_files
from ackclock.storage.run_folder import Identity, opened
from ackclock.storage.run_kind import HUNT
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.hunt import Hunt as HuntDocument
    from ackclock.documents.hunt import HuntCase, HuntFigure

APART = 0.2
"""Cases nearer than this are the same find, before they are made simple."""
TRIED = 2
"""Finds that are made simple for each case that is wanted: several may have one mechanism."""
FURTHER_SEEDS = 5
"""Seeds with which a case is run again, that the search did not have."""


@dataclass(frozen=True)
class _Evaluated:
    """A case of the search: its number from 1, and what became of it."""

    number: int
    settings: Settings
    outcome: Outcome


def hunt(
    scenario: str | Path | Mapping[str, Any],
    *,
    runs: int | None = None,
    minutes: float | None = None,
    search: str | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    verify: bool = False,
) -> Hunt:
    """Search a scenario's [hunt] for the cases in which its objective is worst.

    Args:
        scenario: a scenario file, or a scenario as a dict, with a [hunt].
        runs: cases to search, in place of the scenario's budget.
        minutes: minutes to search, in place of the scenario's budget.
        search: "cmaes" or "random", in place of the scenario's.
        seed: the seed of the search, in place of the scenario's.
        out: a folder that keeps every case as it ends, so that an interrupted hunt continues there,
            and the found cases as scenarios.
        force: move another run that is in `out` aside.
        workers: threads; default: all cores. The result does not depend on them.
        verify: run each found case with the running kernel's TCP over the emulated link, too.

    Returns:
        A Hunt: `document`, and `cases`, a Polars frame.

    Raises:
        InputError: bad input, or another run in `out`.
        RunFailed: the engine gave up on a run, or an objective in Python failed.
    """
    draft = draft_of(scenario) if isinstance(scenario, Mapping) else read_draft(Path(scenario))
    table = read_hunt(draft, runs=runs, minutes=minutes, search=search, seed=seed)
    folder = None if out is None else Path(out)
    return hunt_checked(draft, table, folder=folder, force=force, workers=workers, verify=verify)


def identity(draft: Draft, table: HuntTable) -> Identity:
    """The identity of a hunt: its scenario as written, its [hunt], and the files that both name."""
    state = fingerprint(draft) or scenario_hash(Draft(draft.document).check())
    hunted = [table.objective.identity, table.objective.breaks, table.search, table.seed, table.runs, table.minutes]
    return Identity.of("hunt", [state, hunted, draft.document.data.get("hunt")])


def hunt_checked(
    draft: Draft,
    table: HuntTable,
    *,
    folder: Path | None = None,
    force: bool = False,
    workers: int | None = None,
    verify: bool = False,
    progress: Progress | None = None,
) -> Hunt:
    """Run a checked hunt. With a `folder`, each case is kept as it ends, and reused. `verify` runs
    each found case with the running kernel, too.
    """
    check_valid(draft, table)
    own = identity(draft, table)
    with opened(folder, own, force=force) as run:
        if run and run.finished:
            document = _read(run.path)
            if verify and not all("verification" in case for case in document["cases"]):
                run.reopen()
                _verify(draft, table, document, progress)
                atomic_files.write_json(run.path / HUNT.document, document)
                run.finish()
            return Hunt(document, run.path)
        store = Store(folder)
        store.open()
        try:
            document = _Search(draft, table, store, workers, progress or notebook_progress()).document(folder)
        finally:
            store.close()
        if verify:
            _verify(draft, table, document, progress)
        if run:
            store.rewrite()
            atomic_files.write_json(run.path / HUNT.document, document)
            run.finish()
    return Hunt(document, folder)


def _verify(draft: Draft, table: HuntTable, document: HuntDocument, progress: Progress | None) -> None:
    """Add what the running kernel shows of each case to the document."""
    evaluator = Evaluator(draft, table, Store(None), workers=1)
    for number, case in enumerate(document["cases"]):
        if progress:
            progress(number, len(document["cases"]), "the running kernel")
        case["verification"] = verification.verify(evaluator, case, document["simplest"]["value"])


def check_valid(draft: Draft, table: HuntTable) -> None:
    """Raise the InputError of the first of some random cases where none of them is valid, such as
    for a wrong key.
    """
    evaluator = Evaluator(draft, table, Store(None), workers=1)
    first: InputError | None = None
    for unit in RandomSearch(table.space.steps, table.seed).ask():
        try:
            evaluator.scenarios(table.space.point(table.space.decode(unit)))
            return
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _read(folder: Path) -> HuntDocument:
    return cast("HuntDocument", read_json(folder / HUNT.document))


class _Search:
    """One hunt."""

    def __init__(
        self, draft: Draft, table: HuntTable, store: Store, workers: int | None, progress: Progress | None
    ) -> None:
        self.table = table
        self.draft = draft
        self.progress = progress
        self.evaluator = Evaluator(draft, table, store, workers=workers)
        self.store = store
        data = self.evaluator.draft.written()
        self.simple = simplest(table.space, lambda path: _native.value_at(data, path))

    def document(self, folder: Path | None) -> HuntDocument:
        """Search, make what breaks simple, and write it down."""
        base = self.evaluator.one(self.simple)
        evaluated = self._evaluated()
        broken = [one for one in evaluated if one.outcome.counts and self._breaks(one.outcome)]
        asked = self.evaluator.asked
        cases = self._cases(self._finds(broken), base, folder, len(evaluated))
        allowed = [one.outcome for one in evaluated if one.outcome.counts]
        objective = self.table.objective
        worst = max(allowed, key=lambda one: objective.badness(one.value or 0.0), default=Outcome(None))
        document: HuntDocument = {
            "title": str(self.draft.document.data.get("title", "")),
            "objective": {
                "name": objective.name,
                "flow": objective.flow,
                "what": objective.what.rstrip(","),
                "worse": objective.worse,
                "breaks": objective.breaks,
            },
            "search": {
                "searcher": cast("Any", self.table.search),
                "seed": self.table.seed,
                "runs": len(evaluated),
                "different": len({self.evaluator.key(one.settings) for one in evaluated}),
                "broken": len(broken),
                "forbidden": sum(one.outcome.violation > 0 and not _is_invalid(one.outcome) for one in evaluated),
                "invalid": sum(_is_invalid(one.outcome) for one in evaluated),
                "first_broken": broken[0].number if broken else None,
                "shrinking": self.evaluator.asked - asked,
            },
            "simplest": self._figure(base),
            "worst": self._figure(worst),
            "cases": cases,
            "verdict": "",
        }
        document["verdict"] = verdict(document, objective)
        return document

    def _evaluated(self) -> list[_Evaluated]:
        """The cases of the search, in order."""
        goal = -self.table.objective.badness(self.table.objective.breaks)
        search = searcher(self.table.search, self.table.space.steps, self.table.seed, goal)
        done: list[_Evaluated] = []
        before, began = 0.0, time.monotonic()
        generation = 0
        self._report(done, before)
        while not self._is_over(len(done), before):
            points = search.ask()
            if self.table.runs is not None:
                points = points[: self.table.runs - len(done)]
            cases = [self.table.space.decode(point) for point in points]
            outcomes = self.evaluator.evaluate(cases)
            costs = [cost(self.table.objective, outcome) for outcome in outcomes]
            search.tell(points, costs, [outcome.mechanism for outcome in outcomes])
            done += [
                _Evaluated(len(done) + index, case, outcome)
                for index, (case, outcome) in enumerate(zip(cases, outcomes, strict=True), start=1)
            ]
            generation += 1
            if generation not in self.store.elapsed_s:
                self.store.end_generation(generation, before + time.monotonic() - began)
            before, began = self.store.elapsed_s[generation], time.monotonic()
            self._report(done, before)
        return done

    def _is_over(self, done: int, elapsed_s: float) -> bool:
        if self.table.runs is not None:
            return done >= self.table.runs
        return elapsed_s >= 60.0 * (self.table.minutes or 0.0)

    def _report(self, done: Sequence[_Evaluated], elapsed_s: float) -> None:
        if self.progress is None:
            return
        broken = sum(self._breaks(one.outcome) for one in done if one.outcome.counts)
        total = self.table.runs or max(
            len(done), round(len(done) * 60.0 * (self.table.minutes or 0.0) / max(elapsed_s, 1e-3))
        )
        self.progress(len(done), max(total, 1), f"{broken} broke" if done else "")

    def _breaks(self, outcome: Outcome) -> bool:
        return outcome.value is not None and self.table.objective.is_broken(outcome.value)

    def _finds(self, broken: Sequence[_Evaluated]) -> list[_Evaluated]:
        """Different cases among the broken ones, the worst first."""
        objective = self.table.objective
        finds: list[_Evaluated] = []
        for one in sorted(broken, key=lambda one: (-objective.badness(one.outcome.value or 0.0), one.number)):
            if all(self.table.space.distance(one.settings, other.settings) >= APART for other in finds):
                finds.append(one)
            if len(finds) == TRIED * self.table.cases:
                break
        return finds

    def _cases(self, finds: Sequence[_Evaluated], base: Outcome, folder: Path | None, done: int) -> list[HuntCase]:
        """The finds made simple, one for each mechanism, the worst first."""
        shrinking = Shrinking(self.evaluator, self.simple, base)
        cases: list[HuntCase] = []
        kinds: set[tuple[object, ...]] = set()
        for find in finds:
            if len(cases) == self.table.cases:
                break
            if self.progress:
                self.progress(done, done, f"making case {len(cases) + 1} simple")
            shrunk = shrinking.shrink(find.settings, find.outcome)
            scenarios = self.evaluator.scenarios(self.table.space.point(shrunk.settings))
            run = self.evaluator.run_of(scenarios[0], scenarios[0].seeds[0])
            how = mechanism(run, self.table.objective, self.table.space, shrunk.settings, shrunk.needs)
            if how.kind not in kinds:
                kinds.add(how.kind)
                cases.append(self._case(len(cases) + 1, find, shrunk, how, scenarios, folder))
        return cases

    def _case(
        self,
        number: int,
        find: _Evaluated,
        shrunk: Shrunk,
        how: Mechanism,
        scenarios: Sequence[Scenario],
        folder: Path | None,
    ) -> HuntCase:
        """A find made simple, whose scenarios are these."""
        point = self.table.space.point(shrunk.settings)
        needs = needs_text(self.table.space, shrunk.settings, point, shrunk.needs)
        near = nearest(scenarios[0].hop)
        case: HuntCase = {
            "number": number,
            "figure": self._figure(shrunk.outcome),
            "found": self._figure(find.outcome),
            "at_run": find.number,
            "sentence": self._sentence(shrunk.outcome, how, needs),
            "mechanism": {
                "flow": how.flow,
                "variant": how.variant,
                "limit": how.limit,
                "cause": how.cause,
                "event": cast("Any", how.event),
                "why": how.why,
                "events": how.events,
            },
            "needs": needs,
            "point": point,
            "seeds": self._further_seeds(shrunk.settings),
            "nearest": {"link": near.link, "decades": round(near.decades, 3)},
            "scenario": None,
            "test": None,
        }
        if folder is not None:
            objective = self.table.objective
            first = {objective.key: objective.sides[0]} if objective.sides else {}
            data = self.evaluator.draft.written(left_out({**point, **first}))
            case["scenario"], case["test"] = write_case(folder, case, data, objective, self.draft)
        return case

    def _further_seeds(self, settings: Settings) -> Any:
        """How many runs of a case with further seeds break."""
        outcomes = self.evaluator.further(settings, FURTHER_SEEDS)
        return {"broken": sum(self._breaks(outcome) for outcome in outcomes), "of": len(outcomes)}

    def _sentence(self, outcome: Outcome, how: Mechanism, needs: Sequence[str]) -> str:
        named = list(needs[:NAMED_NEEDS])
        if len(needs) > NAMED_NEEDS:
            named.append(many(len(needs) - NAMED_NEEDS, "further value"))
        what = f"{self.table.objective.what.rstrip(',')} is {self._figure(outcome)['text']}"
        text = f"With {joined(named)}, {what}." if named else f"{sentence(what)}, as the scenario is."
        return f"{text} {how.why} {sentence(how.events)}."

    def _figure(self, outcome: Outcome) -> HuntFigure:
        value = outcome.value
        return {"value": value, "text": "none" if value is None else self.table.objective.text(value)}


def cost(objective: Objective, outcome: Outcome) -> float:
    """What a searcher receives of an outcome: less is worse for the scenario; above `BARRIER` what
    is not allowed.
    """
    if outcome.counts and outcome.value is not None:
        return -objective.badness(outcome.value)
    return BARRIER * (1.0 + min(outcome.violation, 1e6))


def _is_invalid(outcome: Outcome) -> bool:
    return outcome.value is None and outcome.violation >= FAR


def verdict(document: HuntDocument, objective: Objective) -> str:
    """What the hunt found, in a sentence or two."""
    search = document["search"]
    of = f"{many(search['runs'], 'case')} searched"
    if not document["cases"]:
        worst = document["worst"]
        seen = f"the worst has {worst['text']}" if worst["value"] is not None else "none of them was allowed"
        return f"Nothing broke: of {of}, {seen}; a case breaks if {objective.rule}."
    simplest_ = document["simplest"]["value"]
    already = simplest_ is not None and objective.is_broken(simplest_)
    text = f"{sentence(many(len(document['cases']), 'way'))} to break found; {search['broken']} of {of} broke."
    if already:
        text += f" The simplest case breaks already, with {document['simplest']['text']}."
    return text


def value_of(scenario: str | Path) -> float:
    """The figure of a case's scenario file by the objective of its [hunt]: the median over its
    seeds. Tests of found cases call it.

    Raises:
        InputError: the file has no [hunt] with an objective, or a wrong value.
        RunFailed: a run failed.
    """
    draft = read_draft(Path(scenario))
    if hunted := draft.hunted():
        # A case has no ranges left: what is searched is the one duration that it has.
        draft = draft.replaced({"hunt": {**hunted, "vary": {"duration": [draft.document.data.get("duration")]}}})
    outcome = Evaluator(draft, read_hunt(draft), Store(None), workers=1).one({"duration": 0})
    if outcome.value is None:
        raise InputError(outcome.why, "a case that runs", file=str(scenario))
    return outcome.value
