"""How long this kernel takes from a packet's arrival to its TCP's answer, into
docs/evidence/host-processing.md.

A veth pair in network namespaces of its own: one end has the kernel's TCP, the other a packet
socket that speaks TCP by hand, paced, without loss. The time is that from the call that hands the
second of two segments to the interface to the kernel's receive timestamp of their ACK
(SO_TIMESTAMPNS).

usage (root): python -m studies.hosts.processing_time [FILE] [--samples N] [--runs N] [--gap-ms G]
Without FILE the page is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path
from statistics import NormalDist
from typing import Any

from ackclock.input.catalogue import host_file
from studies.dialogues.generator.packets import checksum
from studies.outcome_files import write_page
from studies.virtual_kernel import uml
from studies.virtual_kernel.build import Unavailable

HOST, PEER, PORT, PEER_PORT = "10.9.0.1", "10.9.0.2", 5000, 40000
MSS = 1460
PEER_WINDOW = 20 * MSS
SO_TIMESTAMPNS = 35
ETH_P_ALL = 3
SYN, ACK, PSH = 2, 16, 8
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
EDGES_US = (*range(5, 55, 5), 60, 80, 100, 200, 1000)
TIMER_US = 1000.0


def ip_run(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Wire:
    """The end of the veth pair that speaks TCP by hand."""

    def __init__(self, interface: str, host_mac: bytes) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((interface, 0))
        self.mac, self.host_mac = self.socket.getsockname()[4], host_mac
        self.seq, self.acked = 1000, 0
        self._addresses = socket.inet_aton(PEER) + socket.inet_aton(HOST)

    def frame(self, flags: int, payload: bytes = b"", options: bytes = b"", window: int = PEER_WINDOW) -> bytes:
        """A frame with the next sequence number, and the ACK number if ACK is among the flags."""
        header = struct.pack(
            "!HHIIBBHHH",
            PEER_PORT,
            PORT,
            self.seq & 0xFFFFFFFF,
            self.acked & 0xFFFFFFFF,
            (20 + len(options)) // 4 << 4,
            flags,
            window,
            0,
            0,
        )
        segment = header + options + payload
        pseudo = self._addresses + struct.pack("!BBH", 0, 6, len(segment))
        value = checksum(pseudo + segment)
        segment = segment[:16] + struct.pack("!H", value) + segment[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0) + self._addresses
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        return self.host_mac + self.mac + b"\x08\x00" + ip + segment

    def send(self, frame: bytes) -> int:
        """Send a frame. Returns the time just before, in ns."""
        before = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self.socket.send(frame)
        return before

    def receive(self, timeout: float) -> Iterator[tuple[int, int, int, int, int]]:
        """The host's segments until `timeout`: time of arrival in ns, flags, sequence and ACK
        number, payload length.
        """
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data, ancillary, _, address = self.socket.recvmsg(65536, 64)
            except TimeoutError:
                return
            if address[2] == socket.PACKET_OUTGOING or data[12:14] != b"\x08\x00" or data[23] != 6:
                continue
            seconds, nanoseconds = struct.unpack("@qq", ancillary[0][2][:16])
            length = struct.unpack("!H", data[16:18])[0]
            at = 14 + (data[14] & 15) * 4
            _, _, seq, ack, offset, flags = struct.unpack("!HHIIBB", data[at : at + 14])
            payload = length - (at - 14) - (offset >> 4) * 4
            yield seconds * 10**9 + nanoseconds, flags, seq, ack, payload

    def connect(self) -> None:
        options = struct.pack("!BBHBBBB", 2, 4, MSS, 1, 3, 3, 0)
        syn = self.frame(SYN, options=options)
        self.seq += 1
        for _ in range(5):
            # An interface that has just come up drops what it is given.
            self.send(syn)
            for _, flags, seq, _, _ in self.receive(1.0):
                if flags & (SYN | ACK) == SYN | ACK:
                    self.acked = seq + 1
                    self.send(self.frame(ACK))
                    return
        raise TimeoutError("the host's kernel answered no SYN")

    def ack_times(self, samples: int, gap: float) -> list[float]:
        """Times in us from the second of two segments to the ACK of both."""
        self.connect()
        found = []
        payload = bytes(MSS)
        for _ in range(samples):
            first = self.frame(ACK, payload)
            self.seq += MSS
            second = self.frame(ACK, payload)
            self.seq += MSS
            time.sleep(gap)
            self.send(first)
            sent = self.send(second)
            for arrived, _, _, ack, _ in self.receive(0.25):
                if ack == self.seq & 0xFFFFFFFF:
                    found.append((arrived - sent) / 1000)
                    break
        return found


def serve() -> None:
    """The host's application: reads all data at once."""
    listener = socket.create_server((HOST, PORT))
    print("ready", flush=True)
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        pass


