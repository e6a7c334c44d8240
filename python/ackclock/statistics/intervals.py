"""Means with confidence intervals, modes of a bimodal sample, and the ratio of two paired means.

Samples are small (a few seeds), so intervals use Student's t, of quantities that are not negative
on the logarithm; with enough values for its coverage, the bias-corrected and accelerated bootstrap
(BCa).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ackclock.documents.parts import Estimate
    from ackclock.documents.parts import Ratio as RatioOfMeans

Method = Literal["none", "single", "constant", "t", "log-t", "bca"]
Scale = Literal["linear", "log"]
"""The scale of an interval: "log" for quantities that are not negative, such as rates, times,
counts and shares; "linear" for those that have a sign, such as differences."""

BCA_FROM = 20
"""Minimum number of values for a BCa interval."""
BCA_FROM_IF_SKEWED = 10
"""Minimum number of values for a BCa interval of a skewed sample; with fewer its coverage is too
low.
"""
BCA_TO = 1000
"""Maximum number of values for a BCa interval: with more, it differs little from Student's t."""
RESAMPLES = 4000
SKEWED = 1.0
"""Minimum absolute skewness of a skewed sample."""
MAX_LISTED = 4
"""Maximum number of values that stand beside their mean; more may have modes."""
LISTED_FROM = 2.0
"""Minimum ratio of the largest to the smallest of such values."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One group of a bimodal sample: its mean, number of runs, and share (0..1)."""

    mean: float
    n: int
    share: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, in the unit of the values.

    ``method`` is the origin of ``lo`` and ``hi``: ``t`` (Student), ``log-t`` (Student, on the
    logarithm), ``bca`` (bootstrap), ``constant`` (all values equal), ``single`` (one value: ``lo ==
    hi == mean``) or ``none`` (no value: all are NaN). ``modes`` has two entries if the values are
    bimodal, when the mean describes neither group; else none. ``values`` are the values in
    ascending order if they are too few for modes and too far apart for their mean
    (``MAX_LISTED``); else none.
    """

    mean: float
    lo: float
    hi: float
    sd: float
    n: int
    method: Method
    modes: tuple[Mode, ...] = ()
    values: tuple[float, ...] = ()

    def as_json(self) -> Estimate:
        """The fields of a metric in JSON documents: NaN and infinity are null; ``modes`` and
        ``values`` are absent where there are none.
        """
        out: Estimate = {
            "mean": _finite(self.mean),
            "lo": _finite(self.lo),
            "hi": _finite(self.hi),
            "sd": _finite(self.sd),
            "n": self.n,
        }
        if self.modes:
            out["modes"] = [{"mean": mode.mean, "n": mode.n, "share": mode.share} for mode in self.modes]
        if self.values:
            out["values"] = list(self.values)
        return out


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def known(values: Iterable[float | None]) -> list[float]:
    """The values that are neither None nor NaN.

    >>> known([1.0, None, 4.0, math.nan])
    [1.0, 4.0]
    """
    return [value for value in values if value is not None and not math.isnan(value)]


def mean_of_known(values: Iterable[float | None]) -> float:
    """The mean of the `known` values; NaN without any.

    >>> mean_of_known([1.0, None, 4.0])
    2.5
    """
    numbers = known(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def interval(
    values: Iterable[float | None], *, confidence: float = 0.95, scale: Scale = "linear", maximum: float = math.inf
) -> Interval:
    """Mean and two-sided confidence interval of ``values`` (any unit; None and NaN are left out).

    Student's t below ``BCA_FROM`` values (``BCA_FROM_IF_SKEWED`` for a skewed sample), else BCa
    (Efron 1987) up to ``BCA_TO``. On the scale "log", for values that are not negative, Student's
    interval is that of the logarithm of the mean, whose standard error is that of the mean over the
    mean (delta method): it is positive and contains the mean, and zeros among the values are
    allowed. ``maximum`` is the largest possible value, such as 1 of a share. ``sd`` is the sample
    standard deviation (n - 1); 0 for one value.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1, or a value is negative on the scale
            "log".
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    sample = sorted(float(v) for v in values if v is not None and not math.isnan(v))
    n = len(sample)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, math.nan, 0, "none")
    if scale == "log" and sample[0] < 0.0:
        raise ValueError(f"a quantity that is not negative has the value {sample[0]}")
    mean = math.fsum(sample) / n
    if n == 1:
        return Interval(mean, mean, mean, 0.0, 1, "single")
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in sample) / (n - 1))
    if negligible(sd, mean):
        return Interval(mean, mean, mean, 0.0, n, "constant")
    listed = tuple(sample) if scale == "log" and _is_listed(sample) else ()
    skewed = n >= BCA_FROM_IF_SKEWED and abs(skewness(sample)) > SKEWED
    if n <= BCA_TO and (n >= BCA_FROM or skewed):
        lo, hi = _bca(sample, confidence)
        return Interval(mean, lo, hi, sd, n, "bca", modes(sample))
    half = t_quantile((1.0 + confidence) / 2.0, n - 1) * sd / math.sqrt(n)
    if scale == "log":
        factor = exp(half / mean)
        return Interval(mean, mean / factor, min(mean * factor, maximum), sd, n, "log-t", modes(sample), listed)
    return Interval(mean, mean - half, min(mean + half, maximum), sd, n, "t", modes(sample))


