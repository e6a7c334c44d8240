"""Scenario E against ns-2: the same losses yield the same recovery, reductions, window and
goodput.
"""

import pytest

from studies.oracles import scenario_e


@pytest.mark.parametrize("row", range(len(scenario_e.SENDERS)), ids=[sender.name for sender in scenario_e.SENDERS])
def test_recovery_window_and_goodput_agree_with_ns2_for_equal_losses(verify, row: int) -> None:
    verify(scenario_e, row)
