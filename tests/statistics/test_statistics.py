"""Statistics against scipy, closed forms and published tables."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ackclock.statistics import against, holm, interval, jain_index, modes, paired_p, rank

# Student (1908), table of Cushny and Peebles: extra hours of sleep, drug 2 minus drug 1, ten
# patients.
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


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


def test_differences_are_paired_by_seed() -> None:
    luck = {1: 0.0, 2: 5.0, 3: -4.0, 4: 2.0}
    a = {seed: 10.0 + shift for seed, shift in luck.items()}
    b = {seed: 9.0 + shift for seed, shift in luck.items()}
    found = against({"a": a, "b": b}, "a", ["b"])["b"]
    assert found.interval.mean == pytest.approx(1.0)
    assert found.p_holm == 0.0


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
