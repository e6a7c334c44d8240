"""Throughput models in Python: independent values, and invalid arguments."""

from __future__ import annotations

import math

import pytest

from ackclock import models

WINDOW = 65536 / 1448
MBPS = 1448 * 8 / 1e6


@pytest.mark.parametrize(
    ("loss", "full", "approx"),
    [(0.018, 0.495, 0.506), (0.026, 0.396, 0.404), (0.034, 0.335, 0.339), (0.042, 0.292, 0.293)],
)
def test_padhye_models_yield_rates_of_a_measured_link_in_mbps(loss: float, full: float, approx: float) -> None:
    assert models.padhye_full(loss, 0.134, 0.334, 2, WINDOW) * MBPS == pytest.approx(full, abs=5e-4)
    assert models.padhye_approx(loss, 0.134, 0.334, 2, WINDOW) * MBPS == pytest.approx(approx, abs=5e-4)


@pytest.mark.parametrize(
    ("path", "full", "approx"),
    [
        ((0.01, 0.2, 2.0, 2, math.inf), 34.76, 35.33),
        ((0.05, 0.1, 1.0, 1, math.inf), 26.05, 24.73),
        ((0.001, 0.1, 0.5, 2, 20), 176.6, 200.0),
    ],
)
def test_padhye_models_agree_with_independent_values(path: tuple[float, ...], full: float, approx: float) -> None:
    assert models.padhye_full(*path) == pytest.approx(full, rel=3e-4)
    assert models.padhye_approx(*path) == pytest.approx(approx, rel=3e-4)


@pytest.mark.parametrize(("kib", "mbps"), [(8, 0.41), (16, 0.82), (32, 1.64)])
def test_sawtooth_carries_three_quarters_of_its_window(kib: int, mbps: float) -> None:
    assert models.window_over_rtt(kib * 1024, 0.120) * 8e-6 == pytest.approx(mbps, abs=5e-3)


def test_mathis_and_cubic_response_have_the_published_constants() -> None:
    assert models.mathis(0.01, 0.1) == pytest.approx(math.sqrt(1.5) * 100)
    assert models.mathis(0.01, 0.1, per_ack=2) == pytest.approx(math.sqrt(0.75) * 100)
    assert models.cubic_response(0.01, 0.1) == pytest.approx(1.054 * 10**0.75, rel=1e-3)
    assert models.cubic_response(0.01, 0.1, c=0.4, beta=0.8) == pytest.approx((0.4 * 3.8 / 0.8) ** 0.25 * 10**0.75)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: models.mathis(0.0, 0.1), "loss"),
        (lambda: models.mathis(math.nan, 0.1), "loss"),
        (lambda: models.padhye_full(1.0, 0.1, 1.0), "loss"),
        (lambda: models.padhye_full(0.01, 0.1, 0.0), "rto"),
        (lambda: models.padhye_approx(0.01, 0.1, 1.0, max_window=0), "max_window"),
        (lambda: models.cubic_response(0.01, 0.1, beta=1.0), "beta"),
        (lambda: models.window_over_rtt(1, -1.0), "rtt"),
    ],
)
def test_model_argument_out_of_range_is_refused_by_name(call, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is"):
        call()
