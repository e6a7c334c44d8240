"""What the final runs show of a change: its gain, its effect on one run, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.advice.tables import gain_range, gain_text
from ackclock.comparison.prices import WORSE_MS, WORSE_RETRANSMITTED, WORSE_SHARE
from ackclock.format import milliseconds, percent, rate
from ackclock.goals import APP_GOALS
from ackclock.simulation.harm import EQUAL_SHARE, TRANSFER
from ackclock.simulation.loads import LOAD_TEXTS
from ackclock.simulation.metrics import Run
from ackclock.statistics import Moments, Ratio, ratio
from ackclock.statistics.intervals import exp, t_quantile

if TYPE_CHECKING:
    from ackclock.documents.advise import Benefit, Cost, Effect
    from ackclock.documents.fit import FitScore

MIN_GAIN = 1.03
"""The ratio of scores from which on a change is advised, if its interval excludes 1."""
SAME_GOODPUT = 0.99
"""A goodput is lower from this ratio on."""
OWN_BESIDE = ("cubic", "bbr")
"""The flows beside which a lower goodput of the changed flow is a cost."""
BESIDE_OTHERS = ("cubic", "reno")
"""The flows whose lower goodput beside the changed flow is a cost."""
MIN_GOODPUT = {**dict.fromkeys(APP_GOALS, 0.5), "balanced": 0.5, "throughput": 0.5, "fairness": 0.5, "latency": 0.9}
"""The goodput that one run keeps at least, by goal: the lower end of its prediction interval as a
share of the goodput without the change; of `latency` and of applications the mean."""
KERNEL_GOODPUT, KERNEL_RTT = 0.022, 0.0414
"""Relative errors of the simulator beside the running kernel, root mean squares of the rows of
the kernel's own variants in docs/evidence/kernel-vs-simulator.md (mean RTT)."""
NORMAL = 1.96
"""The 0.975 quantile of the normal distribution."""
EFFECTS = (
    "goodput_bps",
    "goodput_down_bps",
    "goodput_up_bps",
    "sparse_rtt_p95_ms",
    "sparse_loss_rate",
    "rtt_p95_ms",
    "retransmission_rate",
    "jain",
    "call_mos",
    "page_load_s",
    "page_times_alone",
    "game_late_share",
)
"""The metrics of `effect`; the last four of a household."""

Seeds = Mapping[int, Run]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A 95 % prediction interval of one run."""

    lo: float
    hi: float


def pairs_of(a: Seeds, b: Seeds, metric: str) -> list[tuple[float, float]]:
    """The values of a metric of both with the same seed."""
    return [(a[seed].get(metric, math.nan), b[seed].get(metric, math.nan)) for seed in sorted(a.keys() & b.keys())]


@dataclass(frozen=True, slots=True)
class ModelError:
    """What separates a run of the simulator from one of the path, relative standard deviations.

    Attributes:
        goodput, rtt: of the simulator beside the running kernel over the same link.
        fit_goodput, fit_rtt: of the fitted link, by its score on what was not fitted; 0 without.
    """

    goodput: float = KERNEL_GOODPUT
    rtt: float = KERNEL_RTT
    fit_goodput: float = 0.0
    fit_rtt: float = 0.0

    @classmethod
    def of(cls, score: FitScore | None) -> ModelError:
        """With the score of a fit (docs/reference/fit.md)."""
        if not score:
            return cls()
        return cls(fit_goodput=score["goodput_error"]["median"] or 0.0, fit_rtt=score["rtt_p95_error"]["median"] or 0.0)

    def of_metric(self, metric: str) -> float:
        """Of a metric of one run; 0 where it is not known."""
        if metric.startswith("goodput_"):
            return math.hypot(self.goodput, self.fit_goodput)
        return math.hypot(self.rtt, self.fit_rtt) if metric.endswith("rtt_p95_ms") else 0.0

    def of_gain(self, goal: str) -> float:
        """Of the ratio of two runs' scores: both differ from the kernel, and have one link."""
        goodput, rtt = {"balanced": (1.0, 0.5), "throughput": (1.0, 0.0), "latency": (0.0, 1.0)}.get(goal, (0.0, 0.0))
        kernel = math.hypot(goodput * self.goodput, rtt * self.rtt)
        return math.hypot(math.sqrt(2.0) * kernel, goodput * self.fit_goodput, rtt * self.fit_rtt)


