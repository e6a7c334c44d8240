"""Bulk TCP over the module's cell: what each table of downloads has, and the same of the medium."""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from studies import pcap_records
from studies.nist_mac.cells import grouped, mean_of, quantile
from studies.nist_mac.network import DSDV_BYTES, Network

SECONDS = 100
SEEDS = (1, 2)
"""Ours."""
VARIANTS = {
    "linux-bic": "bic",
    "linux-reno": "reno",
    "linux-vegas": "vegas",
    "linux-veno": "veno",
    "linux-westwood": "westwood-ns2",
}
TCP: dict[str, Any] = {
    "host": "ns2",
    "recovery": "tcp-linux",
    "sack": True,
    "segment": "1024 B",
    "initial_window": 1,
    "client": {"header": f"{40 + DSDV_BYTES} B"},
}
"""ns-2's Agent/TCP/Linux, as the tables' runs have it."""
TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "base": ("base_tcp_runs.csv", {}),
    "contention": ("contention_tcp_runs.csv", {}),
    "scenario 1": ("scenario1_runs.csv", {"stations": "1"}),
    "scenario 1, errors on the air": ("scenario1_air_runs.csv", {"stations": "1", "err": "air"}),
    "scenario 3": ("scenario3_runs.csv", {"stations": "6"}),
    "phase": ("phase_runs.csv", {"stations": "1"}),
    "T16": ("t16_runs.csv", {}),
}
"""A table's file, and the values of columns that it lacks."""
SETTINGS = tuple(Network.__dataclass_fields__)
TOLERANCE = {1: 0.10, 6: 0.20}
"""Of goodput, by stations."""
FRAME_MS = 5.0
CLEAR_GAIN = 0.10
_TCP_AT = pcap_records.ETHERNET_BYTES + pcap_records.IP_BYTES
_SETTLED_NS = 2_000_000_000
"""RTTs count from here on, as in the tables."""


@dataclass(frozen=True)
class Downloads:
    """A download for each station, with one congestion control.

    ``goodputs_mbps`` has the module's mean of a flow for each of its seeds; ``rtt_ms`` its
    quartiles of the RTT of segments sent once; it is empty where no run was traced.
    """

    network: Network
    scheme: str
    goodputs_mbps: tuple[float, ...]
    rtt_ms: tuple[float, ...]

    @property
    def module_mbps(self) -> float:
        """The mean over the module's seeds, in Mb/s of a flow."""
        return fmean(self.goodputs_mbps)

    def mbps(self) -> float:
        """Goodput of a flow in Mb/s, the mean of the seeds."""
        return fmean(_goodput_mbps(self.network, self.scheme, seed) for seed in SEEDS)

    def quartiles_ms(self) -> tuple[float, ...]:
        """Ours for `rtt_ms`, of the first seed."""
        return _quartiles_ms(self.network, self.scheme, SEEDS[0])

    def is_near(self) -> bool:
        """The goodput lies within the tolerance of the range of the module's seeds."""
        tolerance = TOLERANCE[self.network.stations]
        low, high = min(self.goodputs_mbps), max(self.goodputs_mbps)
        return low * (1 - tolerance) <= self.mbps() <= high * (1 + tolerance)

    def has_near_rtts(self) -> bool:
        """Each quartile of the RTT lies within a frame of the module's."""
        return all(
            abs(ours - theirs) <= FRAME_MS for ours, theirs in zip(self.quartiles_ms(), self.rtt_ms, strict=True)
        )


@dataclass(frozen=True)
class Gain:
    """A scheme's goodput over reno's in one network, less 1: the module's and ours."""

    module: float
    ours: float

    @property
    def is_clear(self) -> bool:
        """The module's exceeds 10 %."""
        return abs(self.module) > CLEAR_GAIN

    @property
    def has_sign(self) -> bool:
        """Ours has the module's sign."""
        return self.module * self.ours > 0


def _flows(network: Network, scheme: str) -> list[dict[str, Any]]:
    start = "100 ms" if network.stations == 1 else "uniform(100 ms, 600 ms)"
    flow = {"workload": {"kind": "bulk"}, "start": start, "count": network.stations}
    return [flow | TCP | {"variant": VARIANTS[scheme]}]


@cache
def _goodput_mbps(network: Network, scheme: str, seed: int) -> float:
    run = network.simulate(_flows(network, scheme), SECONDS, seed)
    return fmean(run.flows["goodput_bps"]) / 1e6


@cache
def _quartiles_ms(network: Network, scheme: str, seed: int) -> tuple[float, ...]:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        network.simulate(_flows(network, scheme), SECONDS, seed, captures=run)
        rtts = sorted(rtt for capture in sorted((run / "captures").glob("*.server.pcap")) for rtt in _rtts_ms(capture))
    return tuple(quantile(rtts, share) for share in (0.25, 0.5, 0.75))


def _rtts_ms(capture: Path) -> Iterator[float]:
    """From a segment, sent once, to the acknowledgment of exactly that segment."""
    records = pcap_records.read(capture).records
    settled, highest = records[0].at_ns + _SETTLED_NS, -1
    sent: dict[int, int] = {}
    for record in records:
        sequence, acknowledged, offset = struct.unpack_from(">IIB", record.data, _TCP_AT + 4)
        payload = struct.unpack_from(">H", record.data, 16)[0] - pcap_records.IP_BYTES - 4 * (offset >> 4)
        if payload <= 0:
            at_ns = sent.pop(acknowledged, None)
            if at_ns is not None and record.at_ns > settled:
                yield (record.at_ns - at_ns) / 1e6
        elif sequence > highest:
            highest = sequence
            sent[sequence + payload] = record.at_ns
        else:
            sent.pop(sequence + payload, None)


def downloads(folder: Path, table: str) -> list[Downloads]:
    """The rows of a table, one for each network and scheme, reno's first in each network."""
    file, absent = TABLES[table]
    with (folder / file).open(encoding="utf-8") as lines:
        columns = next(lines).strip().split(",")
    keys = [column for column in (*SETTINGS, "sack", "scheme") if column in columns]
    found = [
        Downloads(
            Network.of({**absent, **row}),
            row["scheme"],
            tuple(float(each["goodput_mbps_per_flow"]) for each in rows),
            _module_rtts(rows),
        )
        for row, rows in grouped(folder / file, keys)
        if row["scheme"] in VARIANTS and row.get("sack", "1") == "1"
    ]
    return sorted(found, key=lambda each: (_order(each.network), each.scheme != "linux-reno", each.scheme))


def _module_rtts(rows: Sequence[Mapping[str, str]]) -> tuple[float, ...]:
    traced = [row for row in rows if row["rtt_p50_ms"]]
    return tuple(mean_of(traced, f"rtt_p{share}_ms") for share in (25, 50, 75)) if traced else ()


def _order(network: Network) -> tuple[Any, ...]:
    values = (getattr(network, name) for name in SETTINGS if name != "rate")
    return tuple(float(value) if re.fullmatch(r"[\d.e-]+", str(value)) else str(value) for value in values)
