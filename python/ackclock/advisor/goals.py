"""The metrics of a run of an advice, with the score of each goal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock.simulation.goals import GOALS, MIN_BPS, score
from ackclock.simulation.metrics import of_run
from ackclock.simulation.sparse_flow import SparseDelays, path_lost_share, path_p95_ms
from ackclock.statistics import jain_index
from ackclock.statistics.summary_stats import summary_stats

SPARSE = "sparse_"
"""Base name of the sparse probe flows, one in each direction."""
BESIDE = "beside_"
"""What precedes the names of the flows that are run beside those of the situation."""


def of_advice(summary: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a run from its summary (docs/plan.md), with the scores of all goals.

    `goodput_bps`, `rtt_p95_ms`, `retransmission_rate` and `timeouts` are of the situation's own TCP
    flows; `sparse_rtt_p95_ms` is the p95 RTT of the sparse flows of both directions with the time
    that lost packets cost (`sparse_flow`), `sparse_loss_rate` the share of their round trips with a
    lost packet; `beside_goodput_bps` and `short_p95_s` are of the flows beside it.
    `score_GOAL` is better the larger it is.
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
    if others:
        metrics["beside_goodput_bps"] = math.fsum(others)
    if times := [
        flow["completed_s"] if flow["completed_s"] is not None else flow["end_s"] - flow["host_start_s"]
        for flow in summary["flows"]
        if flow["flow"].startswith(f"{BESIDE}short") and not flow.get("feeds")
    ]:
        p95 = (summary_stats(times) or {}).get("p95")
        metrics["short_p95_s"] = math.nan if p95 is None else p95
    if len(goodputs) + len(others) > 1:
        metrics["jain"] = jain_index([*goodputs, *others])
    counted = dict.fromkeys(GOALS, own) | {"fairness": [*own, *beside]}
    return metrics | {f"score_{goal}": score(goal, None, counted[goal], sparse) for goal in GOALS}