def predicted_ratio(advised: Seeds, base: Seeds, metric: str, model: float = 0.0) -> Prediction | None:
    """The interval of the ratio of one run with the change to the same run without it, by the
    logarithms of the seeds' ratios; None with fewer than two. `model` is the relative standard
    deviation of what the model adds.
    """
    logs = [math.log(a / b) for a, b in pairs_of(advised, base, metric) if a > 0.0 and b > 0.0]
    return _interval(logs, exp, model)


def predicted(runs: Seeds, metric: str, model: float = 0.0) -> Prediction | None:
    """The interval of a metric of one run, on the logarithm where all values are positive."""
    values = [run[metric] for run in runs.values() if not math.isnan(run.get(metric, math.nan))]
    if values and min(values) > 0.0:
        return _interval([math.log(value) for value in values], exp, model)
    found = _interval(values, float)
    return found and Prediction(max(0.0, found.lo), found.hi)


def _interval(values: Sequence[float], back: Callable[[float], float], model: float = 0.0) -> Prediction | None:
    """Student's interval of one further value, and all values: of two modes the rarer one lies
    outside of the former.
    """
    found = Moments.of(values)
    if found.n < 2:
        return None
    chance = t_quantile(0.975, found.n - 1) * found.sd * math.sqrt(1.0 + 1.0 / found.n)
    half, around = math.hypot(chance, NORMAL * model), NORMAL * model
    lo, hi = min(found.mean - half, min(values) - around), max(found.mean + half, max(values) + around)
    return Prediction(back(lo), back(hi))


def effect(advised: Seeds, base: Seeds, model: ModelError, every: Seeds | None = None) -> dict[str, Effect]:
    """`effect` of the JSON document: means without and with the change, and the prediction interval
    of one run with it, by `every` run with it (default: those of the means).
    """
    found: dict[str, Effect] = {}
    for metric in EFFECTS:
        of, without = (Moments.of(run.get(metric, math.nan) for run in runs.values()) for runs in (advised, base))
        if of.n and without.n:
            one = predicted(every or advised, metric, model.of_metric(metric))
            found[metric] = {
                "baseline": without.mean,
                "advised": of.mean,
                "lo": one.lo if one else None,
                "hi": one.hi if one else None,
            }
    return found


def refusal(advised: Seeds, base: Seeds, gain: Ratio, goal: str, loads: Sequence[str] = ()) -> str:
    """Why a change is not advised; empty if it is. Of a link a run keeps its goodput under each of
    its `loads`.
    """
    if not gain.value >= MIN_GAIN:
        return "gains less than 3 %" if gain.value >= 1.0 else "loses"
    if not gain.lo > 1.0:
        return f"too uncertain: with {gain.n} seeds its gain is {gain_range(gain.lo, gain.hi)}, which includes 0"
    for prefix, text in [(f"{load}:", f" ({LOAD_TEXTS[load]})") for load in loads] or [("", "")]:
        # Under a load the goodput of each direction counts: the score of throughput.
        metric = f"{prefix}score_throughput"
        goodput = ratio(pairs_of(advised, base, metric)).value
        one = predicted_ratio(advised, base, metric) or Prediction(goodput, goodput)
        worst = goodput if goal == "latency" or goal in APP_GOALS else one.lo
        if worst < MIN_GOODPUT[goal]:
            return f"a run may keep only {percent(worst)} of its goodput{text}"
    return ""


