"""`python -m studies.advise.recipes [FILE]`: the printed recipes of drawn situations, typed on
models of the machines and simulated, beside the interval that each advice promises, as Markdown.

`make advise-recipes` writes it to docs. `--minutes M`, `--seed N` and `--count N` select others.
"""

from __future__ import annotations

import datetime
import random
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import ackclock
from ackclock.advice.tables import gain_text
from ackclock.advisor.race import CPU_S, Entry, Runs, label_of, mean_gain
from ackclock.advisor.situation import Situation, situation_of
from ackclock.errors import InputError
from ackclock.format import milliseconds, rate
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.metrics import Run
from ackclock.statistics import Moments
from studies.advise.lines import RECIPES, drawn
from studies.advise.situations import Data, Drawn
from studies.advise.typed_recipe import Typed, scenario_situation, typed
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEED = 27113
COUNT = 60
MINUTES = 55.0
PER_SITUATION = 3
"""Recipes of a situation: the first advice, its lines for another system, and others."""
SEEDS = range(70_000, 70_010)
"""Seeds of the typed recipes; `advise` uses other ones."""
TARGET = 57
CAUSES = Path(__file__).parent / "recipe_causes.toml"
SHOWN = 8
"""Differences of a scenario that a cause names."""
OF_HOPS = ("kind", "bps", "bytes", "packets", "overhead", "keep", "first", "target_ps", "dl_ul")
"""The keys of a hop in a plan that are compared; others follow from them."""
SCORE = "score_balanced"
LEFT = label_of(())
TYPED, MEANT = "typed", "meant"
MAY = ("sender,receiver,router,operator", "router", "sender,receiver", "router,operator")
"""Who may act, in rotation."""
ROOTS: tuple[tuple[str, ...], ...] = (
    (),
    ("fq_codel",),
    ("pfifo", "limit", "1000"),
    ("cake", "unlimited", "diffserv3", "triple-isolate"),
)
"""Root qdiscs that the interfaces have before a recipe."""


@dataclass(frozen=True)
class Outcome:
    """A recipe, typed and simulated.

    Attributes:
        number, kind, may: the situation's, and who may act.
        rank, label: the advice's.
        system: the system of the lines, empty for those of Linux.
        lo, hi: the promised interval of one run's gain, as ratios.
        gain: the ratio of the means over `SEEDS`; None where the lines make no scenario.
        single: the share of the seeds whose own ratio is within the interval.
        meant: the gain of the advice's own scenario on the same seeds.
        figures: goodputs in bits/s and p95 RTTs of the sparse flow in ms, as it is and as typed.
        problem: why a line is not read, or what its undo leaves; empty if nothing.
        differences: where the typed scenario differs from the advice's own.
    """

    number: int
    kind: str
    may: str
    rank: int
    label: str
    system: str
    lo: float
    hi: float
    gain: float | None
    single: float
    meant: float
    figures: list[float]
    problem: str
    differences: list[str]

    @property
    def within(self) -> bool:
        """Whether all lines are read and undone, and the gain is in the promised interval."""
        return self.gain is not None and not self.problem and self.lo <= self.gain <= self.hi

    @property
    def cause(self) -> str:
        """Why a recipe misses its interval, in words."""
        if self.problem:
            return self.problem
        if self.lo <= self.meant <= self.hi:
            return f"the lines do something else: {'; '.join(self.differences[:SHOWN]) or 'nothing that is seen'}"
        return f"the advice's own scenario misses, too ({gain_text(self.meant)}): the interval is too narrow"


def outcomes(one: Drawn, may: str, cpu_s: float = CPU_S, seeds: Sequence[int] = SEEDS) -> list[Outcome]:
    """The recipes of a situation; none where nothing is advised."""
    rng = random.Random(f"recipes {one.number}")
    document = ackclock.advise(one.data, may=may.split(","), workers=1, cpu_s=cpu_s).document
    situation = situation_of([one.data]).lasting(document["duration_s"])
    root = ROOTS[one.number % len(ROOTS)]
    found = []
    for row, system in chosen(document["advice"], rng):
        found.append(_outcome(one, may, situation, row, system, root, seeds))
    return found


def chosen(advice: Sequence[Mapping[str, Any]], rng: random.Random) -> list[tuple[Mapping[str, Any], str]]:
    """The first advice, the lines for another system, and other ranks, `PER_SITUATION` at most."""
    printed = [(row, "") for row in advice[:1]]
    others = [(row, other["system"]) for row in advice for other in row["alternatives"]]
    rest = [(row, "") for row in advice[1:]]
    rng.shuffle(rest)
    return [*printed, *others[:1], *rest, *others[1:]][:PER_SITUATION]


