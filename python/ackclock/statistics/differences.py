"""Differences of means between two samples, many at a time, with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ackclock.statistics.intervals import negligible, t_quantile, two_sided
from ackclock.statistics.ranking import holm

ALPHA = 0.05
"""The probability that a family of differences has one where there is none."""

Method = Literal["paired t", "Welch", "permutation", "one value", "no values", "equal"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and sample standard deviation (divisor n - 1) of a sample, in one unit."""

    n: int
    mean: float
    sd: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Moments:
        """Those of values; NaN are left out. The mean is NaN without values."""
        found = [value for value in values if not math.isnan(value)]
        n = len(found)
        if n == 0:
            return cls(0, math.nan, math.nan)
        mean = math.fsum(found) / n
        return cls(n, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (n - 1)) if n > 1 else 0.0)


@dataclass(frozen=True, slots=True)
class Samples:
    """Two samples of one figure. `pairs` are the differences b - a of values that share a seed;
    None: the samples are independent.
    """

    a: Moments
    b: Moments
    pairs: Moments | None = None

    @classmethod
    def independent(cls, a: Iterable[float], b: Iterable[float]) -> Samples:
        """Samples without a common seed."""
        return cls(Moments.of(a), Moments.of(b))

    @classmethod
    def paired(cls, pairs: Iterable[tuple[float, float]]) -> Samples:
        """Values of both sides with the same seed; a pair with NaN is left out."""
        both = [(a, b) for a, b in pairs if not (math.isnan(a) or math.isnan(b))]
        return cls(Moments.of(a for a, _ in both), Moments.of(b for _, b in both), Moments.of(b - a for a, b in both))

    @property
    def undecidable(self) -> bool:
        """Whether one of the sides has fewer than two values."""
        return min(self.a.n, self.b.n) < 2


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference b - a of two means, with its simultaneous interval, in the unit of the values.

    ``differs`` is None where a side has fewer than two values: one value shows no chance. ``lo``
    and ``hi`` are NaN then, and where neither side varies. ``p`` is after Holm's correction.
    """

    a: float
    b: float
    lo: float
    hi: float
    p: float
    n: tuple[int, int]
    method: Method
    differs: bool | None

    @property
    def value(self) -> float:
        """b - a; NaN without values on a side."""
        return self.b - self.a


def differences(samples: Sequence[Samples], *, alpha: float = ALPHA) -> list[Difference]:
    """The difference of each pair of samples; the probability that any differs by chance alone is
    at most `alpha` (Holm 1979).

    Paired samples are tested by Student's paired t test, independent ones by Welch's (1947), whose
    standard error does not assume equal variances. Where no value varies, t has no standard error:
    the exact permutation test decides, whose p value follows from the numbers of values. Figures
    that are equal in every pair cannot differ and are no part of the family (Tarone 1990). An
    interval has the confidence of Holm's step for its figure: it excludes 0 exactly if the figure
    differs.

    >>> first, second = differences([Samples.independent([10.0, 11.0, 9.0], [20.0, 21.0, 19.0]),
    ...                              Samples.independent([10.0], [20.0])])
    >>> first.differs, round(first.lo, 1), round(first.hi, 1), second.differs
    (True, 7.7, 12.3, None)
    """
    tests = [_Test.of(one) for one in samples]
    family = [index for index, test in enumerate(tests) if test.method not in ("one value", "no values", "equal")]
    adjusted = dict(zip(family, holm([tests[index].p for index in family]), strict=True))
    found: dict[int, Difference] = {}
    level = float(len(family))
    for step, index in enumerate(sorted(family, key=lambda index: tests[index].p)):
        # Holm's procedure stops at the first p value above its level, which then stays.
        if adjusted[index] < alpha:
            level = len(family) - step - 1
        divisor = len(family) - step if adjusted[index] < alpha else max(level, 1)
        found[index] = _difference(samples[index], tests[index], adjusted[index], alpha, alpha / divisor)
    return [found.get(i) or _difference(samples[i], test, 1.0, alpha, alpha) for i, test in enumerate(tests)]


@dataclass(frozen=True, slots=True)
class _Test:
    """The two-sided test of a difference: its p value, standard error and degrees of freedom."""

    method: Method
    p: float
    error: float = math.nan
    freedom: float = math.nan

    @classmethod
    def of(cls, samples: Samples) -> _Test:
        a, b, pairs = samples.a, samples.b, samples.pairs
        if min(a.n, b.n) == 0:
            return cls("no values", 1.0)
        if samples.undecidable:
            return cls("one value", 1.0)
        scale = max(abs(a.mean), abs(b.mean))
        alike = negligible(abs(b.mean - a.mean), scale)
        if pairs is not None:
            if negligible(pairs.sd, scale):
                return cls("equal", 1.0) if alike else cls("permutation", min(1.0, 2.0 * 0.5**pairs.n))
            error = pairs.sd / math.sqrt(pairs.n)
            return cls("paired t", two_sided(abs(pairs.mean) / error, pairs.n - 1), error, pairs.n - 1)
        if negligible(max(a.sd, b.sd), scale):
            return cls("equal", 1.0) if alike else cls("permutation", min(1.0, 2.0 / math.comb(a.n + b.n, a.n)))
        shares = a.sd**2 / a.n, b.sd**2 / b.n
        error = math.sqrt(sum(shares))
        freedom = sum(shares) ** 2 / (shares[0] ** 2 / (a.n - 1) + shares[1] ** 2 / (b.n - 1))
        return cls("Welch", two_sided(abs(b.mean - a.mean) / error, freedom), error, freedom)


def _difference(samples: Samples, test: _Test, p: float, alpha: float, level: float) -> Difference:
    a, b, n = samples.a, samples.b, (samples.a.n, samples.b.n)
    value = b.mean - a.mean
    if test.method in ("one value", "no values"):
        return Difference(a.mean, b.mean, math.nan, math.nan, 1.0, n, test.method, None)
    if test.method == "equal":
        return Difference(a.mean, b.mean, 0.0, 0.0, 1.0, n, test.method, False)
    half = t_quantile(1.0 - level / 2.0, test.freedom) * test.error if test.method != "permutation" else math.nan
    return Difference(a.mean, b.mean, value - half, value + half, p, n, test.method, p < alpha)
