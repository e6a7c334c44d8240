"""Scenario B against ns-2: goodput under random loss."""

import pytest

from studies.oracles import scenario_b


@pytest.mark.parametrize("row", range(len(scenario_b.CASES)), ids=scenario_b.CASES)
def test_the_same_loss_rate_gives_the_same_mean_goodput_and_order(verify, row: int) -> None:
    verify(scenario_b, row)
