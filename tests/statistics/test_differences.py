"""Differences of many figures at a time: what chance alone makes, and what it does not."""

from __future__ import annotations

import math
import random

import pytest

from ackclock.statistics import Moments, Samples, differences


def normal(rng: random.Random, n: int, mean: float = 10.0, sd: float = 1.0) -> list[float]:
    return [rng.gauss(mean, sd) for _ in range(n)]


def skew(rng: random.Random, n: int) -> list[float]:
    """Log-normal: a goodput beside rare long outages."""
    return [math.exp(rng.gauss(0.0, 0.8)) for _ in range(n)]


@pytest.mark.parametrize("draw", [normal, skew])
@pytest.mark.parametrize(("n_a", "n_b", "paired"), [(3, 3, True), (10, 10, True), (3, 3, False), (4, 12, False)])
def test_differences_find_none_in_one_population_more_than_alpha_of_the_time(draw, n_a, n_b, paired) -> None:
    rng = random.Random(f"{draw.__name__} {n_a} {n_b} {paired}")
    families, wrong = 400, 0
    for _ in range(families):
        figures = []
        for _ in range(6):
            a, b = draw(rng, n_a), draw(rng, n_b)
            figures.append(Samples.paired(zip(a, b, strict=True)) if paired else Samples.independent(a, b))
        wrong += any(one.differs for one in differences(figures))
    # 5 % of 400 families and three standard errors of such a count.
    assert wrong <= 20 + 3 * math.sqrt(400 * 0.05 * 0.95), wrong


def test_interval_excludes_0_exactly_where_a_figure_differs() -> None:
    rng = random.Random(1)
    for _ in range(100):
        figures = [
            Samples.independent(normal(rng, 5), normal(rng, 6, 10.0 + step)) for step in (0.0, 0.5, 1.0, 2.0, 4.0)
        ]
        for one in differences(figures):
            assert one.differs == (one.lo > 0.0 or one.hi < 0.0)
            assert one.lo <= one.value <= one.hi


def test_paired_difference_is_found_where_seeds_scatter_more_than_it() -> None:
    rng = random.Random(2)
    base = normal(rng, 8, 100.0, 30.0)
    moved = [value + rng.gauss(2.0, 0.5) for value in base]
    assert differences([Samples.paired(zip(base, moved, strict=True))])[0].differs
    assert not differences([Samples.independent(base, moved)])[0].differs


def test_difference_is_undecidable_when_a_side_has_one_value() -> None:
    for samples in (Samples.independent([1.0], [5.0, 6.0]), Samples.paired([(1.0, 2.0)])):
        (one,) = differences([samples])
        assert one.differs is None
        assert math.isnan(one.lo)


def test_constant_counts_differ_only_when_their_number_shows_it() -> None:
    few, many = (Samples.paired([(0.0, 1.0)] * n) for n in (3, 6))
    assert not differences([few])[0].differs, "p = 2 / 2^3"
    assert differences([many])[0].differs, "p = 2 / 2^6"
    assert not differences([Samples.independent([0.0] * 3, [1.0] * 3)])[0].differs, "p = 2 / 20"


def test_equal_figures_leave_the_level_to_others_when_they_are_many() -> None:
    clear = Samples.independent([10.0, 11.0, 10.5, 9.5], [13.0, 14.0, 13.5, 12.5])
    alone = differences([clear])[0]
    among = differences([*[Samples.paired([(0.0, 0.0)] * 4)] * 50, clear])[-1]
    assert alone == among


def test_moments_are_those_of_values_without_nan() -> None:
    found = Moments.of([1.0, math.nan, 3.0])
    assert (found.n, found.mean, found.sd) == (2, 2.0, math.sqrt(2.0))
