"""The recommendation: the configuration with the best score of the goal among those within the
bound of harm (simulation/harm.py).

The ranking gives a shortlist: the fastest configuration, the host's defaults, the best by the
score that a flow's own RTT gives, and the choice for low delay. These run under the loads of the
link (`comparison.loads`), and those that may be recommended run beside other flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ackclock.comparison.conditions import UnderCondition
from ackclock.comparison.configuration import AUTO, Configuration
from ackclock.comparison.ranking import Ranked
from ackclock.goals import APP_GOALS
from ackclock.simulation.goals import SCORE, mean_score, targets_met, value
from ackclock.simulation.harm import DEFAULTS, Harm
from ackclock.simulation.household import TARGETS, Target, targets_of
from ackclock.simulation.loads import HOUSEHOLD
from ackclock.simulation.metrics import Run, over_seeds
from ackclock.statistics import NEAR_THE_BEST, SAME_WITHIN, Interval, Ratio, interval, ratio

if TYPE_CHECKING:
    from ackclock.documents.compare import Judgement as JudgementDocument
    from ackclock.documents.compare import ScoredChoice as ScoredDocument
    from ackclock.documents.parts import Metrics
    from ackclock.documents.simulate import HouseholdTarget

SHORTLISTED = 5
"""Maximum number of configurations that run under the loads, beside the host's defaults."""
MAX_HOUSEHOLDS = 16
"""Maximum number of configurations that run with a household."""
LEFT_OUT = ("down_loss_rate", "up_loss_rate")
"""Metrics under a load that are not in documents: the prices have them."""

Seeds = Mapping[int, Run]


def left_out(load: str) -> tuple[str, ...]:
    """The metrics under a load that are not in documents. A household has one goal's score."""
    return tuple(f"{SCORE}{goal}" for goal in APP_GOALS) if load == HOUSEHOLD else LEFT_OUT


def screened(goal: str, metrics: Mapping[str, Interval]) -> float:
    """The score of a configuration by the figures of its own flows alone: their p95 RTT stands for
    that of a sparse flow, which it is in a queue that all share. Better the larger it is.
    """

    def mean(name: str) -> float:
        return metrics[name].mean if name in metrics else math.nan

    goodput, rtt = mean("goodput_bps"), mean("rtt_p95_ms")
    if goal == "fairness" and "jain" in metrics:
        return mean("jain")
    if goal == "throughput":
        return goodput
    return 1.0 / rtt if goal == "latency" else goodput / math.sqrt(rtt)


def shortlist_of_apps(ranking: Sequence[Ranked], usual: str) -> list[Ranked]:
    """The configurations that run with a household: all of a small comparison, otherwise the host's
    defaults and the best by the figures of their own flows.
    """
    able = [ranked for ranked in ranking if ranked.delivers]
    order = sorted(
        able, key=lambda r: (not is_default(r.configuration, usual), -_finite(screened("balanced", r.metrics)))
    )
    return order[:MAX_HOUSEHOLDS]


def is_default(choice: Configuration, usual: str) -> bool:
    """Whether a configuration is the host's defaults, whose variant is `usual`."""
    return choice == Configuration(usual, AUTO, AUTO, True)


def shortlist(ranking: Sequence[Ranked], goal: str, usual: str, low_latency: Ranked | None) -> list[Ranked]:
    """The configurations that run under the loads: the fastest, the host's defaults, then the best
    by `screened`, first one of each variant, queue and ACK policy, and the choice for low latency.
    Configurations without data, and with the figures of an earlier one, are left out.
    """
    able = [ranked for ranked in ranking if ranked.delivers]
    if not able:
        return []
    fastest = fastest_of(able)
    usual_ones = [ranked for ranked in able if is_default(ranked.configuration, usual)]
    by_score = sorted((r for r in able if r.same_as is None), key=lambda r: -_finite(screened(goal, r.metrics)))
    first: dict[tuple[str, ...], Ranked] = {}
    for ranked in by_score:
        first.setdefault(kind_of(ranked.configuration), ranked)
    wanted = [fastest, *usual_ones, *first.values(), *([low_latency] if low_latency else []), *by_score]
    picked = list({ranked.configuration: ranked for ranked in wanted}.values())
    return picked[: SHORTLISTED + len(usual_ones)]


def fastest_of(able: Sequence[Ranked]) -> Ranked:
    """The configuration with the highest goodput; of those within 1 % of it the first of the
    ranking.
    """
    top = max(ranked.metrics["goodput_bps"].mean for ranked in able)
    return next(ranked for ranked in able if ranked.metrics["goodput_bps"].mean >= (1.0 - SAME_WITHIN) * top)


