"""Rows of the tables of `Mac/Multihop`, the packet-radio MAC of 1997 that the authors of the
asymmetry paper left in ns-2: what it carried, and what the medium carries by either of its rules
over the same chain.

The tables are in the folder `ns2-wimax` of ACKCLOCK_ORACLES; its README has each run's parameters.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

import polars as pl

import ackclock
from ackclock.simulation.run import Simulation
from ackclock.statistics import jain_index

Mac = Literal["ricochet", "ns2-multihop"]
Scheme = Literal["reno", "af"]

# ns-2's DropTail of 10 packets lets 9 wait.
LINK = """title = "{hops} hops of packet radio"
source = "test"
[[hop]]
name = "wired"
rate = "10 Mb/s"
delay = "10 ms"
queue = {{ kind = "droptail", packets = 99 }}
[[hop]]
name = "radio"
medium = {{ kind = "packet-radio", hops = {hops}, mac = "{mac}", relay_queue = 9 }}
queue = {queue}
"""
QUEUE = {
    "reno": '{ kind = "droptail", packets = 9 }',
    "af": '{ kind = "droptail", packets = 9, ack = { filter = "p1" } }',
}
TCP: dict[str, Any] = {
    "host": "ns2",
    "variant": "reno",
    "recovery": "classic",
    "segment": "960 B",
    "receive_buffer": "30720 B",
    "initial_window": 1,
    "rto_tick": "100 ms",
    "delayed_ack": False,
}
"""Agent/TCP/Reno of the tables' runs: packets of 1000 B, a window of 32."""
SCHEMES: dict[str, dict[str, Any]] = {"reno": {}, "af": {"max_burst": 3, "byte_counting": 1000}}
SEEDS = (1, 2, 3, 4, 5, 6)
STREAM_FROM_S, STREAM_SECONDS = 5, 200
"""Streams are counted for so long, after their first seconds."""


@dataclass(frozen=True)
class Idle:
    """Single packets: the one-way delay in ms, of the wired hop, too."""

    direction: str
    hops: int
    packet_bytes: int
    module_ms: float

    def delay_ms(self, mac: Mac) -> float:
        """The mean delay in ms with a packet every other second."""
        rate = self.packet_bytes * 8 / 2
        flow = {"direction": self.direction, "workload": _cbr(rate, self.packet_bytes, 0.3)}
        run = _simulated(self.hops, mac, "reno", [flow], 100, (1,))
        return float(run.flows["one_way_delay_ms_mean"][0])


@dataclass(frozen=True)
class Stream:
    """A stream of datagrams in one direction or in both: received kb/s down and up, means of seeds;
    zero where nothing is sent.
    """

    direction: str
    hops: int
    packet_bytes: int
    offered_kbps: float
    module_kbps: tuple[float, float]

    def kbps(self, mac: Mac, seeds: Sequence[int] = SEEDS) -> tuple[float, float]:
        """Received kb/s down and up, the means of the seeds."""
        directions = ("down", "up") if self.direction == "both" else (self.direction,)
        workload = _cbr(self.offered_kbps * 1e3, self.packet_bytes, 0.5)
        flows = [
            {"name": direction, "direction": direction, "start": "uniform(0 s, 100 ms)", "workload": workload}
            for direction in directions
        ]
        end = STREAM_FROM_S + STREAM_SECONDS
        measure = {"window": [f"{STREAM_FROM_S} s", f"{end} s"]}
        run = _simulated(self.hops, mac, "reno", flows, end, seeds, measure=measure)
        rates = {direction: _mean_kbps(run, pl.col("flow") == direction) for direction in directions}
        return rates.get("down", 0.0), rates.get("up", 0.0)


@dataclass(frozen=True)
class TcpFigures:
    """Throughput of all connections in kb/s, its standard deviation over seeds, Jain's index, and
    mean and standard deviation of the first sender's RTT in seconds: here of its samples, in the
    tables of the last sample (ticks of 100 ms) every 0.5 s.
    """

    total_kbps: float
    total_sd_kbps: float
    jain: float
    rtt_s: float
    rtt_sd_s: float


