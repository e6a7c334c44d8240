"""Means with confidence intervals, and the modes of a bimodal sample.

Samples are small (a few seeds), so intervals use Student's t; with enough values for its coverage,
the bias-corrected and accelerated bootstrap (BCa).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Method = Literal["none", "single", "constant", "t", "bca"]

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


@dataclass(frozen=True, slots=True)
class Mode:
    """One group of a bimodal sample: its mean, number of runs, and share (0..1)."""

    mean: float
    n: int
    share: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, in the unit of the values.

    ``method`` is the origin of ``lo`` and ``hi``: ``t`` (Student), ``bca`` (bootstrap),
    ``constant`` (all values equal), ``single`` (one value: ``lo == hi == mean``) or ``none`` (no
    value: all are NaN). ``modes`` has two entries if the values are bimodal, when the mean
    describes neither group; else none.
    """

    mean: float
    lo: float
    hi: float
    sd: float
    n: int
    method: Method
    modes: tuple[Mode, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The fields of a metric in JSON documents: NaN is null, ``modes`` is absent without
        modes.
        """
        out: dict[str, object] = {
            key: (value if math.isfinite(value) else None)
            for key, value in (("mean", self.mean), ("lo", self.lo), ("hi", self.hi), ("sd", self.sd))
        }
        out["n"] = self.n
        if self.modes:
            out["modes"] = [{"mean": mode.mean, "n": mode.n, "share": mode.share} for mode in self.modes]
        return out


def interval(values: Iterable[float | None], *, confidence: float = 0.95) -> Interval:
    """Mean and two-sided confidence interval of ``values`` (any unit; None and NaN are left out).

    Student's t below ``BCA_FROM`` values (``BCA_FROM_IF_SKEWED`` for a skewed sample), else BCa
    (Efron 1987) up to ``BCA_TO``. ``sd`` is the sample standard deviation (n - 1); 0 for one value.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    sample = sorted(float(v) for v in values if v is not None and not math.isnan(v))
    n = len(sample)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, math.nan, 0, "none")
    mean = math.fsum(sample) / n
    if n == 1:
        return Interval(mean, mean, mean, 0.0, 1, "single")
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in sample) / (n - 1))
    if negligible(sd, mean):
        return Interval(mean, mean, mean, 0.0, n, "constant")
    skewed = n >= BCA_FROM_IF_SKEWED and abs(skewness(sample)) > SKEWED
    if n <= BCA_TO and (n >= BCA_FROM or skewed):
        lo, hi = _bca(sample, confidence)
        return Interval(mean, lo, hi, sd, n, "bca", modes(sample))
    half = t_quantile((1.0 + confidence) / 2.0, n - 1) * sd / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, sd, n, "t", modes(sample))


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


def t_quantile(p: float, df: int) -> float:
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
