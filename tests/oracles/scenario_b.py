"""ns-2's scenario B: one flow, B = 118, and every data packet is lost with probability p."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from tests.oracles.agreement import Check, Figure
from tests.oracles.ns2 import LINUX_OTHERS, LINUX_RENO, Sender, dumbbell, ns2_row, our_run

SEEDS = 10

ROWS = tuple(
    (sender, p, 0.08 if sender is LINUX_RENO else 0.15) for sender in (LINUX_RENO, *LINUX_OTHERS) for p in ("1e-3", "1e-2")
)
"""Sender, loss as the table writes it, and how far goodput may lie from ns-2's mean. A new variant is new rows."""


def checks(oracles: Path) -> list[Check]:
    return [Check(f"B {sender.name}, p = {p}", partial(figures, sender, p, limit, oracles)) for sender, p, limit in ROWS]


def figures(sender: Sender, p: str, limit: float, oracles: Path) -> Sequence[Figure]:
    scenario = dumbbell(sender, 118, "100 s", "0 s", {"kind": "bernoulli", "mean": float(p)})
    run = our_run(scenario, range(1, SEEDS + 1))
    ours = fmean(summary["flows"][0]["goodput_bps"] for summary in run.summaries) / 1e6
    row = ns2_row(oracles, "linux_b.csv", scenario="B", cc=sender.name, mean_loss=p, delack="0")
    assert int(row["n_seeds"]) == SEEDS
    return [Figure(f"B {sender.name}, p = {p}", "mean goodput", ours, float(row["goodput_mbps_mean"]), limit, unit="Mb/s")]