def _outcome(
    one: Drawn,
    may: str,
    situation: Situation,
    row: Mapping[str, Any],
    system: str,
    root: Sequence[str],
    seeds: Sequence[int],
) -> Outcome:
    interval = row["gain"]["one_run"] or {"lo": row["gain"]["lo"], "hi": row["gain"]["hi"]}
    entries = [Entry(LEFT, situation.scenario())]
    problem, typed_scenario = "", None
    meant = meant_scenario(situation, row["change"])
    entries.append(Entry(MEANT, meant))
    try:
        recipe = typed(situation, row, system, root)
        changed, keys = scenario_situation(recipe)
        typed_scenario = changed.scenario((), keys)
        entries.append(Entry(TYPED, typed_scenario))
        problem = undo_problem(situation, row, system, root, recipe)
    except (ValueError, InputError) as error:
        problem = f"a line is not read: {error}"
    names = [entry.label for entry in entries]
    runs = dict(zip(names, Runs(situation, None, 1).run("typed", entries, seeds), strict=True))
    of = runs.get(TYPED)
    ratios = [of[seed][SCORE] / runs[LEFT][seed][SCORE] for seed in seeds] if of else []
    return Outcome(
        one.number,
        one.kind,
        may,
        row["rank"],
        row["label"],
        system,
        interval["lo"],
        interval["hi"],
        mean_gain(of, runs[LEFT], SCORE) if of else None,
        sum(interval["lo"] <= ratio <= interval["hi"] for ratio in ratios) / len(seeds),
        mean_gain(runs[MEANT], runs[LEFT], SCORE),
        [_mean(runs[name], metric) for metric in METRICS for name in (LEFT, TYPED) if name in runs],
        problem,
        differences(meant, typed_scenario) if typed_scenario else [],
    )


METRICS = ("goodput_bps", "sparse_rtt_p95_ms")


def _mean(runs: Mapping[int, Run], metric: str) -> float:
    return Moments.of(run[metric] for run in runs.values()).mean


def undo_problem(situation: Situation, row: Mapping[str, Any], system: str, root: Sequence[str], recipe: Typed) -> str:
    """What the undo leaves, typed or by itself, in words; empty if the machines are as before."""
    left = recipe.differences_after_undo()
    alone = typed(situation, row, system, root).differences_after_waiting()
    return "; ".join(
        f"{how} leaves {', '.join(names)}"
        for how, names in (("the undo", left), ("the undo in the background", alone))
        if names
    )


def meant_scenario(situation: Situation, changes: Sequence[Mapping[str, Any]]) -> Scenario:
    """The scenario of an advice by its list of changes."""
    keys: dict[str, Any] = {}
    added: Data = {}
    names = {hop.name for hop in situation.hops}
    for change in changes:
        parts = change["path"].split(".")
        if parts[0] == "tcp":
            keys |= {f"flow.{name}.{'.'.join(parts[1:])}": change["to"] for name in situation.own}
        elif parts[1] not in names:
            added.setdefault("name", parts[1])
            added.setdefault(parts[2], {})[parts[3]] = change["to"]
        else:
            keys[change["path"]] = change["to"]
    draft = situation.draft
    if added:
        if len(added["rate"]) == 1:
            added["only"] = next(iter(added["rate"]))
        draft = draft.replaced({"hop": [*draft.document.data["hop"], added]})
    return replace(situation, draft=draft).scenario((), keys)


def differences(meant: Scenario, made: Scenario) -> list[str]:
    """Where two scenarios of one situation differ, one text for each key."""
    sides = [_flat(_described(one)) for one in (meant, made)]
    changed = [key for key in sorted(sides[0].keys() | sides[1].keys()) if sides[0].get(key) != sides[1].get(key)]
    ours, theirs = ({hop.name for hop in one.hop} for one in (meant, made))
    sets = (("meant", ours - theirs), ("typed", theirs - ours))
    alone = [f"hop {name} is only in what is {what}" for what, names in sets for name in sorted(names)]
    missing = ours ^ theirs
    texts = [
        f"{key} {sides[0].get(key, 'absent')}, typed {sides[1].get(key, 'absent')}"
        for key in changed
        if not key.startswith("hop.") or (key.split(".")[1] not in missing and key.rpartition(".")[2] in OF_HOPS)
    ]
    return [*alone, *texts]


def _described(scenario: Scenario) -> Data:
    flows = dict(zip(scenario.flow_names(), scenario.flow, strict=True))
    tcp = {name: scenario.tcp_of(flow).plan() for name, flow in flows.items() if not flow.is_udp}
    return {"hop": {hop.name: hop.plan() for hop in scenario.hop}, "flow": tcp}


def _flat(value: Any, path: str = "") -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        return {key: text for name, part in value.items() for key, text in _flat(part, f"{path}.{name}").items()}
    return {path.removeprefix("."): str(value)} if value not in (None, {}, [], False) else {}


def rows(done: Sequence[Outcome]) -> Iterator[str]:
    """A row for each recipe."""
    for one in done:
        promised = f"{gain_text(one.lo)} .. {gain_text(one.hi)}"
        gain = gain_text(one.gain) if one.gain is not None else ""
        label = f"{one.label} ({one.system})" if one.system else one.label
        yield (
            f"| {one.number} | {one.kind} | {one.rank} | {label} | {promised} | {gain} "
            f"| {100 * one.single:.0f} % | {'' if one.within else 'misses'} |"
        )


