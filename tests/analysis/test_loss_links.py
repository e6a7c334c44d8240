"""Causes of losses on links drawn at random, against the simulator's record."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.analyzer.loss_links import QUEUES, loss_links, loss_score

SEED = 4


@pytest.mark.finding("C3")
@pytest.mark.parametrize("number", range(len(QUEUES)))
def test_share_of_random_losses_is_right_on_every_kind_of_queue(tmp_path: Path, number: int) -> None:
    link = list(loss_links(number + 1, SEED))[number]
    result = loss_score(link, tmp_path)
    assert result is None or result.is_right, result
