"""The score of a run: one function of the goal, the load and the run's flows.

The goals of transfers are of goodput and delay under the loads of `simulation.loads`; those of
applications are of the targets of a household (`simulation.household`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ackclock.goals import APP_GOALS
from ackclock.simulation.household import TARGETS, Target
from ackclock.simulation.loads import HOUSEHOLD, LOADS, Load
from ackclock.simulation.metrics import Run, together_bps
from ackclock.statistics import jain_index

TARGET_MET = 1000.0
"""The factor of a score for each target that a run meets: more than any goodput."""
SPARSE_GOALS = ("balanced", "latency")
"""The goals whose score has the delay of a sparse flow beside the flows."""
SCORE = "score_"
"""What precedes the goal in the name of a metric."""
MIN_BPS = 1.0
"""A flow without goodput counts as this, whose logarithm exists."""


def score(goal: str, load: Load | None, flows: Sequence[Mapping[str, Any]], sparse_rtt_p95_ms: float) -> float:
    """The score of a run for a goal, better the larger it is; NaN where the run has no such figure.

    - ``balanced``: goodput in b/s over the root of the sparse flow's p95 RTT in ms; of several
      flows the geometric mean;
    - ``throughput``: the goodput of the flows together in b/s (`together_bps`);
    - ``latency``: 1 over the sparse flow's p95 RTT in ms;
    - ``fairness``: Jain's index of the goodputs, of two flows or more.

    Under a load the goodputs are those of each direction, and the score is the geometric mean over
    the directions: a slow upload counts as much as a fast download. Without one (None: a scenario
    as it is) all flows are taken together.

    Args:
        goal: one of `TRANSFER_GOALS`.
        load: the load of a link; None for a scenario.
        flows: the rows of the flows of a run's summary (docs/inside/plan.md).
        sparse_rtt_p95_ms: the p95 RTT of a sparse flow beside them (`sparse_flow`); NaN without.
    """
    if goal == "latency":
        return 1.0 / sparse_rtt_p95_ms if sparse_rtt_p95_ms > 0.0 else math.nan
    sides = [list(flows)]
    if load:
        sides = [[flow for flow in flows if flow["direction"] == direction] for direction in load.directions]
    parts = [_of_side(goal, side) for side in sides]
    if any(math.isnan(part) for part in parts):
        return math.nan
    mean_log = math.fsum(parts) / len(parts)
    if goal != "balanced":
        return math.exp(mean_log)
    return math.exp(mean_log - 0.5 * math.log(sparse_rtt_p95_ms)) if sparse_rtt_p95_ms > 0.0 else math.nan


def _of_side(goal: str, flows: Sequence[Mapping[str, Any]]) -> float:
    """The logarithm of what a goal makes of the goodputs of a direction."""
    goodputs = [max(flow["goodput_bps"] or 0.0, MIN_BPS) for flow in flows]
    if not goodputs:
        return math.nan
    if goal == "throughput":
        return math.log(max(together_bps(flows), MIN_BPS))
    if goal == "fairness":
        return math.log(jain_index(goodputs)) if len(goodputs) > 1 else math.nan
    return math.fsum(map(math.log, goodputs)) / len(goodputs)


def mean_score(goal: str, runs: Collection[Run]) -> float:
    """The geometric mean of `score_GOAL` over runs, one for each load, so that the ratio of two is
    the mean of the loads' ratios; NaN where one has no score, and without runs.
    """
    scores = [run.get(SCORE + goal, math.nan) for run in runs]
    if not scores or any(math.isnan(value) for value in scores):
        return math.nan
    if min(scores) <= 0.0:
        return 0.0
    return math.exp(math.fsum(map(math.log, scores)) / len(scores))


def loads_of_goal(goal: str) -> tuple[str, ...]:
    """The loads of a link under which a goal is judged."""
    return (HOUSEHOLD,) if goal in APP_GOALS else tuple(LOADS)


def targets_of_goal(goal: str) -> tuple[Target, ...]:
    """The targets that count for a goal of applications."""
    return tuple(target for target in TARGETS if goal in ("household", target.goal))


def formula(goal: str, then: str = "") -> str:
    """The rule of a goal of applications as sentences; `then` is what follows the figures."""
    targets = "; ".join(f"{target.app}: {target.text}" for target in targets_of_goal(goal))
    return f"The goal {goal} counts {APP_GOALS[goal]}{then}. Targets: {targets}."


def value(goal: str, figures: Run) -> float:
    """What decides, by a goal of applications, between runs that meet the same targets; better the
    larger it is, NaN where there is none. `figures` are those of a household (`household.figures`).
    """
    if goal == "household":
        return max(figures["bulk_goodput_bps"], MIN_BPS)
    (target,) = targets_of_goal(goal)
    return target.value(figures)


def targets_met(goal: str, runs: Collection[Run]) -> int:
    """The number of a goal's targets that the medians over the runs of all seeds meet."""
    return sum(target.is_met(target.median(runs)) for target in targets_of_goal(goal))


def app_scores(figures: Run) -> dict[str, float]:
    """`score_GOAL` of a household's run for each goal of applications: its `value`, times
    `TARGET_MET` for each target that the run meets.
    """
    scores = {}
    for goal in APP_GOALS:
        met = targets_met(goal, [figures])
        scores[f"{SCORE}{goal}"] = TARGET_MET**met * max(value(goal, figures), 1e-3)
    return scores
