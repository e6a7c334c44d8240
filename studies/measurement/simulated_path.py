"""The streams of ``measure`` over simulated links, as the facts that a session records."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ackclock
from ackclock.documents.engine import TestSpec
from ackclock.documents.measure import Queue
from ackclock.documents.parts import Direction
from ackclock.measurement.capacity import CapacitySearch, Ran
from ackclock.measurement.queue_facts import QueueFacts, Train
from ackclock.measurement.queue_inference import infer

PCAP_HEADER, RECORD_HEADER = 24, 16
IPV4_ID = 4
IDS = 1 << 16
DRAIN_S = 3.0
"""Simulated time after the streams, in which the queue drains."""


def _records(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times in seconds and IP identifications of a capture of IPv4 packets."""
    data = path.read_bytes()
    magic, _, _, _, _, _, network = struct.unpack_from("<IHHiIII", data)
    unit = 1e-9 if magic == 0xA1B23C4D else 1e-6
    link_bytes = 14 if network == 1 else 0
    times, ids = [], []
    at = PCAP_HEADER
    while at < len(data):
        seconds, fraction, kept, _ = struct.unpack_from("<IIII", data, at)
        times.append(seconds + unit * fraction)
        ids.append(struct.unpack_from(">H", data, at + RECORD_HEADER + link_bytes + IPV4_ID)[0])
        at += RECORD_HEADER + kept
    return np.array(times), np.array(ids, dtype=np.int64)


