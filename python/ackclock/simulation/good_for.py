"""What a link is good for as it is: which of a household's applications, and which video, it holds
alone, beside a download, and beside an upload (`ackclock show LINK`).

The video is in runs of its own: beside it a page has no time alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ackclock.format import joined, many, significant
from ackclock.simulation import household
from ackclock.simulation.plan import build_plan
from ackclock.simulation.run_list import estimated_cpu_s

if TYPE_CHECKING:
    from ackclock.documents.engine import Summary
    from ackclock.documents.simulate import HouseholdTarget
    from ackclock.input.scenario.draft import Draft

LOADS: Mapping[str, tuple[str, ...]] = {"alone": (), "a download": ("download",), "an upload": ("upload",)}
"""What is beside the people, and the flows of the household that make it."""
BULK = frozenset(("download", "upload"))
VIDEO: Mapping[str, Any] = {"name": "video", "workload": {"kind": "video", "ladder": "apple-hevc"}}
"""A video whose ladder ends at 2160 lines."""
PICTURES = {2160: "4K"}
"""Names of pictures by their lines; others are named by these, such as 720p."""
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
    whole_s = 2 * len(LOADS) * estimated_cpu_s(whole)
    seeds = SEEDS if SEEDS * whole_s <= CPU_S else 1
    duration_s = max(min(DURATION_S, DURATION_S * CPU_S / (seeds * whole_s)), household.MIN_DURATION_S)
    keys = household.tables(duration_s)

    def runs(flows: Sequence[Mapping[str, Any]]) -> list[Summary]:
        scenario = link.replaced({**keys, "flow": flows, "sample": "0 s"}).check()
        return [engine.run(build_plan(scenario, seed)).summary for seed in range(1, seeds + 1)]

    loads: dict[str, list[HouseholdTarget]] = {}
    for name, bulk in LOADS.items():
        beside = [flow for flow in keys["flow"] if flow["name"] in bulk]
        people = [flow for flow in keys["flow"] if flow["name"] not in BULK]
        targets = household.targets_of([household.figures(summary) for summary in runs([*people, *beside])])
        alone = loads["alone"][-1] if loads else None
        loads[name] = [*targets, _video(runs([VIDEO, *beside]), alone)]
    text = " ".join([sentence(loads), *household.bounds(whole.hop)])
    return {"text": text, "seeds": seeds, "duration_s": duration_s, "loads": loads}


def _video(summaries: Sequence[Summary], alone: HouseholdTarget | None) -> HouseholdTarget:
    """The video without a stall; beside a load with as many lines as `alone`.

    `found` is the number of stalls, `felt` the lines of the picture, both medians over the seeds.
    """
    scores: list[Mapping[str, Any]] = [
        flow["app"]["score"] for summary in summaries for flow in summary["flows"] if "app" in flow
    ]
    stalls = [float(score["stalls"]) for score in scores]
    lines = statistics.median_low(score["lines"] or 0 for score in scores)
    stalled_s = statistics.median(score["stall_s"] for score in scores)
    found = statistics.median(stalls)
    picture = PICTURES.get(lines, f"{lines}p") if lines else ""
    wanted = (alone["felt"] or 0.0) if alone else 1.0
    if not lines:
        shown = "does not start"
    elif found:
        shown = f"{many(round(found), 'stall')} of {significant(stalled_s, 2)} s in all"
    else:
        shown = picture
    met = not found and lines >= wanted
    app = f"a {picture} video" if met else "a video"
    return {
        "app": alone["app"] if alone else app,
        "target": "no stall" + (f", {alone['felt_text']}" if alone and alone["met"] else ""),
        "found": found,
        "lo": min(stalls),
        "hi": max(stalls),
        "felt": float(lines) if lines else None,
        "felt_text": picture,
        "shown": shown,
        "met": met,
    }


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
