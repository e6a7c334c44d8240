"""The score of a run: one function of goal, load and flows, by values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ackclock.goals import GOALS
from ackclock.input.scenario.draft import draft_of
from ackclock.simulation.goals import score
from ackclock.simulation.loads import LOADS


def _flows(**rates: list[float | None]) -> list[dict[str, Any]]:
    return [
        {"direction": side, "goodput_bps": bps, "from_s": 0.0, "host_start_s": 0.0, "end_s": 10.0}
        for side, of_side in rates.items()
        for bps in of_side
    ]


FLOWS = _flows(down=[8e6, 2e6], up=[1e6])


@pytest.mark.parametrize(
    ("goal", "load", "expected"),
    [
        ("balanced", "down", 4e6 / math.sqrt(100.0)),
        ("balanced", "up", 1e6 / math.sqrt(100.0)),
        ("balanced", "both", math.sqrt(4e6 * 1e6) / math.sqrt(100.0)),
        ("throughput", "down", 10e6),
        ("throughput", "both", math.sqrt(10e6 * 1e6)),
        ("latency", "both", 0.01),
        ("fairness", "down", 10e6**2 / (2 * (8e6**2 + 2e6**2))),
    ],
)
def test_score_is_the_geometric_mean_over_directions_under_a_load(goal, load, expected) -> None:
    assert score(goal, LOADS[load], FLOWS, 100.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.finding("A12")
def test_throughput_counts_bytes_over_time_when_transfers_follow_each_other() -> None:
    first, second = _flows(down=[8e6, 2e6])
    sequential = [{**first, "end_s": 5.0}, {**second, "from_s": 5.0}]
    assert score("throughput", LOADS["down"], sequential, 100.0) == pytest.approx(5e6)


def test_score_takes_all_flows_together_without_a_load() -> None:
    assert score("throughput", None, FLOWS, 100.0) == pytest.approx(11e6)
    assert score("balanced", None, FLOWS, 100.0) == pytest.approx((8e6 * 2e6 * 1e6) ** (1 / 3) / 10.0)
    assert score("fairness", None, FLOWS, 100.0) == pytest.approx(11e6**2 / (3 * 69e12))


def test_score_is_not_a_number_when_the_run_lacks_what_the_goal_needs() -> None:
    lone = _flows(down=[1e6])
    assert math.isnan(score("fairness", LOADS["down"], lone, 10.0))
    assert math.isnan(score("balanced", LOADS["down"], lone, math.nan))
    assert math.isnan(score("latency", LOADS["down"], lone, math.nan))
    assert all(math.isnan(score(goal, LOADS["both"], lone, 10.0)) for goal in GOALS if goal != "latency")


def test_score_of_a_flow_without_goodput_is_finite_and_the_lowest() -> None:
    none = score("balanced", None, _flows(down=[None]), 10.0)
    assert math.isfinite(none)
    assert none < score("balanced", None, _flows(down=[1e3]), 10.0)


def test_loads_are_flow_tables_of_their_directions() -> None:
    names = {"down": "a", "up": "b"}
    assert [load.directions for load in LOADS.values()] == [("down",), ("up",), ("down", "up")]
    for load in LOADS.values():
        hop = {"name": "line", "rate": "1 Mb/s"}
        scenario = draft_of({"duration": "1 s", "hop": [hop], "flow": load.tables(names, count=2)}).check()
        assert [(flow.name, flow.direction, flow.count) for flow in scenario.flow] == [
            (names[side], side, 2) for side in load.directions
        ]
