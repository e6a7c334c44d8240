"""Causes of losses, stalls and clocks on shared captures of hosts with offloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze


def download(folder: Path, name: str) -> tuple[Any, Any]:
    """The document of a pair of captures, and the largest flow's download."""
    document = analyze(folder / f"{name}.server.pcap.gz", folder / f"{name}.client.pcap.gz").document
    flow = max(document["flows"], key=lambda flow: flow["bytes"])
    return document, {**flow["b2a"], "findings": {finding["finding"] for finding in flow["diagnosis"]}}


@pytest.fixture
def hosts(oracles: Path) -> Path:
    return oracles / "captures-host"


@pytest.mark.finding("C3")
@pytest.mark.parametrize(
    ("name", "share"), [("jumbo-gso", 0.0), ("gso-cubic", 1.0), ("http", 19 / 60), ("smallwin", 1.0)]
)
def test_share_of_random_losses_is_within_a_tenth_when_hosts_use_offloads(hosts: Path, name: str, share: float) -> None:
    _, found = download(hosts, name)
    assert found["loss_cause"]["radio_share"] == pytest.approx(share, abs=0.1)
    assert found["loss_cause"]["verdict"] == {0.0: "congestion", 1.0: "radio"}.get(share, "both")


@pytest.mark.finding("C5")
def test_stalls_are_reported_with_their_times_and_no_loss_vanishes_at_the_end(hosts: Path) -> None:
    _, found = download(hosts, "spike")
    assert found["lost"]["between_captures"] == 14
    stalls = found["link_stalls"]
    assert [stall["start_s"] for stall in stalls] == pytest.approx([1.85, 4.45, 7.05], abs=0.1)
    assert [stall["duration_ms"] for stall in stalls] == pytest.approx([600.0] * 3, abs=10)
    assert "link_stall" in found["findings"]


@pytest.mark.finding("C5")
def test_buffer_does_not_include_what_waits_while_the_link_stalls(hosts: Path) -> None:
    _, found = download(hosts, "spike")
    for figure in ("min_based", "max_based"):
        assert found["bottleneck_buffer_bytes"][figure] == pytest.approx(150e3, rel=0.1)


@pytest.mark.finding("C15")
def test_packets_that_overtake_move_neither_offset_nor_buffer(oracles: Path) -> None:
    document, found = download(oracles / "captures", "reorder2-cubic")
    assert document["clock"]["offset_ms"] == pytest.approx(0.0, abs=1)
    assert document["clock"]["overtaking_packets"] > 0
    for figure in ("min_based", "max_based"):
        assert found["bottleneck_buffer_bytes"][figure] == pytest.approx(150e3, rel=0.1)


@pytest.mark.finding("C12")
def test_rate_is_the_buckets_when_packets_arrive_in_pairs(hosts: Path) -> None:
    document = analyze(hosts / "http.client.pcap.gz").document
    found = max(document["flows"], key=lambda flow: flow["bytes"])["b2a"]["inferred_path"]
    assert found is None or found["rate_bps"] == pytest.approx(20e6, rel=0.1)
