"""Searchers on functions whose minimum is known."""

from __future__ import annotations

import pytest

from ackclock.hunting.search import BARRIER, CmaEs, RandomSearch, Searcher, Unit, searcher

MINIMUM = (0.8, 0.3, 0.6, 0.2, 0.7, 0.4)


def bowl(point: Unit) -> float:
    """Least at MINIMUM; outside of a half of the cube nothing is allowed."""
    if point[0] + point[1] > 1.6:
        return BARRIER
    return sum((a - b) ** 2 for a, b in zip(point, MINIMUM, strict=True))


def found(search: Searcher, evaluations: int) -> float:
    best = float("inf")
    for _ in range(evaluations):
        points = search.ask()
        costs = [bowl(point) for point in points]
        search.tell(points, costs, [""] * len(points))
        evaluations -= len(points)
        best = min(best, *costs)
        if evaluations <= 0:
            return best
    return best


@pytest.mark.parametrize("name", ["cmaes", "random"])
def test_search_repeats_itself_when_the_seed_is_the_same(name: str) -> None:
    def points(seed: int) -> list[Unit]:
        search, asked = searcher(name, [0.0] * 6, seed), []
        for _ in range(12):
            asked += (now := search.ask())
            search.tell(now, [bowl(point) for point in now], [""] * len(now))
        return asked

    assert points(3) == points(3) != points(4)
    assert all(0.0 <= x <= 1.0 for point in points(3) for x in point)


def test_cma_es_comes_nearer_to_a_minimum_than_random_search() -> None:
    near = [found(CmaEs([0.0] * 6, seed), 300) for seed in range(5)]
    far = [found(RandomSearch([0.0] * 6, seed), 300) for seed in range(5)]
    assert max(near) < 0.5 * min(far)


def test_cma_es_keeps_to_the_steps_of_a_choice() -> None:
    search = CmaEs([1.0, 0.0, 0.0], 1)
    for _ in range(10):
        points = search.ask()
        search.tell(points, [-point[0] + point[1] for point in points], [""] * len(points))
    assert {point[0] for point in search.ask()} <= {0.0, 1.0}


def test_cma_es_begins_again_elsewhere_when_it_no_longer_improves() -> None:
    search, ends = CmaEs([0.0, 0.0], 1), []
    for _ in range(80):
        points = search.ask()
        # Two minima: at 0.2 and, less deep, at 0.8.
        costs = [min(abs(a - 0.2) - 0.2, abs(a - 0.8)) + abs(b - 0.5) for a, b in points]
        search.tell(points, costs, [""] * len(points))
        ends = search._ends
    assert any(abs(a - 0.2) < 0.1 for a, _ in ends) and any(abs(a - 0.8) < 0.1 for a, _ in ends)


def test_cma_es_takes_a_part_of_a_generation_when_the_budget_ends() -> None:
    search = CmaEs([0.0, 0.0], 1)
    points = search.ask()
    search.tell(points[:3], [bowl((*point, 0, 0, 0, 0)) for point in points[:3]], [""] * 3)
    assert search.ask()
