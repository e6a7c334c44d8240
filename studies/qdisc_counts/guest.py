"""Runs as root in a virtual machine of its own (measure.py), with no more than Python's library.

Prints a JSON document with the parts of its arguments: `overheads`, what cake counts for packets of
several sizes with each of its keywords, `policer`, packets that arrive at a policer, with time,
size and whether they pass, and `tunnels`, the packets around packets of several sizes.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable

KEYWORDS = (
    *("overhead 0", "conservative", "ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux"),
    *("pppoa-llc", "pppoe-vcmux", "pppoe-llcsnap", "pppoe-ptm", "bridged-ptm", "docsis", "ethernet"),
)
SIZES = (
    *(20, 28, 38, 39, 40, 41, 44, 46, 47, 52, 56, 60, 64, 66, 68, 72, 76, 80, 88, 96, 104, 128, 160, 200, 256, 320),
    *(400, 480, 512, 576, 640, 728, 800, 960, 1024, 1152, 1280, 1452, 1492, 1500),
)
"""Bytes of IP packets: around the edges of cells and of the minimum frames, and usual ones."""
RATE, BURST = 10_000_000, 40_960
PACKETS = 3000
SEED = 1
PORT = 9
TIMESTAMPNS, EVERY_PROTOCOL = 35, 3
SOL_PACKET, PACKET_STATISTICS = 263, 6
HEADERS = 28
RECEIVER = b"\x02\x00\x00\x00\x00\x02"


def shell(command: str) -> str:
    """What a command prints. Raises CalledProcessError if it fails."""
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def checksum(header: bytes) -> int:
    """RFC 1071, of an even number of bytes."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def frame(size: int, number: int) -> bytes:
    """An Ethernet frame with a datagram of this number, `size` bytes with its IP header."""
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, b"\x0a\x09\x09\x02", b"\x0a\x09\x09\x01")
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    datagram = struct.pack(">HHHH", PORT, PORT, max(size - 20, 8), 0) + struct.pack(">I", number)
    return RECEIVER + b"\x02\x00\x00\x00\x00\x01\x08\x00" + (header + datagram.ljust(size, b"\0"))[:size]


def overheads() -> list[list[object]]:
    """Keyword, bytes of the IP packet, and what cake counts for it.

    `raw` is left out: it counts what the kernel does, with the Ethernet header.
    """
    shell("ip link add d0 type dummy")
    shell("ip link set d0 up")
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind(("d0", 0))
    rows: list[list[object]] = []
    for keyword in KEYWORDS:
        for size in SIZES:
            shell(f"tc qdisc add dev d0 root cake unlimited {keyword}")
            sender.send(frame(size, 0))
            (found,) = json.loads(shell("tc -s -j qdisc show dev d0"))
            assert (found["packets"], found["min_network_size"]) == (1, size), found
            rows.append([keyword, size, found["max_adj_size"]])
            shell("tc qdisc del dev d0 root")
    return rows


ESP = "src 10.9.9.1 dst 10.9.9.2 proto esp spi 0x7 reqid 7 mode tunnel"
AEAD = f"aead rfc4106(gcm(aes)) 0x{'11' * 20} 128"
TUNNELS = {
    "gre": ("10.8.1.9", ("ip tunnel add t0 mode gre local 10.9.9.1 remote 10.9.9.2",)),
    "vxlan": (
        "10.8.2.9",
        (
            "ip link add t1 type vxlan id 7 local 10.9.9.1 remote 10.9.9.2 dstport 4789 dev d1",
            "ip neigh add 10.8.2.9 lladdr 02:00:00:00:00:09 dev t1",
        ),
    ),
    "ipsec-esp": ("10.8.3.9", (f"ip xfrm state add {ESP} {AEAD}",)),
}
"""A destination behind each tunnel, and what makes it."""


