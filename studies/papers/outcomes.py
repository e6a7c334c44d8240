"""Verdicts on a paper's claims with its choices, with an alternative reading, or with the keys of a
cause's experiment. Outcomes and runs are kept below a folder and reused while engine, evaluators,
scenarios and links are the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock.papers.evidence import ClaimResult, Verdict
from ackclock.papers.experiments import Change, ExperimentRuns, Experiments
from ackclock.papers.readings import Alternative
from ackclock.papers.reproduce import EVALUATORS, verdicts
from ackclock.storage import atomic_files
from ackclock.storage.environment import engine_digest

DURATION = {"wimax-simulated": "100 s"}
"""Duration of the runs where it is not the paper's: all of 300 s would take hours."""
SOURCES = Path(__file__).resolve().parents[2] / "python" / "ackclock"


class OutOfTime(Exception):
    """The time for new outcomes is over; those that exist are kept."""


@dataclass(frozen=True)
class FoundClaim:
    """The verdict on a claim, its origin, our figure and those beside it."""

    verdict: Verdict
    by: str | None
    ours: float | None
    also: Mapping[str, float]

    @staticmethod
    def of(result: ClaimResult) -> FoundClaim:
        """The part of a result that is kept."""
        found = result.evidence
        also = {name: value.mean for name, value in found.also.items()} if found else {}
        return FoundClaim(result.verdict, result.by, found.ours.mean if found and found.ours else None, also)

    @property
    def decided(self) -> bool:
        """Whether the claim is a simulated one that holds or fails."""
        return self.by == "simulation" and self.verdict in ("holds", "fails")


@dataclass(frozen=True)
class Outcome:
    """The claims by id, and the names of the experiments that ran for them."""

    claims: Mapping[str, FoundClaim]
    ran: frozenset[str]

    def simulated(self) -> tuple[int, int]:
        """The number of simulated claims that hold, and that fail."""
        found = [each.verdict for each in self.claims.values() if each.by == "simulation"]
        return found.count("holds"), found.count("fails")

    def changed(self, choice: Outcome) -> Iterator[tuple[str, FoundClaim]]:
        """The simulated claims whose verdict differs from that with the choices."""
        for name, found in self.claims.items():
            if found.decided and choice.claims[name].decided and found.verdict != choice.claims[name].verdict:
                yield name, found


