"""Cells of the tables of NIST's 802.16 module that have no TCP: what the module carried and how
long it took, and the same of the medium with `requests = "nist-released"` and `"nist-corrected"`.

The tables are in the folder `ns2-wimax` of ACKCLOCK_ORACLES; its README has each run's parameters.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from studies import pcap_records
from studies.nist_mac.network import DSDV_BYTES, Network

CAPACITY_SECONDS = 12
TO_TABLES: dict[str, Any] = {"rate": "1 Gb/s", "wired_delay_ms": "1"}
"""The wired hop of the tables of the MAC."""
OFFERED_MBPS = {("down", 1): 30.0, ("down", 6): 6.0, ("up", 1): 20.0, ("up", 6): 4.0}
"""Of a station, by direction and stations, in packets of 1064 B."""
OFFERED_SMALL_MBPS = {1: 2.0, 6: 0.5}
"""Of a station, up, in packets of 40 B."""
HALF = 0.5
"""The module's saturating streams have intervals that vary by a half (ns-2's `random_`)."""
GAP_SPREAD = {"idle": 0.05 / 0.3, "six stations, light": 0.5}
"""Part by which the single packets' intervals vary, by case; 1 in the others."""
_UDP_PAYLOAD = pcap_records.ETHERNET_BYTES + pcap_records.IP_BYTES + 8


@dataclass(frozen=True)
class Capacity:
    """A saturated cell: Mb/s of all stations, with the header that DSDV adds."""

    network: Network
    direction: str
    packet_bytes: int
    module_mbps: float

    def mbps(self, seed: int = 1) -> float:
        """What the medium carries, in Mb/s."""
        stations, size = self.network.stations, _sent_bytes(self.direction, self.packet_bytes)
        small = self.packet_bytes < 100
        offered = OFFERED_SMALL_MBPS[stations] if small else OFFERED_MBPS[self.direction, stations]
        flow = _stream(self.direction, offered * 1e6 * size / self.packet_bytes, size, HALF, stations)
        run = self.network.simulate([flow], CAPACITY_SECONDS, seed)
        return float(run.flows["throughput_bps"].sum()) / 1e6


@dataclass(frozen=True)
class Delays:
    """Single packets: the quantiles of their one-way delay over the air, in ms.

    ``module`` has those of ``mac_delay.csv``, by column (``min_ms``, ``p5_ms``, .. ``max_ms``), and
    ``lost`` the packets that did not arrive, per 1000.
    """

    case: str
    network: Network
    direction: str
    packet_bytes: int
    mean_gap_ms: float
    packets: int
    module: Mapping[str, float] = field(hash=False)

    def delays_ms(self, seed: int = 1) -> Sequence[float]:
        """The delay of each packet that arrived, in ascending order, less that of the wired hop."""
        return _delays_ms(self, seed)[0]

    def figures(self, seed: int = 1) -> dict[str, float]:
        """Ours for ``module``."""
        delays, sent = _delays_ms(self, seed)
        at = {
            "min_ms": 0.0,
            "p5_ms": 0.05,
            "p25_ms": 0.25,
            "p50_ms": 0.5,
            "p75_ms": 0.75,
            "p95_ms": 0.95,
            "max_ms": 1.0,
        }
        figures = {column: quantile(delays, share) for column, share in at.items()}
        return figures | {"mean_ms": fmean(delays), "lost": 1000 * (1 - len(delays) / sent)}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile as the module's runs have it: that of rank share*(n - 1), rounded."""
    return ordered[round(share * (len(ordered) - 1))]


