"""Scenario B against ns-2: goodput under random loss."""

import pytest

from studies.oracles import scenario_b


@pytest.mark.parametrize("row", range(len(scenario_b.CASES)), ids=scenario_b.CASES)
def test_mean_goodput_and_order_agree_with_ns2_for_equal_loss_rates(verify, row: int) -> None:
    verify(scenario_b, row)
