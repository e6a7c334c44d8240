"""`python -m studies.analyzer.segment_sizes FILE.csv`: sizes of segments as tcpdump captures them
on hosts with offloads.

A download at each rate, MTU and congestion control, captured at both hosts (`host_namespaces.py`).
The path segments in software and limits the rate by a token bucket of wire packets. Rows of the
file:

- `rtt_ms` (minimum RTT of the path without load: the emulator's delay, 0 for a veth pair),
  `rate_bps` (0: unlimited), `mtu`, `congestion_control`; `pacing_bps`: the median of the socket's
  pacing rate, by which Linux chooses the size of a super-segment; bbr is paced, cubic and reno are
  not;
- `end`; `packets` with payload, `segments` of at most MSS bytes in them;
- `segments_p10` .. `segments_max`: segments in a captured packet, by packets; `super_share`: share
  of the payload in packets of more than one segment;
- `gap_us_p10`, `_p50`, `_p90`: time from a captured packet to the next.

Slow start (the first half second) is left out. All runs take two minutes. With `--simulated` the
file is read, and the simulator's captures (`simulate --pcap-offloads`) stand beside the measured
ones.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from ackclock import analyze, simulate
from studies.analyzer.host_namespaces import (
    HOSTS,
    SCRATCH,
    SERVER,
    PathConfig,
    Testbed,
    TokenBucket,
    end_tcpdump,
    enter_user_namespace,
)

RATES = (10_000_000, 100_000_000, 1_000_000_000, 0)
MTUS = (1500, 9000)
CONTROLS = ("cubic", "bbr")
DELAYED_RATES = (10_000_000, 100_000_000)
DELAY_MS = 10
SECONDS, SLOW_START_S = 3, 0.5
SNAP_BYTES = 100
QUANTILES = (0.1, 0.5, 0.9, 0.99)
_HEADERS = 52


@dataclass(frozen=True)
class Run:
    """A download: rate in bit/s (0 is unlimited), MTU, congestion control and one-way delay."""

    rate_bps: int
    mtu: int
    control: str
    delay_ms: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """The columns that identify the run."""
        columns = ("rtt_ms", "rate_bps", "mtu", "congestion_control")
        return dict(zip(columns, (2 * self.delay_ms, self.rate_bps, self.mtu, self.control), strict=True))

    @property
    def path(self) -> PathConfig:
        link = {"rate": '"1 Gb/s"', "delay": f'"{self.delay_ms} ms"'} if self.delay_ms else None
        # A burst of 2 ms, and 40 ms of queue.
        burst = max(self.rate_bps // 8 // 500, 2 * self.mtu)
        bucket = (
            TokenBucket(self.rate_bps, burst, max(self.rate_bps // 8 // 25, 20 * self.mtu)) if self.rate_bps else None
        )
        return PathConfig(link, bucket, mtu=self.mtu, congestion_control=self.control)


def all_runs() -> Iterator[Run]:
    """Without delay every rate and MTU, with delay the rates that the emulator carries."""
    for rate, mtu, control in product(RATES, MTUS, CONTROLS):
        yield Run(rate, mtu, control)
    for rate, control in product(DELAYED_RATES, CONTROLS):
        yield Run(rate, 1500, control, DELAY_MS)


def measure(run: Run) -> list[dict[str, Any]]:
    """A row for each end."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch, Testbed(run.path, Path(scratch)) as testbed:
        captures = {host: Path(scratch) / f"{host}.pcap" for host in HOSTS}
        dumps = [testbed.start_tcpdump(host, path, SNAP_BYTES) for host, path in captures.items()]
        testbed.start("server", ["iperf3", "-s"])
        testbed.wait_until_listening(5201)
        client = testbed.start("client", ["iperf3", "-c", SERVER[0], "-R", "-t", str(SECONDS)])
        rates: list[float] = []
        deadline = time.monotonic() + SECONDS + 20
        while client.poll() is None and time.monotonic() < deadline:
            rates += _pacing_rates(testbed)
            threading.Event().wait(0.1)
        if client.wait(1):
            raise RuntimeError(f"iperf3 ended with status {client.returncode}")
        missed = sum(end_tcpdump(dump) for dump in dumps)
        if missed:
            print(f"tcpdump missed {missed} packets", file=sys.stderr)
        pacing = round(median(rates)) if rates else None
        return [
            {**run.document, "pacing_bps": pacing, "end": end, **_sizes(path, run.mtu - _HEADERS)}
            for end, path in sorted(captures.items())
        ]