def exp(value: float) -> float:
    """e to the power of ``value``; infinite where a float is too small for it."""
    return math.exp(value) if value < 709.0 else math.inf


def _is_listed(sample: Sequence[float]) -> bool:
    """Whether a sorted sample is better described by its values than by their mean."""
    return len(sample) <= MAX_LISTED and sample[-1] > LISTED_FROM * sample[0]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two means over shared seeds, with its confidence interval, and the p value of
    the test that it is 1 (two-sided).

    ``lo`` and ``hi`` are of the confidence of the call: they exclude 1 exactly if ``p`` is below 1
    less that confidence. One pair has no interval (``lo == hi == value``) and decides nothing (p =
    1).
    """

    value: float
    lo: float
    hi: float
    p: float
    n: int

    @property
    def is_loss(self) -> bool:
        """Whether the first mean is lower: by the interval of several pairs, or by 3 %."""
        return (self.n > 1 and self.hi < 1.0) or self.value < 1.0 / 1.03

    def as_json(self) -> RatioOfMeans:
        """The fields in JSON documents; NaN and infinity are null."""
        lo, hi, p = _finite(self.lo), _finite(self.hi), _finite(self.p)
        return {"value": _finite(self.value), "lo": lo, "hi": hi, "p": p, "n": self.n}


def ratio(pairs: Iterable[tuple[float, float]], *, confidence: float = 0.95) -> Ratio:
    """The mean of the first values of the pairs over that of the second ones, none negative.

    The logarithm of the ratio is tested against 0 by Student's t. Its standard error is that of the
    differences a / mean(a) - b / mean(b) (delta method): what a seed does to both in proportion
    cancels. A mean of 0 has no logarithm: the differences a - b decide, and without a significant
    one the interval is 0 to infinity.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1, or a value is negative.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    both = [(a, b) for a, b in pairs if not (math.isnan(a) or math.isnan(b))]
    n = len(both)
    if n == 0:
        return Ratio(math.nan, math.nan, math.nan, 1.0, 0)
    if min(min(pair) for pair in both) < 0.0:
        raise ValueError(f"a quantity that is not negative has the value {min(min(pair) for pair in both)}")
    mean_a, mean_b = math.fsum(a for a, _ in both) / n, math.fsum(b for _, b in both) / n
    if mean_a == mean_b:
        value = 1.0
    elif mean_b == 0.0:
        value = math.inf
    else:
        value = mean_a / mean_b
    if n == 1:
        return Ratio(value, value, value, 1.0, 1)
    if mean_a == 0.0 or mean_b == 0.0:
        # Two means of 0 are equal, although a value that underflows in its mean is not 0.
        p = 1.0 if value == 1.0 else paired_p([a - b for a, b in both], max(mean_a, mean_b))
        known = value == 1.0 or p < 1.0 - confidence
        return Ratio(value, value if known else 0.0, value if known else math.inf, p, n)
    error = math.sqrt(math.fsum((a / mean_a - b / mean_b) ** 2 for a, b in both) / (n - 1) / n)
    distance = abs(math.log(value))
    if negligible(error, 1.0):
        return Ratio(value, value, value, 1.0 if negligible(distance, 1.0) else 0.0, n)
    factor = exp(t_quantile((1.0 + confidence) / 2.0, n - 1) * error)
    return Ratio(value, value / factor, value * factor, two_sided(distance / error, n - 1), n)


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
    return two_sided(abs(mean / (sd / math.sqrt(n))), n - 1)