def _finite(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def kind_of(choice: Configuration) -> tuple[str, ...]:
    """What two configurations differ in that are worth a place in the shortlist each."""
    return (choice.variant, choice.queue, choice.ack_policy, choice.ack_technique, choice.transport)


def scores_of(goal: str, loads: Mapping[str, Seeds]) -> dict[int, float]:
    """The score of a configuration by seed, its mean over the loads; NaN where they have none."""
    shared = set.intersection(*(set(of_seed) for of_seed in loads.values()))
    return {seed: mean_score(goal, [of[seed] for of in loads.values()]) for seed in sorted(shared)}


@dataclass(frozen=True)
class ScoredChoice:
    """A configuration under the loads.

    Attributes:
        label: of the configuration, or that of the host's defaults if these are not compared.
        score: mean over the loads, its interval over the seeds.
        gain: its ratio to the score of the host's defaults; None of these.
        harm: where it falls below the bound of harm; None where that was not tested.
        loads: metrics by load.
        targets: of a goal of applications, the household's.
    """

    label: str
    score: Interval
    gain: Ratio | None
    harm: tuple[Harm, ...] | None
    loads: Mapping[str, Mapping[str, Interval]]
    targets: Sequence[HouseholdTarget] = ()

    def as_json(self) -> ScoredDocument:
        """An entry of `judgement.choices` in ``compare``'s JSON document."""
        document: ScoredDocument = {
            "label": self.label,
            "score": self.score.as_json(),
            "gain": self.gain.as_json() if self.gain else None,
            "harm": None if self.harm is None else [harm.as_json() for harm in self.harm],
        }
        return {**document, "targets": list(self.targets)} if self.targets else document

    def loads_json(self) -> dict[str, Metrics]:
        """`loads` of its cell in the JSON document."""
        return {
            load: {name: value.as_json() for name, value in metrics.items() if name not in left_out(load)}
            for load, metrics in self.loads.items()
        }


@dataclass(frozen=True)
class Judgement:
    """What is recommended by a goal.

    Attributes:
        goal: one of `simulation.goals.GOALS`.
        may_harm: whether the bound of harm was lifted.
        recommended: the label of the recommended configuration; None where no compared one is
            within the bound and better than the host's defaults, which are not compared.
        fastest: the label of the one with the highest goodput.
        defaults: the label of the host's defaults.
        seeds, harm_seeds, harm_s: the number of seeds under the loads and beside other flows, and
            the duration of the measurement beside them in s.
        choices: the shortlisted configurations, best score first; the host's defaults among them.
        conditions: the recommended one, or the host's defaults, beside others where the path is
            another.
        household_s: the duration of a household's run in s; None without one.
    """

    goal: str
    may_harm: bool
    recommended: str | None
    fastest: str
    defaults: str
    seeds: int
    harm_seeds: int
    harm_s: float
    choices: tuple[ScoredChoice, ...]
    conditions: tuple[UnderCondition, ...] = ()
    household_s: float | None = None

    def as_json(self) -> JudgementDocument:
        """The object `judgement` of ``compare``'s JSON document."""
        lists = {name: [one.as_json() for one in getattr(self, name)] for name in ("choices", "conditions")}
        document = {name: one for name, one in vars(self).items() if name != "household_s" or one is not None}
        return cast("JudgementDocument", document | lists)


@dataclass
class Judge:
    """Decides between shortlisted configurations.

    Attributes:
        goal, may_harm: as in `Judgement`.
        under_loads: the runs of each configuration under each load, by label and load.
        defaults: the label of the host's defaults among them.
        harm_of: tests a configuration beside other flows.
        fairness: its Jain's index beside a cubic flow by seed, after `harm_of`.
        changes: what a configuration changes from the host's defaults: a number for each.
    """

    goal: str
    may_harm: bool
    under_loads: Mapping[str, Mapping[str, Seeds]]
    defaults: str
    harm_of: Callable[[str], Sequence[Harm]]
    fairness: Callable[[str], Mapping[int, float]]
    changes: Mapping[str, int]
    harm: dict[str, tuple[Harm, ...]] = field(default_factory=dict)

    def tested(self, label: str) -> tuple[Harm, ...]:
        """Where a configuration falls below the bound; the host's defaults nowhere."""
        if label not in self.harm:
            self.harm[label] = () if label == self.defaults else tuple(self.harm_of(label))
        return self.harm[label]

    def scores(self, label: str) -> dict[int, float]:
        """The score of a configuration by seed, its mean over the loads."""
        found = scores_of(self.goal, self.under_loads[label])
        if self.goal == "fairness" and all(math.isnan(value) for value in found.values()):
            self.tested(label)
            return dict(self.fairness(label))
        return found

    def met(self, label: str) -> int:
        """The number of targets that a configuration meets, which count before its score."""
        return 0

    def is_as_good(self, label: str, best: str, scores: Mapping[str, Mapping[int, float]]) -> bool:
        """Whether a score is within 1 % of the best, or within 5 % and not separated by seeds."""
        to_best = score_ratio(scores[label], scores[best])
        if to_best.value >= 1.0 - SAME_WITHIN:
            return True
        return to_best.value >= 1.0 - NEAR_THE_BEST and to_best.n > 1 and not to_best.hi < 1.0

    def targets(self, label: str) -> Sequence[HouseholdTarget]:
        """The targets of a household, with what a configuration makes of them."""
        return ()

    def decide(self, fastest: str, compared: Sequence[str]) -> tuple[list[ScoredChoice], str | None]:
        """The configurations by their score, and the recommended one of the compared. `fastest` is
        tested beside other flows, too, unless it is empty.
        """
        scores = {label: self.scores(label) for label in self.under_loads}
        means = {label: _finite(interval(of.values()).mean) for label, of in scores.items()}
        order = sorted(means, key=lambda label: (-self.met(label), -means[label]))
        recommended = next((label for label in self._by_preference(order, scores) if self._is_allowed(label)), None)
        if fastest:
            self.tested(fastest)
        base = scores[self.defaults]
        scored = [
            ScoredChoice(
                label,
                interval(scores[label].values(), scale="log"),
                None if label == self.defaults else score_ratio(scores[label], base),
                self.harm.get(label, () if label == self.defaults else None),
                {load: over_seeds(of.values()) for load, of in self.under_loads[label].items()},
                self.targets(label),
            )
            for label in order
        ]
        return scored, recommended if recommended in compared else None

    def _by_preference(self, order: Sequence[str], scores: Mapping[str, Mapping[int, float]]) -> list[str]:
        """By score; of those that are as good as the best of the rest the one with the fewest
        changes.
        """
        left, found = list(order), list[str]()
        while left:
            level = self.met(left[0])
            near = [label for label in left if self.met(label) == level and self.is_as_good(label, left[0], scores)]
            chosen = min(near or left[:1], key=lambda label: self.changes[label])
            found.append(chosen)
            left.remove(chosen)
        return found

    def _is_allowed(self, label: str) -> bool:
        return not self.tested(label) or self.may_harm


@dataclass
class HouseholdJudge(Judge):
    """Decides by the targets of a household, then by what the goal makes of its figures."""

    def is_as_good(self, label: str, best: str, scores: Mapping[str, Mapping[int, float]]) -> bool:
        """Whether a score is within 5 % of the best: a change costs people an effort. No
        application that misses its target is worse than with the best.
        """
        if score_ratio(scores[label], scores[best]).value < 1.0 - NEAR_THE_BEST:
            return False
        figures = ((target, target.median(self._runs(label)), target.median(self._runs(best))) for target in TARGETS)
        return not any(is_worse(target, figure, of_best) for target, figure, of_best in figures)

    def met(self, label: str) -> int:
        """By the medians over the seeds."""
        return targets_met(self.goal, self._runs(label))

    def targets(self, label: str) -> Sequence[HouseholdTarget]:
        """By the medians over the seeds."""
        return targets_of(self._runs(label))

    def scores(self, label: str) -> dict[int, float]:
        """What decides between configurations that meet the same number of targets, by seed."""
        return {seed: value(self.goal, run) for seed, run in self.under_loads[label][HOUSEHOLD].items()}

    def tested(self, label: str) -> tuple[Harm, ...]:
        """Where a configuration falls below the bound, and the applications that it makes worse."""
        if label not in self.harm:
            worse = self._worse(label)
            self.harm[label] = tuple(worse) if worse else super().tested(label)
        return self.harm[label]

    def _runs(self, label: str) -> list[Run]:
        return list(self.under_loads[label][HOUSEHOLD].values())

    def _worse(self, label: str) -> list[Harm]:
        """The applications that miss their target and get worse than with the host's defaults over
        the link as it is, where no further target is met for it.
        """
        if self.goal != HOUSEHOLD or label == self.defaults or self.met(label) > self.met(self.defaults):
            return []
        of, base = self._runs(label), self._runs(self.defaults)
        found = []
        for target in TARGETS:
            figure, before = target.median(of), target.median(base)
            if not is_worse(target, figure, before):
                continue
            now, then = (interval(target.value(run) for run in runs).mean for runs in (of, base))
            text = target.before_and_after.format(target.text_of(base), target.text_of(of))
            found.append(Harm("both", target.goal, target.metric, now, then, len(of), f"worse for {text}"))
        return found


def is_worse(target: Target, figure: float, than: float) -> bool:
    """Whether an application misses its target and is worse than with another figure."""
    return not target.is_met(figure) and figure != than and target.worse(figure, than)


def score_ratio(a: Mapping[int, float], b: Mapping[int, float]) -> Ratio:
    """The ratio of two scores over shared seeds."""
    return ratio((a[seed], b[seed]) for seed in sorted(a.keys() & b.keys()))


def changes_of(choice: Configuration, usual: str) -> int:
    """The number of properties in which a configuration differs from the host's defaults."""
    base = Configuration(usual, AUTO, AUTO, True)
    return sum(value != usually for value, usually in zip(choice.params.values(), base.params.values(), strict=True))


def defaults_label(ranking: Sequence[Ranked], usual: str) -> str:
    """The label of the host's defaults: of their configuration if it is compared."""
    labels = (ranked.configuration.label for ranked in ranking if is_default(ranked.configuration, usual))
    return next(labels, DEFAULTS)
