"""Scenario A against ns-2: the steady state over a droptail buffer."""

import pytest

from studies.oracles import scenario_a


@pytest.mark.parametrize("row", range(len(scenario_a.ROWS)), ids=[row.case for row in scenario_a.ROWS])
def test_goodput_and_queue_agree_with_ns2_for_equal_buffers(verify, row: int) -> None:
    verify(scenario_a, row)
