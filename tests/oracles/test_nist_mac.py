"""WiMAX with NIST's rules of requests against NIST's module for ns-2.

docs/evidence/nist-mac.md has all cells, those that differ, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.nist_mac.cells import capacities, downloads

NEAR = 0.05


@pytest.mark.parametrize("stations", [1, 6])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_saturated_cell_carries_what_the_module_does(oracles: Path, direction: str, stations: int) -> None:
    cells = [
        cell
        for cell in capacities(oracles / "ns2-wimax")
        if (cell.direction, cell.stations, cell.packet_bytes) == (direction, stations, 1064)
        and cell.ratio in ("1:1", "3:1", "6:1")
    ]
    assert cells
    for cell in cells:
        assert cell.mbps() == pytest.approx(cell.module_mbps, rel=NEAR), cell


@pytest.mark.finding("P3")
@pytest.mark.parametrize("bookkeeping", ["released", "corrected"])
def test_small_packets_of_six_stations_contend_as_in_the_module(oracles: Path, bookkeeping: str) -> None:
    (cell,) = (
        cell
        for cell in capacities(oracles / "ns2-wimax")
        if (cell.packet_bytes, cell.stations, cell.ratio, cell.bookkeeping) == (40, 6, "2:1", bookkeeping)
    )
    assert cell.mbps() == pytest.approx(cell.module_mbps, rel=0.1)


@pytest.mark.finding("P1")
@pytest.mark.finding("P3")
@pytest.mark.parametrize(("stations", "near"), [(1, 0.1), (6, 0.2)])
@pytest.mark.parametrize("bookkeeping", ["released", "corrected"])
def test_downloads_have_the_goodput_and_rtt_of_the_module(
    oracles: Path, bookkeeping: str, stations: int, near: float
) -> None:
    (cell,) = (
        cell
        for cell in downloads(oracles / "ns2-wimax")
        if (cell.stations, cell.ratio, cell.bookkeeping) == (stations, "3:1", bookkeeping)
    )
    mbps, rtt_ms = cell.figures()
    assert mbps == pytest.approx(cell.module_mbps, rel=near)
    assert rtt_ms == pytest.approx(cell.module_rtt_ms, rel=near)
