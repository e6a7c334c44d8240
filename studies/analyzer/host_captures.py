"""`python -m studies.analyzer.host_captures FOLDER [NAME..]`: captures of the running kernel with
offloads on.

Each case is two hosts with GSO, TSO and GRO in namespaces of their own (`host_namespaces.py`).
tcpdump keeps 128 bytes of each packet at both ends. Into FOLDER go, per case,

- `NAME.client.pcap`, `NAME.server.pcap`;
- `NAME.nstat.txt`: the kernel's counters of both hosts over the run;
- `NAME.ss.txt`: the last `ss -ti` of each connection;
- `NAME.truth.json`: the set-up, the kernel's retransmissions by cause, and the packets that each
  part of the path dropped.

The packages iperf3, tcpdump, iproute2, ethtool and util-linux are required (Debian: `apt-get
install iperf3 tcpdump iproute2 ethtool`); root is not where user namespaces are permitted. All
cases take four minutes at most. Everything is removed at the end, also after a failure.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from studies.analyzer.host_applications import PORTS
from studies.analyzer.host_namespaces import (
    CLIENT,
    HOSTS,
    SCRATCH,
    SERVER,
    UNANSWERED,
    PathConfig,
    Testbed,
    TokenBucket,
    end,
    end_tcpdump,
    enter_user_namespace,
)
from studies.analyzer.kernel_counters import KernelRetransmissions, read_counters

PROGRAMS = ("iperf3", "tcpdump", "ip", "tc", "ss", "nstat", "ethtool", "unshare")
SNAP_BYTES = 128
CASE_S = 45.0
"""Longest time of a case's client, after which it is ended and the case fails."""
SETTLE_S = 1.0
_SAMPLE_S = 0.5
_IPERF_PORT = 5201
_APPLICATIONS = Path(__file__).with_name("host_applications.py")


@dataclass(frozen=True)
class HostCase:
    """A capture: what it shows, its path, and its application.

    `application`: a name of `host_applications.PORTS`, or `iperf3` with the client's `arguments`.
    """

    title: str
    path: PathConfig
    application: str = "iperf3"
    arguments: tuple[str, ...] = ()
    ipv6: bool = False

    @property
    def port(self) -> int:
        return PORTS.get(self.application, _IPERF_PORT)

    @property
    def address(self) -> str:
        return SERVER[1] if self.ipv6 else SERVER[0]

    def server_command(self) -> list[str]:
        if self.application == "iperf3":
            return ["iperf3", "-s"]
        return [sys.executable, str(_APPLICATIONS), self.application, "server", self.address]

    def client_command(self) -> list[str]:
        if self.application == "iperf3":
            return ["iperf3", "-c", self.address, *self.arguments]
        return [sys.executable, str(_APPLICATIONS), self.application, "client", self.address, UNANSWERED]


def _link(delay: str, **keys: str) -> dict[str, str]:
    """A hop's keys in TOML: 1 Gb/s, so that buckets are the bottleneck."""
    return {"rate": '"1 Gb/s"', "delay": f'"{delay}"', **{key.replace("__", "."): value for key, value in keys.items()}}


def _download(seconds: int, *more: str) -> tuple[str, ...]:
    return ("-R", "-t", str(seconds), *more)


_20M = TokenBucket(20_000_000, 32_000, 150_000)
_10M = TokenBucket(10_000_000, 16_000, 100_000)
CASES: Mapping[str, HostCase] = {
    "parallel": HostCase(
        "iperf3 with 20 downloads at once, cubic, 40 Mb/s, RTT 20 ms",
        PathConfig(_link("10 ms"), TokenBucket(40_000_000, 32_000, 200_000)),
        arguments=_download(6, "-P", "20"),
    ),
    "http": HostCase(
        "HTTP on one connection: the server thinks 150 ms, the client 100 ms; 20 Mb/s, RTT 40 ms, 1 % lost",
        PathConfig(_link("20 ms", loss__down="0.01"), _20M),
        application="http",
    ),
    "typing": HostCase(
        "keystrokes and their echoes, RTT 60 ms, 5 % lost in each direction",
        PathConfig(_link("30 ms", loss="0.05")),
        application="typing",
    ),
    "zero-window": HostCase(
        "a reader that pauses up to 2.6 s, RTT 20 ms",
        PathConfig(_link("10 ms"), _20M),
        application="slow-reader",
    ),
    "jumbo": HostCase(
        "MTU 9000, reno, 60 Mb/s, no delay; the bucket drops whole super-segments",
        PathConfig(
            None, TokenBucket(60_000_000, 70_000, 80_000), whole_segments=True, mtu=9000, congestion_control="reno"
        ),
        arguments=_download(5),
    ),
    "ipv6": HostCase(
        "a download over IPv6, cubic, 20 Mb/s, RTT 20 ms, 0.5 % lost",
        PathConfig(_link("10 ms", loss__down="0.005"), _20M, seed=2),
        arguments=_download(6),
        ipv6=True,
    ),
    "no-sack": HostCase(
        "SACK off, reno, 10 Mb/s, RTT 40 ms, 1 % lost",
        PathConfig(
            _link("20 ms", loss__down="0.01"),
            _10M,
            congestion_control="reno",
            sysctls={"net.ipv4.tcp_sack": "0"},
            seed=3,
        ),
        arguments=_download(8),
    ),
    "no-timestamps": HostCase(
        "timestamps off, cubic, 10 Mb/s, RTT 40 ms, 1 % lost",
        PathConfig(_link("20 ms", loss__down="0.01"), _10M, sysctls={"net.ipv4.tcp_timestamps": "0"}, seed=4),
        arguments=_download(8),
    ),
    "random-loss": HostCase(
        "an upload with bbr, 20 Mb/s, RTT 30 ms, 2 % of data and ACKs lost",
        PathConfig(
            _link("15 ms", loss="0.02"), up=TokenBucket(20_000_000, 32_000, 150_000), congestion_control="bbr", seed=5
        ),
        arguments=("-t", "7"),
    ),
    "bursts": HostCase(
        "4 downloads through a token bucket with a burst of 256 kB, cubic, 30 Mb/s, RTT 16 ms",
        PathConfig(_link("8 ms"), TokenBucket(30_000_000, 256_000, 300_000)),
        arguments=_download(6, "-P", "4"),
    ),
    "reordering": HostCase(
        "a link on which 1 % of the packets take 4 ms longer, cubic, 20 Mb/s, RTT 30 ms, 0.2 % lost",
        PathConfig(
            _link("15 ms", reorder__down='{ mean = 0.01, delay = "4 ms" }', loss__down="0.002"),
            _20M,
            seed=6,
        ),
        arguments=_download(7),
    ),
    "short": HostCase(
        "160 short connections, 1 in 10 refused, 1 in 20 unanswered; 10 Mb/s, RTT 40 ms, 2 % lost",
        PathConfig(_link("20 ms", loss="0.02"), _10M, seed=7),
        application="short",
    ),
}


