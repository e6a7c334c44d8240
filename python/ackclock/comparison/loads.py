"""The runs of a configuration under the loads of a link: a download, an upload and both at once,
each with a sparse flow in both directions, or a household; and the score of the goal
(simulation/goals.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.goals import TRANSFER_GOALS
from ackclock.input.link.bottleneck import slowest_bps
from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.objects import Flow, plain
from ackclock.input.scenario.draft import Draft
from ackclock.simulation import household
from ackclock.simulation.goals import app_scores, loads_of_goal, score
from ackclock.simulation.loads import HOUSEHOLD, LOADS, load_of
from ackclock.simulation.metrics import of_run, together_bps
from ackclock.simulation.sparse_flow import (
    SPARSE,
    SparseDelays,
    path_lost_share,
    path_p95_ms,
    sparse_every_s,
    sparse_tables,
)

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun

ASKED = "asked"
"""The load of a comparison with flows in both directions (`--opposite`): its own flows."""


def load_names(goal: str, opposite: int) -> tuple[str, ...]:
    """The loads of a comparison: those of a link for the goal, or its own flows where these are a
    scenario.
    """
    return (ASKED,) if opposite and HOUSEHOLD not in loads_of_goal(goal) else loads_of_goal(goal)


def drafts(
    draft: Draft, flows: Sequence[Flow], names: Sequence[str], household_s: float = household.DURATION_S
) -> dict[str, Draft]:
    """The scenario under each load, with a sparse flow in both directions; a household, of
    `household_s`, has none. `flows` are the comparison's own; the first is compared.
    """
    base = draft.check()
    duration_s = base.duration / 1e12
    sparse = sparse_tables({one: sparse_every_s(slowest_bps(base.hop, one), duration_s) for one in DIRECTIONS})
    found = {}
    for name in names:
        if name == HOUSEHOLD:
            found[name] = draft.replaced(household.tables(household_s))
            continue
        own = plain(list(flows))
        if name in LOADS:
            of_direction = {one: f"{flows[0].name}_{one}" for one in DIRECTIONS}
            own = LOADS[name].tables(of_direction, count=flows[0].count)
        found[name] = draft.replaced({"flow": [*own, *sparse]})
    return found


def of_load(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of a run under a load from its summary (docs/inside/plan.md): the goodput of each
    direction, the figures of all its TCP flows, the p95 RTT and the lost round trips of the sparse
    flows, those of each direction alone, and `score_GOAL`, better the larger it is. Of a household
    its figures (`household.figures`) and the scores of the goals of applications.
    """
    if household.is_household(summary):
        run, figures = of_run(summary), household.figures(summary)
        shared = {name: run[name] for name in ("goodput_bps", "rtt_p95_ms", "retransmission_rate")}
        return {**figures, **shared, **app_scores(figures)}
    own = [flow for flow in summary["flows"] if flow["variant"] != "udp" and not flow.get("feeds")]
    run = of_run(summary)
    sides = {
        flow["direction"]: SparseDelays.of_row(flow) for flow in summary["flows"] if flow["flow"].startswith(SPARSE)
    }
    used = [one for one in DIRECTIONS if any(flow["direction"] == one for flow in own)]
    sparse = path_p95_ms(list(sides.values())) if sides else math.nan
    metrics = {f"{one}_goodput_bps": together_bps(f for f in own if f["direction"] == one) for one in used}
    metrics |= {name: run[name] for name in ("goodput_bps", "rtt_p95_ms", "retransmission_rate")}
    metrics["sparse_rtt_p95_ms"] = sparse
    metrics["sparse_loss_rate"] = path_lost_share(list(sides.values())) if sides else math.nan
    for one, side in sides.items():
        metrics[f"{one}_delay_p95_ms"] = path_p95_ms([side])
        metrics[f"{one}_loss_rate"] = path_lost_share([side])
    return metrics | {f"score_{goal}": score(goal, load_of(used), own, sparse) for goal in TRANSFER_GOALS}
