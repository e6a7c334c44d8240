"""The packet radio by its authors' rules against `Mac/Multihop` of ns-2.

docs/evidence/radio-mac.md has all rows, those that differ, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.radio_mac.cells import idle, streams, transfers

SEEDS = (1, 2, 3)


@pytest.mark.finding("P15")
def test_idle_delays_are_those_of_the_module(oracles: Path) -> None:
    rows = list(idle(oracles / "ns2-wimax"))
    assert len(rows) == 12
    for row in rows:
        assert row.delay_ms("ns2-multihop") == pytest.approx(row.module_ms, rel=2e-3), row
        assert row.delay_ms("ricochet") > 1.1 * row.module_ms, "the medium's own rules have two turnarounds more"


@pytest.mark.finding("P6")
@pytest.mark.finding("P15")
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_overload_collapses_behind_a_relay_as_in_the_module(oracles: Path, hops: int) -> None:
    found = {
        row.offered_kbps: row
        for row in streams(oracles / "ns2-wimax")
        if (row.direction, row.hops, row.packet_bytes) == ("down", hops, 1000)
    }
    for offered in (30.0, 60.0, 100.0):
        row = found[offered]
        kbps = sum(row.kbps("ns2-multihop", SEEDS))
        assert kbps == pytest.approx(sum(row.module_kbps), rel=0.05, abs=1.0), row
    if hops > 1:
        assert sum(found[60.0].kbps("ricochet", SEEDS)) > 5.0, "the medium's own rules carry some of it"


@pytest.mark.finding("P6")
@pytest.mark.finding("P10")
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_one_reno_transfer_has_the_throughput_and_rtt_of_the_module(oracles: Path, hops: int) -> None:
    (row,) = (
        row
        for row in transfers(oracles / "ns2-wimax")
        if (row.hops, row.connections, row.scheme, row.seconds) == (hops, 1, "reno", 200)
    )
    found = row.figures("ns2-multihop")
    assert found.total_kbps == pytest.approx(row.module.total_kbps, rel=0.1)
    assert found.rtt_s == pytest.approx(row.module.rtt_s, rel=0.2)
