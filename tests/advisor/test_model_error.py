"""The prediction interval of one run has what separates the model from the path."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ackclock.advisor.outcome import KERNEL_GOODPUT, KERNEL_RTT, ModelError, predicted_ratio

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "kernel-vs-simulator.md"


def runs(values):
    return {seed: {"score_balanced": value} for seed, value in enumerate(values)}


def test_kernel_errors_are_those_of_the_measured_page() -> None:
    own = PAGE.read_text("utf-8").split("## The papers")[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in own.splitlines()]
    rows = [row for row in rows if len(row) > 10 and row[5].endswith("%")]
    assert len(rows) >= 20
    for column, error in ((5, KERNEL_GOODPUT), (8, KERNEL_RTT)):
        found = [float(row[column].rstrip("%")) / 100 for row in rows]
        assert math.sqrt(sum(x * x for x in found) / len(found)) == pytest.approx(error, rel=0.3), (
            "renew the constants with the page"
        )


def test_interval_is_wider_when_the_model_has_an_error() -> None:
    advised, base = runs([3.0, 3.03, 2.97]), runs([1.0, 1.0, 1.0])
    chance = predicted_ratio(advised, base, "score_balanced")
    both = predicted_ratio(advised, base, "score_balanced", ModelError().of_gain("balanced"))
    assert chance
    assert both
    assert both.lo < chance.lo < 3.0 < chance.hi < both.hi


def test_interval_has_both_modes_when_one_is_rare() -> None:
    """One of ten runs of a kernel and of the simulator left slow start early: 5.9 for 7.1 Mb/s."""
    rare = predicted_ratio(
        runs([7.1, 7.09, 7.11, 7.1, 7.1, 7.09, 5.84, 7.1, 7.1, 7.1]), runs([1.0] * 10), "score_balanced"
    )
    assert rare
    assert rare.lo <= 5.84
    assert rare.hi >= 7.11
    alike = predicted_ratio(runs([7.1, 7.09, 7.11, 7.1]), runs([1.0] * 4), "score_balanced")
    assert alike
    assert alike.lo > 7.0


def test_gain_has_the_errors_of_the_figures_in_its_score() -> None:
    score: Any = {"goodput_error": {"median": 0.1}, "rtt_p95_error": {"median": 0.2}}
    fitted, plain = ModelError.of(score), ModelError.of(None)
    assert plain == ModelError()
    assert fitted.of_gain("throughput") == pytest.approx(math.hypot(math.sqrt(2) * KERNEL_GOODPUT, 0.1))
    assert fitted.of_gain("latency") == pytest.approx(math.hypot(math.sqrt(2) * KERNEL_RTT, 0.2))
    assert fitted.of_gain("balanced") > plain.of_gain("balanced")
    assert plain.of_gain("fairness") == 0.0
    assert fitted.of_metric("sparse_rtt_p95_ms") == pytest.approx(math.hypot(KERNEL_RTT, 0.2))
    assert fitted.of_metric("retransmission_rate") == 0.0
