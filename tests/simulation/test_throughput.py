"""Throughput models of simulated flows: their input, their agreement, and their place in
reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import models
from ackclock.simulation import throughput

TCP = {
    "segment": 1000,
    "receive_buffer": 20_000,
    "send_buffer": None,
    "delayed_ack": {"segments": 2, "timer_ps": 1},
    "byte_counting": 0,
    "rto_min_ps": 200 * 10**9,
    "rto_floor": "variance",
}
FLOW: Any = {"rtt_ms": {"mean": 100.0}, "segments_sent": 10_000, "window_cuts": 100, "retransmission_rate": 0.02}
TUNED = {"receive_tuning": {"start": 1}}


def line(mean: float, rate: str = "100 Mb/s") -> dict[str, Any]:
    loss = {"loss": {"down": {"kind": "bernoulli", "mean": mean}}} if mean else {}
    return {"hop": [{"name": "l", "rate": rate, "delay": "25 ms", **loss}]}


def flow_of(link: dict[str, Any], **tcp: Any) -> Any:
    keys = {"host": "ns2", "variant": "reno", "recovery": "sack", "delayed_ack": False, **tcp}
    run = ackclock.simulate(link, [{"workload": {"kind": "bulk"}, **keys}], "120 s", seed=1, sample="0 s")
    return run.summaries[0]["flows"][0]


def test_model_uses_the_flows_figures() -> None:
    found = throughput.of_flow(FLOW, {**TCP, **TUNED})
    assert found is not None
    assert found["loss"] == 0.01 and found["window_bps"] is None
    assert found["mathis_bps"] == pytest.approx(8000 * models.mathis(0.01, 0.1, 2.0))
    assert found["padhye_bps"] == pytest.approx(0.98 * 8000 * models.padhye_full(0.01, 0.1, 0.3, 2.0))
    assert found["cubic_bps"] == pytest.approx(8000 * models.cubic_response(0.01, 0.1) / 0.1)


def test_byte_counting_reduces_segments_per_ack_in_the_model() -> None:
    assert [throughput.segments_per_ack({**TCP, "byte_counting": limit}) for limit in (0, 1, 2, 65535)] == [
        2.0,
        2.0,
        1.0,
        1.0,
    ]
    assert throughput.segments_per_ack({**TCP, "delayed_ack": None}) == 1.0


def test_model_without_loss_is_the_window_limit_or_absent() -> None:
    clean: Any = {**FLOW, "window_cuts": 0}
    found = throughput.of_flow(clean, TCP)
    assert found is not None
    # 20 segments of 8000 bits in 100 ms.
    assert found["padhye_bps"] == pytest.approx(1.6e6) and found["window_bps"] == pytest.approx(1.2e6)
    assert found["mathis_bps"] is None
    assert throughput.of_flow(clean, {**TCP, **TUNED}) is None
    assert throughput.of_flow({**clean, "rtt_ms": None}, TCP) is None


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
def test_reno_over_random_loss_agrees_with_padhye(loss: float) -> None:
    found = flow_of(line(loss))
    assert found["goodput_bps"] == pytest.approx(found["model"]["padhye_bps"], rel=0.15)


def test_fixed_window_without_loss_has_one_window_per_rtt() -> None:
    found = flow_of(line(0.0), receive_buffer="32 KiB")
    assert found["goodput_bps"] == pytest.approx(found["model"]["padhye_bps"], rel=0.01)


def test_reports_show_the_model_with_an_explanation(tmp_path: Path) -> None:
    keys = {"host": "ns2", "variant": "reno"}
    run = ackclock.simulate(
        line(1e-2), [{"workload": {"kind": "bulk"}, **keys}], "5 s", seeds=[1, 2], out=tmp_path / "one"
    )
    page = run.report().read_text("utf-8")
    assert "Padhye, full (Mb/s)" in page and ": model" in page and "A level is the goodput of a Reno flow" in page
    compared = ackclock.compare(
        line(1e-2)["hop"], variants=["reno", "cubic"], buffers=["auto"], duration="5 s", seeds=2
    )
    page = compared.report(tmp_path / "compare.html").read_text("utf-8")
    assert "hollow diamond" in page and '"model":' in page
    metrics = compared.document["cells"][0]["metrics"]
    assert metrics["model_bps"]["n"] == 2