def simulated(run: Run, seconds: int = SECONDS) -> list[dict[str, Any]]:
    """The same rows of a simulated download, without the pacing rate; no delay is 50 us here."""
    queue = {"kind": "droptail", "bytes": f"{max(run.rate_bps // 8 // 25, 20 * run.mtu)} B"}
    hop = {"name": "path", "rate": f"{run.rate_bps} b/s", "delay": f"{run.delay_ms or 0.05} ms", "queue": queue}
    tcp = {"host": "linux-6", "variant": run.control, "segment": f"{run.mtu - _HEADERS} B"}
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        simulate({"hop": [hop]}, [flow], f"{seconds} s", 1, tcp=tcp, out=folder, captures="pcap", offloads=True)
        captures = {end: folder / "captures" / f"download.{end}.offloads.pcap" for end in HOSTS}
        return [{**run.document, "end": end, **_sizes(path, run.mtu - _HEADERS)} for end, path in captures.items()]


def compared(measured: pl.DataFrame) -> pl.DataFrame:
    """Measured and simulated quantiles, as `measured/simulated`, of the runs with a rate limit."""
    columns = [f"segments_p{round(100 * q)}" for q in QUANTILES] + ["super_share", "gap_us_p50"]
    rows = []
    for run in all_runs():
        if not run.rate_bps:
            continue
        for row in simulated(run):
            key = {**run.document, "end": row["end"]}
            (real,) = measured.filter(*(pl.col(name) == value for name, value in key.items())).iter_rows(named=True)
            rows.append({**key, **{name: f"{real[name]}/{row[name]}" for name in columns}})
    return pl.DataFrame(rows)


def _pacing_rates(testbed: Testbed) -> list[float]:
    """The pacing rate of the socket that has sent most: the download's."""
    sockets = testbed.output("server", "ss", "-tinHO").splitlines()
    sent = {line: int(found[1]) for line in sockets if (found := re.search(r"bytes_sent:(\d+)", line))}
    rate = re.search(r"pacing_rate (\d+)bps", max(sent, key=sent.__getitem__)) if sent else None
    return [float(rate[1])] if rate and max(sent.values()) > 1e5 else []


def _sizes(path: Path, mss: int) -> dict[str, Any]:
    series = analyze(path, series=True).series
    assert series is not None
    data = series.filter((pl.col("way") == "b2a") & (pl.col("payload_bytes") > 0) & (pl.col("time_s") > SLOW_START_S))
    segments = data.select((pl.col("payload_bytes") + mss - 1) // mss)["payload_bytes"]
    gaps = data["time_s"].diff().drop_nulls() * 1e6
    merged = int(data.filter(pl.col("payload_bytes") > mss)["payload_bytes"].sum())
    return {
        "packets": data.height,
        "segments": segments.sum(),
        **{f"segments_p{round(100 * q)}": _integer(segments.quantile(q, "nearest")) for q in QUANTILES},
        "segments_max": segments.max(),
        "super_share": round(merged / max(int(data["payload_bytes"].sum()), 1), 3),
        **{f"gap_us_p{round(100 * q)}": _integer(gaps.quantile(q, "nearest")) for q in QUANTILES[:3]},
    }


def _integer(value: float | None) -> int | None:
    return None if value is None else round(value)


def main() -> int:
    """Measure all runs and write the file."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.analyzer.segment_sizes",
        description="Sizes of segments as tcpdump captures them on hosts with offloads.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--simulated", action="store_true", help="compare the file with simulated captures")
    arguments = parser.parse_args()
    if arguments.simulated:
        with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, tbl_hide_dataframe_shape=True):
            print(compared(pl.read_csv(arguments.file)))
        return 0
    outside = enter_user_namespace(["studies.analyzer.segment_sizes", str(arguments.file.resolve())])
    if outside is not None:
        return outside
    rows = []
    for run in all_runs():
        rows += measure(run)
        print(run, flush=True)
    pl.DataFrame(rows).write_csv(arguments.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
