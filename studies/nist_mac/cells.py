"""Cells of the tables of NIST's 802.16 module: what the module carried, and what the medium carries
with `requests = "nist-released"` and `"nist-corrected"` over the same cell.

The tables are in the folder `ns2-wimax` of ACKCLOCK_ORACLES; its README has each run's parameters.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import ackclock

LINK = """title = "7 MHz, frames of 5 ms, {ratio}"
source = "test"
[[hop]]
name = "wire"
rate = "{rate}"
delay = "{delay}"
queue = {{ kind = "droptail", packets = 10000 }}
{wired_loss}[[hop]]
name = "air"
queue = {{ kind = "droptail", packets = 50 }}
[hop.medium]
kind = "wimax"
channel = "7 MHz"
frame = "5 ms"
modulation = "64qam-3/4"
cyclic_prefix = "1/16"
dl_ul = "{ratio}"
contention_layout = "fractional"
contention_modulation = "64qam-3/4"
request_tries = 3
requests = "nist-{bookkeeping}"
"""
DSDV_BYTES = 20
"""A station's routing agent adds an IP header to what its node sends (DSDV::recv)."""
CAPACITY_SECONDS, TCP_SECONDS = 12, 100
TO_PAPER, TO_TABLES = ("100 Mb/s", "45 ms"), ("1 Gb/s", "1 ms")
"""Rate and delay of the wired hop: of the paper, and of the tables of the MAC."""
SEEDS = (1, 2, 3, 4)
VARIANTS = {
    "linux-bic": "bic",
    "linux-reno": "reno",
    "linux-vegas": "vegas",
    "linux-veno": "veno",
    "linux-westwood": "westwood+",
}
TCP: dict[str, Any] = {
    "host": "ns2",
    "variant": "reno",
    "recovery": "rate-halving",
    "sack": True,
    "segment": "1024 B",
    "initial_window": 1,
    "client": {"header": f"{40 + DSDV_BYTES} B"},
}
"""ns-2's Agent/TCP/Linux, as the tables' runs have it."""
OFFERED_MBPS = {("down", 1): 30.0, ("down", 6): 6.0, ("up", 1): 20.0, ("up", 6): 4.0}
"""Of a station, by direction and stations, in packets of 1064 B."""
OFFERED_SMALL_MBPS = {1: 2.0, 6: 0.5}
"""Of a station, up, in packets of 40 B."""


@dataclass(frozen=True)
class Capacity:
    """A saturated cell: Mb/s of all stations, with the header that DSDV adds."""

    direction: str
    packet_bytes: int
    ratio: str
    stations: int
    bookkeeping: str
    module_mbps: float

    @property
    def sent_bytes(self) -> int:
        """Size of a packet on the air, without the PDU's header."""
        return self.packet_bytes + (DSDV_BYTES if self.direction == "up" else 0)

    def mbps(self, seed: int = 1) -> float:
        """What the medium carries, in Mb/s."""
        small = self.packet_bytes < 100
        offered = OFFERED_SMALL_MBPS[self.stations] if small else OFFERED_MBPS[self.direction, self.stations]
        rate = offered * self.sent_bytes / self.packet_bytes
        workload = {"kind": "cbr", "rate": f"{rate * 1e6:.0f} b/s", "packet": f"{self.sent_bytes} B"}
        flow = {"direction": self.direction, "workload": workload, "count": self.stations}
        bookkeeping = "corrected" if self.bookkeeping == "any" else self.bookkeeping
        run = _simulated(self.ratio, bookkeeping, [flow], CAPACITY_SECONDS, self.stations, (seed,), TO_TABLES)
        return float(run.flows["throughput_bps"].sum()) / 1e6