def probe_refusal(beside: Ratio, without: Ratio, gain: float) -> str:
    """Why a change is not advised whose goodput gains, or stays, beside the sparse flow that is run
    to measure a delay, and falls without it; empty if it does not.

    Args:
        beside, without: the ratios of the goodputs beside the sparse flow and without it.
        gain: the ratio of the scores as it is without the sparse flow's effect on the goodput.
    """
    falls = beside.value >= SAME_GOODPUT > without.value
    if not falls or (without.hi >= 1.0 and gain >= MIN_GAIN):
        return ""
    return (
        f"its goodput changes by {gain_text(beside.value)} beside the sparse flow that measures the delay, and by "
        f"{gain_text(without.value)} ({gain_range(without.lo, without.hi)}) without it"
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """A figure of the situation's own runs that may be a cost: who pays it, and from when on."""

    metric: str
    who: str
    text: Callable[[float, float], str]
    is_worse: Callable[[float, float], bool]


_OWN = (
    _Cost(
        "goodput_bps",
        "the flows themselves",
        lambda value, base: f"goodput falls from {rate(base)} to {rate(value)}",
        lambda value, base: value <= 0.97 * base,
    ),
    _Cost(
        "retransmission_rate",
        "the path",
        lambda value, base: f"{percent(value)} of the segments are retransmissions instead of {percent(base)}",
        lambda value, base: value - base >= WORSE_RETRANSMITTED,
    ),
    _Cost(
        "sparse_rtt_p95_ms",
        "other flows",
        lambda value, base: f"the p95 RTT of a sparse flow grows from {milliseconds(base)} to {milliseconds(value)}",
        lambda value, base: value - base >= WORSE_MS,
    ),
)
_OF_DIRECTION = {
    "goodput_down_bps": "the download's goodput falls",
    "goodput_up_bps": "the upload's goodput falls",
}


def own_costs(advised: Seeds, base: Seeds, loads: Sequence[str] = ()) -> list[Cost]:
    """What a change costs in the situation's own runs, and who pays; of a link under each load."""
    found = []
    for load in loads or ("",):
        prefix, text = (f"{load}:", f" ({LOAD_TEXTS[load]})") if load else ("", "")
        for cost in _OWN:
            metrics = (
                [name for name in _OF_DIRECTION if _has(base, prefix + name)] if cost.metric == "goodput_bps" else []
            )
            for metric in metrics or [cost.metric]:
                both = pairs_of(advised, base, prefix + metric)
                of, without = _means(both)
                if not (of.n and without.n and cost.is_worse(of.mean, without.mean)):
                    continue
                words = cost.text(of.mean, without.mean).replace(
                    "goodput falls", _OF_DIRECTION.get(metric, "goodput falls")
                )
                row = _cost_row(metric, cost.who, both, words + text)
                found.append({**row, "load": load} if load else row)
    return found


def _has(runs: Seeds, metric: str) -> bool:
    return any(metric in run for run in runs.values())


def _means(both: Sequence[tuple[float, float]]) -> tuple[Moments, Moments]:
    if not both:
        return Moments.of(()), Moments.of(())
    a, b = zip(*both, strict=True)
    return Moments.of(a), Moments.of(b)


def _cost_row(metric: str, who: str, both: Sequence[tuple[float, float]], text: str) -> Cost:
    of, without = _means(both)
    return {
        "metric": metric,
        "who_pays": who,
        "baseline": without.mean,
        "advised": of.mean,
        "certain": ratio(both).p < 0.05,
        "text": text,
    }


Beside = Mapping[tuple[str, str], tuple[Seeds, Seeds]]
"""The runs of one flow beside a companion, by direction and companion: with the change, without."""


def beside_costs(beside: Beside) -> tuple[list[Cost], list[Benefit]]:
    """What a change costs one flow beside it, short transfers, and its own flow beside one of cubic
    or bbr, with who pays; and its benefits: an unfair excess that ends in an equal share is one.
    """
    costs: list[Cost] = []
    benefits: list[Benefit] = []
    several = len({direction for direction, _ in beside}) > 1
    for (direction, companion), (of, without) in beside.items():
        where = {"down": " (download)", "up": " (upload)"}[direction] if several else ""
        if companion == TRANSFER:
            both = pairs_of(of, without, "transfer_s")
            value, base = (side.mean for side in _means(both))
            if value >= (1.0 + WORSE_SHARE) * base and 1e3 * (value - base) >= WORSE_MS:
                text = (
                    f"a transfer of 100 kB beside it takes {milliseconds(1e3 * value)} instead of "
                    f"{milliseconds(1e3 * base)}{where}"
                )
                costs.append({**_cost_row("transfer_s", "short transfers", both, text), "direction": direction})
            continue
        figures = {name: _means(pairs_of(of, without, name)) for name in ("own_bps", "other_bps")}
        own, own_base = (side.mean for side in figures["own_bps"])
        other, other_base = (side.mean for side in figures["other_bps"])
        equal = EQUAL_SHARE * (own_base + other_base) / 2.0
        is_shared = min(own, other) >= max(equal, WORSE_SHARE * (own + other) / 2.0)
        if is_shared and min(own_base, other_base) <= (1.0 - WORSE_SHARE) * equal:
            benefits.append(
                {
                    "metric": "own_bps" if own > own_base else "other_bps",
                    "who": "the flows themselves" if own > own_base else "other flows",
                    "direction": direction,
                    "companion": companion,
                    "baseline": min(own_base, other_base),
                    "advised": min(own, other),
                    "text": (
                        f"shares equally with a {companion} flow: {rate(own)} and {rate(other)} instead of "
                        f"{rate(own_base)} and {rate(other_base)}{where}"
                    ),
                }
            )
        if companion in BESIDE_OTHERS and other <= (1.0 - WORSE_SHARE) * other_base and other < equal:
            text = f"a {companion} flow beside it gets {rate(other)} instead of {rate(other_base)}{where}"
            both = pairs_of(of, without, "other_bps")
            costs.append({**_cost_row("beside_goodput_bps", "other flows", both, text), "direction": direction})
        both = pairs_of(of, without, "own_bps")
        if companion in OWN_BESIDE and own <= (1.0 - WORSE_SHARE) * own_base and own < equal and ratio(both).p < 0.05:
            text = f"beside a {companion} flow it gets {rate(own)} instead of {rate(own_base)}{where}"
            row = _cost_row(f"own_beside_{companion}_bps", "the flows themselves", both, text)
            costs.append({**row, "direction": direction})
    return costs, benefits


def ordered(
    accepted: Sequence[str],
    gains: Mapping[str, Ratio],
    sizes: Mapping[str, tuple[int, ...]],
    removed: Mapping[str, float] | None = None,
    applicable: Collection[str] | None = None,
) -> list[str]:
    """Labels by gain, those that the reader can apply first (`applicable`; None: all). Within 1 %
    of the best of these, and of the others, those come first that remove more of what limits the
    flows (`removed`, a share of the time), then fewer changes (`sizes`).
    """
    known = set(accepted if applicable is None else applicable)
    groups = ([label for label in accepted if (label in known) is mine] for mine in (True, False))
    return [label for group in groups for label in _by_gain(group, gains, sizes, removed or {})]


def _by_gain(
    group: Sequence[str],
    gains: Mapping[str, Ratio],
    sizes: Mapping[str, tuple[int, ...]],
    removed: Mapping[str, float],
) -> list[str]:
    best = max((gains[label].value for label in group), default=1.0)
    near = [label for label in group if gains[label].value >= 0.99 * best]
    rest = [label for label in group if label not in near]
    return sorted(near, key=lambda label: (-removed.get(label, 0.0), sizes[label], -gains[label].value)) + sorted(
        rest, key=lambda label: -gains[label].value
    )
