"""``measure`` over emulated links of known truth. Skipped where network namespaces are forbidden; a run whose emulation was not valid does not count."""

from __future__ import annotations

import pytest

from studies.kernel.runs import Unmeasured
from studies.measurement.emulated_path import SERVER6, measured, over
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.slow,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

UNEQUAL = """title = "unequal both ways"
source = "test"
[[hop]]
name = "line"
rate = { down = "10 Mb/s", up = "2 Mb/s" }
delay = { down = "10 ms", up = "35 ms" }
queue = { kind = "droptail", bytes = "60 kB" }
"""
RATE = {"down": 10e6, "up": 2e6}
DELAY_MS = {"down": 10.0, "up": 35.0}
QUEUE = 60_000
HOUR_NS = 3_600_000_000_000


def run(*arguments, **more):
    try:
        return measured(*arguments, **more)
    except Unmeasured as why:
        pytest.skip(f"no valid emulation: {why}")


@pytest.fixture(scope="module")
def unequal():
    return run(UNEQUAL, "--tests", "delay,capacity", "--duration", "4 s", clock_shift_ns=HOUR_NS)


@pytest.mark.parametrize("way", ["down", "up"])
def test_capacity_is_within_2_percent(unequal, way):
    assert unequal["capacity"][way]["rate_bps"] == pytest.approx(RATE[way], rel=0.02)
    assert unequal["capacity"][way]["overflowed"]


@pytest.mark.parametrize("way", ["down", "up"])
def test_the_buffer_is_within_ten_percent_or_one_packet(unequal, way):
    seen = unequal["capacity"][way]
    # What waits, and the packet that is being sent.
    truth = QUEUE + seen["packet_bytes"]
    for size in seen["buffer_bytes"].values():
        assert abs(size - truth) <= max(0.1 * truth, seen["packet_bytes"])


@pytest.mark.parametrize("way", ["down", "up"])
def test_the_one_way_interval_has_the_true_delay_with_a_clock_that_is_an_hour_wrong(unequal, way):
    seen = unequal["delay"][way]
    truth = DELAY_MS[way] + 48 * 8e3 / RATE[way]
    low, high = seen["least_delay_interval_ms"]
    assert low <= truth <= high
    # Nothing is lost and nothing waits.
    assert seen["loss"]["rate"] == 0.0
    assert seen["delay_variation_ms"]["p95"] < 1.0


JITTER = """title = "some jitter and some loss"
source = "test"
[[hop]]
name = "line"
rate = "20 Mb/s"
delay = "20 ms"
jitter = { kind = "uniform", high = "8 ms" }
loss = { mean = 0.02 }
queue = { kind = "droptail", packets = 200 }
"""


def test_delay_variation_is_within_a_millisecond_and_loss_within_its_interval():
    seen = run(JITTER, "--tests", "delay", "--duration", "20 s")
    for way in ("down", "up"):
        figures = seen["delay"][way]
        more = figures["delay_variation_ms"]
        assert more["p50"] == pytest.approx(4.0, abs=1.0)
        assert more["p95"] == pytest.approx(7.6, abs=1.0)
        assert figures["loss"]["lo"] <= 0.02 <= figures["loss"]["hi"]


def test_captures_of_both_ends_have_each_ways_delay_and_loss_with_a_clock_that_is_an_hour_wrong():
    told = ["--tests", "tcp", "--duration", "4 s", "--direction", "up", "--capture", "--capture-far"]
    found = run(UNEQUAL, *told, clock_shift_ns=HOUR_NS)["analysis"]
    assert found["joined_flows"] >= 2
    flow = max(found["flows"], key=lambda f: f["a2b"]["unique_bytes"])
    assert flow["a2b"]["unique_bytes"] > 0.8 * 4.0 * RATE["up"] / 8
    # Queueing up is the buffer's: 60 kB at 2 Mb/s.
    delay = flow["a2b"]["one_way_delay_ms"]
    assert delay["max"] - delay["min"] == pytest.approx(8e3 * QUEUE / RATE["up"], rel=0.15)
    assert flow["a2b"]["loss_rate"] > 0.0


def test_ipv6_in_namespaces_has_the_capacity_and_the_delay_of_the_link():
    seen = run(UNEQUAL, "--tests", "delay,capacity", "--duration", "3 s", "--direction", "down", server=SERVER6)
    assert seen["capacity"]["down"]["rate_bps"] == pytest.approx(RATE["down"], rel=0.02)
    assert seen["delay"]["down"]["ip_bytes"] == 68
    low, high = seen["delay"]["down"]["least_delay_interval_ms"]
    assert low <= DELAY_MS["down"] + 68 * 8e3 / RATE["down"] <= high


def test_the_walk_finds_the_far_end_and_the_capacity_toward_it(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('tests = ["path"]\npath_rounds = 10\n', encoding="utf-8")
    hop = run(UNEQUAL, "--plan", str(plan), seconds=90.0)["path"][-1]
    assert hop["reached"]
    assert hop["loss_rate"] == 0.0
    # The shortest packet's way there, and the answer's back.
    least = 45.0 + 64 * 8e3 / RATE["up"] + 92 * 8e3 / RATE["down"]
    assert hop["rtt_ms"]["min"] == pytest.approx(least, abs=1.0)
    assert hop["capacity"]["valid"]
    # The least of ten round trips, on a machine with other work: what each size waited here is in it.
    assert hop["capacity"]["bps"] == pytest.approx(RATE["up"], rel=0.1)


@pytest.mark.realtime
@pytest.mark.finding("M1")
@pytest.mark.parametrize("link", ["dsl-16m", "cable-dialup", "lte-uplink"])
def test_measure_finishes_every_test_over_a_packaged_link_when_none_is_named(link):
    document = over(link, "--duration", "2 s", seconds=500.0)
    assert (document["unfinished"], document["failed"]) == ([], None)
    assert document["path"][-1]["reached"]
    assert set(document["capacity"]) == set(document["latency_under_load"]) == {"down", "up"}
