"""Paired comparisons of configurations over shared seeds, and a ranking with ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from ackclock.statistics.intervals import Interval, interval, negligible

K = TypeVar("K")

SAME_WITHIN = 0.01
"""Differences below this share of the better mean are ties for any p value: too small for a
decision.
"""


NEAR_THE_BEST = 0.05
"""Within a tie, only configurations with means this close to the leader's are ordered by another
criterion: with few seeds a tie may have very different means."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Paired differences a - b over the seeds both have, their p value, and that value after Holm's
    correction.
    """

    pairs: tuple[float, ...]
    p: float
    p_holm: float

    @property
    def interval(self) -> Interval:
        """The interval of the mean difference."""
        return interval(self.pairs)


def paired_p(differences: Sequence[float], scale: float) -> float:
    """Two-sided p value of Student's paired t test that the mean difference is 0.

    ``scale`` is the size of the values compared; differences far below it are rounding. One pair
    decides nothing (p = 1); identical non-zero differences have p = 0.
    """
    found = sorted(d for d in differences if not math.isnan(d))
    n = len(found)
    if n < 2 or negligible(max(abs(d) for d in found), scale):
        return 1.0
    mean = math.fsum(found) / n
    sd = math.sqrt(math.fsum((d - mean) ** 2 for d in found) / (n - 1))
    if negligible(sd, mean):
        return 0.0
    from scipy.special import stdtr

    return float(2.0 * stdtr(n - 1, -abs(mean / (sd / math.sqrt(n)))))


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


def against(values: Mapping[K, Mapping[int, float]], best: K, others: Sequence[K]) -> dict[K, Difference]:
    """Paired differences of ``best`` against each of ``others`` over their common seeds,
    Holm-corrected as one family.

    ``values[key][seed]`` is a metric of one run; configurations share seeds so that what a seed
    does to both cancels.
    """
    pairs = {
        k: [values[best][s] - values[k][s] for s in sorted(values[best].keys() & values[k].keys())] for k in others
    }
    scale = max((abs(v) for v in values[best].values()), default=0.0)
    raw = [paired_p(pairs[k], scale) for k in others]
    return {k: Difference(tuple(pairs[k]), p, adjusted) for k, p, adjusted in zip(others, raw, holm(raw), strict=True)}


@dataclass(frozen=True, slots=True)
class Rank(Generic[K]):
    """One row of a ranking: competition rank (1, 1, 3, ..) and the other members of its tie.

    ``undecided``: it is below the first tie because of a better mean between them; the test itself
    finds no difference from the leader.
    """

    key: K
    rank: int
    tied_with: tuple[K, ...]
    undecided: bool = False


def rank(
    values: Mapping[K, Mapping[int, float]],
    *,
    higher_is_better: bool = True,
    then: Callable[[K], tuple[float, ...]] | None = None,
    alpha: float = 0.05,
    same_within: float = SAME_WITHIN,
) -> list[Rank[K]]:
    """Order configurations by the mean of a metric, with ties shown as ties.

    The best mean leads; every other configuration is compared with it by a paired t test over
    shared seeds, Holm- corrected over all those comparisons. Down from the leader by their means,
    all tie with it until the first that is significantly worse at ``alpha`` and not within
    ``same_within`` of the leader's mean; that one leads the next tie. What follows it does not come
    before it again, however much it scatters: nothing stands above a better mean that it does not
    tie with. With a single seed there is no test, and only ``same_within`` makes ties. Inside a
    tie, what is within ``NEAR_THE_BEST`` of the leader is ordered by ``then`` (smaller first), the
    others follow by their mean. A configuration without any value comes last.
    """
    sign = -1.0 if higher_is_better else 1.0
    means = {k: interval(v.values()).mean for k, v in values.items()}
    rest = sorted((k for k in values if not math.isnan(means[k])), key=lambda k: sign * means[k])
    places: list[Rank[K]] = []
    undecided: frozenset[K] = frozenset()
    while rest:
        leader, followers = rest[0], rest[1:]
        found = against(values, leader, followers)
        margin = same_within * abs(means[leader])
        alike = {k: _is_tie(found[k], alpha) or abs(means[leader] - means[k]) <= margin for k in followers}
        tied = list(takewhile(alike.__getitem__, followers))
        if not places:
            undecided = frozenset(k for k in followers if alike[k]) - frozenset(tied)
        near = [k for k in tied if abs(means[leader] - means[k]) <= NEAR_THE_BEST * abs(means[leader])]
        group = sorted([leader, *near], key=then) if then else [leader, *near]
        group += tied[len(near) :]
        at = len(places) + 1
        places += [Rank(k, at, tuple(other for other in group if other != k), k in undecided) for k in group]
        rest = followers[len(tied) :]
    at = len(places) + 1
    return places + [Rank(k, at, ()) for k in values if math.isnan(means[k])]


def _is_tie(found: Difference, alpha: float) -> bool:
    return len(found.pairs) != 1 and found.p_holm >= alpha
