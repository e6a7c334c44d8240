"""The rate of several flows together: what they delivered, over the time when one was active."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.statistics import joint_rate
from ackclock.statistics.joint_rate import covered_s

SPAN = st.tuples(st.floats(0.0, 100.0), st.floats(0.0, 100.0)).map(lambda pair: (min(pair), max(pair)))


@pytest.mark.finding("A12")
@pytest.mark.parametrize(
    ("flows", "rate"),
    [
        ([], 0.0),
        ([(None, 0.0, 1.0)], 0.0),
        ([(5.0, 2.0, 2.0)], 0.0),
        ([(5.0, 0.0, 10.0)], 5.0),
        # At the same time their rates add up, one after the other they do not.
        ([(5.0, 0.0, 10.0), (3.0, 0.0, 10.0)], 8.0),
        ([(5.0, 0.0, 5.0), (5.0, 5.0, 10.0)], 5.0),
        ([(6.0, 0.0, 5.0), (2.0, 5.0, 10.0)], 4.0),
        # The pause between them does not count, the time of both counts once.
        ([(6.0, 0.0, 1.0), (6.0, 9.0, 10.0)], 6.0),
        ([(4.0, 0.0, 4.0), (4.0, 2.0, 6.0)], 16.0 / 3.0),
        ([(4.0, 0.0, 10.0), (20.0, 4.0, 5.0)], 6.0),
    ],
)
def test_joint_rate_counts_bytes_over_the_time_in_which_a_flow_is_active(flows, rate):
    assert joint_rate(flows) == pytest.approx(rate)


@given(st.lists(SPAN, max_size=8))
def test_covered_time_is_that_of_the_instants_in_a_span(spans):
    edges = sorted({edge for span in spans for edge in span})
    inside = sum(b - a for a, b in pairwise(edges) if any(s <= a and b <= e for s, e in spans))
    assert covered_s(spans) == pytest.approx(inside, abs=1e-9)


@given(st.lists(st.tuples(st.floats(0.0, 1e9), SPAN), min_size=1, max_size=8))
def test_joint_rate_is_between_the_lowest_rate_and_the_sum(flows):
    rated = [(rate, *span) for rate, span in flows if span[1] > span[0]]
    rates = [rate for rate, _, _ in rated]
    assert min(rates, default=0.0) * (1 - 1e-9) <= joint_rate(rated) <= sum(rates) * (1 + 1e-9)