def inside(samples: int, gap_ms: float) -> None:
    """In a network namespace: the peer, with the host in another one below it."""
    ip_run("link", "set", "lo", "up")
    host = subprocess.Popen(
        ["unshare", "--net", "--kill-child", "--fork", sys.executable, "-m", __spec__.name, "--host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert host.stdin is not None and host.stdout is not None
        pid = host.stdout.readline().strip()
        ip_run("link", "add", "wire", "type", "veth", "peer", "name", "eth0", "netns", pid)
        ip_run("link", "set", "wire", "up")
        host.stdin.write(f"{_mac_of('wire')}\n")
        host.stdin.flush()
        host_mac = bytes.fromhex(host.stdout.readline().strip().replace(":", ""))
        if host.stdout.readline().strip() != "ready":
            raise OSError("the host did not start")
        wire = Wire("wire", host_mac)
        print(json.dumps(wire.ack_times(samples, gap_ms / 1000)))
    finally:
        # `unshare` ignores SIGTERM; its child ends with it.
        host.kill()
        host.wait()


def as_host() -> None:
    """In a network namespace of its own: waits for its interface, then serves."""
    print(os.getpid(), flush=True)
    peer_mac = sys.stdin.readline().strip()
    ip_run("addr", "add", f"{HOST}/24", "dev", "eth0")
    # As in an emulation (ADR 9).
    subprocess.run(["ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"], check=True, capture_output=True)
    ip_run("link", "set", "eth0", "up")
    ip_run("neigh", "add", PEER, "lladdr", peer_mac, "dev", "eth0", "nud", "permanent")
    print(_mac_of("eth0"), flush=True)
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()


def _mac_of(interface: str) -> str:
    shown = subprocess.run(["ip", "-json", "link", "show", interface], check=True, capture_output=True, text=True)
    return str(json.loads(shown.stdout)[0]["address"])


def measured(samples: int, gap_ms: float) -> list[float]:
    """Times in us."""
    words = ["--inside", "--samples", str(samples), "--gap-ms", str(gap_ms)]
    command = ["unshare", "--net", sys.executable, "-m", __spec__.name, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def log_normal(p50: float, p99: float, share: float) -> float:
    """The quantile of a log-normal time with this median and 99th percentile."""
    normal = NormalDist()
    return p50 * exp(log(p99 / p50) * normal.inv_cdf(share) / normal.inv_cdf(0.99))


@dataclass(frozen=True)
class Kernel:
    """What was measured on one kernel: its name, and the times of each run in us."""

    name: str
    runs: list[list[float]]

    @property
    def answers(self) -> list[float]:
        """All times but those that a timer sent."""
        return [one for run in self.runs for one in run if one < TIMER_US]

    def row(self) -> str:
        figures = " | ".join(f"{quantile(self.answers, share):.1f}" for share in QUANTILES)
        timers = sum(map(len, self.runs)) - len(self.answers)
        return f"| {self.name} | {len(self.answers)} | {timers} | {figures} |"

    def percent(self, low: float, high: float) -> float:
        """Of the answers, those from `low` to below `high` us."""
        return 100 * sum(low <= one < high for one in self.answers) / len(self.answers)


def page(own: Kernel, virtual: Kernel | None, load: Sequence[float], gap_ms: float) -> str:
    """The page, in Markdown."""
    jitter = host_file("linux-6")["tcp"]["processing_jitter"]
    p50, p99 = (float(jitter[key].removesuffix(" us")) for key in ("p50", "p99"))
    drawn = " | ".join(f"{log_normal(p50, p99, share):.1f}" for share in QUANTILES)
    medians, tails = (sorted(quantile(run, share) for run in own.runs) for share in (0.5, 0.99))
    kernels = [own, *([virtual] if virtual else [])]
    lines = [
        "# Processing times of a host",
        "",
        "From the arrival of a packet at a kernel to its TCP's answer, the ACK of the second of two segments: the",
        "source of `processing_jitter` in `linux-6` ([hosts](../models/hosts.md)).",
        "Made by `make host-processing` on an idle machine: a veth pair in network namespaces, without offloads, both",
        f"ends at real-time priority, two segments every {gap_ms:g} ms. {time.strftime('%Y-%m-%d', time.gmtime())},",
        f"{os.cpu_count()} CPUs, load average {load[0]:.1f} before and {load[1]:.1f} after. An answer after",
        f"{TIMER_US:g} us or more is a timer's and not counted.",
        "",
        "| us | ACKs | by a timer | " + " | ".join(f"p{100 * share:g}" for share in QUANTILES) + " |",
        "|---|" + "--:|" * (len(QUANTILES) + 2),
        *(kernel.row() for kernel in kernels),
        f"| `linux-6` | | | {drawn} |",
        "",
        f"One run's median and 99th percentile on {own.name}: {medians[0]:.0f} to {medians[-1]:.0f} and",
        f"{tails[0]:.0f} to {tails[-1]:.0f} us in {len(own.runs)} runs of {len(own.runs[0])} ACKs.",
    ]
    if virtual:
        lines += [
            "",
            "User-mode Linux is a process of this machine, and each of its interrupts and system calls is a signal or a",
            "switch of processes there: its times are above those of any host, and `linux-6` does not take them. In",
            "virtual time ([virtual kernel](virtual-kernel.md)) it takes none at all.",
        ]
    lines += [
        "",
        "| from us | to us | " + " | ".join(f"{kernel.name}, percent" for kernel in kernels) + " | |",
        "|--:|--:|" + "--:|" * len(kernels) + "---|",
    ]
    for low, high in pairwise((0, *EDGES_US)):
        figures = " | ".join(f"{kernel.percent(low, high):.1f}" for kernel in kernels)
        lines.append(f"| {low} | {high} | {figures} | {'#' * round(own.percent(low, high))} |")
    return "\n".join(lines) + "\n"


def in_user_mode(samples: int, gap_ms: float) -> Kernel | None:
    """One run in Debian's user-mode Linux. Without it: None, and a line on stderr."""
    words = shlex.join(["-m", __spec__.name, "--times", "--samples", str(samples), "--gap-ms", str(gap_ms)])
    places = shlex.quote(os.pathsep.join(sys.path))
    script = (
        f"cd {shlex.quote(str(Path.cwd()))} && uname -r && PYTHONPATH={places} {shlex.quote(sys.executable)} {words}"
    )
    try:
        done = uml.run(script, limit_s=60 + samples * gap_ms / 100)
    except Unavailable as error:
        print(f"no user-mode Linux: {error}", file=sys.stderr)
        return None
    if done.status:
        raise RuntimeError(done.output)
    release, *_, times = done.output.splitlines()
    return Kernel(f"user-mode Linux {release}", [json.loads(times)])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--gap-ms", type=float, default=3.0)
    parser.add_argument("--times", action="store_true", help="print the times of one run alone, as JSON")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--host", action="store_true", help=argparse.SUPPRESS)
    given: Any = parser.parse_args(argv)
    if given.host or given.inside:
        # Before the machine's other jobs, so that their share of the CPUs does not count.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    if given.host:
        return as_host()
    if given.inside:
        return inside(given.samples, given.gap_ms)
    if given.times:
        return print(json.dumps(measured(given.samples, given.gap_ms)))
    before = os.getloadavg()[0]
    own = Kernel(f"Linux {platform.release()}", [measured(given.samples, given.gap_ms) for _ in range(given.runs)])
    load = (before, os.getloadavg()[0])
    write_page(given.file, page(own, in_user_mode(given.samples, given.gap_ms), load, given.gap_ms))
    return None


if __name__ == "__main__":
    main()
