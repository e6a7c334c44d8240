"""Scenario A against ns-2: the steady state over a droptail buffer."""

import pytest

from studies.oracles import scenario_a


@pytest.mark.parametrize("row", range(len(scenario_a.ROWS)), ids=[row.case for row in scenario_a.ROWS])
def test_the_same_buffer_gives_the_same_goodput_and_queue(verify, row: int) -> None:
    verify(scenario_a, row)
