"""Scenario B against ns-2: goodput under random loss."""

import pytest

from tests.oracles import scenario_b


@pytest.mark.parametrize("row", range(len(scenario_b.ROWS)), ids=[f"{sender.name}-{p}" for sender, p, _ in scenario_b.ROWS])
def test_the_same_loss_rate_gives_the_same_mean_goodput(verify, row: int) -> None:
    verify(scenario_b, row)
