"""WiMAX with NIST's rules of requests against NIST's module for ns-2.

docs/evidence/nist-mac.md has all cells, those that differ, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.nist_mac.cells import Delays, capacities, delays
from studies.nist_mac.network import Network
from studies.nist_mac.transfers import Downloads, downloads

NEAR = 0.05


@pytest.mark.parametrize("stations", [1, 6])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_saturated_cell_carries_what_the_module_does(oracles: Path, direction: str, stations: int) -> None:
    cells = [
        cell
        for cell in capacities(oracles / "ns2-wimax")
        if (cell.direction, cell.network.stations, cell.packet_bytes) == (direction, stations, 1064)
        and cell.network.dl_ul in ("1:1", "3:1", "6:1")
    ]
    assert cells
    for cell in cells:
        assert cell.mbps() == pytest.approx(cell.module_mbps, rel=NEAR), cell


@pytest.mark.finding("P3")
@pytest.mark.parametrize(("bookkeeping", "stations"), [("released", 6), ("corrected", 6), ("corrected", 1)])
def test_small_packets_contend_as_in_the_module(oracles: Path, bookkeeping: str, stations: int) -> None:
    network = Network(dl_ul="2:1", bookkeeping=bookkeeping, stations=stations, wired_delay_ms="1")
    (cell,) = (cell for cell in capacities(oracles / "ns2-wimax") if (cell.packet_bytes, cell.network) == (40, network))
    assert cell.mbps() == pytest.approx(cell.module_mbps, rel=0.1)


def _delays(oracles: Path, case: str, packet_bytes: int = 40, **network: int | str) -> Delays:
    """Packets up in this network, at 3:1 unless it says otherwise."""
    wanted = Network(wired_delay_ms="1", **network)  # type: ignore[arg-type]
    (cell,) = (
        cell
        for cell in delays(oracles / "ns2-wimax")
        if (cell.case, cell.direction, cell.packet_bytes, cell.network) == (case, "up", packet_bytes, wanted)
    )
    return cell


IDLE: dict[str, dict[str, int | str]] = {
    "small": {},
    "back-off from 6": {"backoff_start": 6},
    "contention size 2": {"contention_size": 2},
    # A packet in six parts: each request counts it in full, so that its own data do not use it up.
    "in parts": {"packet_bytes": 1064, "dl_ul": "6:1", "bookkeeping": "released"},
}


@pytest.mark.finding("P1")
@pytest.mark.finding("P3")
@pytest.mark.parametrize("network", IDLE.values(), ids=IDLE)
def test_idle_packet_waits_as_long_as_in_the_module(oracles: Path, network: dict[str, int | str]) -> None:
    cell = _delays(oracles, "idle", **network)  # type: ignore[arg-type]
    ours = cell.figures()
    for column in ("min_ms", "p50_ms", "p95_ms"):
        assert ours[column] == pytest.approx(cell.module[column], rel=NEAR, abs=0.3), (column, ours, cell.module)


@pytest.mark.finding("P1")
@pytest.mark.finding("P3")
@pytest.mark.parametrize("stations", [1, 6])
@pytest.mark.parametrize("bookkeeping", ["released", "corrected"])
def test_downloads_have_the_goodput_and_rtt_of_the_module(oracles: Path, bookkeeping: str, stations: int) -> None:
    cell = _downloads(oracles, "base", "linux-reno", bookkeeping=bookkeeping, stations=stations)
    assert cell.is_near(), (cell, cell.mbps())
    assert cell.quartiles_ms()[1] == pytest.approx(cell.rtt_ms[1], rel=0.1)


@pytest.mark.finding("P14")
@pytest.mark.parametrize(("scheme", "per"), [("linux-westwood", "1e-2"), ("linux-bic", "1e-2")])
def test_scheme_has_the_goodput_of_tcp_linux_over_the_module(oracles: Path, scheme: str, per: str) -> None:
    cell = _downloads(oracles, "scenario 1", scheme, per=per)
    assert cell.is_near(), (cell, cell.mbps())


@pytest.mark.finding("P13")
@pytest.mark.parametrize(("table", "err"), [("scenario 1", "wired"), ("scenario 1, errors on the air", "air")])
def test_errors_cost_as_much_as_in_the_module_where_they_fall(oracles: Path, table: str, err: str) -> None:
    cell = _downloads(oracles, table, "linux-veno", per="1e-3", err=err)
    assert cell.is_near(), (cell, cell.mbps())


@pytest.mark.finding("P16")
@pytest.mark.parametrize("t16_s", ["0.02", "0.1"])
def test_t16_decides_under_the_released_bookkeeping(oracles: Path, t16_s: str) -> None:
    cell = _downloads(oracles, "T16", "linux-reno", bookkeeping="released", per="1e-3", t16_s=t16_s)
    assert cell.is_near(), (cell, cell.mbps())


def _downloads(oracles: Path, table: str, scheme: str, **network: int | str) -> Downloads:
    wanted = Network(**network)  # type: ignore[arg-type]
    (cell,) = (
        cell for cell in downloads(oracles / "ns2-wimax", table) if (cell.network, cell.scheme) == (wanted, scheme)
    )
    return cell
