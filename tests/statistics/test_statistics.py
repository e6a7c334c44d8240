"""Statistics against scipy, closed forms and published tables."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from ackclock.statistics import Interval, against, holm, interval, jain_index, modes, paired_p, rank, ratio

# Student (1908), table of Cushny and Peebles: extra hours of sleep, drug 2 minus drug 1, ten
# patients.
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]

COVERAGE = [
    (0.1, 3, 0.93),
    (0.1, 10, 0.93),
    (0.5, 3, 0.92),
    (0.5, 5, 0.92),
    (0.5, 10, 0.91),
    (1.0, 3, 0.88),
    (1.0, 10, 0.85),
    (1.0, 30, 0.87),
]
"""Sigma, n, and the minimum share of intervals that hold the mean of a lognormal sample."""


@pytest.mark.parametrize(
    ("n", "quantile"),  # t for 97.5 %, as printed in any table
    [(2, 12.706), (3, 4.303), (5, 2.776), (10, 2.262), (15, 2.145)],
)
def test_interval_of_a_small_sample_agrees_with_student_tables(n: int, quantile: float) -> None:
    sample = [float(i) for i in range(n)]
    found = interval(sample)
    assert found.method == "t"
    assert found.mean == pytest.approx((n - 1) / 2)
    assert found.hi - found.mean == pytest.approx(quantile * found.sd / math.sqrt(n), rel=5e-4)
    assert found.mean - found.lo == pytest.approx(found.hi - found.mean)


def test_t_interval_equals_scipys() -> None:
    sample = [9.1, 9.4, 8.7, 9.9, 9.0, 9.2]
    lo, hi = stats.t.interval(0.9, len(sample) - 1, loc=sum(sample) / 6, scale=stats.sem(sample))
    found = interval(sample, confidence=0.9)
    assert (found.lo, found.hi) == pytest.approx((lo, hi))


def test_interval_of_a_large_or_skewed_sample_is_a_reproducible_bca() -> None:
    draw = random.Random(7)
    large = [draw.gauss(10.0, 1.0) for _ in range(40)]
    found = interval(large)
    assert found.method == "bca"
    assert found == interval(reversed(large))
    assert found.lo < found.mean < found.hi
    assert interval(SLEEP).method == "bca"
    assert interval([1.0, 2.0, 1.5, 1.7, 1.2, 1.9, 1.4, 1.6, 1.3, 1.8]).method == "t"


@pytest.mark.parametrize("n", [10, 23, 200])
@pytest.mark.parametrize("shape", ["normal", "skewed", "ties"])
def test_bca_interval_is_that_of_scipy(n: int, shape: str) -> None:
    draw = random.Random(n)
    sample = sorted(
        {"normal": draw.gauss(5.0, 1.0), "skewed": draw.lognormvariate(0.0, 1.5), "ties": draw.randint(1, 4)}[shape]
        for _ in range(n)
    )
    reference = stats.bootstrap((sample,), np.mean, n_resamples=4000, rng=np.random.default_rng(0)).confidence_interval
    found = interval(sample)
    if found.method == "bca":
        assert (found.lo, found.hi) == tuple(reference)
    assert (found.method == "bca") == (n >= 20 or shape == "skewed")


@pytest.mark.parametrize(
    ("values", "method", "n"),
    [([], "none", 0), ([math.nan, None], "none", 0), ([3.0], "single", 1), ([2.0, 2.0, 2.0], "constant", 3)],
)
def test_interval_of_a_constant_sample_has_its_method(values: list[float | None], method: str, n: int) -> None:
    found = interval(values)
    assert (found.method, found.n) == (method, n)
    if n:
        assert found.lo == found.mean == found.hi
    else:
        assert found.as_json()["mean"] is None


def test_invalid_confidence_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval([1.0, 2.0], confidence=95.0)


@pytest.mark.parametrize("n", [5, 10])
def test_t_intervals_cover_the_mean_in_95_of_100_samples(n: int) -> None:
    draw = random.Random(n)
    samples = ([draw.gauss(5.0, 2.0) for _ in range(n)] for _ in range(1000))
    covered = sum(found.lo <= 5.0 <= found.hi for found in map(interval, samples))
    assert 925 <= covered <= 975


def test_paired_test_has_students_p_value_for_the_sleep_data() -> None:
    assert paired_p(SLEEP, 1.0) == pytest.approx(0.002833, rel=1e-3)
    assert paired_p(SLEEP, 1.0) == pytest.approx(stats.ttest_1samp(SLEEP, 0.0).pvalue)


def test_paired_test_has_p_1_for_one_pair_and_p_0_for_equal_differences() -> None:
    assert paired_p([4.0], 1.0) == 1.0
    assert paired_p([2.0, 2.0, 2.0], 10.0) == 0.0
    assert paired_p([0.0, 0.0, 0.0], 10.0) == 1.0
    assert paired_p([1e-9, -1e-9, 2e-9], 1e7) == 1.0


def test_holm_adjusts_by_the_step_down_rule() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_ratio_of_means_is_paired_by_seed() -> None:
    luck = {1: 1.0, 2: 1.5, 3: 0.6, 4: 1.2}
    a = {seed: 10.0 * factor for seed, factor in luck.items()}
    b = {seed: 9.0 * factor for seed, factor in luck.items()}
    found = against({"a": a, "b": b}, "a", ["b"])["b"]
    assert found.value == pytest.approx(0.9)
    assert found.p == 0.0
    # Without the pairs the scatter of the seeds hides the difference.
    mixed = dict(zip(luck, (b[3], b[1], b[4], b[2]), strict=True))
    assert against({"a": a, "b": mixed}, "a", ["b"])["b"].p > 0.5


@pytest.mark.finding("U17")
@pytest.mark.parametrize(("n", "quantile"), [(2, 12.706), (3, 4.303), (10, 2.262)])
def test_interval_on_the_logarithm_agrees_with_the_delta_method(n: int, quantile: float) -> None:
    sample = [1.0 + i / n for i in range(n)]
    found = interval(sample, scale="log")
    assert found.method == "log-t"
    assert found.mean == pytest.approx(sum(sample) / n)
    factor = math.exp(quantile * found.sd / found.mean / math.sqrt(n))
    assert found.lo == pytest.approx(found.mean / factor, rel=1e-3)
    assert found.hi == pytest.approx(found.mean * factor, rel=1e-3)


@pytest.mark.finding("U17")
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e12)), min_size=2, max_size=30))
def test_interval_of_rates_is_positive_and_holds_the_mean(rates: list[float]) -> None:
    found = interval(rates, scale="log")
    assert 0.0 <= found.lo <= found.mean * (1 + 1e-12) and found.mean <= found.hi * (1 + 1e-12)
    assert found.lo > 0.0 or not any(rates) or found.method == "bca"


@pytest.mark.finding("U17")
def test_interval_of_small_samples_is_exact() -> None:
    def ends(*values: float) -> tuple[str, float, float]:
        found = interval(values, scale="log")
        return found.method, found.lo, found.hi

    assert ends(5.0) == ("single", 5.0, 5.0)
    assert ends(0.0) == ("single", 0.0, 0.0)
    assert ends(0.0, 0.0, 0.0) == ("constant", 0.0, 0.0)
    assert ends(5.0, 5.0) == ("constant", 5.0, 5.0)
    # One run without goodput: the coefficient of variation of (0, x) is sqrt(2), whatever x is.
    method, lo, hi = ends(0.0, 8e6)
    assert method == "log-t"
    assert lo == pytest.approx(4e6 / math.exp(12.7062), rel=1e-4)
    assert hi == pytest.approx(4e6 * math.exp(12.7062), rel=1e-4)
    with pytest.raises(ValueError, match="not negative"):
        interval([-1.0, 2.0], scale="log")


@pytest.mark.finding("U17")
def test_interval_of_a_share_ends_at_1() -> None:
    assert interval([0.9, 1.0, 0.7], scale="log", maximum=1.0).hi == 1.0
    assert interval([0.9, 1.0, 0.7], scale="log").hi > 1.0


@pytest.mark.finding("U17")
def test_few_values_that_are_far_apart_are_listed() -> None:
    assert interval([9.0, 2.0, 17.0], scale="log").values == (2.0, 9.0, 17.0)
    assert interval([9.0, 2.0, 17.0], scale="log").as_json()["values"] == [2.0, 9.0, 17.0]
    assert interval([9.0, 8.0, 17.0], scale="log").values == (8.0, 9.0, 17.0)
    assert interval([9.0, 8.0, 15.0], scale="log").values == ()
    assert "values" not in interval([9.0, 8.0, 15.0], scale="log").as_json()
    assert interval([0.0, 8.0], scale="log").values == (0.0, 8.0)
    assert interval([9.0, 2.0, 17.0, 4.0, 6.0], scale="log").values == ()
    assert interval([-9.0, 2.0, 17.0]).values == ()


@pytest.mark.finding("U17")
def test_ratio_of_small_samples_is_exact() -> None:
    one = ratio([(3.0, 4.0)])
    assert (one.value, one.lo, one.hi, one.p) == (0.75, 0.75, 0.75, 1.0)
    same = ratio([(3.0, 4.0), (6.0, 8.0)])
    assert (same.value, same.lo, same.hi, same.p) == (0.75, 0.75, 0.75, 0.0)
    equal = ratio([(3.0, 3.0), (6.0, 6.0)])
    assert (equal.value, equal.p) == (1.0, 1.0)
    nothing = ratio([(0.0, 0.0), (0.0, 0.0)])
    assert (nothing.value, nothing.lo, nothing.hi, nothing.p) == (1.0, 1.0, 1.0, 1.0)
    assert math.isnan(ratio([]).value) and ratio([]).p == 1.0
    # No logarithm of 0: the differences decide.
    once = ratio([(0.0, 10.0), (0.0, 0.0), (0.0, 0.0)])
    assert (once.value, once.lo, once.hi) == (0.0, 0.0, math.inf) and once.p > 0.05
    always = ratio([(0.0, 10.0), (0.0, 11.0), (0.0, 9.0)])
    assert (always.value, always.lo, always.hi) == (0.0, 0.0, 0.0) and always.p < 0.05
    assert ratio([(10.0, 0.0), (11.0, 0.0), (9.0, 0.0)]).as_json()["value"] is None
    with pytest.raises(ValueError, match="not negative"):
        ratio([(-1.0, 2.0)])


def test_ratio_has_students_p_value_of_its_delta_method() -> None:
    a, b = [9.0, 10.5, 12.0, 8.0], [8.0, 10.0, 11.5, 7.0]
    found = ratio(zip(a, b, strict=True))
    residuals = [x / np.mean(a) - y / np.mean(b) for x, y in zip(a, b, strict=True)]
    t = math.log(found.value) / (np.std(residuals, ddof=1) / 2)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 3))
    lo, hi = (
        math.exp(edge) for edge in stats.t.interval(0.95, 3, math.log(found.value), np.std(residuals, ddof=1) / 2)
    )
    assert found.lo == pytest.approx(lo)
    assert found.hi == pytest.approx(hi)


@pytest.mark.finding("U17")
@settings(deadline=None)
@given(st.lists(st.lists(st.floats(0.0, 1e3), min_size=3, max_size=3), min_size=2, max_size=7))
@example([[0.0, 0.0, 0.0], [0.0, 0.0, 5e-324]])
def test_interval_of_a_ratio_excludes_1_exactly_where_holm_finds_a_difference(values: list[list[float]]) -> None:
    of_seed = {i: dict(enumerate(found)) for i, found in enumerate(values)}
    for found in against(of_seed, 0, list(of_seed)[1:]).values():
        assert (found.lo <= 1.0 <= found.hi) == (found.p >= 0.05)


@pytest.mark.finding("U17")
def test_ties_follow_from_the_intervals_of_the_ratios() -> None:
    draw = random.Random(5)
    noises = (0.0, 0.1, 0.4, 1.0)
    for _ in range(50):
        values = {
            i: {seed: draw.uniform(5.0, 10.0) * draw.lognormvariate(0.0, noises[i % 4]) for seed in range(4)}
            for i in range(6)
        }
        places = rank(values)
        for place in places[1:]:
            found = place.ratio
            if found is not None and place.rank == 1:
                assert found.lo <= 1.0 <= found.hi or abs(found.value - 1.0) <= 0.01


def _coverage(truth: float, n: int, draw: Callable[[], float]) -> float:
    """The share of 2000 intervals of n values that hold the true mean."""
    return sum(f.lo <= truth <= f.hi for f in (_log_interval(n, draw) for _ in range(2000))) / 2000


def _log_interval(n: int, draw: Callable[[], float]) -> Interval:
    return interval((draw() for _ in range(n)), scale="log")


@pytest.mark.slow
@pytest.mark.finding("U17")
@pytest.mark.parametrize(("sigma", "n", "minimum"), COVERAGE)
def test_interval_covers_the_mean_of_lognormal_samples(sigma: float, n: int, minimum: float) -> None:
    random_source = random.Random(n)
    covered = _coverage(math.exp(sigma**2 / 2), n, lambda: random_source.lognormvariate(0.0, sigma))
    assert minimum <= covered <= 0.985


@pytest.mark.slow
@pytest.mark.finding("U17")
@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_interval_covers_the_mean_of_bimodal_samples_unless_one_mode_is_absent(n: int) -> None:
    source = random.Random(n)
    covered = _coverage(5.5, n, lambda: (1.0 if source.random() < 0.5 else 10.0) * source.gauss(1.0, 0.03))
    # All values are of one mode with a probability of 2^(1 - n): no interval can know of the other.
    assert covered >= 0.95 - 2.0 ** (1 - n) - 0.03


def _runs(mean: float, noise: float, draw: random.Random) -> dict[int, float]:
    return {seed: mean + noise * draw.gauss(0.0, 1.0) for seed in range(1, 9)}


def test_ranking_has_ties_and_skips_ranks_after_them() -> None:
    draw = random.Random(3)
    values = {"slow": _runs(2.0, 0.05, draw), "fast": _runs(9.0, 0.6, draw), "also fast": _runs(9.05, 0.6, draw)}
    places = rank(values)
    assert [place.rank for place in places] == [1, 1, 3]
    assert {places[0].key, places[1].key} == {"fast", "also fast"}
    assert places[0].tied_with == (places[1].key,)
    assert places[2] == places[2].__class__("slow", 3, ())


def test_ranking_orders_ties_by_the_second_key() -> None:
    values = {"long queue": {1: 9.0, 2: 9.1}, "short queue": {1: 9.0, 2: 9.05}}
    delay = {"long queue": 300.0, "short queue": 40.0}
    assert [place.key for place in rank(values, then=lambda key: (delay[key],))] == ["short queue", "long queue"]


def test_ranking_with_one_seed_is_by_value() -> None:
    values = {"slow": {1: 5.0}, "fast": {1: 9.0}, "as fast": {1: 8.95}}
    assert [(place.key, place.rank) for place in rank(values)] == [("fast", 1), ("as fast", 1), ("slow", 3)]


def test_ranking_does_not_lead_with_a_distant_tie() -> None:
    values = {"fast": {1: 9.0, 2: 4.0}, "slow": {1: 3.0, 2: 2.0}}
    delay = {"fast": 300.0, "slow": 40.0}
    places = rank(values, then=lambda key: (delay[key],))
    assert [(place.key, place.rank) for place in places] == [("fast", 1), ("slow", 1)]


def test_ranking_ends_a_tie_at_the_first_significant_difference() -> None:
    values = {
        "best": {1: 13.0, 2: 13.1, 3: 12.9},
        "steady": {1: 11.7, 2: 11.8, 3: 11.6},
        "scattered": {1: 2.0, 2: 12.4, 3: 10.5},
    }
    places = rank(values)
    assert [(place.key, place.rank, place.undecided) for place in places] == [
        ("best", 1, False),
        ("steady", 2, False),
        ("scattered", 2, True),
    ]
    assert places[1].tied_with == ("scattered",)


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(0.1, 1e3), min_size=3, max_size=3), min_size=1, max_size=8), st.booleans())
def test_ranking_keeps_the_order_of_means_outside_of_ties(values: list[list[float]], more: bool) -> None:
    of_seed = {i: dict(enumerate(found)) for i, found in enumerate(values)}
    mean = {i: sum(found) / 3 * (1 if more else -1) for i, found in enumerate(values)}
    places = rank(of_seed, higher_is_better=more, then=lambda key: (key,))
    for place, after in pairwise(places):
        assert after.key in place.tied_with or mean[place.key] >= mean[after.key] - 1e-9
        assert place.rank < after.rank or after.key in place.tied_with


def test_significant_difference_below_1_percent_is_a_tie() -> None:
    values = {"a": {1: 100.0, 2: 100.0, 3: 100.0}, "b": {1: 99.5, 2: 99.5, 3: 99.5}}
    assert [place.rank for place in rank(values)] == [1, 1]
    assert [place.rank for place in rank(values, same_within=0.001)] == [1, 2]


def test_ranking_supports_lower_is_better_and_missing_values() -> None:
    values = {"high": {1: 9.0, 2: 9.0}, "none": {}, "low": {1: 1.0, 2: 1.0}}
    assert [place.key for place in rank(values, higher_is_better=False)] == ["low", "high", "none"]


@settings(deadline=None)  # the first call imports scipy
@given(st.lists(st.floats(1.0, 1e3), min_size=1, max_size=6), st.floats(2.0, 1e6))
def test_ranking_is_independent_of_the_unit(means: list[float], factor: float) -> None:
    values = {i: {1: mean, 2: mean * 1.001} for i, mean in enumerate(means)}
    scaled = {i: {seed: v * factor for seed, v in of.items()} for i, of in values.items()}
    assert [place.rank for place in rank(values)] == [place.rank for place in rank(scaled)]


def test_bimodal_sample_has_two_modes() -> None:
    # ns-2's two-way Reno: one start of ten leaves the forward transfer at full rate, the others
    # starve it (kb/s).
    found = interval([9790.0, 310.0, 280.0, 355.0, 190.0, 330.0, 240.0, 300.0, 260.0, 205.0])
    assert [(mode.n, round(mode.mean)) for mode in found.modes] == [(9, 274), (1, 9790)]
    assert found.as_json()["modes"] == [
        {"mean": pytest.approx(274.4, abs=0.1), "n": 9, "share": 0.9},
        {"mean": 9790.0, "n": 1, "share": 0.1},
    ]


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize("n", [6, 10, 30])
def test_unimodal_sample_seldom_has_two_modes(kind: str, n: int) -> None:
    draw = random.Random(n)
    sample = {"normal": lambda: 100.0 + 30.0 * draw.gauss(0.0, 1.0), "uniform": lambda: draw.uniform(0.0, 1.0)}[kind]
    called = sum(bool(modes([sample() for _ in range(n)])) for _ in range(500))
    assert called <= 15


def test_close_groups_and_small_samples_have_no_modes() -> None:
    assert modes([100.0, 100.1, 100.0, 110.0, 110.1, 110.0]) == ()
    assert modes([1.0, 9.0, 9.1]) == ()
    assert modes([5.0] * 8) == ()


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_jain_index_of_k_equal_flows_among_n_is_k_over_n(n: int) -> None:
    for k in range(1, n + 1):
        assert jain_index([3.0] * k + [0.0] * (n - k)) == pytest.approx(k / n)


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=20))
def test_jain_index_is_between_1_over_n_and_1(rates: list[float]) -> None:
    assert 1.0 / len(rates) - 1e-9 <= jain_index(rates) <= 1.0 + 1e-9


def test_jain_index_without_rates_is_nan() -> None:
    assert math.isnan(jain_index([0.0, 0.0]))