@dataclass
class _SocketLog:
    """The last `ss -ti` of each connection, by host and ends."""

    last: dict[tuple[str, ...], str] = field(default_factory=dict)

    def watch(self, over: threading.Event) -> None:
        while not over.wait(_SAMPLE_S):
            for host in HOSTS:
                done = subprocess.run(["ss", "-N", host, "-tinHO"], capture_output=True, text=True, check=False)
                for line in done.stdout.splitlines():
                    self.last[(host, *line.split()[3:5])] = line

    def text(self) -> str:
        return "".join(f"{host} {line}\n" for (host, *_), line in sorted(self.last.items()))


def capture(name: str, case: HostCase, folder: Path) -> dict[str, Any]:
    """Run a case. Return the document of `NAME.truth.json`."""
    sockets, over = _SocketLog(), threading.Event()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch, Testbed(case.path, Path(scratch)) as testbed:
        dumps = {host: testbed.start_tcpdump(host, folder / f"{name}.{host}.pcap", SNAP_BYTES) for host in HOSTS}
        server = testbed.start("server", case.server_command())
        testbed.wait_until_listening(case.port)
        watcher = threading.Thread(target=sockets.watch, args=(over,), daemon=True)
        watcher.start()
        began = time.monotonic()
        with (folder / f"{name}.log").open("w", encoding="utf-8") as log:
            client = testbed.start("client", case.client_command(), log)
            try:
                status = client.wait(CASE_S)
            finally:
                seconds = time.monotonic() - began
                time.sleep(SETTLE_S)
                over.set()
                watcher.join()
        if status:
            raise RuntimeError(f"{name}: the client ended with status {status}: {(folder / f'{name}.log').read_text()}")
        end(server)
        time.sleep(0.2)
        nstat = "".join(f"== {host}\n{testbed.output(host, 'nstat', '-asz')}" for host in HOSTS)
        dropped = {host: end_tcpdump(dump) for host, dump in dumps.items()}
        offloads = {host: testbed.offloads(host) for host in HOSTS}
        buckets = testbed.bucket_drops()
        testbed.end_emulator()
        link = _link_fates(Path(scratch) / "run")
    (folder / f"{name}.nstat.txt").write_text(nstat, encoding="utf-8")
    (folder / f"{name}.ss.txt").write_text(sockets.text(), encoding="utf-8")
    counters = read_counters(folder / f"{name}.nstat.txt")
    document = {
        "name": name,
        "title": case.title,
        "kernel": platform.release(),
        "seconds": round(seconds, 1),
        "mtu": case.path.mtu,
        "congestion_control": case.path.congestion_control,
        "sysctls": dict(case.path.sysctls),
        "offloads": offloads,
        "addresses": {"client": CLIENT[case.ipv6], "server": SERVER[case.ipv6]},
        "retransmissions": {host: KernelRetransmissions.of(counters[host]).document() for host in HOSTS},
        "bucket_drops": buckets,
        "link_fates": link,
        "capture_drops": dropped,
    }
    (folder / f"{name}.truth.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return document


def _link_fates(run: Path) -> dict[str, dict[str, int]]:
    """By sending host, the packets that the emulator did not deliver, by reason; empty without an
    emulator."""
    path = run / "fates.parquet"
    if not path.exists():
        return {}
    lost = pl.read_parquet(path).filter(pl.col("fate") != "delivered").group_by("from", "fate").len()
    fates: dict[str, dict[str, int]] = {}
    for sender, fate, count in lost.sort("from", "fate").iter_rows():
        fates.setdefault(str(sender), {})[str(fate)] = count
    return fates


def main() -> int:
    """Make the captures that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.analyzer.host_captures", description="Captures of the running kernel with offloads on."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="*", help=f"some of: {', '.join(CASES)} (default: all)")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.name if name not in CASES]:
        parser.error(f"unknown: {', '.join(unknown)}; allowed: {', '.join(CASES)}")
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        parser.error(f"not installed: {', '.join(missing)} (apt-get install iperf3 tcpdump iproute2 ethtool)")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    outside = enter_user_namespace(["studies.analyzer.host_captures", str(arguments.folder.resolve()), *arguments.name])
    if outside is not None:
        return outside
    for name in arguments.name or CASES:
        began = time.monotonic()
        document = capture(name, CASES[name], arguments.folder)
        totals = {host: document["retransmissions"][host]["total"] for host in HOSTS}
        print(
            f"{name:14} {time.monotonic() - began:5.1f} s  retransmitted {totals}  missed by tcpdump {document['capture_drops']}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
