"""Comparisons with independent programs. Most require their stored results."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.oracles.agreement import Check


@pytest.fixture
def verify(oracles: Path):
    """Measures one row of a scenario's table and fails unless every figure is as stated."""

    def of(scenario, row: int) -> None:
        check: Check = scenario.checks(oracles)[row]
        check.verify()

    return of
