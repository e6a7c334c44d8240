"""Paired comparisons of configurations over shared seeds, and a ranking with ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Generic, TypeVar

from ackclock.statistics.intervals import Ratio, interval, ratio

K = TypeVar("K")

SAME_WITHIN = 0.01
"""Differences below this share of the better mean are ties for any p value: too small for a
decision.
"""


NEAR_THE_BEST = 0.05
"""Within a tie, only configurations with means this close to the leader's are ordered by another
criterion: with few seeds a tie may have very different means."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjustment of a family of p values, in the order given; each is in
    0..1.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    for step, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = worst
    return adjusted


def against(
    values: Mapping[K, Mapping[int, float]], best: K, others: Sequence[K], *, alpha: float = 0.05
) -> dict[K, Ratio]:
    """The ratio of each of ``others`` to ``best`` over their common seeds, with simultaneous
    intervals.

    ``values[key][seed]`` is a metric of one run, not negative; configurations share seeds so that
    what a seed does to both cancels. Each ratio has its p value after Holm's correction over
    ``others``, and the interval of Holm's step for it: it excludes 1 exactly if that p value is
    below ``alpha``.
    """
    return ratios(
        {k: [(values[k][s], values[best][s]) for s in sorted(values[best].keys() & values[k].keys())] for k in others},
        alpha=alpha,
    )


def ratios(pairs: Mapping[K, Sequence[tuple[float, float]]], *, alpha: float = 0.05) -> dict[K, Ratio]:
    """The ratio of the two means of each entry's pairs, none negative, with simultaneous intervals.

    Each ratio has its p value after Holm's correction over the entries, and the interval of Holm's
    step for it: it excludes 1 exactly if that p value is below ``alpha``.
    """
    raw = {k: ratio(each).p for k, each in pairs.items()}
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    found = {}
    family = len(raw)
    for step, k in enumerate(sorted(raw, key=raw.__getitem__)):
        # Holm's procedure stops at the first p value above its level, which then stays.
        if adjusted[k] < alpha:
            family = len(raw) - step - 1
        level = alpha / (len(raw) - step if adjusted[k] < alpha else max(family, 1))
        found[k] = replace(ratio(pairs[k], confidence=1.0 - level), p=adjusted[k])
    return {k: found[k] for k in pairs}


@dataclass(frozen=True, slots=True)
class Rank(Generic[K]):
    """One row of a ranking: competition rank (1, 1, 3, ..) and the other members of its tie.

    ``undecided``: it is below the first tie because of a better mean between them; the test itself
    finds no difference from the leader. ``ratio`` is the ratio of its mean to the best mean of all,
    with the interval that decided its place (``against``); None of the best itself and without
    values.
    """

    key: K
    rank: int
    tied_with: tuple[K, ...]
    undecided: bool = False
    ratio: Ratio | None = field(default=None, compare=False)


def rank(
    values: Mapping[K, Mapping[int, float]],
    *,
    higher_is_better: bool = True,
    then: Callable[[K], tuple[float, ...]] | None = None,
    alpha: float = 0.05,
    same_within: float = SAME_WITHIN,
) -> list[Rank[K]]:
    """Order configurations by the mean of a metric that is not negative, with ties shown as ties.

    The best mean leads; every other configuration is compared with it by the ratio of the means
    over shared seeds (``statistics.ratio``), Holm-corrected over all those comparisons. Down from
    the leader by their means, all tie with it until the first whose interval excludes 1 at
    ``alpha`` and whose mean is not within ``same_within`` of the leader's; that one leads the next
    tie. What follows it does not come before it again, however much it scatters: nothing stands
    above a better mean that it does not tie with. With a single seed there is no test, and only
    ``same_within`` makes ties. Inside a tie, what is within ``NEAR_THE_BEST`` of the leader is
    ordered by ``then`` (smaller first), the others follow by their mean. A configuration without
    any value comes last.
    """
    sign = -1.0 if higher_is_better else 1.0
    means = {k: interval(runs.values()).mean for k, runs in values.items()}
    rest = sorted((k for k in values if not math.isnan(means[k])), key=lambda k: sign * means[k])
    places: list[Rank[K]] = []
    undecided: frozenset[K] = frozenset()
    to_best: dict[K, Ratio] = {}
    while rest:
        leader, followers = rest[0], rest[1:]
        to_leader = against(values, leader, followers, alpha=alpha)
        margin = same_within * abs(means[leader])
        alike = {k: _is_tie(to_leader[k], alpha) or abs(means[leader] - means[k]) <= margin for k in followers}
        tied = list(takewhile(alike.__getitem__, followers))
        if not places:
            undecided = frozenset(k for k in followers if alike[k]) - frozenset(tied)
            to_best = to_leader
        near = [k for k in tied if abs(means[leader] - means[k]) <= NEAR_THE_BEST * abs(means[leader])]
        group = sorted([leader, *near], key=then) if then else [leader, *near]
        group += tied[len(near) :]
        at = len(places) + 1
        places += [
            Rank(k, at, tuple(other for other in group if other != k), k in undecided, to_best.get(k)) for k in group
        ]
        rest = followers[len(tied) :]
    at = len(places) + 1
    return places + [Rank(k, at, ()) for k in values if math.isnan(means[k])]


def _is_tie(difference: Ratio, alpha: float) -> bool:
    return difference.n != 1 and difference.p >= alpha
