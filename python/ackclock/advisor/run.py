"""`advise`: what to change of the hosts or of the link, by how much it helps, and what to type."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.advice.result import Advice
from ackclock.advice.tables import verdict
from ackclock.advisor import verification
from ackclock.advisor.actions import WHO, Action, candidates, check_may
from ackclock.advisor.causes import causes_of, removed_share
from ackclock.advisor.conditions import Condition, conditions
from ackclock.advisor.fit_support import FitSupport
from ackclock.advisor.goals import BESIDE
from ackclock.advisor.host_actions import unsettable
from ackclock.advisor.outcome import ModelError, Prediction, costs, effect, ordered, pairs_of, predicted_ratio, refusal
from ackclock.advisor.race import (
    CPU_S,
    EXAMINED,
    FIRST_SEEDS,
    UNSEEN,
    Actions,
    Entry,
    Runs,
    Sizes,
    label_of,
    mean_gain,
    race,
)
from ackclock.advisor.reader import Reader
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import Situation, situation_of
from ackclock.comparison.prices import OTHERS, SHORT, companions
from ackclock.errors import InputError, InvalidValue, choices, format_value
from ackclock.input.objects import Link
from ackclock.input.scenario.link_draws import draws_path
from ackclock.linux import require_linux
from ackclock.notebook import Progress
from ackclock.simulation import run_files
from ackclock.simulation.goals import GOALS
from ackclock.simulation.metrics import Run, over_seeds
from ackclock.simulation.plan import build_plan
from ackclock.statistics import Ratio, against, ratio
from ackclock.storage import atomic_files
from ackclock.storage.run_folder import Identity, opened
from ackclock.storage.run_kind import ADVISE
from ackclock.storage.stored_files import read_json

LEFT = "as it is"


def advise(
    *what: str | Path | Link | Mapping[str, Any],
    goal: str = "balanced",
    may: Sequence[str] | None = None,
    direction: str = "down",
    seed: int = 1,
    workers: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
    cpu_s: float = CPU_S,
    verify: bool = False,
) -> Advice:
    """What to change of the hosts or of a link for a goal, with the commands and how to undo them.

    Args:
        what: a packaged link's name, a link file, a `Link` or a dict (with a bulk transfer over
            it); a scenario file or dict; a run folder of `simulate` or `compare`; or captures of
            both ends of a path, to which a link is fitted first.
        goal: "balanced" (goodput over the root of the p95 RTT of a sparse flow beside it),
            "throughput", "latency" (that RTT) or "fairness" (Jain's index).
        may: who may change something: "sender", "receiver", "router" (at the clients' end) and
            "operator" (of the link). By default all of them, and what the reader can apply stands
            first by a guess: hosts and router of a link or a scenario, the captured end.
        direction: of the transfer over a link, "down" or "up".
        seed: the first seed of the rounds.
        workers: threads; all cores when None.
        out: the run folder; nothing is written without it.
        force: rename another run in ``out`` (to ``out.1``) instead of raising InputError.
        keep: without ``out``, keep the runs in ``runs/<hash>``.
        progress: called with the number of finished runs, the number of all runs, and a label.
        cpu_s: estimated CPU seconds of all runs: more seeds and longer runs within it.
        verify: run the situation as it is and the first advice that the running kernel can follow
            with its TCP over the emulated link (half a minute of real time), and report the gain
            beside the predicted one.

    All changes run with the same seeds, the better half with further ones, then pairs of the best;
    the finalists and the situation as it is run with seeds that no round has seen. A change is
    advised if its score is at least 3 % better and the interval of the ratio, corrected for the
    number of finalists, excludes 1.

    Returns:
        An Advice: `document` (docs/advise.md), `advice` and `tried` (Polars frames).

    Raises:
        InputError: an invalid argument, or another run in ``out``.
        RunFailed: a run failed in the engine.

    >>> import ackclock
    >>> found = ackclock.advise("dsl-16m", may=["sender"])  # doctest: +SKIP
    >>> found.document["advice"][0]["commands"]  # doctest: +SKIP
    """
    if goal not in GOALS:
        raise InputError(format_value(goal), choices(GOALS, goal), key="goal")
    try:
        allowed = WHO if may is None else check_may(may)
    except InvalidValue as invalid:
        raise InputError.of(invalid, key="may") from None
    if verify:
        require_linux("advise --verify", "network namespaces and TUN devices")
    situation = situation_of(what, direction=direction, seed=seed)
    if goal == "fairness" and sum(flow.instances for flow in situation.base.flow if not flow.is_udp) < 2:
        situation = situation.beside_a_flow()
    reader = Reader.guessed(situation) if may is None else Reader(allowed)
    identity = Identity.of(
        ADVISE.command,
        [
            goal,
            allowed,
            reader.controls,
            seed,
            cpu_s,
            verify,
            build_plan(situation.scenario(), seed).digest,
            situation.draws.digest if situation.draws else None,
        ],
    )
    folder = Path(out) if out is not None else identity.default_folder() if keep else None
    with opened(folder, identity, seeds=[seed], force=force) as run:
        if run and run.finished and folder:
            return Advice(read_json(folder / ADVISE.document), folder)
        runs = Runs(situation, folder, workers, progress)
        wanted = [lambda one: not verification.cannot(runs.situation, one)] if verify else []
        document, changes = _advice(runs, goal, allowed, reader, seed, cpu_s, wanted)
        if verify and changes:
            found = verification.verify(runs.situation, changes, document, progress)
            document |= {"verification": found, "notes": [*document["notes"], found["text"]]}
        if run and folder:
            document |= {"folder": str(folder)}
            run_files.write_scenario(folder, situation.scenario())
            run_files.keep_traces(folder, situation.scenario())
            if situation.fitted:
                for path in (situation.fitted, draws_path(situation.fitted)):
                    atomic_files.atomic_write(folder / path.name, path.read_bytes())
            atomic_files.write_json(folder / ADVISE.document, document)
            run.finish()
    return Advice(document, folder)


def _advice(
    runs: Runs,
    goal: str,
    may: Sequence[str],
    reader: Reader,
    seed: int,
    cpu_s: float,
    wanted: Sequence[Callable[[Actions], bool]],
) -> tuple[dict[str, Any], list[Actions]]:
    """The document, and its advised changes, best first."""
    score = f"score_{goal}"
    situation = runs.situation
    actions = candidates(situation, may)
    sizes = Sizes.within(situation, len(actions), cpu_s)
    if sizes.duration_s is not None:
        situation = runs.situation = situation.lasting(sizes.duration_s)
    runs.planned = sizes.runs(len(actions))
    first = range(seed, seed + FIRST_SEEDS)
    runs.run("baseline", [Entry(LEFT, situation.scenario())], first)
    summaries = [json.loads(text) for text in runs.summaries]
    causes = causes_of(summaries, build_plan(situation.scenario(), seed).document)
    situation = runs.situation = situation.with_queues(summaries)
    actions = candidates(situation, may)
    runs.planned = sizes.runs(len(actions))
    support = FitSupport.of(situation.fit)
    if support.refuses_all:
        actions = []
    finalists, raced = race(runs, actions, score, seed + FIRST_SEEDS, wanted) if actions else ([], {})
    unseen = range(seed + UNSEEN, seed + UNSEEN + sizes.final)
    entries = [Entry(label_of(one), situation.scenario(one)) for one in ((), *finalists)]
    final = dict(zip([e.label for e in entries], runs.run("final", entries, unseen), strict=True))
    base = final[LEFT]
    values = {
        label: {s: run[score] for s, run in of_seed.items() if not math.isnan(run.get(score, math.nan))}
        for label, of_seed in final.items()
    }
    gains = against(values, LEFT, [label for label in final if label != LEFT])
    model = ModelError.of(situation.fit.get("score") if situation.fit else None)
    every = {label: {**raced.get(label, {}), **of_seed} for label, of_seed in final.items()}
    error = model.of_gain(goal)
    one_runs = {label: predicted_ratio(every[label], every[LEFT], score, error) for label in gains}
    by_label = {label_of(one): one for one in finalists}
    refused = {label: refusal(final[label], base, gain, goal) for label, gain in gains.items()}
    unsupported = {
        label: why
        for label, old in refused.items()
        if not old and (why := support.refusal(by_label[label], one_runs[label]))
    }
    refused |= unsupported
    accepted = [label for label, why in refused.items() if not why and _earns_its_parts(label, by_label, values)]
    places = ordered(
        accepted,
        gains,
        {label: _size(by_label[label]) for label in accepted},
        {label: removed_share(by_label[label], causes) for label in accepted},
        [label for label in accepted if reader.applies(who_of(by_label[label]))],
    )
    examined = _examined(places, by_label)
    unless = _conditions(runs, examined, score, seed + 2 * UNSEEN, sizes.condition)
    beside = _beside(runs, examined, base, list(unseen)[: sizes.cost])
    advice = []
    for place, label in enumerate(places, start=1):
        row = {
            **_change(by_label[label]),
            **_typed(by_label[label]),
            "gain": _gain(gains[label], one_runs[label]),
            "effect": effect(final[label], base, model, every[label]),
        }
        tied = [other for other in places if other != label and _ties(values, label, other)]
        extra = {"rank": place, "tied_with": tied, "unless": None, "conditions": None, "costs": None}
        if label in examined:
            found = unless[label]
            flips = [one["condition"] for one in found if one["flips"]]
            extra |= {"unless": flips, "conditions": found, "costs": costs(final[label], base, beside[label])}
        advice.append(row | extra)
    document: dict[str, Any] = {
        "what": situation.what,
        "title": situation.base.title,
        "goal": goal,
        "may": list(may),
        "reader": reader.as_json(),
        "direction": situation.direction,
        "duration_s": situation.base.duration / 1e12,
        "baseline": {"metrics": {n: v.as_json() for n, v in over_seeds(base.values()).items() if _shown(n)}},
        "advice": advice,
        "nothing_to_gain": [
            {**row, "supported": row["label"] not in unsupported}
            for row in _rest(actions, finalists, raced, gains, refused, places, score)
        ],
        "points": _points({**raced, **final}),
        "notes": [
            *situation.notes,
            *unsettable(situation, may),
            *([reader.sentence] if advice and reader.sentence else []),
        ],
        "runs": {"count": runs.done, "rounds": runs.rounds},
    }
    if situation.fit:
        document["fit"] = {
            **{key: situation.fit.get(key) for key in ("inputs", "score", "not_identified")},
            "good_for": support.good_for,
            "capture_next": support.captures(unsupported.values()),
        }
        if advice and document["fit"]["capture_next"]:
            document["notes"].append(f"More is known after a capture of {'; '.join(document['fit']['capture_next'])}.")
    return document | {"verdict": verdict(document)}, [by_label[label] for label in places]


def _examined(places: Sequence[str], by_label: Mapping[str, Actions]) -> dict[str, Actions]:
    """The first advice, then the best of each of those who may act."""
    by_who: dict[tuple[str, ...], str] = {}
    for label in places:
        by_who.setdefault(tuple(sorted({who for action in by_label[label] for who in action.who})), label)
    order = dict.fromkeys([*places[:1], *by_who.values()])
    return {label: by_label[label] for label in list(order)[:EXAMINED]}


def _points(found: Mapping[str, Mapping[int, Run]]) -> list[dict[str, Any]]:
    """Goodput and delay of every change, means over its seeds."""
    rows = []
    for label, of_seed in found.items():
        means = over_seeds(
            {n: run[n] for n in ("goodput_bps", "sparse_rtt_p95_ms") if n in run} for run in of_seed.values()
        )
        if len(means) == 2:
            rows.append({"label": label, "n": len(of_seed), **{name: value.mean for name, value in means.items()}})
    return rows


def _shown(metric: str) -> bool:
    return not metric.startswith("score_")


def _earns_its_parts(label: str, by_label: Mapping[str, Actions], values: Mapping[str, Mapping[int, float]]) -> bool:
    """Whether a pair is better than each of its actions alone by 3 % and more than chance."""
    for action in by_label[label] if len(by_label[label]) > 1 else ():
        alone = values.get(label_of((action,)))
        if alone is None:
            continue
        found = ratio([(values[label][s], alone[s]) for s in sorted(alone.keys() & values[label].keys())])
        if not (found.value >= 1.03 and found.lo > 1.0):
            return False
    return True


def _size(actions: Actions) -> tuple[int, ...]:
    """Fewer actions first, then by those who act, the sender first, the operator last, then fewer
    keys of hosts.
    """
    keys = sum(change.path.startswith("tcp.") for action in actions for change in action.changes)
    return (len(actions), sum(WHO.index(who) for action in actions for who in action.who), keys)


def _ties(values: Mapping[str, Mapping[int, float]], a: str, b: str) -> bool:
    found = ratio([(values[a][s], values[b][s]) for s in sorted(values[a].keys() & values[b].keys())])
    return found.p >= 0.05 or abs(found.value - 1.0) <= 0.01


def _gain(gain: Ratio, one: Prediction | None) -> dict[str, Any]:
    """`gain` of the JSON document: the mean's on unseen seeds, and that of one run."""
    return {
        "ratio": gain.value,
        "lo": gain.lo,
        "hi": gain.hi,
        "one_run": None if one is None else {"lo": one.lo, "hi": one.hi},
        "n": gain.n,
    }


def who_of(actions: Actions) -> tuple[str, ...]:
    """Who has to do something for a change, in the order of `WHO`."""
    who = {who for action in actions for who in action.who}
    return tuple(name for name in WHO if name in who)


def _change(actions: Actions) -> dict[str, Any]:
    return {
        "label": label_of(actions),
        "change": [change.as_json() for action in actions for change in action.changes],
        "who": ",".join(who_of(actions)),
    }


def _typed(actions: Actions) -> dict[str, Any]:
    """What to type and how to undo it, in their orders; `steps` has who types each."""
    recipe = Recipe.of(actions)
    return {
        "commands": [step.command.text() for step in recipe.steps],
        "undo": [command.text() for command in recipe.undo],
        "steps": [step.as_json() for step in recipe.steps],
        "alternatives": [one.as_json() for one in recipe.alternatives],
        "preconditions": list(dict.fromkeys(text for action in actions for text in action.preconditions)),
    }


def _rest(
    actions: Sequence[Action],
    finalists: Sequence[Actions],
    raced: Mapping[str, Mapping[int, Run]],
    gains: Mapping[str, Ratio],
    refused: Mapping[str, str],
    places: Sequence[str],
    score: str,
) -> list[dict[str, Any]]:
    """All changes that are not advised, with their gain and the reason, the largest gain first."""
    rows = []
    changes = {label_of(one): one for one in [*[(action,) for action in actions], *finalists]}
    for label, one in changes.items():
        if label in places:
            continue
        found: dict[str, float | None]
        if label in gains:
            gain = gains[label]
            found = {"gain": gain.value, "lo": gain.lo, "hi": gain.hi, "n": gain.n}
            why = refused[label] or "a part of it gains as much"
        else:
            value = mean_gain(raced[label], raced[LEFT], score)
            found = {"gain": value, "lo": None, "hi": None, "n": len(raced[label])}
            why = "gains less than others"
        rows.append({**_change(one), **found, "why": why})
    return sorted(rows, key=lambda row: -float(row["gain"] or 0.0))


def _conditions(
    runs: Runs, examined: Mapping[str, Actions], score: str, seed: int, seeds: int
) -> dict[str, list[dict[str, Any]]]:
    """The gain of each change under neighbouring conditions."""
    if not examined:
        return {}
    found = conditions(runs.situation)
    every = [(condition, label) for condition in found for label in (LEFT, *examined)]
    changes: dict[str, Actions] = {LEFT: (), **examined}
    entries = [_entry(runs.situation, changes[label], label, condition) for condition, label in every]
    metrics = dict(
        zip(
            [(c.text, label) for c, label in every],
            runs.run("conditions", entries, range(seed, seed + seeds)),
            strict=True,
        )
    )
    return {
        label: [
            _under(condition, metrics[condition.text, label], metrics[condition.text, LEFT], score)
            for condition in found
        ]
        for label in examined
    }


def _entry(situation: Situation, actions: Actions, label: str, condition: Condition) -> Entry:
    scenario = situation.scenario(actions, condition.point, condition.flows)
    return Entry(label, scenario, condition.text)


def _under(condition: Condition, advised: Mapping[int, Run], base: Mapping[int, Run], score: str) -> dict[str, Any]:
    """The sign of a gain flips where the change loses, by its interval or by 3 %."""
    gain = ratio(pairs_of(advised, base, score))
    return {
        "condition": condition.text,
        "gain": gain.value,
        "lo": gain.lo,
        "hi": gain.hi,
        "n": gain.n,
        "flips": gain.hi < 1.0 or gain.value < 1.0 / 1.03,
    }


def _beside(
    runs: Runs, examined: Mapping[str, Actions], base: Mapping[int, Run], seeds: Sequence[int]
) -> dict[str, dict[str, tuple[Mapping[int, Run], Mapping[int, Run]]]]:
    """The runs of each change and of none beside a cubic flow, a reno flow and short transfers."""
    if not examined:
        return {}
    situation = runs.situation
    goodput = sum(run["goodput_bps"] for run in base.values()) / len(base)
    duration_s = situation.base.duration / 1e12
    kinds = [kind for kind in (*OTHERS, SHORT) if goodput > 0.0]
    flows = {
        kind: [
            {**flow, "name": BESIDE + str(flow["name"])}
            for flow in companions(kind, situation.direction, duration_s, goodput)
        ]
        for kind in kinds
    }
    if any(str(flow.get("name", "")).startswith(f"{BESIDE}other") for flow in situation.data["flow"]):
        flows = {kind: of for kind, of in flows.items() if kind == SHORT}
    changes: dict[str, Actions] = {LEFT: (), **examined}
    every = [(kind, label) for kind in flows for label in changes]
    entries = [
        Entry(label, situation.scenario(changes[label], flows=flows[kind]), beside=kind) for kind, label in every
    ]
    metrics = dict(zip(every, runs.run("beside", entries, seeds), strict=True))
    return {label: {kind: (metrics[kind, label], metrics[kind, LEFT]) for kind in flows} for label in examined}
