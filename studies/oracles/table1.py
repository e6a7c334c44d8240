"""Table 1 of `asymmetry`: throughput compared with the paper's and with ns-2's on both networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from ackclock.input.scenario.draft import read_draft
from ackclock.papers.asymmetry.table1 import PATHS, mbps
from ackclock.papers.claims import claims_of
from ackclock.papers.experiments import ExperimentRuns, Experiments, keys_of
from ackclock.papers.ns2 import ns2_value
from ackclock.papers.scenarios import scenario_path
from ackclock.simulation.engine import run
from ackclock.simulation.plan import build_plan
from studies.oracles.agreement import Check, Figure

CELLS = {"P1-018": "9.6", "P1-021": "9.6 C", "P1-024": "28.8", "P1-027": "28.8 C"}
"""Claim and return path of plain Reno."""

LIMIT = 0.10

NS2_QUEUES = "Table 1, Reno, ns-2's queues"
NS2_LIMITS = {"V1": 10, "V2": 50}
"""The sending host's queue in ns-2's script; the routers' queues are 10.

One packet less waits: see docs/models/wire.md.
"""
CLOSE = 0.02
SEEDS = range(1, 4)
"""Only the phase of the start differs, and throughput does not feel it: a spread below 0.1 %."""


@cache
def ours() -> ExperimentRuns:
    return Experiments(SEEDS)("table1")


def checks(oracles: Path | None = None) -> list[Check]:
    """The oracles' values ship with the papers' claims, so no folder is needed."""
    ours_and_theirs = [Check(f"Table 1, Reno, {path}", partial(figures, claim, path)) for claim, path in CELLS.items()]
    same_queues = [
        Check(f"{NS2_QUEUES}, {path}", partial(figures_with_ns2_queues, claim, path)) for claim, path in CELLS.items()
    ]
    return [*ours_and_theirs, *same_queues]


def paper_value(claim: str) -> float:
    quantity = next(row for row in claims_of("asymmetry") if row.id == claim).quantity()
    assert quantity is not None
    return quantity.value


def figures(claim: str, path: str) -> Sequence[Figure]:
    """Ours on V1 beside the paper, and ours beside ns-2 on each network."""
    case = f"Table 1, Reno, {path}"
    mine = {name: mbps(ours(), name, "Reno", path).mean for name in NS2_LIMITS}
    paper = Figure(case, "throughput, paper", mine["V1"], paper_value(claim), LIMIT, unit="Mb/s")
    simulated = [
        Figure(case, f"throughput, ns-2 {name}", value, ns2_value(claim, name), LIMIT, unit="Mb/s")
        for name, value in mine.items()
    ]
    return [paper, *simulated]


def figures_with_ns2_queues(claim: str, path: str) -> Sequence[Figure]:
    """Ours on ns-2's networks with one packet less in every queue that fills."""
    rate, framing = PATHS[path]
    found = []
    for name, limit in NS2_LIMITS.items():
        point = {
            **keys_of(name, ""),
            "hop.return.rate": rate,
            "hop.return.framing": framing,
            "hop.return.queue.packets": 9,
            "hop.cable.queue.packets": 9,
            "hop.server.queue.down.packets": limit - 1,
        }
        scenario = read_draft(scenario_path("asymmetry-table1")).check(point)
        flow = run(build_plan(scenario, 1)).summary["flows"][0]
        ours_mbps = flow["throughput_bps"] / 1e6
        found.append(
            Figure(
                f"{NS2_QUEUES}, {path}",
                f"throughput, ns-2 {name}",
                ours_mbps,
                ns2_value(claim, name),
                CLOSE,
                unit="Mb/s",
            )
        )
    return found