@dataclass(frozen=True)
class Transfers:
    """Bulk transfers to one mobile host, with the paper's figures where it has them."""

    hops: int
    connections: int
    scheme: Scheme
    seconds: int
    module: TcpFigures
    paper_kbps: float | None
    paper_jain: float | None
    paper_rtt_s: float | None

    def figures(self, mac: Mac, seeds: Sequence[int] = SEEDS) -> TcpFigures:
        """What the medium gives, over the seeds."""
        options = TCP | SCHEMES[self.scheme]
        flows = [
            {
                "name": f"flow{number}",
                "workload": {"kind": "bulk"},
                "start": f"uniform({50 * number} ms, {150 * number} ms)",
            }
            | options
            for number in range(1, self.connections + 1)
        ]
        run = _simulated(self.hops, mac, self.scheme, flows, self.seconds, seeds)
        rates = run.flows.with_columns(
            kbps=pl.col("throughput_bps") * (pl.col("end_s") - pl.col("from_s")) / self.seconds / 1e3
        )
        totals = [float(rows["kbps"].sum()) for _, rows in rates.group_by("seed")]
        jains = [jain_index(rows["kbps"].to_list()) for _, rows in rates.group_by("seed")]
        first = rates.filter(pl.col("flow") == "flow1")
        sd = stdev(totals) if len(totals) > 1 else 0.0
        return TcpFigures(
            fmean(totals), sd, fmean(jains), _s(first["rtt_ms_mean"].mean()), _s(first["rtt_ms_sd"].mean())
        )


def _s(milliseconds: Any) -> float:
    return float(milliseconds) / 1e3


def _cbr(rate_bps: float, packet_bytes: int, variation: float) -> dict[str, Any]:
    return {"kind": "cbr", "rate": f"{rate_bps:.0f} b/s", "packet": f"{packet_bytes} B", "spread": variation}


def _mean_kbps(run: Simulation, rows: pl.Expr) -> float:
    return fmean(run.flows.filter(rows)["throughput_bps"].fill_null(0.0)) / 1e3


def _simulated(
    hops: int,
    mac: Mac,
    scheme: Scheme,
    flows: Sequence[dict[str, Any]],
    seconds: int,
    seeds: Sequence[int],
    measure: dict[str, list[str]] | None = None,
) -> Simulation:
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.toml"
        link.write_text(LINK.format(hops=hops, mac=mac, queue=QUEUE[scheme]), encoding="utf-8")
        return ackclock.simulate(str(link), list(flows), f"{seconds} s", seeds=seeds, measure=measure)


def idle(folder: Path) -> Iterator[Idle]:
    """The rows `idle` of `radio_mac.csv`."""
    for row in _rows(folder / "radio_mac.csv", lambda row: row["case"] == "idle"):
        yield Idle(row["direction"], int(row["hops"]), int(row["packet_bytes"]), float(row["delay_mean_ms"]))


def streams(folder: Path) -> Iterator[Stream]:
    """The rows `stream` of `radio_mac.csv`, the seeds' mean."""
    grouped: dict[tuple[str, int, int, float], list[tuple[float, float]]] = {}
    for row in _rows(folder / "radio_mac.csv", lambda row: row["case"] == "stream"):
        key = (row["direction"], int(row["hops"]), int(row["packet_bytes"]), float(row["offered_kbps_each_way"]))
        grouped.setdefault(key, []).append((float(row["down_kbps"] or 0), float(row["up_kbps"] or 0)))
    for (direction, hops, size, offered), found in sorted(grouped.items()):
        down, up = (fmean(side) for side in zip(*found, strict=True))
        yield Stream(direction, hops, size, offered, (down, up))


def transfers(folder: Path) -> Iterator[Transfers]:
    """The rows of `radio_tcp.csv`."""
    for row in _rows(folder / "radio_tcp.csv", lambda _: True):
        module = TcpFigures(
            *(float(row[name]) for name in ("total_kbps", "sd_over_seeds", "jain", "tick_rtt_mean_s", "tick_rtt_sd_s"))
        )
        paper = (_number(row[name]) for name in ("paper_total_kbps", "paper_jain", "paper_rtt_mean_s"))
        scheme: Scheme = "af" if row["scheme"] == "af" else "reno"
        yield Transfers(int(row["hops"]), int(row["connections"]), scheme, int(row["seconds"]), module, *paper)


def _number(text: str) -> float | None:
    return float(text) if text else None


def _rows(table: Path, chosen: Callable[[dict[str, str]], bool]) -> Iterator[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as lines:
        yield from filter(chosen, csv.DictReader(lines))
