"""Link capacities from minimum RTTs against size."""

from __future__ import annotations

import random

import pytest

from ackclock.documents.measure import ProbeRow
from ackclock.measurement.pathchar import Hop, hops_of

SIZES = (64, 300, 600, 900, 1200, 1500)


def probes(
    rates: list[float], *, rounds: int = 8, waiting: float = 0.0, frame: float = 0.0, seed: int = 1
) -> list[ProbeRow]:
    """Probes over links of these rates (b/s) with 5 ms in each direction; ``waiting`` is the mean
    of an exponential wait per probe, ``frame`` a grid of the last link's departures, both in
    seconds."""
    rng = random.Random(seed)
    rows: list[ProbeRow] = []
    for _ in range(rounds):
        for size in SIZES:
            for hop in range(1, len(rates) + 1):
                forth = sum(8.0 * size / rate for rate in rates[:hop])
                if frame and hop == len(rates):
                    forth = (forth // frame + 1.0) * frame
                rtt = forth + 0.01 * hop + (rng.expovariate(1.0 / waiting) if waiting else 0.0)
                answer = "reached" if hop == len(rates) else "expired"
                rows.append(
                    {
                        "hop": hop,
                        "ip_bytes": size,
                        "rtt_ms": rtt * 1e3,
                        "address": f"10.0.0.{hop}",
                        "answer": answer,
                        "brisk": False,
                    }
                )
    return rows


def capacities(hops: list[Hop]) -> list[float | None]:
    return [hop.capacity.bps for hop in hops]


def test_link_capacity_is_the_difference_of_two_slopes() -> None:
    hops = hops_of(probes([100e6, 2e6, 10e6]))
    assert [c and round(c) for c in capacities(hops)] == [100_000_000, 2_000_000, 10_000_000]
    assert all(hop.capacity.valid for hop in hops)
    assert [hop.reached for hop in hops] == [False, False, True]


def test_capacity_interval_covers_a_slow_link_behind_a_fast_one_under_load() -> None:
    for seed in range(20):
        hops = hops_of(probes([100e6, 2e6], rounds=16, waiting=0.002, seed=seed))
        slow = hops[1].capacity
        assert slow.bps is not None
        assert slow.lo is not None
        assert slow.valid
        assert slow.bps == pytest.approx(2e6, rel=0.1)


def test_link_with_frames_has_no_valid_capacity() -> None:
    found = hops_of(probes([20e6], frame=0.005))[0].capacity
    assert not found.valid
    assert "token bucket" in found.why or "frames" in found.why


def test_two_sizes_yield_no_capacity() -> None:
    rows = [row for row in probes([2e6]) if row["ip_bytes"] in (64, 1500)]
    assert not hops_of(rows)[0].capacity.valid


def test_silent_hop_is_omitted_and_the_next_one_counts_its_links() -> None:
    rows: list[ProbeRow] = [
        {**row, "rtt_ms": None, "answer": None, "address": None} if row["hop"] == 2 else row
        for row in probes([10e6, 2e6, 10e6])
    ]
    hops = hops_of(rows)
    assert [hop.hop for hop in hops] == [1, 3]
    assert "2 links since hop 1" in hops[1].capacity.why


def test_too_big_probe_is_neither_sent_nor_lost() -> None:
    rows = probes([2e6])
    rows += [{"hop": 1, "ip_bytes": 9000, "rtt_ms": 0.1, "address": "10.0.0.1", "answer": "too-big"}]
    hop = hops_of(rows)[0]
    assert (hop.sent, hop.answered) == (48, 48)
