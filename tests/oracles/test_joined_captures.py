"""Joined captures of both ends: the position of every loss, and clock offset and skew."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze
from tests.support.capture_copies import altered_copy

from .test_captures import NAMES

OFFSET_S, SKEW = 3.7, 50e-6


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


@pytest.fixture
def captures(oracles: Path) -> Path:
    return oracles / "captures"


def joined(first: Path, second: Path) -> Any:
    return analyze(first, second).document


def directions(document: dict[str, Any], key: str) -> list[Any]:
    return [flow[direction][key] for flow in document["flows"] for direction in ("a2b", "b2a")]


def lost(document: dict[str, Any]) -> list[tuple[int, int]]:
    return sorted(
        (packet["sequence"], packet["bytes"])
        for direction in directions(document, "lost")
        for packet in direction["packets"]
    )


@pytest.mark.parametrize("which", ["loss1-cubic", "loss1-reno"])
def test_every_dropped_packet_is_located_without_false_ones(captures: Path, which: str) -> None:
    document = joined(captures / f"{which}.client.pcap.gz", captures / f"{which}.server.pcap.gz")
    with (captures / f"{which}.truth.csv").open() as file:
        truth = sorted((int(row["seq"]), int(row["paylen"])) for row in csv.DictReader(file))
    assert lost(document) == truth
    assert max(document["flows"], key=lambda flow: flow["bytes"])["b2a"]["loss_cause"]["verdict"] == "radio"


def test_losses_are_those_of_the_token_bucket(captures: Path, name: str) -> None:
    if name.startswith("loss1"):
        pytest.skip("its losses are not the bucket's")
    document = joined(captures / f"{name}.client.pcap.gz", captures / f"{name}.server.pcap.gz")
    dropped = [
        int(line.split("dropped ")[1].split(",")[0])
        for line in (captures / f"{name}.tc.txt").read_text().splitlines()
        if "dropped" in line
    ]
    # One more may have been of a connection that the captures do not have whole.
    assert sum(dropped) - 1 <= len(lost(document)) <= sum(dropped)


def test_offset_interval_covers_the_offset_and_symmetric_estimate_is_within_1_ms(
    captures: Path, name: str, tmp_path: Path
) -> None:
    ends = captures / f"{name}.client.pcap.gz", captures / f"{name}.server.pcap.gz"
    shifted = altered_copy(ends[1], tmp_path / "shifted.pcap")
    for second, offset_ms, skew_ppm in ((ends[1], 0.0, 0.0), (shifted, OFFSET_S * 1e3, SKEW * 1e6)):
        clock = joined(ends[0], second)["clock"]
        low, high = clock["offset_interval_ms"]
        assert low <= offset_ms <= high
        assert clock["offset_ms"] == pytest.approx(offset_ms, abs=1)
        slowest, fastest = clock["skew_interval_ppm"]
        assert slowest <= skew_ppm <= fastest


def test_skew_is_within_2_ppm(captures: Path, name: str, request: pytest.FixtureRequest) -> None:
    if name == "up-reno":
        why = (
            "the ACKs' minimum delay itself varies from 60.04 to 60.2 ms and back within the 20 s: "
            "2.3 ppm measured, the interval has +-8"
        )
        request.applymarker(pytest.mark.xfail(reason=why, strict=False))
    clock = joined(captures / f"{name}.client.pcap.gz", captures / f"{name}.server.pcap.gz")["clock"]
    assert clock["skew_ppm"] == pytest.approx(0.0, abs=2)


def test_join_is_independent_of_the_order_of_captures(captures: Path) -> None:
    client, server = captures / "loss1-reno.client.pcap.gz", captures / "loss1-reno.server.pcap.gz"
    one, other = joined(client, server), joined(server, client)
    assert lost(one) == lost(other)
    assert one["clock"]["offset_ms"] == pytest.approx(-other["clock"]["offset_ms"], abs=0.05)


def test_packets_dropped_by_a_capture_are_not_losses(captures: Path, tmp_path: Path) -> None:
    client, server = captures / "loss1-reno.client.pcap.gz", captures / "loss1-reno.server.pcap.gz"
    document = joined(altered_copy(client, tmp_path / "a.pcap", lambda n: n < 100 or n % 50 > 0), server)
    with (captures / "loss1-reno.truth.csv").open() as file:
        truth = {(int(row["seq"]), int(row["paylen"])) for row in csv.DictReader(file)}
    data = {packet for packet in lost(document) if packet[1] > 0}
    assert truth <= data and len(data - truth) <= 1
    assert sum(direction["capture_drops_receiver"] for direction in directions(document, "lost")) >= 35


@pytest.mark.parametrize(
    ("which", "direction", "bytes_"),
    [("down-reno", "b2a", 150e3), ("down-cubic", "b2a", 150e3), ("up-reno", "a2b", 32e3)],
)
def test_buffer_is_measured_within_10_percent(captures: Path, which: str, direction: str, bytes_: float) -> None:
    document = joined(captures / f"{which}.client.pcap.gz", captures / f"{which}.server.pcap.gz")
    flow = max(document["flows"], key=lambda flow: flow["bytes"])[direction]
    for figure in ("min_based", "max_based"):
        assert flow["bottleneck_buffer_bytes"][figure] == pytest.approx(bytes_, rel=0.1)
    assert flow["loss_cause"]["verdict"] == "congestion"