def traced(seed: int) -> dict[tuple[int, str], str]:
    """The causes of misses that were traced by hand, by the situation's number and the label."""
    causes = tomllib.loads(CAUSES.read_text("utf-8"))["cause"]
    return {(one["number"], one["label"]): one["text"] for one in causes if one["seed"] == seed}


def misses(done: Sequence[Outcome], causes: Mapping[tuple[int, str], str] | None = None) -> Iterator[str]:
    """A paragraph for each recipe that misses, with its figures and its cause."""
    for one in done:
        if one.within:
            continue
        figures = ""
        if len(one.figures) == 4:
            before, after, rtt, rtt_after = one.figures
            figures = (
                f" Goodput {rate(before)} to {rate(after)}, p95 RTT of the sparse flow {milliseconds(rtt)} "
                f"to {milliseconds(rtt_after)}."
            )
        gain = gain_text(one.gain) if one.gain is not None else "no scenario"
        yield (
            f"- **{one.number}, rank {one.rank}, {one.label}{f' ({one.system})' if one.system else ''}**: promised "
            f"{gain_text(one.lo)} to {gain_text(one.hi)}, typed {gain}, meant {gain_text(one.meant)}.{figures} "
            f"Cause: {(causes or {}).get((one.number, one.label), one.cause)}."
        )


def page(done: Sequence[Outcome], seed: int, today: datetime.date) -> str:
    """The page."""
    inside = sum(one.within for one in done)
    harm = sum(one.gain is not None and one.gain < 1.0 for one in done)
    unread = sum(one.gain is None for one in done)
    left = sum(bool(one.problem) and one.gain is not None for one in done)
    single = sum(one.single for one in done) / len(done)
    systems = sum(bool(one.system) for one in done)
    missed = list(misses(done, traced(seed)))
    parts = [
        "# Printed recipes, typed and simulated",
        "",
        "Written by `make advise-recipes` ([recipes.py](../../studies/advise/recipes.py)) on "
        f"{today.isoformat()}: {len(done)} recipes,",
        f"{systems} of them for another system, of situations of seed {seed}",
        "([lines.py](../../studies/advise/lines.py)): DSL with and without ATM, cable, fibre, recorded LTE, WiMAX, long",
        "paths; Linux, Windows and BSD; loads down, up and both; all four, the router, the hosts, or router and",
        "operator may act.",
        "",
        "The text of each recipe is read into models of the machines",
        "([machine.py](../../studies/advise/machine.py),",
        "[windows_machine.py](../../studies/advise/windows_machine.py)), whose qdiscs, routes, sysctls and registry",
        "become a scenario ([typed_recipe.py](../../studies/advise/typed_recipe.py)). A qdisc without a rate replaces the",
        "line's queue; one with a rate is the line's queue at this rate where it is not faster than the line and counts",
        "the same bytes, else a device before it; what shapes arriving packets is a device behind the line. The scenario",
        f"runs with {len(SEEDS)} seeds that no advice has seen.",
        "The promise is the interval of one run's gain; the gain is the ratio of the means, and *single* the share",
        "of the seeds whose own gain is within. A line that is not read, and an undo that leaves something, are",
        "misses. Each recipe is undone as typed, and by itself.",
        "",
        "| figure | measured | target |",
        "|---|--:|--:|",
        f"| recipes within their interval | {inside} of {len(done)} | {TARGET} of {COUNT} |",
        f"| recipes that lose | {harm} | 0 |",
        f"| recipes with a line that is not read | {unread} | 0 |",
        f"| recipes whose undo leaves something | {left} | 0 |",
        f"| single runs within their interval | {100 * single:.0f} % | 95 % |",
        "",
        "## Misses",
        "",
        *(missed or ["None."]),
        "",
        "## Recipes",
        "",
        "| | situation | rank | recipe | promised | typed | single | |",
        "|--:|---|--:|---|---|--:|--:|---|",
        *rows(done),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    parser = page_parser("recipe", seed=SEED, count=COUNT, minutes=MINUTES)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    lines = kept(options.kept)
    done = [Outcome(**fields) for line in lines for fields in line["recipes"]]
    numbers = {line["number"] for line in lines}
    situations = (one for one in drawn(RECIPES, options.seed) if one.number not in numbers)
    for one in begun_within(options.minutes, situations):
        if len(done) >= options.count:
            break
        may, begun = MAY[(one.number + one.number // len(RECIPES)) % len(MAY)], time.monotonic()
        found = outcomes(one, may)
        done += found
        keep(options.kept, {"number": one.number, "recipes": [asdict(recipe) for recipe in found]})
        spent = time.monotonic() - begun
        print(f"{one.number} {one.kind}, {may}: {len(found)} recipes, {spent:.0f} s", file=sys.stderr, flush=True)
        for text in (*rows(found), *misses(found)):
            print(f"  {text}", file=sys.stderr, flush=True)
    if not done:
        parser.error("no situation is done: there is no page")
    done = sorted(done, key=lambda one: one.number)[: options.count]
    write_page(options.file, page(done, options.seed, datetime.date.today()))


if __name__ == "__main__":
    main()