def _train(folder: Path, name: str, direction: str, ip_bytes: int) -> Train:
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    sent_s, sent_ids = _records(folder / f"{name}.{sender}.pcap")
    received_s, received_ids = _records(folder / f"{name}.{receiver}.pcap")
    delay_ms = np.full(len(sent_s), np.nan)
    # The sender's IP identifications are consecutive, modulo 2^16.
    index = (received_ids - sent_ids[0]) % IDS if len(sent_ids) else received_ids
    # Of the datagrams with that identification, the latest that was sent before the arrival.
    for wrap in range(len(sent_s) // IDS + 1):
        number = index + wrap * IDS
        fits = np.flatnonzero(number < len(sent_s))
        fits = fits[sent_s[number[fits]] <= received_s[fits]]
        latest = np.ones(len(fits), dtype=bool)
        following = number[fits] + IDS
        known = following < len(sent_s)
        latest[known] = sent_s[following[known]] > received_s[fits][known]
        fits = fits[latest]
        delay_ms[number[fits]] = 1e3 * (received_s[fits] - sent_s[number[fits]])
    return Train(ip_bytes, sent_s - (sent_s[0] if len(sent_s) else 0.0), delay_ms)


@dataclass(frozen=True)
class Stream:
    """Datagrams of ``ip_bytes`` at a constant rate of IP."""

    name: str
    direction: Direction
    rate_bps: float
    ip_bytes: int

    def flow(self, seconds: float) -> dict[str, Any]:
        return {
            "name": self.name,
            "direction": self.direction,
            "stop": f"{seconds:g} s",
            "workload": {"kind": "cbr", "rate": f"{round(self.rate_bps)} b/s", "packet": f"{self.ip_bytes} B"},
        }


def stream_over(
    link: Mapping[str, Any], streams: Sequence[Stream], seconds: float, seed: int, bulk: Mapping[str, int] | None = None
) -> tuple[dict[str, Train], ackclock.Simulation]:
    """The trains of concurrent streams, beside ``bulk`` TCP connections by direction."""
    flows = [stream.flow(seconds) for stream in streams]
    flows += [
        {
            "name": f"bulk-{direction}",
            "direction": direction,
            "stop": f"{seconds:g} s",
            "workload": {"kind": "bulk"},
            "count": count,
        }
        for direction, count in (bulk or {}).items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = ackclock.simulate(
            dict(link),
            flows,
            f"{seconds + DRAIN_S:g} s",
            seed=seed,
            out=out,
            captures="pcap",
            sample="20 ms",
            tcp={"variant": "cubic"},
        )
        trains = {s.name: _train(out / "captures", s.name, s.direction, s.ip_bytes) for s in streams}
        assert run.series is not None  # read before the folder is deleted
    return trains, run


@dataclass
class SimulatedPath:
    """``measure``'s tests of one direction over a simulated link, each with its own seed."""

    link: Mapping[str, Any]
    direction: Direction
    seed: int
    seconds: float = 10.0
    payload: int = 1172
    start_bps: float = 1e6
    max_bps: float = 1e9

    def facts(self) -> QueueFacts:
        """The facts that the tests delay, capacity and latency record."""
        idle, reverse = self._sparse(None)
        rtt = float(np.nanmedian(idle.delay_ms) + np.nanmedian(reverse.delay_ms))
        trains: list[Train] = []
        exchanges_ms: list[list[float]] = []

        def run(specs: list[TestSpec], label: str) -> Ran:
            train, beside = self._stream(specs)
            trains.append(train)
            exchanges_ms.append(beside)
            arrivals = np.sort((train.sent_s + 1e-3 * train.delay_ms)[~train.lost])
            received = (
                (len(arrivals) - 1) * train.ip_bytes * 8 / (arrivals[-1] - arrivals[0]) if len(arrivals) > 1 else None
            )
            return Ran(len(trains) - 1, received, train.sent_bps, lambda: train)

        def judge(train: Train) -> Queue:
            return infer(QueueFacts(idle=idle, stream=train, idle_rtt_ms=rtt))

        search = CapacitySearch(run, judge, self.direction, self.seconds, self.payload, self.start_bps, self.max_bps)
        found = search.search()
        beside_tcp, tcp_rtt_ms, retransmitted, segments = self._beside_tcp()
        self.runs = len(trains)
        return QueueFacts(
            idle=idle,
            stream=trains[found.number],
            below=tuple(trains[number] for number in found.below),
            beside_stream_ms=exchanges_ms[found.number],
            idle_rtt_ms=rtt,
            beside_tcp=beside_tcp,
            tcp_rtt_ms=tcp_rtt_ms,
            tcp_retransmitted=retransmitted,
            tcp_segments=segments,
        )

    def _next_seed(self) -> int:
        self.seed += 1
        return self.seed

    def _sparse(self, bulk: Mapping[str, int] | None) -> tuple[Train, Train]:
        streams = [Stream("probe-down", "down", 9600, 48), Stream("probe-up", "up", 9600, 48)]
        trains, self.run = stream_over(self.link, streams, self.seconds, self._next_seed(), bulk)
        own, other = trains["probe-down"], trains["probe-up"]
        return (own, other) if self.direction == "down" else (other, own)

    def _stream(self, specs: list[TestSpec]) -> tuple[Train, list[float]]:
        train = specs[0]["datagrams"][self.direction]
        rate = (train["payload"] + 28) * 8e9 / train["gap_ns"]
        seconds = train["gap_ns"] * train["count"] * 1e-9
        streams = [Stream("stream", self.direction, rate, train["payload"] + 28)]
        if len(specs) > 1:
            every_s = specs[1]["transfers"]["every_ns"] * 1e-9
            streams += [Stream(f"syn-{direction}", direction, 60 * 8 / every_s, 60) for direction in ("down", "up")]
        trains, _ = stream_over(self.link, streams, seconds, self._next_seed())
        if len(specs) == 1:
            return trains["stream"], []
        down, up = trains["syn-down"].delay_ms, trains["syn-up"].delay_ms
        count = min(len(down), len(up))
        rtts = down[:count] + up[:count]
        return trains["stream"], [float(rtt) for rtt in rtts if not np.isnan(rtt)]

    def _beside_tcp(self) -> tuple[Train, list[float], int, int]:
        own, _ = self._sparse({self.direction: 4})
        flows = [flow for flow in self.run.document["flows"] if flow["variant"] != "udp"]
        srtt = self.run.series.filter(self.run.series["flow"].is_in([f["flow"] for f in flows]))["srtt_ms"]
        retransmitted, segments = (sum(f[key] for f in flows) for key in ("retransmitted_segments", "segments_sent"))
        return own, srtt.drop_nulls().to_list(), retransmitted, segments
