"""What a link is good for as it is: which of a household's applications it holds alone, beside a
download, and beside an upload (`ackclock show LINK`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from ackclock.format import joined
from ackclock.simulation import household
from ackclock.simulation.plan import build_plan
from ackclock.simulation.run_list import estimated_cpu_s

if TYPE_CHECKING:
    from ackclock.documents.simulate import HouseholdTarget
    from ackclock.input.scenario.draft import Draft

LOADS: Mapping[str, tuple[str, ...]] = {"alone": (), "a download": ("download",), "an upload": ("upload",)}
"""What is beside the people, and the flows of the household that make it."""
BULK = frozenset(("download", "upload"))
DURATION_S = household.DURATION_S
"""The duration of a run in s; over a fast link a shorter one (`CPU_S`)."""
SEEDS = 3
CPU_S = 0.5
"""Estimated CPU time of all runs in s, above which there is one seed, and runs are shorter."""


class GoodFor(TypedDict):
    """What a link is good for: the sentence, and the targets by what is beside the people."""

    text: str
    seeds: int
    duration_s: float
    loads: dict[str, list[HouseholdTarget]]


def good_for(link: Draft) -> GoodFor:
    """That of a link, a draft whose flows do not count.

    Raises:
        RunFailed: a run failed in the engine.
    """
    from ackclock.simulation import engine

    keys = household.tables(DURATION_S)
    whole = link.replaced(keys).check()
    whole_s = len(LOADS) * estimated_cpu_s(whole)
    seeds = SEEDS if SEEDS * whole_s <= CPU_S else 1
    duration_s = max(min(DURATION_S, DURATION_S * CPU_S / (seeds * whole_s)), household.MIN_DURATION_S)
    keys = household.tables(duration_s)
    loads: dict[str, list[HouseholdTarget]] = {}
    for name, bulk in LOADS.items():
        flows = [flow for flow in keys["flow"] if flow["name"] not in BULK or flow["name"] in bulk]
        scenario = link.replaced({**keys, "flow": flows, "sample": "0 s"}).check()
        plans = [build_plan(scenario, seed) for seed in range(1, seeds + 1)]
        loads[name] = household.targets_of([household.figures(engine.run(plan).summary) for plan in plans])
    text = " ".join([sentence(loads), *household.bounds(whole.hop)])
    return {"text": text, "seeds": seeds, "duration_s": duration_s, "loads": loads}


def sentence(loads: Mapping[str, Sequence[HouseholdTarget]]) -> str:
    """What the link holds alone, and what of it not beside a load, with the figures that say so.

    A page alone has no other one to be compared with: it is good if it is complete.
    """
    alone = loads["alone"]
    held = [target["app"] for target in alone if target["met"]]
    named = [f"{target['app']}{_time(target)}" for target in alone if target["met"]]
    lacking = [f"{target['app']} ({target['shown']})" for target in alone if not target["met"]]
    if not held:
        return f"Good for none of these, even alone: {joined(lacking)}."
    parts = [f"Good for {joined(named)}"]
    lost: dict[str, str] = {}
    for name, targets in loads.items():
        if name != "alone" and (bad := [t for t in targets if not t["met"] and t["app"] in held]):
            figures = joined([f"{target['app']} ({target['shown']})" for target in bad])
            none = 1 < len(bad) == len(held)
            lost[name] = f"for none of these: {figures}" if none else f"not for {figures}"
    kept = [name for name in loads if name != "alone" and name not in lost]
    if kept:
        parts[0] += f", also beside {joined(kept)}"
    if lacking:
        parts[0] += f", not for {joined(lacking)}"
    parts += [f"beside {name} {bad}" for name, bad in lost.items()]
    return f"{'; '.join(parts)}."


def _time(target: HouseholdTarget) -> str:
    """The time of a page that is complete."""
    return f" in {target['felt_text']}" if target["app"] == "a page" else ""
