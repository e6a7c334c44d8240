"""The statistics kernel as Python sees it, against numpy's rules for the same definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock.statistics.summary_stats import EMPTY_SUMMARY, summary_stats

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@pytest.mark.finding("N1")
@settings(deadline=None, max_examples=50)
@given(values=VALUES)
def test_summary_equals_numpys_inverted_cdf_and_sample_deviation(values: list[float]) -> None:
    summary: Any = summary_stats(values)
    assert summary is not None
    for field, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert summary[field] == np.quantile(values, q, method="inverted_cdf")
    deviation = np.std(values, ddof=1) if len(values) > 1 else 0.0
    assert summary["sd"] == pytest.approx(deviation, rel=1e-9, abs=1e-6)
    assert summary["mean"] == pytest.approx(math.fsum(values) / len(values), rel=1e-9, abs=1e-6)
    assert (summary["count"], summary["min"], summary["max"]) == (len(values), min(values), max(values))


@pytest.mark.finding("N1")
def test_p95_of_20_values_is_the_19th() -> None:
    summary = summary_stats(float(i) for i in range(20, 0, -1))
    assert summary is not None
    assert (summary["p50"], summary["p95"], summary["p99"]) == (10.0, 19.0, 20.0)
    assert list(summary) == list(EMPTY_SUMMARY)


def test_summary_is_none_without_values() -> None:
    assert summary_stats([]) is None
