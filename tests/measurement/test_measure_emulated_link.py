"""``measure`` over emulated links.

Skipped where network namespaces are not permitted, or if no emulation is valid.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time

import pytest

from studies.kernel.runs import Unmeasured
from studies.measurement.emulated_path import SERVER6, measured, over
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.slow,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

ASYMMETRIC = """title = "asymmetric"
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
def asymmetric():
    return run(ASYMMETRIC, "--tests", "delay,capacity", "--duration", "4 s", clock_shift_ns=HOUR_NS)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_capacity_is_within_2_percent(asymmetric, direction):
    assert asymmetric["capacity"][direction]["rate_bps"] == pytest.approx(RATE[direction], rel=0.02)
    assert asymmetric["capacity"][direction]["overflowed"]


@pytest.mark.parametrize("direction", ["down", "up"])
def test_buffer_is_within_10_percent_or_one_packet(asymmetric, direction):
    figures = asymmetric["capacity"][direction]
    # The queue, and the packet in transmission.
    buffer = QUEUE + figures["packet_bytes"]
    for size in figures["buffer_bytes"].values():
        assert abs(size - buffer) <= max(0.1 * buffer, figures["packet_bytes"])


@pytest.mark.parametrize("direction", ["down", "up"])
def test_one_way_interval_contains_the_delay_when_the_clock_is_an_hour_ahead(asymmetric, direction):
    figures = asymmetric["delay"][direction]
    delay_ms = DELAY_MS[direction] + 48 * 8e3 / RATE[direction]
    low, high = figures["min_delay_interval_ms"]
    assert low <= delay_ms <= high
    # The link has neither loss nor queueing.
    assert figures["loss"]["rate"] == 0.0
    assert figures["delay_variation_ms"]["p95"] < 1.0


JITTER = """title = "jitter and loss"
source = "test"
[[hop]]
name = "line"
rate = "20 Mb/s"
delay = "20 ms"
jitter = { kind = "uniform", high = "8 ms" }
loss = { mean = 0.02 }
queue = { kind = "droptail", packets = 200 }
"""


def test_delay_variation_is_within_1_ms_and_loss_within_its_interval():
    document = run(JITTER, "--tests", "delay", "--duration", "20 s")
    for direction in ("down", "up"):
        figures = document["delay"][direction]
        variation = figures["delay_variation_ms"]
        assert variation["p50"] == pytest.approx(4.0, abs=1.0)
        assert variation["p95"] == pytest.approx(7.6, abs=1.0)
        assert figures["loss"]["lo"] <= 0.02 <= figures["loss"]["hi"]


def test_captures_of_both_ends_yield_delay_and_loss_when_the_clock_is_an_hour_ahead():
    arguments = ["--tests", "tcp", "--duration", "4 s", "--direction", "up", "--capture", "--capture-far"]
    analysis = run(ASYMMETRIC, *arguments, clock_shift_ns=HOUR_NS)["analysis"]
    assert analysis["joined_flows"] >= 2
    flow = max(analysis["flows"], key=lambda f: f["a2b"]["unique_bytes"])
    assert flow["a2b"]["unique_bytes"] > 0.8 * 4.0 * RATE["up"] / 8
    # The uplink's queueing delay is that of a full buffer: 60 kB at 2 Mb/s.
    delay = flow["a2b"]["one_way_delay_ms"]
    assert delay["max"] - delay["min"] == pytest.approx(8e3 * QUEUE / RATE["up"], rel=0.15)
    assert flow["a2b"]["loss_rate"] > 0.0


def test_pulses_of_both_ends_yield_absolute_delays_when_path_is_asymmetric_and_clock_an_hour_ahead(tmp_path):
    now, hour = int(time.time()), HOUR_NS // 10**9
    for name, ahead in (("near", 0), ("far", hour)):
        # This host's clock is taken as UTC; the far end's is an hour ahead of it.
        lines = [f"{second + ahead}.000000000 {second}" for second in range(now - 2, now + 120)]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["--capture", "--capture-far", "--pps", str(tmp_path / "near"), "--pps", str(tmp_path / "far")]
    document = run(ASYMMETRIC, "--tests", "delay", "--duration", "4 s", *options, clock_shift_ns=HOUR_NS)
    assert document["pps"]["pulses"] == document["pps_far"]["pulses"] == 122
    assert "broken" not in document["pps"]
    clock = document["analysis"]["clock"]
    assert clock["assumption"].startswith("known") and clock["conflict_ms"] is None
    flow = max(document["analysis"]["flows"], key=lambda f: f["a2b"]["packets"])
    for direction, half in (("up", "a2b"), ("down", "b2a")):
        min_ms = flow[half]["one_way_delay_ms"]["min"]
        # Packets of 52 bytes or more; the emulator delays by up to a millisecond more.
        assert DELAY_MS[direction] <= min_ms + 0.1 <= DELAY_MS[direction] + 2.0, (direction, min_ms)


def test_measure_over_ipv6_has_the_capacity_and_the_delay_of_the_link():
    document = run(ASYMMETRIC, "--tests", "delay,capacity", "--duration", "3 s", "--direction", "down", server=SERVER6)
    assert document["capacity"]["down"]["rate_bps"] == pytest.approx(RATE["down"], rel=0.02)
    assert document["delay"]["down"]["ip_bytes"] == 68
    low, high = document["delay"]["down"]["min_delay_interval_ms"]
    assert low <= DELAY_MS["down"] + 68 * 8e3 / RATE["down"] <= high