@cache
def _delays_ms(cell: Delays, seed: int) -> tuple[list[float], int]:
    stations, size = cell.network.stations, _sent_bytes(cell.direction, cell.packet_bytes)
    seconds = round(cell.mean_gap_ms * cell.packets / 1e3 / stations, 3)
    spread = GAP_SPREAD.get(cell.case, 1.0)
    flow = _stream(cell.direction, 8e3 * size / cell.mean_gap_ms, size, spread, stations)
    flow |= {"stop": f"{seconds} s", "start": f"uniform(0 ms, {cell.mean_gap_ms:g} ms)"}
    delays: list[float] = []
    sent = 0
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        cell.network.simulate([flow], seconds + 2, seed, captures=run)
        for at_client in sorted((run / "captures").glob("*.client.pcap")):
            at_server = at_client.with_name(at_client.name.replace(".client.", ".server."))
            source, sink = (at_client, at_server) if cell.direction == "up" else (at_server, at_client)
            departures, arrivals = _times(source), _times(sink)
            wired_ns = 1e6 * float(cell.network.wired_delay_ms) + 8 * size
            delays += [
                (arrivals[number] - at - wired_ns) / 1e6 for number, at in departures.items() if number in arrivals
            ]
            sent += len(departures)
    return sorted(delays), sent


def _times(capture: Path) -> dict[bytes, int]:
    """When each datagram was seen, in ns, by the number in its payload."""
    return {record.data[_UDP_PAYLOAD : _UDP_PAYLOAD + 8]: record.at_ns for record in pcap_records.read(capture).records}


def _sent_bytes(direction: str, packet_bytes: int) -> int:
    """Size of a packet on the air, without the PDU's header."""
    return packet_bytes + (DSDV_BYTES if direction == "up" else 0)


def _stream(direction: str, bps: float, packet_bytes: int, spread: float, stations: int) -> dict[str, Any]:
    workload = {"kind": "cbr", "rate": f"{bps:.0f} b/s", "packet": f"{packet_bytes} B", "spread": spread}
    return {"direction": direction, "workload": workload, "count": stations}


def capacities(folder: Path) -> Iterator[Capacity]:
    """The rows of `mac_capacity.csv`, the seeds' mean."""
    for row, rows in grouped(
        folder / "mac_capacity.csv", ("direction", "packet_bytes", "dl_ul", "stations", "bookkeeping")
    ):
        network = Network.of(row, **TO_TABLES)
        yield Capacity(network, row["direction"], int(row["packet_bytes"]), mean_of(rows, "total_mbps"))


def delays(folder: Path) -> Iterator[Delays]:
    """The rows of `mac_delay.csv`, the seeds' mean of each quantile."""
    sizes = ("contention_size", "backoff_start", "backoff_stop", "mean_gap_ms_per_station")
    keys = ("case", "direction", "packet_bytes", "dl_ul", "stations", "bookkeeping", *sizes)
    columns = ("mean_ms", "min_ms", "p5_ms", "p25_ms", "p50_ms", "p75_ms", "p95_ms", "max_ms")
    for row, rows in grouped(folder / "mac_delay.csv", keys):
        module = {column: mean_of(rows, column) for column in columns}
        module["lost"] = 1000 * (1 - mean_of(rows, "received") / mean_of(rows, "sent"))
        gap_ms = float(row["mean_gap_ms_per_station"])
        network = Network.of(row, **TO_TABLES)
        yield Delays(row["case"], network, row["direction"], int(row["packet_bytes"]), gap_ms, int(row["sent"]), module)


def delay_quantiles(folder: Path) -> Iterator[tuple[str, int, str, list[float]]]:
    """The rows of `mac_delay_quantiles.csv`: case, packet size, bookkeeping, q0 to q100 in ms."""
    with (folder / "mac_delay_quantiles.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            yield row["case"], int(row["packet_bytes"]), row["bookkeeping"], [float(row[f"q{at}"]) for at in range(101)]


def grouped(table: Path, keys: Iterable[str]) -> Iterator[tuple[dict[str, str], list[dict[str, str]]]]:
    """The first row of each group of rows that agree in these columns, and the group."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    for rows in groups.values():
        yield rows[0], rows


def mean_of(rows: Sequence[Mapping[str, str]], column: str) -> float:
    """The mean of a column."""
    return fmean(float(row[column]) for row in rows)