@dataclass(frozen=True)
class Runner:
    """Returns outcomes of one paper. New ones raise `OutOfTime` after ``until``, a reading of
    ``time.monotonic``.
    """

    paper: str
    seeds: Sequence[int]
    kept: Path
    workers: int | None = None
    until: float | None = None

    def outcome(self, change: Alternative | None = None, claims: Sequence[str] | None = None) -> Outcome:
        """The verdicts with the keys of ``change``; on all claims without ``claims``."""
        # The name of a change is prose.
        keys = (
            [dict(change.keys), sorted(change.experiments), dict(change.schemes), dict(change.points)]
            if change
            else None
        )
        place = self._place(keys, list(claims) if claims is not None else None)
        if place.is_file():
            stored = json.loads(place.read_text("utf-8"))
            return Outcome(
                {name: FoundClaim(**each) for name, each in stored["claims"].items()}, frozenset(stored["ran"])
            )
        if self.until is not None and time.monotonic() > self.until:
            raise OutOfTime(self.paper)
        began = time.monotonic()
        runs = Experiments(
            self.seeds, self.workers, self.kept / self.paper, None, self.paper, _shortened(self.paper, change)
        )
        results = verdicts(self.paper, EVALUATORS[self.paper](runs), claims)
        found = Outcome({each.claim.id: FoundClaim.of(each) for each in results}, runs.ran)
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write_json(
            place, {"claims": {n: asdict(each) for n, each in found.claims.items()}, "ran": sorted(found.ran)}
        )
        name = change.name if change else "the choices"
        print(f"{self.paper}: {name}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return found

    def changed(
        self, name: str, change: Change, claims: Sequence[str], code: Sequence[str]
    ) -> Mapping[str, tuple[FoundClaim | None, frozenset[str]]]:
        """The verdict on each claim with changed scenarios, and the experiments that it needs; None
        where its evaluator has no figure of such a scenario.

        Args:
            name: of the change, for messages.
            change: returns the scenario that runs in place of another.
            claims: the ids of the claims to judge.
            code: the files that decide what the change is.
        """
        digest = sha256(b"".join(Path(file).read_bytes() for file in code)).hexdigest()
        place = self._place(name, digest, list(claims))
        if place.is_file():
            stored = json.loads(place.read_text("utf-8"))
            return {
                claim: (FoundClaim(**each) if each else None, frozenset(ran)) for claim, (each, ran) in stored.items()
            }
        began = time.monotonic()
        runs = _Watched(
            self.seeds, self.workers, self.kept / self.paper, None, self.paper, _shortened(self.paper, None), change
        )
        evaluators = EVALUATORS[self.paper](runs)
        found: dict[str, tuple[FoundClaim | None, frozenset[str]]] = {}
        for claim in claims:
            if self.until is not None and time.monotonic() > self.until:
                raise OutOfTime(self.paper)
            runs.asked.clear()
            try:
                (result,) = verdicts(self.paper, evaluators, [claim])
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                print(f"{self.paper}, {name}: {claim} has no verdict: {error!r}", file=sys.stderr)
                found[claim] = (None, frozenset(runs.asked))
            else:
                found[claim] = (FoundClaim.of(result), frozenset(runs.asked))
        place.parent.mkdir(parents=True, exist_ok=True)
        kept = {claim: (asdict(each) if each else None, sorted(ran)) for claim, (each, ran) in found.items()}
        atomic_files.write_json(place, kept)
        print(f"{self.paper}: {name}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return found

    def _place(self, *deciding: object) -> Path:
        text = json.dumps([*deciding, list(self.seeds), DURATION.get(self.paper), engine_digest()], sort_keys=True)
        key = sha256((text + _sources(self.paper)).encode()).hexdigest()[:16]
        return self.kept / "outcomes" / f"{self.paper}-{key}.json"


class _Watched(Experiments):
    """Experiments that keep the names of those asked for."""

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self.asked: set[str] = set()

    def __call__(self, name: str) -> ExperimentRuns:
        self.asked.add(name)
        return super().__call__(name)


_DECIDE_NOTHING = (
    *("readings.toml", "readings.py", "causes.py", "standings.py", "documents.py"),
    *("report_page.py", "report_tables.py", "terminal_tables.py"),
)
"""Files without influence on verdicts: readings are texts, and alternatives are part of the key."""


@cache
def _sources(paper: str) -> str:
    """A digest over what decides verdicts beside the engine: evaluators, scenarios and links."""
    papers = SOURCES / "papers"
    own = papers / paper.replace("-", "_")
    files = [*papers.glob("*.py"), *own.rglob("*.py"), *own.rglob("*.toml"), *(SOURCES / "links").glob("*.toml")]
    digest = sha256()
    for file in sorted(files):
        if file.name not in _DECIDE_NOTHING:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _shortened(paper: str, change: Alternative | None) -> Alternative | None:
    """The change with the duration of its runs; its own keys apply to its experiments only."""
    if paper not in DURATION:
        return change
    every = {"duration": DURATION[paper]}
    if change is None or not change.experiments:
        return replace(change or Alternative("the choices"), keys={**every, **(change.keys if change else {})})
    return _Shortened(change.name, change.keys, change.experiments, change.schemes, change.points, every)


@dataclass(frozen=True, slots=True)
class _Shortened(Alternative):
    """An alternative for some experiments, with keys for all."""

    every: Mapping[str, Any] = field(default_factory=dict)

    def keys_of(self, experiment: str, scheme: str, swept: Iterable[object]) -> dict[str, Any]:
        """The keys for one setting: those for all, and the alternative's where it applies."""
        return {**self.every, **Alternative.keys_of(self, experiment, scheme, swept)}