def test_path_test_reaches_the_server_and_measures_the_capacity_to_it(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('tests = ["path"]\npath_rounds = 10\n', encoding="utf-8")
    hop = run(ASYMMETRIC, "--plan", str(plan), seconds=90.0)["path"][-1]
    assert hop["reached"]
    assert hop["loss_rate"] == 0.0
    # Transmission and propagation of the smallest probe and its reply.
    min_rtt_ms = 45.0 + 64 * 8e3 / RATE["up"] + 92 * 8e3 / RATE["down"]
    assert hop["rtt_ms"]["min"] == pytest.approx(min_rtt_ms, abs=1.0)
    assert hop["capacity"]["valid"]
    # The minimum of ten RTTs per size includes delays by other work on the machine.
    assert hop["capacity"]["bps"] == pytest.approx(RATE["up"], rel=0.1)


QUEUES = {
    "droptail": 'queue = { kind = "droptail", bytes = "100 kB" }',
    "fq-codel": 'queue = { kind = "fq-codel" }',
    "jitter": (
        'queue = { kind = "droptail", bytes = "100 kB" }\njitter = { kind = "normal", mean = "6 ms", sd = "3 ms" }'
    ),
}
LINE = """title = "line"
source = "test"
[[hop]]
name = "line"
rate = { down = "10 Mb/s", up = "2 Mb/s" }
delay = "20 ms"
"""


@pytest.mark.finding("M8")
@pytest.mark.parametrize("queue", QUEUES)
def test_measurement_takes_the_announced_time_and_bytes_within_20_percent(queue, tmp_path):
    link = tmp_path / "line.toml"
    link.write_text(LINE + QUEUES[queue], encoding="utf-8")
    tests = "delay,capacity,steps,tcp,bidirectional,latency"
    document = over(str(link), "--tests", tests, "--duration", "4 s", "--offset", "2 s", seconds=240.0)
    announced = document["announced"]
    assert document["seconds"] == pytest.approx(announced["seconds"], rel=0.2)
    assert document["ip_bytes"] == pytest.approx(announced["bytes"], rel=0.2)
    assert [pair["first"] for pair in document["bidirectional"]] == ["down", "up"]


COUNTED = """
import json, os, pathlib, subprocess, sys

def counted():
    names = [name for name in os.listdir("/sys/class/net") if name != "lo"]
    read = lambda name, what: int(pathlib.Path(f"/sys/class/net/{name}/statistics/{what}").read_text())
    kinds = [(side, what) for side in ("rx", "tx") for what in ("bytes", "packets")]
    sums = {f"{side}_{what}": sum(read(name, f"{side}_{what}") for name in names) for side, what in kinds}
    # Without the Ethernet headers.
    return sums["rx_bytes"] + sums["tx_bytes"] - 14 * (sums["rx_packets"] + sums["tx_packets"])

before = counted()
argv = [sys.executable, "-m", "ackclock", "measure", os.environ["ACKCLOCK_SERVER"], *sys.argv[2:]]
done = subprocess.run(argv, capture_output=True, text=True)
pathlib.Path(sys.argv[1]).write_text(json.dumps({"ip_bytes": counted() - before, "stderr": done.stderr}))
sys.exit(done.returncode)
"""
"""Runs a measurement and counts what its network namespace sent and received."""


@pytest.mark.finding("M12")
@pytest.mark.parametrize("max_bytes", ["500 MB", "10 MB"])
def test_bytes_are_those_that_the_kernels_interface_counts(max_bytes, tmp_path):
    link, token, out = tmp_path / "line.toml", tmp_path / "token", tmp_path / "out"
    link.write_text(LINE + QUEUES["droptail"], encoding="utf-8")
    python = [sys.executable, "-m", "ackclock"]
    serve = shlex.join([*python, "serve", "--listen", "::", "--token-file", str(token)])
    argv = [
        *python,
        "emulate",
        str(link),
        "--json",
        "--seconds",
        "200",
        "--server-ready",
        "4862",
        "--server",
        serve,
        "--",
    ]
    argv += [sys.executable, "-c", COUNTED, str(tmp_path / "counted.json"), "--token-file", str(token)]
    argv += ["--duration", "4 s", "--max-bytes", max_bytes, "--quiet", "--no-report", "--out", str(out)]
    argv += ["--tests", "delay,capacity,steps,tcp,bidirectional,latency,transfers"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=260, check=False)
    counted = json.loads((tmp_path / "counted.json").read_text("utf-8"))
    assert done.returncode == 0, counted["stderr"] + done.stderr
    size = json.loads((out / "measurement.json").read_text("utf-8"))["bytes"]
    assert counted["ip_bytes"] <= size["max"]
    # Datagrams that a queue drops are sent, and not received by this end.
    assert 0.85 * size["used"] <= counted["ip_bytes"] <= 1.02 * size["used"]


@pytest.mark.realtime
@pytest.mark.finding("M1")
@pytest.mark.parametrize("link", ["dsl-16m", "cable-dialup", "lte-uplink"])
def test_measure_completes_every_test_over_a_packaged_link_when_no_test_is_named(link):
    document = over(link, "--duration", "2 s", seconds=500.0)
    assert (document["unfinished"], document["failed"]) == ([], None)
    assert document["path"][-1]["reached"]
    assert set(document["capacity"]) == set(document["latency_under_load"]) == {"down", "up"}
