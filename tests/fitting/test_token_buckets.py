"""Policers and shapers in a fit, beside links that look like one."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.link_draws import LinkDraws
from tests.support.captures import simulated_captures

LINE = {"name": "access", "rate": "100 Mb/s", "delay": "15 ms", "queue": {"kind": "droptail", "bytes": "400 kB"}}
POLICED = {**LINE, "policer": {"down": {"rate": "20 Mb/s", "burst": "40 kB"}}}
SHAPED = {
    **LINE,
    "rate": "60 Mb/s",
    "shaper": {"down": {"rate": "12 Mb/s", "burst": "60 kB", "queue": {"kind": "droptail", "bytes": "30 kB"}}},
}


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


def covers(row: dict[str, Any], truth: float) -> bool:
    return bool(row["status"] == "identified" and row["lo"] <= truth <= row["hi"])


def test_policer_has_its_rate_and_burst_and_the_line_its_own_rate(tmp_path):
    server, client = simulated_captures(tmp_path, POLICED, duration="10 s")
    fit = ackclock.fit(server, client, out=tmp_path / "link.toml", score=False)
    found = rows(fit)
    assert covers(found["policer.down.rate"], 20e6) and covers(found["policer.down.burst"], 40e3), found
    assert found["policer.down.rate"]["value"] == pytest.approx(20e6, rel=0.002)
    assert found["policer.down.burst"]["value"] == pytest.approx(40e3, abs=1500)
    assert covers(found["rate.down"], 100e6) and found["loss.down.mean"]["status"] == "bounded"
    assert not any("token bucket" in text for text in fit.document["remarks"])
    scenario = draft_of(
        {"link": str(tmp_path / "link.toml"), "flow": [{"workload": {"kind": "bulk"}}], "duration": "1 s"}
    )
    draws = LinkDraws.beside(tmp_path / "link.toml")
    assert draws is not None
    drawn = [draws.scenario(scenario.check(), seed).hop[0].down.policer for seed in range(1, 40)]
    assert len({(one.rate, one.burst) for one in drawn}) > 20
    assert all(abs(one.rate / 20e6 - 1) < 0.01 and abs(one.burst - 40e3) <= 1500 for one in drawn)
    # A link with the policer carries what the input did.
    bulk = [{"workload": {"kind": "bulk"}}]
    of = [ackclock.simulate(link, bulk, "10 s", [1, 2, 3, 4]) for link in (fit.link, {"hop": [POLICED]})]
    assert of[0].flows["goodput_bps"].mean() == pytest.approx(of[1].flows["goodput_bps"].mean(), rel=0.08)


def test_shaper_has_its_rate_burst_and_queue_and_the_line_the_rate_of_bursts(tmp_path):
    server, client = simulated_captures(tmp_path, SHAPED, tcp={"variant": "reno"}, duration="20 s")
    fit = ackclock.fit(server, client, out=tmp_path / "link.toml", score=False)
    found = rows(fit)
    assert covers(found["shaper.down.rate"], 12e6) and covers(found["shaper.down.burst"], 60e3), found
    assert covers(found["shaper.down.queue.bytes"], 30e3), found
    assert found["rate.down"]["status"] == "bounded" and found["rate.down"]["lo"] == pytest.approx(60e6, rel=0.1)
    scenario = draft_of(
        {"link": str(tmp_path / "link.toml"), "flow": [{"workload": {"kind": "bulk"}}], "duration": "1 s"}
    )
    draws = LinkDraws.beside(tmp_path / "link.toml")
    assert draws is not None
    drawn = [draws.scenario(scenario.check(), seed).hop[0].down.shaper for seed in range(1, 20)]
    assert len({one.burst for one in drawn}) > 10 and all(abs(one.queue.bytes - 30e3) <= 6000 for one in drawn)


SCHEDULE = [["0 s", "30 Mb/s"], ["4 s", "12 Mb/s"]]
NEITHER: dict[str, dict[str, Any]] = {
    "droptail": {"rate": "10 Mb/s", "queue": {"kind": "droptail", "bytes": "60 kB"}},
    "short droptail": {"rate": "10 Mb/s", "queue": {"kind": "droptail", "packets": 6}},
    "codel": {"rate": "10 Mb/s", "queue": {"kind": "codel"}},
    "random loss": {"rate": "30 Mb/s", "loss": {"down": 0.004}},
    "bursts of losses": {
        "rate": "30 Mb/s",
        "loss": {"down": {"kind": "gilbert-elliott", "mean": 0.004, "bad_sojourn": "6 ms"}},
    },
    "rate that falls": {"rate": {"schedule": SCHEDULE}, "queue": {"kind": "droptail", "bytes": "90 kB"}},
    "jitter": {
        "rate": "10 Mb/s",
        "queue": {"kind": "droptail", "bytes": "60 kB"},
        "jitter": {"down": {"kind": "exponential", "mean": "2 ms"}},
    },
}


@pytest.mark.parametrize("hop", NEITHER.values(), ids=NEITHER)
def test_no_bucket_is_found_when_another_cause_drops_or_delays(hop, tmp_path):
    fit = ackclock.fit(*simulated_captures(tmp_path, {"name": "access", "delay": "15 ms", **hop}), score=False)
    assert not [path for path in rows(fit) if path.startswith(("policer", "shaper"))]


def test_policer_shows_at_the_end_of_the_sender_alone(tmp_path):
    server, _ = simulated_captures(tmp_path, POLICED, duration="10 s")
    found = rows(ackclock.fit(server, score=False))
    assert covers(found["policer.down.rate"], 20e6) and covers(found["policer.down.burst"], 40e3), found