@dataclass(frozen=True)
class Downloads:
    """Bulk TCP without errors, a flow for each station: goodput of a flow in Mb/s and the RTT's
    median in ms."""

    ratio: str
    stations: int
    bookkeeping: str
    module_mbps: float
    module_rtt_ms: float

    def figures(self, seed: int = 1) -> tuple[float, float]:
        """Mean goodput of a flow in Mb/s and mean of the flows' median RTT in ms."""
        start = "100 ms" if self.stations == 1 else "uniform(100 ms, 600 ms)"
        flow = {"workload": {"kind": "bulk"}, "start": start, "count": self.stations} | TCP
        run = _simulated(self.ratio, self.bookkeeping, [flow], TCP_SECONDS, self.stations, (seed,), TO_PAPER)
        flows_of = run.flows.select("goodput_bps", "rtt_ms_p50")
        return fmean(flows_of["goodput_bps"]) / 1e6, fmean(flows_of["rtt_ms_p50"])


@dataclass(frozen=True)
class Lossy:
    """The paper's scenario 1: one download at 3:1 with SACK, data lost on the wired hop while its
    channel is bad, for 5 ms on average and a share `loss` of the time."""

    loss: str
    bookkeeping: str
    scheme: str
    module_mbps: float

    def mbps(self, seeds: Sequence[int] = SEEDS) -> float:
        """Goodput in Mb/s, the mean of the seeds."""
        flow = {"workload": {"kind": "bulk"}, "start": "100 ms"} | TCP | {"variant": VARIANTS[self.scheme]}
        lossy = f'[hop.loss.down]\nkind = "gilbert-elliott"\nmean = {self.loss}\nbad_sojourn = "5 ms"\n'
        run = _simulated("3:1", self.bookkeeping, [flow], TCP_SECONDS, 1, seeds, TO_PAPER, lossy)
        return fmean(run.flows["goodput_bps"]) / 1e6


def _simulated(
    ratio: str,
    bookkeeping: str,
    flows: Sequence[dict[str, Any]],
    seconds: int,
    stations: int,
    seeds: Sequence[int],
    wire: tuple[str, str],
    wired_loss: str = "",
) -> ackclock.simulation.run.Simulation:
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.toml"
        text = LINK.format(ratio=ratio, bookkeeping=bookkeeping, rate=wire[0], delay=wire[1], wired_loss=wired_loss)
        link.write_text(text, encoding="utf-8")
        return ackclock.simulate(str(link), list(flows), f"{seconds} s", seeds=seeds, clients=stations)


def capacities(folder: Path) -> Iterator[Capacity]:
    """The rows of `mac_capacity.csv`, the seeds' mean."""
    keys = ("direction", "packet_bytes", "dl_ul", "stations", "bookkeeping")
    for (direction, size, ratio, stations, bookkeeping), rows in _grouped(folder / "mac_capacity.csv", keys).items():
        yield Capacity(direction, int(size), ratio, int(stations), bookkeeping, _mean(rows, "total_mbps"))


def downloads(folder: Path) -> Iterator[Downloads]:
    """The rows of `base_tcp_runs.csv` with Linux' reno, the seeds' mean."""
    keys = ("stations", "dl_ul", "bookkeeping", "scheme")
    for (stations, ratio, bookkeeping, scheme), rows in _grouped(folder / "base_tcp_runs.csv", keys).items():
        if scheme == "linux-reno":
            figures = (_mean(rows, "goodput_mbps_per_flow"), _mean(rows, "rtt_p50_ms"))
            yield Downloads(ratio, int(stations), bookkeeping, *figures)


def lossy_downloads(folder: Path) -> Iterator[Lossy]:
    """The rows of `scenario1.csv` with SACK and the modules of Linux, `linux-reno` first."""
    with (folder / "scenario1.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["sack"] == "1" and row["scheme"] in VARIANTS]
    for row in sorted(rows, key=lambda row: (float(row["per"]), row["bookkeeping"], row["scheme"] != "linux-reno")):
        yield Lossy(row["per"], row["bookkeeping"], row["scheme"], float(row["goodput_mbps_per_flow"]))


def _grouped(table: Path, keys: Sequence[str]) -> dict[tuple[str, ...], list[dict[str, str]]]:
    grouped: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            grouped.setdefault(tuple(row[key] for key in keys), []).append(row)
    return grouped


def _mean(rows: Sequence[dict[str, str]], column: str) -> float:
    return fmean(float(row[column]) for row in rows)
