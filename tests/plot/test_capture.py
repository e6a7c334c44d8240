"""Panels of a capture over time."""

from __future__ import annotations

import polars as pl
import pytest

from ackclock.plot.capture import RATE_BINS, goodput


@pytest.mark.parametrize("start", [0.0, 0.083, 7.5])
def test_constant_rate_is_a_constant_in_the_first_and_last_bin_too(start: float) -> None:
    times = [start + number / 1000 for number in range(12_001)]
    sent = pl.DataFrame({"time_s": times, "kind": "new", "payload_bytes": 1000})
    line = goodput(sent)
    assert len(line.times) == RATE_BINS
    assert start < line.times[0] < line.times[-1] < start + 12.0
    assert line.values == pytest.approx([8.0] * RATE_BINS, rel=0.02)
