"""Clocks of captures: PPS counters at each end, and synchronised clocks. The simulator's captures
have the true time; their timestamps are made into those of two drifting counters."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import analyze, simulate

HOP = {
    "name": "air",
    "rate": "4 Mb/s",
    "delay": {"down": "40 ms", "up": "10 ms"},
    "queue": {"kind": "droptail", "packets": 30},
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("clocks")
    flows = [{"name": "download", "workload": {"kind": "bulk"}}]
    simulate({"hop": [HOP]}, flows, "30 s", 1, out=folder, captures="pcap")
    return folder / "captures" / "download.server.pcap", folder / "captures" / "download.client.pcap"


def restamped(source: Path, target: Path, counter: Callable[[float], int]) -> tuple[float, float]:
    """A copy whose timestamps, nanoseconds of a pcap, are a counter's; the true times of its first
    and last packet.
    """
    data = source.read_bytes()
    assert data[:4] == b"\x4d\x3c\xb2\xa1"
    out, at, times = bytearray(data[:24]), 24, []
    while at < len(data):
        seconds, ns, captured, original = struct.unpack_from("<IIII", data, at)
        times.append(seconds + ns * 1e-9)
        ticks = counter(times[-1])
        out += (
            struct.pack("<IIII", ticks // 10**9, ticks % 10**9, captured, original) + data[at + 16 : at + 16 + captured]
        )
        at += 16 + captured
    target.write_bytes(out)
    return times[0], times[-1]


def pulses(target: Path, counter: Callable[[float], int], first: float, last: float, seed: int) -> None:
    """The counter at each second, labelled up to 50 ms late; a tenth of the pulses is missing."""
    rng = random.Random(seed)
    seconds = [second for second in range(math.floor(first) - 2, math.ceil(last) + 3) if rng.random() > 0.1]
    lines = [f"{counter(second)} {second + rng.uniform(0, 0.05):.3f}" for second in seconds]
    target.write_text("# counter label\n" + "\n".join(lines) + "\n")


def drifting(rate: float, origin: float, wobble: float) -> Callable[[float], int]:
    """A counter of `rate` ticks a second since `origin`, whose rate goes up and down by `wobble` in
    200 s.
    """
    swing = wobble * 200 / math.tau
    return lambda t: round(rate * (t - origin + 50 + swing * math.sin(math.tau * (t - origin) / 200)))


def test_pps_at_both_ends_yields_one_way_delays_within_100_us(ends, tmp_path):
    server, client = ends
    counters = [drifting(2.4e9 * (1 + 30e-6), 946684800.0, 20e-6), drifting(1.1e9 * (1 - 50e-6), 946684700.0, 20e-6)]
    for number, (source, counter) in enumerate(zip(ends, counters, strict=True)):
        first, last = restamped(source, tmp_path / f"{number}.pcap", counter)
        pulses(tmp_path / f"{number}.pps", counter, first, last, number)
    true = analyze(server, client, synchronized=0.0).document
    found = analyze(tmp_path / "0.pcap", tmp_path / "1.pcap", pps=[tmp_path / "0.pps", tmp_path / "1.pps"]).document
    for direction in ("a2b", "b2a"):
        for figure in ("min", "p50", "max"):
            ours, theirs = (document["flows"][0][direction]["one_way_delay_ms"][figure] for document in (found, true))
            assert ours == pytest.approx(theirs, abs=0.1), (direction, figure)
    assert true["flows"][0]["b2a"]["one_way_delay_ms"]["min"] == pytest.approx(40, abs=5)
    assert found["clock"]["assumption"].startswith("known") and found["clock"]["conflict_ms"] is None


def test_synchronized_clocks_conflict_is_reported_when_packets_contradict_them(ends, tmp_path):
    server, client = ends
    restamped(client, tmp_path / "late.pcap", lambda t: round((t - 1) * 1e9))
    clock = analyze(server, tmp_path / "late.pcap", synchronized="100 us").document["clock"]
    assert clock["conflict_ms"] == pytest.approx(1000 - 43, abs=5)


def test_one_way_interval_covers_unequal_delays_without_synchronized_clocks(ends):
    clock = analyze(*ends).document["clock"]
    low, high = clock["offset_interval_ms"]
    assert low <= 0 <= high and clock["assumption"].startswith("symmetric")
    assert abs(clock["offset_ms"]) > 10


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("1 2\nx 3\n", 'list.pps:2: --pps: found "x 3"'),
        ("1000000000 7\n", "fewer than two pulses"),
        ("5 1\n4 2\n", "increase"),
        (None, "no such file"),
    ],
)
def test_invalid_pps_file_is_one_line_and_exit_status_2(ackclock, ends, tmp_path, content, part):
    if content is not None:
        (tmp_path / "list.pps").write_text(content)
    done = ackclock("analyze", ends[0], "--pps", "list.pps")
    assert done.returncode == 2 and part in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_single_pps_file_is_refused_for_two_captures(ackclock, ends, tmp_path):
    (tmp_path / "list.pps").write_text("1 1\n")
    done = ackclock("analyze", *ends, "--pps", "list.pps")
    assert done.returncode == 2 and "one file for each capture" in done.stderr
