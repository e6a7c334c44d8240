"""Fits to folders of `measure`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.storage.run_kind import MEASURE, SCHEDULE


def direction(rate: float, kind: str, lost: int) -> dict[str, Any]:
    """A direction's capacity, as in the document."""
    return {
        "rate_bps": rate,
        "at_least": False,
        "packet_bytes": 1228,
        "queue": {
            "kind": kind,
            "because": "losses began where the queue was longest",
            "buffer_bytes": 61_228.0 if kind == "droptail" else None,
            "buffer_lo_bytes": 60_000.0 if kind == "droptail" else None,
            "buffer_hi_bytes": 62_000.0 if kind == "droptail" else None,
            "stream_queue_bytes": 90_000.0,
            "rate": {
                "mean_bps": rate,
                "lo_bps": 0.99 * rate,
                "hi_bps": 1.01 * rate,
                "p5_bps": rate,
                "p95_bps": rate,
                "windows": 6,
                "wanders": False,
                "busy_share": 1.0,
            },
            "channel_loss": {"lost": lost, "sent": 1000},
            "jitter": {"p50_ms": 2.0, "p95_ms": 3.8, "in_order": True},
            "token_bucket": None,
            "stalls": None,
        },
    }


def delay(bounds: list[float]) -> dict[str, Any]:
    return {"ip_bytes": 48, "sent": 150, "received": 150, "min_delay_interval_ms": bounds}


def document(rate: float = 10e6, kind: str = "droptail", lost: int = 20) -> dict[str, Any]:
    """A measurement of a path with 12 and 18 ms, whose clocks are not known."""
    return {
        "seconds": 40.0,
        "flows": [],
        "delay": {"down": delay([0.0, 30.0]), "up": delay([0.0, 30.0])},
        "capacity": {"down": direction(rate, kind, lost), "up": direction(2e6, "droptail", 0)},
    }


def written(folder: Path, found: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MEASURE.document).write_text(json.dumps(found), "utf-8")
    return folder


def rows(fit: ackclock.Fit) -> dict[str, Any]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


def test_statements_become_parameters_when_a_measurement_is_fitted(tmp_path):
    fit = ackclock.fit(written(tmp_path / "run", document()), out=tmp_path / "link.toml")
    found = rows(fit)
    assert found["rate.down"]["value"] == pytest.approx(10e6, rel=1e-3)
    assert found["queue.down.bytes"]["lo"] <= 60_000 <= found["queue.down.bytes"]["hi"]
    assert found["loss.down.mean"]["value"] == pytest.approx(0.02, rel=0.01)
    assert found["loss.up.mean"]["status"] == "bounded" and found["loss.up.mean"]["lo"] == pytest.approx(0.0)
    # Half of the sum of both directions, less the service of 48 bytes.
    assert found["delay"]["value"] == pytest.approx(15.0 - (0.0384 + 0.192) / 2, abs=0.01)
    assert found["jitter.down.high"]["lo"] <= 4.0 <= found["jitter.down.high"]["hi"]
    assert {row["path"] for row in fit.document["not_identified"]} == {"hop.access.loss.up.mean"}
    assert ackclock.simulate(fit.link, [{"name": "f", "workload": {"kind": "bulk"}}], "2 s").flows.height == 1


def test_queue_kind_is_assumed_when_the_measurement_states_an_aqm(tmp_path):
    fit = ackclock.fit(written(tmp_path, document(kind="per-flow")))
    assert fit.document["link"]["hop"][0]["queue"]["down"] == {"kind": "fq-codel"}
    assert rows(fit)["queue.down.bytes"]["status"] == "bounded"


def test_interval_contains_each_measurement_when_a_schedule_is_fitted(tmp_path):
    for number, rate in enumerate((9e6, 10e6, 12e6)):
        written(tmp_path / f"{number:05d}", document(rate))
    (tmp_path / SCHEDULE.document).write_text("{}", "utf-8")
    row = rows(ackclock.fit(tmp_path))["rate.down"]
    assert row["value"] == pytest.approx(10e6, rel=1e-3) and row["lo"] <= 0.99 * 9e6 and row["hi"] >= 1.01 * 12e6


def test_measurement_is_refused_when_it_has_no_capacity(tmp_path):
    with pytest.raises(InputError, match="no capacity"):
        ackclock.fit(written(tmp_path, {**document(), "capacity": {}}))


@pytest.mark.parametrize("kind", ["droptail", "per-flow"])
def test_shaper_has_the_rate_the_queue_and_the_burst_when_the_stream_passed_one(kind, tmp_path):
    measured = document(kind=kind)
    bucket = {"burst_bytes": 64_000.0, "lo": 56_000.0, "hi": 72_000.0}
    measured["capacity"]["down"]["queue"]["token_bucket"] = bucket
    fit = ackclock.fit(written(tmp_path, measured))
    found = rows(fit)
    assert found["shaper.down.burst"]["value"] == pytest.approx(64e3) and "rate.down" not in found
    assert found["shaper.down.rate"]["value"] == pytest.approx(10e6, rel=1e-3)
    (hop,) = fit.document["link"]["hop"]
    shaper = hop["shaper"]["down"]
    assert shaper["burst"] == "64 kB" and "down" not in hop["queue"] and "down" not in hop["rate"]
    expected = {"droptail": {"kind": "droptail", "bytes": "60 kB"}, "per-flow": {"kind": "fq-codel"}}
    assert shaper["queue"] == expected[kind]
    assert not any("token bucket" in text for text in fit.document["remarks"])
    assert ackclock.simulate(fit.link, [{"name": "f", "workload": {"kind": "bulk"}}], "2 s").flows.height == 1