def two_sided(t: float, df: float) -> float:
    """The two-sided p value of a value of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtr

    return float(2.0 * stdtr(df, -t))


def skewness(values: Sequence[float]) -> float:
    """Sample skewness m3 / m2^1.5 (Fisher, biased); 0 for a constant sample."""
    n = len(values)
    mean = math.fsum(values) / n
    m2 = math.fsum((v - mean) ** 2 for v in values) / n
    m3 = math.fsum((v - mean) ** 3 for v in values) / n
    return m3 / m2**1.5 if m2 > 0.0 else 0.0


def negligible(spread: float, scale: float) -> bool:
    """Whether a spread is only rounding at this scale (same unit)."""
    # Rounding of the mean leaves about 1e-16 of the scale; a test on it would find "significant"
    # noise.
    return spread <= 1e-12 * abs(scale)


def t_quantile(p: float, df: float) -> float:
    """The quantile of Student's t with `df` degrees of freedom."""
    # scipy.stats takes a second to import; the quantile alone does not.
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def _bca(sample: Sequence[float], confidence: float) -> tuple[float, float]:
    """The BCa interval of the mean (Efron 1987), from `RESAMPLES` resamples.

    The resamples are the same for all samples of a size, so equal values have equal intervals. The
    result is that of `scipy.stats.bootstrap`, whose import alone takes longer than hundreds of
    intervals.
    """
    import numpy as np
    from scipy.special import ndtr, ndtri

    values = np.asarray(sample)
    n = len(values)
    mean = np.mean(values)
    means = np.mean(values[_resamples(n)], axis=-1)
    z0 = ndtri(((means < mean).sum() + (means <= mean).sum()) / (2 * RESAMPLES))  # (4.1): median bias
    without = np.broadcast_to(values, (n, n))[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    jackknife = np.mean(without, axis=-1)
    influence = (n - 1) * (jackknife.mean() - jackknife)
    acceleration = 1 / 6 * ((influence**3).sum() / n**3) / ((influence**2).sum() / n**2) ** 1.5  # (6.6)
    z = z0 + ndtri((1.0 - confidence) / 2.0) * np.array([1.0, -1.0])
    share = ndtr(z0 + z / (1.0 - acceleration * z))  # (3.8)
    place = share * RESAMPLES + (1.0 - share)  # from 1; linear between places
    lower = place.astype(int) - 1
    part = place % 1.0
    means.sort()
    low, high = (1.0 - part) * means[lower] + part * means[np.minimum(lower + 1, RESAMPLES - 1)]
    return float(low), float(high)


@lru_cache(maxsize=8)
def _resamples(n: int) -> Any:
    """Indices of the resamples of a sample of `n` values, one row each."""
    import numpy as np

    return np.random.default_rng(0).integers(0, n, (RESAMPLES, n))


def modes(values: Sequence[float]) -> tuple[Mode, ...]:
    """The two groups of a bimodal sample, larger mean last; empty when one group describes the
    values well.

    The sorted sample is divided where the variance within the two parts is minimal (Otsu 1979). It
    is bimodal if the division explains at least 96 % of the variance (98 % below ten values; a
    large normal sample: 64 %, a uniform one: 75 %) and the means of the parts differ by at least a
    quarter of the larger. Samples of fewer than 5 values are not bimodal.
    """
    sample = sorted(values)
    n = len(sample)
    if n < 5:
        return ()
    total = _sum_of_squares(sample)
    if total <= 0.0 or negligible(math.sqrt(total / n), sample[-1]):
        return ()
    inside, cut = min((_sum_of_squares(sample[:i]) + _sum_of_squares(sample[i:]), i) for i in _best_cuts(sample, total))
    low, high = sample[:cut], sample[cut:]
    low_mean, high_mean = math.fsum(low) / len(low), math.fsum(high) / len(high)
    apart = high_mean - low_mean >= 0.25 * max(abs(low_mean), abs(high_mean))
    if 1.0 - inside / total < (0.96 if n >= 10 else 0.98) or not apart:
        return ()
    return (Mode(low_mean, len(low), len(low) / n), Mode(high_mean, len(high), len(high) / n))


def _best_cuts(sample: Sequence[float], total: float) -> list[int]:
    """The divisions of a sorted sample with the minimal variance within the parts, up to rounding.

    Running sums give the variance of all divisions in linear time, to about 1e-12 of the total.
    """
    n = len(sample)
    mean = math.fsum(sample) / n
    inside: list[float] = []
    below = 0.0
    for i, value in enumerate(sample[:-1], 1):
        below += value - mean
        # The sum over the upper part is -below: deviations from the mean add up to 0.
        inside.append(-(below**2) / i - below**2 / (n - i))
    limit = min(inside) + 1e-9 * total
    return [i for i, value in enumerate(inside, 1) if value <= limit]


def _sum_of_squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values)
