"""Clock offset and skew of two captures, estimated from traffic on links of all kinds, with much or
little of it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze
from studies.analyzer.captures import Case, run
from tests.support.capture_copies import altered_copy
from tests.support.documents import follows

OFFSET_MS, SKEW_PPM = 3700.0, 50.0
"""The tests' own altering of the client's clock."""


def clock_of(folder: Path, case: Case, **alter: Any) -> dict[str, Any] | None:
    """The client's clock against the server's, the simulator's being one."""
    run(case, folder)
    alter = {"offset_s": OFFSET_MS * 1e-3, "skew": SKEW_PPM * 1e-6, **alter}
    document = analyze(
        folder / "server.pcap", altered_copy(folder / "client.pcap", folder / "altered.pcap", **alter)
    ).document
    clock: Any = document["clock"]
    return clock


def covers(clock: dict[str, Any], first_s: float = 0.0) -> None:
    """Both intervals contain the truth; the client's first packet may be later than the server's,
    by whose time its clock runs away.
    """
    low, high = clock["offset_interval_ms"]
    assert low <= OFFSET_MS + first_s * SKEW_PPM * 1e-3 <= high
    slowest, fastest = clock["skew_interval_ppm"]
    assert slowest <= SKEW_PPM + 0.01 and fastest >= SKEW_PPM - 0.01


def drawn(seed: int) -> tuple[Case, bool]:
    """Any link and sender, and whether its delays are equal in both directions."""
    draw = random.Random(f"clocks {seed}")
    down = round(draw.uniform(2, 150), 1)
    up = down if draw.random() < 0.4 else round(draw.uniform(2, 150), 1)
    packets = draw.choice((8, 30, 100, 400))
    hop: dict[str, Any] = {
        "name": "air",
        "rate": {"down": f"{draw.choice((1, 4, 16))} Mb/s", "up": f"{draw.choice((1, 4, 16))} Mb/s"},
        "delay": {"down": f"{down} ms", "up": f"{up} ms"},
        "queue": {"kind": "droptail", "packets": packets},
    }
    if draw.random() < 0.3:
        hop["loss"] = {"down": 0.01, "up": 0.02}
    if draw.random() < 0.3:
        hop["jitter"] = {"down": {"kind": "exponential", "mean": "1 ms"}, "up": {"kind": "exponential", "mean": "1 ms"}}
    flow = {"workload": {"kind": "bulk"}, "direction": draw.choice(("down", "up"))}
    tcp = {"host": "linux-6", "variant": draw.choice(("cubic", "reno", "bbr"))}
    even = down == up and hop["rate"]["down"] == hop["rate"]["up"] and "jitter" not in hop
    return Case(hop, tcp, f"{draw.choice((2, 10, 30))} s", seed, flow), even


@pytest.mark.parametrize("seed", range(24))
def test_clock_offset_and_skew_are_within_their_intervals_when_paths_are_symmetric_or_not(tmp_path, seed):
    case, symmetric = drawn(seed)
    clock = clock_of(tmp_path, case)
    assert clock is not None
    covers(clock)
    if symmetric:
        assert clock["offset_ms"] == pytest.approx(OFFSET_MS, abs=1)


@pytest.mark.parametrize("variant", ["cubic", "reno", "bbr"])
def test_clock_skew_is_exact_with_a_standing_queue(tmp_path, variant):
    hop = {"name": "air", "rate": "5 Mb/s", "delay": "30 ms", "queue": {"kind": "droptail", "packets": 60}}
    clock = clock_of(tmp_path, Case(hop, {"host": "linux-6", "variant": variant}, "20 s"))
    assert clock is not None and clock["skew_ppm"] == pytest.approx(SKEW_PPM, abs=2)


@pytest.mark.parametrize("until_s", [0.2, 0.5, 1.0])
def test_clock_intervals_are_wide_and_correct_in_a_short_capture(tmp_path, until_s):
    hop = {
        "name": "air",
        "rate": "2 Mb/s",
        "delay": {"down": "20 ms", "up": "45 ms"},
        "queue": {"kind": "droptail", "packets": 30},
    }
    clock = clock_of(tmp_path, Case(hop, {"host": "linux-6", "variant": "cubic"}, "5 s"), until_s=until_s)
    assert clock is not None
    covers(clock)


@pytest.mark.parametrize("size", ["1 B", "3 kB", "20 kB"])
def test_clock_offset_is_estimated_from_few_packets(tmp_path, size):
    hop = {"name": "air", "rate": "2 Mb/s", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 30}}
    flow = {"workload": {"kind": "transfer", "size": size}}
    clock = clock_of(tmp_path, Case(hop, {"host": "linux-6", "variant": "cubic"}, "5 s", flow=flow))
    assert clock is not None
    covers(clock)


def test_clock_offset_is_absent_when_captures_share_one_direction_only(tmp_path):
    """The client's capture has only what arrives there, as a mirror port of one direction gives
    it.
    """
    hop = {"name": "air", "rate": "2 Mb/s", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 30}}
    run(Case(hop, {"host": "linux-6", "variant": "cubic"}, "5 s"), tmp_path)
    one_way = one_direction(tmp_path / "client.pcap", tmp_path / "one.pcap")
    document = analyze(tmp_path / "server.pcap", one_way).document
    assert document["clock"] is None and document["joined_flows"] == 1
    assert document["flows"][0]["b2a"]["segments"] > 0


def one_direction(source: Path, target: Path) -> Path:
    """Only packets of more than 500 bytes: those with data."""
    import struct

    raw, kept, at = source.read_bytes(), [], 24
    while at < len(raw):
        *_, captured, original = struct.unpack_from("<4I", raw, at)
        if original > 500:
            kept.append(raw[at : at + 16 + captured])
        at += 16 + captured
    target.write_bytes(raw[:24] + b"".join(kept))
    return target


@pytest.mark.finding("C5")
def test_clocks_are_compared_when_timestamps_are_later_than_the_path_delay(tmp_path: Path) -> None:
    """Both captures have timestamps late by up to 2 ms; the path's delay is 0.1 ms."""
    hop = {"name": "air", "rate": "40 Mb/s", "delay": "0.1 ms", "queue": {"kind": "droptail", "packets": 30}}
    case = Case(hop, {"host": "linux-6", "variant": "cubic"}, "4 s", perturbation="late timestamps")
    run(case, tmp_path)
    document = follows("analyze", analyze(tmp_path / "server.pcap", tmp_path / "client.pcap").document)
    clock = document["clock"]
    assert clock is not None and clock["offset_ms"] == pytest.approx(0.0, abs=2)
    assert document["flows"][0]["b2a"]["lost"]["between_captures"] > 0
