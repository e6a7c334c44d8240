"""The simulator and Linux in virtual time (studies/virtual_kernel): a difference counts beyond the
tolerances and beyond the spread of both sides over seeds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from ackclock.hunting.objectives import HuntRun
from ackclock.input.scenario.model import Scenario
from ackclock.input.units import rate_bps, size_bytes, time_ps
from studies.hunt.campaigns import directed
from studies.virtual_kernel import compare, draws
from studies.virtual_kernel.build import Kernel, build
from studies.virtual_kernel.compare import Comparison, Figure
from studies.virtual_kernel.runs import Outcome, simulated, virtual_kernel
from studies.virtual_kernel.setups import Flow, Path, Row, back, hop, path_to, shaped

FEW, SEEDS = 3, 5
"""Runs of each side, of a case that differs with the first seed: few, and more where the spread of
these explains it."""
APPEARS = 3.0
"""Tolerances from which on the first seed is followed by the others."""
NO_DRAWS = draws.Draws({})
TOLERANCES = {
    "goodput": (compare.GOODPUT, 0.0),
    "median RTT": (compare.RTT, compare.RTT_MS),
    "95th percentile of RTT": (compare.RTT, compare.RTT_MS),
    "retransmissions": (compare.RETRANSMITTED, compare.SEGMENTS),
}
CHILDREN = {"fq-codel": "fq_codel", "codel": "codel"}
"""Queueing disciplines by the kind of a queue."""


def difference(run: HuntRun) -> float:
    """The largest difference of a case's figures, in tolerances; what the seeds explain counts at
    most 1.
    """
    row, first = row_of(run.scenario), int(run.summary["seed"])
    one = largest(comparison(row, [first]), spread=False)
    if one < APPEARS:
        return min(one, 1.0)
    few = largest(comparison(row, list(range(first, first + FEW))))
    return few if few >= APPEARS else largest(comparison(row, list(range(first, first + SEEDS))))


def largest(compared: Comparison, *, spread: bool = True) -> float:
    """The largest difference in tolerances. With `spread`, one that the seeds explain counts at
    most 1.
    """
    return max(
        in_tolerances(figure) if figure.verdict == "misses" or not spread else min(in_tolerances(figure), 1.0)
        for flow in compared.flows
        for figure in flow
    )


def in_tolerances(figure: Figure) -> float:
    """The difference of a figure's means, in tolerances."""
    share, amount = TOLERANCES[figure.name]
    return abs(figure.simulator - figure.kernel) / max(share * abs(figure.kernel), amount)


def comparison(row: Row, seeds: list[int]) -> Comparison:
    """A row by both sides with these seeds."""
    with ThreadPoolExecutor() as threads:
        outcomes = list(threads.map(lambda seed: _outcomes(row, seed), seeds))
    return compare.compare(row, [kernel for kernel, _ in outcomes], [simulator for _, simulator in outcomes])


@cache
def _outcomes(row: Row, seed: int) -> tuple[Outcome, Outcome]:
    return virtual_kernel(_kernel(), row, seed, NO_DRAWS), simulated(row, seed, NO_DRAWS)


@cache
def _kernel() -> Kernel:
    return build()


def row_of(scenario: Scenario) -> Row:
    """A case as a row of studies/virtual_kernel: one hop and bulk downloads."""
    line: dict[str, Any] = scenario.hop[0].written()
    down, up = (round(rate_bps(directed(line["rate"], direction))) for direction in ("down", "up"))
    delay = f"{time_ps(line['delay']) / 1e9:g}"
    queue = directed(line["queue"], "down")
    kind = queue.get("kind", "droptail")
    size = round(size_bytes(queue["bytes"])) if kind == "droptail" else 0
    guest = shaped(f"{down}bit", CHILDREN.get(kind, f"bfifo limit {size}"))
    if kind == "cake":
        guest = f"tca qdisc add dev a1 root handle 10: cake bandwidth {down}bit besteffort overhead 0\n"
    more = ""
    if policer := (line.get("policer") or {}).get("down"):
        rate, burst = round(rate_bps(policer["rate"])), round(size_bytes(policer["burst"]))
        guest = (
            "tca qdisc add dev a0 clsact\n"
            f"tca filter add dev a0 ingress matchall action police rate {rate}bit burst {burst}b conform-exceed drop/pipe\n"
            + guest
        )
        more = f'policer.down = {{ rate = "{rate} b/s", burst = "{burst} B" }}\n'
    guest += path_to("b1", f"{delay}ms", f"{round(1.005 * down)}bit") + back(f"{up}bit", f"{delay}ms")
    link = hop(
        f'kind = "{kind}"' + (f', bytes = "{size} B"' if size else ""),
        more,
        rate=f'{{ down = "{down} b/s", up = "{up} b/s" }}',
        down=f"{delay} ms",
        up=f"{delay} ms",
    )
    flows = tuple(Flow(scenario.tcp_of(flow).keys["variant"]) for flow in scenario.flow)
    return Row(Path("case", "a case", guest, link), flows, scenario.duration / 1e12)