def tunnels() -> list[list[object]]:
    """Kind, bytes of the IP packet, and those of the IP packet around it."""
    # Tunnels send nothing of their own.
    shell("modprobe ipv6")
    for name in ("all", "default"):
        shell(f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1")
    shell("ip link add d1 address 02:00:00:00:00:01 type dummy")
    shell("ip addr add 10.9.9.1/24 dev d1")
    shell("ip link set d1 mtu 1600 up")
    shell("ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev d1")
    leaves = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
    leaves.bind(("d1", EVERY_PROTOCOL))
    leaves.settimeout(5)
    rows: list[list[object]] = []
    for number, (kind, (inside, commands)) in enumerate(TUNNELS.items()):
        name = f"t{number}"
        if kind == "ipsec-esp":
            shell(f"ip addr add {inside[:-1]}1/24 dev d1")
            shell(f"ip neigh add {inside} lladdr 02:00:00:00:00:09 dev d1")
            policy = "tmpl src 10.9.9.1 dst 10.9.9.2 proto esp reqid 7 mode tunnel"
            shell(f"ip xfrm policy add src {inside[:-1]}1 dst {inside} dir out {policy}")
        for command in commands[:1]:
            shell(command)
        if kind != "ipsec-esp":
            shell(f"ip addr add {inside[:-1]}1/24 dev {name}")
            shell(f"ip link set {name} up")
        for command in commands[1:]:
            shell(command)
        sender = socket.socket(type=socket.SOCK_DGRAM)
        for size in (size for size in SIZES if HEADERS < size <= 1400):
            sender.sendto(bytes(size - HEADERS), (inside, PORT))
            rows.append([kind, size, _outer(leaves)])
    return rows


def _outer(leaves: socket.socket) -> int:
    """Bytes of the next IP packet between the ends of the tunnels."""
    while True:
        data = leaves.recv(2048)
        if data[12:14] == b"\x08\x00" and data[26:34] == bytes((10, 9, 9, 1, 10, 9, 9, 2)):
            return int(struct.unpack_from(">H", data, 16)[0])


def policer() -> list[list[int]]:
    """Nanoseconds since the policer began, bytes of the IP packet, and 1 if it passed."""
    shell("ip link add v0 type veth peer name v1")
    shell("ip link set v1 address 02:00:00:00:00:02")
    shell("ip addr add 10.9.9.1/24 dev v1")
    for name in ("v0", "v1"):
        shell(f"ip link set {name} up")
    shell("sysctl -qw net.core.netdev_max_backlog=10000")
    for name in ("all", "v1"):
        shell(f"sysctl -qw net.ipv4.conf.{name}.rp_filter=0")
    arrives, passes = socket.socket(socket.AF_PACKET, socket.SOCK_RAW), socket.socket(type=socket.SOCK_DGRAM)
    for one in (arrives, passes):
        one.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
        one.setblocking(False)
    arrives.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    arrives.bind(("v1", EVERY_PROTOCOL))  # before the policer
    passes.bind(("10.9.9.1", PORT))
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind(("v0", 0))
    shell("tc qdisc add dev v1 handle ffff: ingress")
    shell(f"tc filter add dev v1 parent ffff: matchall action police rate {RATE} burst {BURST} conform-exceed drop/ok")
    time.sleep(0.1)
    send(sender)
    time.sleep(0.1)
    found = dict(received(arrives))
    _, unseen = struct.unpack("II", arrives.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    passed = {struct.unpack(">I", data[:4])[0] for data in datagrams(passes)}
    assert unseen == 0 and sorted(found) == list(range(PACKETS)), (unseen, len(found))
    start = found[0][0]
    return [[found[n][0] - start, found[n][1], int(n in passed)] for n in range(PACKETS)]


def send(sender: socket.socket) -> None:
    """Bursts of different sizes and rates, from half the policer's to several times it."""
    rng = random.Random(SEED)
    number, due = 0, time.monotonic()
    while number < PACKETS:
        due = max(due, time.monotonic())
        rate = RATE * rng.uniform(0.4, 3.0)
        for _ in range(min(rng.randint(1, 80), PACKETS - number)):
            size = rng.choice((40, 52, 200, 576, 1200, 1500, 1500))
            sender.send(frame(size, number))
            number += 1
            due += 8 * size / rate
            while rng.random() < 0.5 and time.monotonic() < due:
                pass
        time.sleep(max(0.0, due - time.monotonic()))


def received(arrives: socket.socket) -> list[tuple[int, tuple[int, int]]]:
    """Number, time in ns and bytes of each IP packet that arrived."""
    rows: list[tuple[int, tuple[int, int]]] = []
    while True:
        try:
            data, extra, _, address = arrives.recvmsg(2048, 64)
        except BlockingIOError:
            return rows
        if address[2] == socket.PACKET_OUTGOING or data[12:14] != b"\x08\x00":
            continue
        seconds, ns = struct.unpack("qq", extra[0][2])
        (number,) = struct.unpack_from(">I", data, 14 + HEADERS)
        rows.append((number, (seconds * 1_000_000_000 + ns, struct.unpack_from(">H", data, 16)[0])))


def datagrams(passes: socket.socket) -> list[bytes]:
    """The payload of the datagrams that passed."""
    found = []
    while True:
        try:
            found.append(passes.recv(2048))
        except BlockingIOError:
            return found


PARTS: dict[str, Callable[[], object]] = {"overheads": overheads, "policer": policer, "tunnels": tunnels}

if __name__ == "__main__":
    parts = {name: part() for name, part in PARTS.items() if name in sys.argv}
    print(json.dumps({"kernel": os.uname().release, **parts}))
