"""`advise`: what to change of the hosts or of the link, by how much it helps, and what to type."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ackclock.advice.result import Advice
from ackclock.advice.tables import gain_range, gain_text, verdict
from ackclock.advisor import verification
from ackclock.advisor.actions import WHO, Action, candidates, check_may, needs_bottleneck
from ackclock.advisor.causes import Cause, causes_of, removed_share
from ackclock.advisor.conditions import Condition, conditions
from ackclock.advisor.fit_support import FitSupport
from ackclock.advisor.host_actions import unsettable
from ackclock.advisor.outcome import (
    MIN_GAIN,
    ModelError,
    Prediction,
    beside_costs,
    effect,
    ordered,
    own_costs,
    pairs_of,
    predicted_ratio,
    probe_refusal,
    refusal,
)
from ackclock.advisor.race import (
    CPU_S,
    EXAMINED,
    NO_CONDITION,
    UNSEEN,
    Actions,
    Bound,
    Left,
    Raced,
    Runs,
    Sizes,
    label_of,
    mean_gain,
    race,
)
from ackclock.advisor.reader import Reader
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import LinkLike, Situation, situation_of
from ackclock.errors import InputError, InvalidValue, choices, format_value
from ackclock.format import count
from ackclock.goals import APP_GOALS, DEFAULT_OF_LINK, DEFAULT_OF_SCENARIO, GOALS, TRANSFER_GOALS
from ackclock.input.link.bottleneck import unfit_for_household
from ackclock.input.link.frame_grid import locked
from ackclock.input.scenario.link_draws import draws_path
from ackclock.input.scenario.resolution import resolved
from ackclock.limitations import FITTED, of_command, scenario_facts
from ackclock.linux import require_linux
from ackclock.notebook import Progress
from ackclock.simulation import household, run_files
from ackclock.simulation.goals import SPARSE_GOALS, formula
from ackclock.simulation.harm import Harm, flow_key
from ackclock.simulation.metrics import Run, over_seeds
from ackclock.simulation.plan import build_plan
from ackclock.statistics import Ratio, against, ratio
from ackclock.storage import atomic_files
from ackclock.storage.run_folder import Identity, opened
from ackclock.storage.run_kind import ADVISE
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.advise import Advice as AdviceDocument
    from ackclock.documents.advise import (
        Advised,
        Change,
        Gain,
        NoGain,
        OfLoad,
        Point,
        UnderCondition,
        UnjudgedAdvice,
    )
    from ackclock.documents.engine import Summary

LEFT = "as it is"


def advise(
    *what: str | Path | LinkLike,
    goal: str | None = None,
    may: Sequence[str] | None = None,
    direction: str | None = None,
    seed: int = 1,
    workers: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
    cpu_s: float = CPU_S,
    verify: bool = False,
    may_harm: bool = False,
) -> Advice:
    """What to change of the hosts or of a link for a goal, with the commands and how to undo them.

    Args:
        what: a packaged link's name, a link file, a `Link` or a dict (judged with a household on
            it, or by the mean of its loads: a download, an upload, both at once); a scenario file
            or dict; a run folder of `simulate` or `compare`; or captures of both ends of a path, to
            which a link is fitted first.
        goal: of a link "household" (the targets of a call, pages and a game beside a download and
            an upload that are met, then their goodput), or "call", "page", "game" alone; of any
            situation "balanced" (goodput over the root of the p95 RTT of a sparse flow beside it),
            "throughput", "latency" (that RTT) or "fairness" (Jain's index). None: "household" of a
            link without `direction`, otherwise "balanced".
        may: who may change something: "sender", "receiver", "router" (at the clients' end) and
            "operator" (of the link). By default all of them, and what the reader can apply stands
            first by a guess: hosts and router of a link or a scenario, the captured end.
        direction: of the transfer over a link whose figures stand first, "down" (None) or "up".
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
        may_harm: advise changes, too, that push another flow, short transfers or the changed flow
            below half of what the host's defaults give there (docs/reference/advise.md).

    All changes run with the same seeds, the better half with further ones, then pairs of the best;
    the finalists and the situation as it is run with seeds that no round has seen. A change is
    advised if its score is at least 3 % better and the interval of the ratio, corrected for the
    number of finalists, excludes 1.

    Returns:
        An Advice: `document` (docs/reference/advise.md), `advice` and `tried` (Polars frames).

    Raises:
        InputError: an invalid argument, or another run in ``out``.
        RunFailed: a run failed in the engine.

    >>> import ackclock
    >>> found = ackclock.advise("dsl-16m", may=["sender"])  # doctest: +SKIP
    >>> found.document["advice"][0]["commands"]  # doctest: +SKIP
    """
    if goal is not None and goal not in GOALS:
        raise InputError(format_value(goal), choices(GOALS, goal), key="goal")
    try:
        allowed = WHO if may is None else check_may(may)
    except InvalidValue as invalid:
        raise InputError.of(invalid, key="may") from None
    if verify:
        require_linux("advise --verify", "network namespaces and TUN devices")
    situation = situation_of(what, direction=direction or "down", seed=seed)
    if goal is None:
        of_link = situation.loads and direction is None and not verify and not unfit_for_household(situation.hops)
        goal = DEFAULT_OF_LINK if of_link else DEFAULT_OF_SCENARIO
    if goal in APP_GOALS and not situation.loads:
        raise InputError.problem(
            f"{goal} is judged with a household on a link, and this has flows of its own",
            f"a link, or a goal of transfers: {', '.join(TRANSFER_GOALS)}",
            key="goal",
        )
    if verify and goal in APP_GOALS:
        raise InputError.problem(
            f"{goal} is of a household, and verify runs one transfer",
            f"a goal of transfers: {', '.join(TRANSFER_GOALS)}",
            key="goal",
        )
    situation = situation.for_goal(goal)
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
            may_harm,
            situation.loads,
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
        document, changes = _advice(runs, _Asked(goal, allowed, seed, cpu_s, may_harm, reader), wanted)
        if verify and changes:
            found = verification.verify(runs.situation, changes, document, progress)
            document |= {"verification": {**found}, "notes": [*document["notes"], found["text"]]}
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


@dataclass(frozen=True)
class _Asked:
    """The arguments of an advice: `advise` says what they are."""

    goal: str
    may: tuple[str, ...]
    seed: int
    cpu_s: float
    may_harm: bool
    reader: Reader = field(default_factory=Reader)

    @property
    def score(self) -> str:
        """The metric of the goal's score."""
        return f"score_{self.goal}"

    @property
    def search(self) -> str:
        """The metric by which a race looks for changes: that of applications grows before a target
        is met, too.
        """
        return "score_search" if self.goal in APP_GOALS else self.score

    @property
    def sparse(self) -> bool:
        """Whether the score needs a sparse flow beside the situation's flows."""
        return self.goal in SPARSE_GOALS


def _candidates(situation: Situation, may: Sequence[str]) -> list[Action]:
    """The changes of a situation; of a link those of each direction of the data."""
    if not situation.loads:
        return candidates(situation, may)
    every = [
        one for side in (situation.direction, situation.opposite) for one in candidates(situation.under(side), may)
    ]
    return list({action.label: action for action in reversed(every)}.values())[::-1]


def _facts(situation: Situation) -> frozenset[str]:
    """What of the situation touches the verdict."""
    fitted = {FITTED} if situation.fit else set()
    return scenario_facts(resolved(situation.base)) | fitted


def _advice(
    runs: Runs, asked: _Asked, wanted: Sequence[Callable[[Actions], bool]]
) -> tuple[AdviceDocument, list[Actions]]:
    """The document, and its advised changes, best first."""
    goal, score, seed = asked.goal, asked.score, asked.seed
    situation = runs.situation
    actions = _candidates(situation, asked.may)
    sizes = Sizes.within(situation, len(actions), asked.cpu_s)
    if sizes.duration_s is not None:
        situation = runs.situation = situation.lasting(sizes.duration_s)
    runs.planned = sizes.runs(len(actions))
    first = range(seed, seed + runs.first_seeds)
    runs.scored("baseline", [((), NO_CONDITION)], first)
    causes = _causes(situation, runs.summaries, seed)
    situation = runs.situation = situation.with_queues(runs.summaries)
    actions = _candidates(situation, asked.may)
    bound = Bound.of(runs, seed, asked.cpu_s)
    runs.planned = sizes.runs(len(actions)) + bound.planned
    support = FitSupport.of(situation.fit)
    if support.refuses_all:
        actions = []
    # A router's queue may stand before a modem: the best change that works there, too, is wanted.
    behind = [lambda one: not any(map(needs_bottleneck, one)) and any("router" in action.who for action in one)]
    raced = (
        race(
            runs, actions, asked.search, seed + runs.first_seeds, [*wanted, *behind], None if asked.may_harm else bound
        )
        if actions
        else Raced([], {})
    )
    finalists = raced.finalists
    unseen = range(seed + UNSEEN, seed + UNSEEN + sizes.final)
    final = _final(runs, finalists, asked, unseen, sizes)
    base = final[LEFT]
    values = {
        label: {s: run[score] for s, run in of_seed.items() if not math.isnan(run.get(score, math.nan))}
        for label, of_seed in final.items()
    }
    gains = against(values, LEFT, [label for label in final if label != LEFT])
    model = ModelError.of(situation.fit.get("score") if situation.fit else None)
    # Goals without a delay are judged without the sparse flow, beside which the rounds ran.
    rounds = raced.metrics if asked.sparse else {}
    every = {label: {**rounds.get(label, {}), **of_seed} for label, of_seed in final.items()}
    error = model.of_gain(goal)
    one_runs = {label: predicted_ratio(every[label], every[LEFT], score, error) for label in gains}
    by_label = {label_of(one): one for one in finalists}
    refused = {label: refusal(final[label], base, gain, goal, situation.loads) for label, gain in gains.items()}
    unsupported = {
        label: why
        for label, old in refused.items()
        if not old and (why := support.refusal(by_label[label], one_runs[label]))
    }
    refused |= unsupported
    useful = [label for label, why in refused.items() if not why]
    if not asked.may_harm:
        bound.measure([by_label[label] for label in useful])
    # Of a finalist that is refused before, harm is not the reason.
    harmful = {
        label: harms for label, harms in bound.found.items() if harms and (label in useful or label not in gains)
    }
    refused |= {label: _harm_text(harms) for label, harms in harmful.items() if label in gains}
    if asked.sparse:
        left = {label: by_label[label] for label in useful if not refused[label]}
        plain = unseen[: sizes.cost] if situation.loads else unseen
        refused |= _probe_flips(runs, left, final, plain, asked)
    # A part that is refused for its harm, or for what it is without the sparse flow, is no
    # alternative.
    no_parts = [label for label in useful if refused[label]] + [label for label, harm in bound.found.items() if harm]
    for label in sorted((one for one in useful if not refused[one]), key=lambda one: len(by_label[one])):
        refused[label] = _parts_text(label, by_label, values, no_parts)
        no_parts += [label] if refused[label] else []
    accepted = [label for label, why in refused.items() if not why]
    places = ordered(
        accepted,
        gains,
        {label: _size(by_label[label]) for label in accepted},
        {label: removed_share(by_label[label], causes) for label in accepted},
        [label for label in accepted if asked.reader.applies(who_of(by_label[label]))],
    )
    examined = _examined(places, by_label)
    unless = _conditions(runs, examined, asked, seed + 2 * UNSEEN, sizes.condition)
    beside = bound.beside(list(examined.values()), sizes.cost) if examined else {}
    advice: list[Advised] = []
    for place, label in enumerate(places, start=1):
        recipe = Recipe.of(by_label[label])
        row: Advised = {
            "label": label,
            "change": _changes(by_label[label]),
            "who": ",".join(who_of(by_label[label])),
            "commands": [step.command.text() for step in recipe.steps],
            "undo": [command.text() for command in recipe.undo],
            "steps": [step.as_json() for step in recipe.steps],
            "alternatives": [one.as_json() for one in recipe.alternatives],
            "preconditions": list(dict.fromkeys(text for one in by_label[label] for text in one.preconditions)),
            "gain": _gain(gains[label], one_runs[label]),
            "effect": effect(final[label], base, model, every[label]),
            "loads": _of_loads(runs, asked, model, (final[label], base), (every[label], every[LEFT])),
            "rank": place,
            "tied_with": [other for other in places if other != label and _ties(values, label, other)],
            "unless": None,
            "conditions": None,
            "costs": None,
            "benefits": None,
        }
        if label in examined:
            row["conditions"] = unless[label]
            row["unless"] = [one["condition"] for one in unless[label] if one["flips"]]
            others, row["benefits"] = beside_costs(beside[label])
            row["costs"] = [*own_costs(final[label], base, situation.loads), *others]
        advice.append(row)
    document: UnjudgedAdvice = {
        "what": situation.what,
        "title": situation.base.title,
        "goal": goal,
        "may": list(asked.may),
        "reader": asked.reader.as_json(),
        "may_harm": asked.may_harm,
        "direction": situation.direction,
        "loads": list(situation.loads),
        "duration_s": situation.base.duration / 1e12,
        "baseline": {"metrics": {n: v.as_json() for n, v in over_seeds(base.values()).items() if _shown(n)}},
        "advice": advice,
        "nothing_to_gain": _rest(actions, raced, gains, refused, places, asked, harmful, unsupported),
        "points": _points({**raced.metrics, **final}),
        "limitations": [one.name for one in of_command("advise", _facts(situation)) if one.when],
        "notes": [*situation.notes, *locked(situation.hops), *unsettable(situation, asked.may)],
        "runs": {"count": runs.done, "rounds": runs.rounds},
    }
    if situation.fit:
        inputs = situation.fit.get("inputs")
        wanted_captures = support.captures(unsupported.values())
        document["fit"] = {
            "inputs": None if inputs is None else [{**one} for one in inputs],
            "score": situation.fit.get("score"),
            "not_identified": situation.fit.get("not_identified"),
            "good_for": support.good_for,
            "capture_next": wanted_captures,
        }
        if advice and wanted_captures:
            document["notes"].append(f"More is known after a capture of {'; '.join(wanted_captures)}.")
    if goal in APP_GOALS:
        document["notes"][:0] = [formula(goal), *household.bounds(situation.hops)]
    document["notes"] += _harm_notes(advice, document["nothing_to_gain"])
    document["notes"] += _modem_notes([by_label[label] for label in places], gains)
    if advice and asked.reader.sentence:
        document["notes"].append(asked.reader.sentence)
    made = cast("AdviceDocument", document)
    made["verdict"] = verdict(document)
    return made, [by_label[label] for label in places]


def _causes(situation: Situation, summaries: Sequence[Summary], seed: int) -> list[list[Cause]]:
    """What limits the flows of the runs as they are, of a link under each of its loads."""
    views = [situation.under(load) for load in situation.loads] or [situation]
    each = len(summaries) // len(views)
    plans = [build_plan(view.scenario(), seed) for view in views]
    return [
        flow
        for place, plan in enumerate(plans)
        for flow in causes_of(summaries[each * place : each * (place + 1)], plan)
    ]


def _final(
    runs: Runs, finalists: Sequence[Actions], asked: _Asked, unseen: Sequence[int], sizes: Sizes
) -> dict[str, dict[int, Run]]:
    """The metrics of the finalists on unseen seeds, by label and seed. Goals that need no delay are
    judged without the sparse flows; some seeds then have the delay from runs of their own.
    """
    changes = [(one, NO_CONDITION) for one in ((), *finalists)]
    labels = [label_of(one) for one, _ in changes]
    found = runs.scored("final", changes, unseen, sparse=asked.sparse)
    if not asked.sparse and asked.goal not in APP_GOALS:
        delays = runs.scored("final-sparse", changes, unseen[: sizes.cost])
        for of_seed, beside in zip(found, delays, strict=True):
            for seed, run in beside.items():
                sparse = {name: value for name, value in run.items() if name.rpartition(":")[2].startswith("sparse_")}
                of_seed[seed] = {**of_seed[seed], **sparse}
    return dict(zip(labels, found, strict=True))


def _probe_flips(
    runs: Runs,
    changes: Mapping[str, Actions],
    final: Mapping[str, Mapping[int, Run]],
    unseen: Sequence[int],
    asked: _Asked,
) -> dict[str, str]:
    """The changes whose goodput falls without the sparse flow, though not beside it, with the
    reason.
    """
    if not changes:
        return {}
    every = [((), NO_CONDITION), *((one, NO_CONDITION) for one in changes.values())]
    base, *found = runs.scored("final-plain", every, unseen, sparse=False)
    flips = {}
    for label, of_seed in zip(changes, found, strict=True):
        for prefix in [f"{load}:" for load in runs.situation.loads] or [""]:
            metric = f"{prefix}score_throughput"
            beside = ratio(pairs_of(final[label], final[LEFT], metric))
            without = ratio(pairs_of(of_seed, base, metric))
            gain = ratio(pairs_of(final[label], final[LEFT], prefix + asked.score)).value
            if asked.goal == "balanced":
                gain *= without.value / beside.value
            if why := probe_refusal(beside, without, gain):
                flips[label] = why
                break
    return flips


def _of_loads(
    runs: Runs,
    asked: _Asked,
    model: ModelError,
    final: tuple[Mapping[int, Run], Mapping[int, Run]],
    every: tuple[Mapping[int, Run], Mapping[int, Run]],
) -> dict[str, OfLoad] | None:
    """The gain and the effect under each load of a link, with the change and without; None for a
    situation as it is.
    """
    if not runs.situation.loads:
        return None
    found: dict[str, OfLoad] = {}
    for load in runs.situation.loads:
        advised, base = (runs.metrics_of_load(load, of) for of in final)
        all_advised, all_base = (runs.metrics_of_load(load, of) for of in every)
        one = predicted_ratio(all_advised, all_base, asked.score, model.of_gain(asked.goal))
        found[load] = {
            "gain": _gain(ratio(pairs_of(advised, base, asked.score)), one),
            "effect": effect(advised, base, model, all_advised),
        }
    return found


def _harm_text(harms: Sequence[Harm]) -> str:
    """The harm of a change as the reason that it is not advised."""
    return f"harm: {'; '.join(harm.text for harm in harms)}"


def _harm_notes(advice: Sequence[Advised], rest: Sequence[NoGain]) -> list[str]:
    """The change beyond the bound with a larger gain than all advised ones, in a sentence."""
    best = max((row["gain"]["ratio"] for row in advice), default=1.0)
    row = next((row for row in rest if row["harm"] and (row["gain"] or 0.0) > best), None)
    if row is None:
        return []
    harms = "; ".join(harm["text"] for harm in row["harm"])
    return [
        f"{row['label']} gains {gain_text(row['gain'])} ({row['n']} seeds), and is not advised: {harms}. "
        "--may-harm lifts this bound."
    ]


def _modem_notes(advised: Sequence[Actions], gains: Mapping[str, Ratio]) -> list[str]:
    """What of the advices, best first, works before a modem, where the first has a queue that does
    not.
    """
    queues = [action for action in (advised[0] if advised else ()) if needs_bottleneck(action)]
    if not queues:
        return []
    start = f"Where a modem behind the router is slower than its interface, {queues[0].label} does nothing"
    for change in advised:
        if any("router" in action.who for action in change) and not any(map(needs_bottleneck, change)):
            label = label_of(change)
            return [f"{start}: {label} ({gain_text(gains[label].value)}) works there, too."]
    return [f"{start}."]


def _examined(places: Sequence[str], by_label: Mapping[str, Actions]) -> dict[str, Actions]:
    """The first advice, then the best of each of those who may act."""
    by_who: dict[tuple[str, ...], str] = {}
    for label in places:
        by_who.setdefault(who_of(by_label[label]), label)
    order = dict.fromkeys([*places[:1], *by_who.values()])
    return {label: by_label[label] for label in list(order)[:EXAMINED]}


def _points(found: Mapping[str, Mapping[int, Run]]) -> list[Point]:
    """Goodput and delay of every change, means over its seeds."""
    names = ("goodput_bps", "sparse_rtt_p95_ms")
    rows: list[Point] = []
    for label, of_seed in found.items():
        means = over_seeds({name: run[name] for name in names if name in run} for run in of_seed.values())
        if len(means) == 2:
            goodput, delay = (means[name].mean for name in names)
            rows.append({"label": label, "n": len(of_seed), "goodput_bps": goodput, "sparse_rtt_p95_ms": delay})
    return rows


def _shown(metric: str) -> bool:
    return ":" not in metric and not metric.startswith("score_")


def _parts_text(
    label: str,
    by_label: Mapping[str, Actions],
    values: Mapping[str, Mapping[int, float]],
    no_parts: Sequence[str],
) -> str:
    """Why a combination is not advised: a part of it, not of `no_parts`, gains about as much alone;
    empty where the whole is better by 3 % and more than chance.
    """
    whole = by_label[label]
    for part in (label_of(one) for size in range(1, len(whole)) for one in combinations(whole, size)):
        alone = values.get(part)
        if alone is None or part in no_parts:
            continue
        found = ratio([(values[label][s], alone[s]) for s in sorted(alone.keys() & values[label].keys())])
        if not (found.value >= 1.03 and found.lo > 1.0):
            interval = gain_range(found.lo, found.hi)
            return f"a part of it gains as much: beyond {part} alone it gains {gain_text(found.value)} ({interval})"
    return ""


def _size(actions: Actions) -> tuple[int, ...]:
    """Fewer actions first, then by those who act, the sender first, the operator last, then fewer
    keys of hosts.
    """
    keys = sum(bool(flow_key(change.path)) for action in actions for change in action.changes)
    return (len(actions), sum(WHO.index(who) for action in actions for who in action.who), keys)


def _ties(values: Mapping[str, Mapping[int, float]], a: str, b: str) -> bool:
    found = ratio([(values[a][s], values[b][s]) for s in sorted(values[a].keys() & values[b].keys())])
    return found.p >= 0.05 or abs(found.value - 1.0) <= 0.01


def _gain(gain: Ratio, one: Prediction | None) -> Gain:
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


def _changes(actions: Actions) -> list[Change]:
    return [change.as_json() for action in actions for change in action.changes]


def _rest(
    actions: Sequence[Action],
    raced: Raced,
    gains: Mapping[str, Ratio],
    refused: Mapping[str, str],
    places: Sequence[str],
    asked: _Asked,
    harmful: Mapping[str, Sequence[Harm]],
    unsupported: Collection[str],
) -> list[NoGain]:
    """All changes that are not advised, with their gain and the reason, the largest gain first.
    `harmful` are those whose reason is harm, `unsupported` those that the fit does not support.
    """
    rows: list[NoGain] = []
    changes = {label_of(one): one for one in [*[(action,) for action in actions], *raced.finalists]}
    for label, one in changes.items():
        if label in places:
            continue
        harms, found = harmful.get(label, ()), gains.get(label)
        if found:
            gain, seeds, why = found.value, found.n, refused[label]
        else:
            of_seed, base = raced.metrics[label], raced.metrics[LEFT]
            gain, seeds = mean_gain(of_seed, base, asked.search), len(of_seed)
            left = raced.left.get(label, Left(seeds, len(gains)))
            why = _harm_text(harms) if harms else _left_text(left, ratio(pairs_of(of_seed, base, asked.search)))
        rows.append(
            {
                "label": label,
                "change": _changes(one),
                "who": ",".join(who_of(one)),
                "gain": gain,
                "lo": found.lo if found else None,
                "hi": found.hi if found else None,
                "n": seeds,
                "why": why,
                "harm": [harm.as_json() for harm in harms],
                "supported": label not in unsupported,
            }
        )
    return sorted(rows, key=lambda row: -float(row["gain"] or 0.0))


def _left_text(left: Left, gain: Ratio) -> str:
    """Why a change has left the race, by its gain with the seeds that it had."""
    if not gain.value >= MIN_GAIN:
        return "gains less than 3 %" if gain.value >= 1.0 else "loses"
    seeds, others = count(gain.n, "seed"), count(left.better, "other")
    if gain.n < 2:
        return f"too few seeds to be certain ({seeds}, in which {others} gained more)"
    interval = gain_range(gain.lo, gain.hi)
    if not gain.lo > 1.0:
        return f"too uncertain: {interval} with {seeds}, in which {others} gained more"
    return f"gains less than {others} with the same {seeds} ({interval})"


def _conditions(
    runs: Runs, examined: Mapping[str, Actions], asked: _Asked, seed: int, seeds: int
) -> dict[str, list[UnderCondition]]:
    """The gain of each change under neighbouring conditions."""
    if not examined:
        return {}
    found = conditions(runs.situation)
    changes: dict[str, Actions] = {LEFT: (), **examined}
    every = [(condition, label) for condition in found for label in changes]
    scored = runs.scored(
        "conditions",
        [(changes[label], condition) for condition, label in every],
        range(seed, seed + seeds),
        sparse=asked.sparse,
    )
    metrics = dict(zip([(condition.text, label) for condition, label in every], scored, strict=True))
    return {
        label: [
            _under(condition, metrics[condition.text, label], metrics[condition.text, LEFT], asked.score)
            for condition in found
        ]
        for label in examined
    }


def _under(condition: Condition, advised: Mapping[int, Run], base: Mapping[int, Run], score: str) -> UnderCondition:
    """The sign of a gain flips where the change loses, by its interval or by 3 %."""
    gain = ratio(pairs_of(advised, base, score))
    return {
        "condition": condition.text,
        "gain": gain.value,
        "lo": gain.lo,
        "hi": gain.hi,
        "n": gain.n,
        "flips": gain.is_loss,
    }
