"""The metrics of a run of an advice, with the score of each goal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ackclock.goals import TRANSFER_GOALS
from ackclock.simulation import household
from ackclock.simulation.goals import MIN_BPS, app_scores, score
from ackclock.simulation.loads import load_of
from ackclock.simulation.metrics import of_run, together_bps
from ackclock.simulation.sparse_flow import SPARSE, SparseDelays, path_lost_share, path_p95_ms
from ackclock.statistics import jain_index

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun

BESIDE = "beside_"
"""What precedes the names of the flows that are run beside those of the situation."""


def of_link(summary: ExplainedRun) -> dict[str, float]:
    """`of_advice` of a link under a load, with the goodputs of both directions, if it loads both,
    as `goodput_down_bps` and `goodput_up_bps`.
    """
    return of_advice(summary, is_load=True)


def of_household(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of a household's run: its figures (`household.figures`), its goodput and
    retransmissions, and the scores of the goals of applications. `score_throughput` is the
    geometric mean of the goodputs of both directions; `score_search` grows with each application
    that comes nearer to its target, so that a race finds the parts of what meets it.
    """
    run, figures = of_run(summary), household.figures(summary)
    metrics = {
        name: run[name] for name in ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "retransmission_rate", "timeouts")
    }
    metrics |= {f"goodput_{side}_bps": figures[f"{side}_goodput_bps"] for side in ("down", "up")}
    bulk_bps = max(figures["bulk_goodput_bps"], MIN_BPS)
    nearness = math.fsum(target.nearness(figures) for target in household.TARGETS)
    search = {"score_search": bulk_bps * 10.0**nearness, "score_throughput": bulk_bps}
    return {**figures, **metrics, **app_scores(figures), **search}


def of_advice(summary: ExplainedRun, *, is_load: bool = False) -> dict[str, float]:
    """The metrics of a run from its summary (docs/inside/plan.md), with the scores of all goals.

    `goodput_bps`, `rtt_p95_ms`, `retransmission_rate` and `timeouts` are of the situation's own TCP
    flows; `sparse_rtt_p95_ms` is the p95 RTT of the sparse flows of both directions with the time
    that lost packets cost (`sparse_flow`), `sparse_loss_rate` the share of their round trips with a
    lost packet; `score_GOAL` is better the larger it is, of the load of a link (`is_load`) or of
    all flows together.
    """
    parts = [flow for flow in summary["flows"] if flow["variant"] != "udp" and not flow["flow"].startswith(BESIDE)]
    run = of_run({**summary, "flows": parts})
    own = [flow for flow in parts if not flow.get("feeds")]
    goodputs = [max(flow["goodput_bps"] or 0.0, MIN_BPS) for flow in own]
    sides = [SparseDelays.of_row(flow) for flow in summary["flows"] if flow["flow"].startswith(SPARSE)]
    sparse = path_p95_ms(sides) if sides else math.nan
    metrics = {
        name: run[name]
        for name in ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "retransmission_rate", "timeouts", "queue_delay_ms")
    }
    metrics["sparse_rtt_p95_ms"] = sparse
    metrics["sparse_loss_rate"] = path_lost_share(sides) if sides else math.nan
    beside = [flow for flow in summary["flows"] if flow["flow"].startswith(f"{BESIDE}other") and not flow.get("feeds")]
    others = [max(flow["goodput_bps"] or 0.0, MIN_BPS) for flow in beside]
    if len(goodputs) + len(others) > 1:
        metrics["jain"] = jain_index([*goodputs, *others])
    counted = dict.fromkeys(TRANSFER_GOALS, own) | {"fairness": [*own, *beside]}
    load = load_of({flow["direction"] for flow in own}) if is_load else None
    for direction in load.directions if load and len(load.directions) > 1 else ():
        metrics[f"goodput_{direction}_bps"] = together_bps(flow for flow in own if flow["direction"] == direction)
    return metrics | {f"score_{goal}": score(goal, load, counted[goal], sparse) for goal in TRANSFER_GOALS}
