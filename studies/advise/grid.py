"""The full grid of an advice's changes: all single actions and all pairs, on seeds that `advise`
has not used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import ackclock
from ackclock.advisor.actions import WHO, Action, candidates
from ackclock.advisor.outcome import refusal
from ackclock.advisor.race import Actions, Entry, Runs, compatible, label_of, mean_gain
from ackclock.advisor.situation import situation_of
from ackclock.simulation.metrics import Run
from ackclock.statistics import against
from studies.advise.situations import Drawn

SCORE = "score_balanced"
FIRST_SEEDS = range(50_000, 50_002)
"""Seeds on which a grid is cut down."""
KEPT = 16
SEEDS = range(60_000, 60_020)
"""Seeds of the truth."""
LEFT = label_of(())


@dataclass(frozen=True)
class Outcome:
    """An advice beside the grid; all figures are of the 20 seeds of the truth.

    Attributes:
        number, kind: the situation's.
        advised: the first advice in words; "as it is" if nothing is advised.
        gain: the ratio of the advised score to that of the situation as it is.
        best: the best change of the grid that a run survives (`refusal`) in words, or "as it is".
        best_gain: its ratio.
        grid: the number of changes in the grid.
        advise_s, seconds: the time of `advise`, and of both, in s.
    """

    number: int
    kind: str
    advised: str
    gain: float
    best: str
    best_gain: float
    grid: int
    advise_s: float
    seconds: float

    @property
    def regret(self) -> float:
        """The share of the best score that the advice misses."""
        return max(0.0, 1.0 - self.gain / self.best_gain)

    @property
    def is_good(self) -> bool:
        """Whether nothing in the grid gains 3 %."""
        return self.best == LEFT

    def row(self, text: Callable[[float], str]) -> str:
        """Its row in a page's table; `text` of a gain."""
        return (
            f"| {self.number} | {self.kind} | {self.advised} | {text(self.gain)} | {self.best} "
            f"| {text(self.best_gain)} | {100 * self.regret:.1f} % | {self.advise_s:.0f} |"
        )


def outcome(drawn: Drawn) -> Outcome:
    """The advice for a situation beside its grid."""
    begun = time.monotonic()
    document = ackclock.advise(drawn.data, may=WHO, workers=1).document
    advise_s = time.monotonic() - begun
    situation = situation_of([drawn.data])
    runs = Runs(situation, None, workers=1)
    actions = candidates(situation, WHO)
    pairs = [pair for pair in combinations(actions, 2) if compatible(*pair)]
    grid: list[Actions] = [*((action,) for action in actions), *pairs]
    first = _run(runs, [(), *grid], FIRST_SEEDS)
    order = sorted(grid, key=lambda one: mean_gain(first[label_of(one)], first[LEFT], SCORE), reverse=True)
    advised = LEFT
    kept = {label_of(one): one for one in order[:KEPT]}
    for row in document["advice"][:1]:
        advised = row["label"]
        kept[advised] = _advised(actions, row)
    truth = _run(runs, [(), *kept.values()], SEEDS)
    base = truth[LEFT]
    values = {label: {seed: run[SCORE] for seed, run in of.items()} for label, of in truth.items()}
    gains = against(values, LEFT, list(kept))
    useful = [label for label, gain in gains.items() if not refusal(truth[label], base, gain, "balanced")]
    best = max(useful, key=lambda label: gains[label].value, default=LEFT)
    return Outcome(
        drawn.number,
        drawn.kind,
        advised,
        gains[advised].value if advised != LEFT else 1.0,
        best,
        gains[best].value if best != LEFT else 1.0,
        len(grid),
        advise_s,
        time.monotonic() - begun,
    )


def _advised(actions: Sequence[Action], row: Mapping[str, Any]) -> Actions:
    """The actions of an advice, which may be more than the pair of a grid."""
    parts = [one for one in actions if all(change.as_json() in row["change"] for change in one.changes)]
    every = (some for size in range(1, len(parts) + 1) for some in combinations(parts, size))
    return next(some for some in every if label_of(some) == row["label"])


def _run(runs: Runs, changes: list[Actions], seeds: range) -> dict[str, dict[int, Run]]:
    entries = [Entry(label_of(one), runs.situation.scenario(one)) for one in changes]
    return dict(zip([entry.label for entry in entries], runs.run("grid", entries, seeds), strict=True))
