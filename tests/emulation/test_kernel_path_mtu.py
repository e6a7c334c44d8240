"""A sender behind a router with a small MTU beside the running kernel's, over two veth pairs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from tests.support.namespaces import namespaces

MTU = 1400
REPORTED, PROBED = 300_000, 3_000_000
"""Bytes of the transfers."""
STALL_TOLERANCE_S = 0.4

PREPARE = f"""\
mount -t tmpfs tmpfs /run
for host in server client; do ip netns add $host; ip -n $host link set lo up; done
ip link add near0 type veth peer name near1
ip link add far0 type veth peer name far1
ip link set near0 netns server; ip link set far0 netns client
ip -n server addr add 192.0.2.1/26 dev near0; ip addr add 192.0.2.2/26 dev near1
ip -n client addr add 192.0.2.129/26 dev far0; ip addr add 192.0.2.130/26 dev far1
ip -n server link set near0 up; ip link set near1 up; ip -n client link set far0 up; ip link set far1 up
ip link set far1 mtu {MTU}
ip -n server route add default via 192.0.2.2; ip -n client route add default via 192.0.2.130
echo 1 >/proc/sys/net/ipv4/ip_forward
ip netns exec client "$PYTHON" -c "$RECEIVE" &
ip netns exec server "$PYTHON" -c "$SEND" {REPORTED}
ip netns exec server ip route flush cache
ip rule add ipproto icmp blackhole priority 5
ip netns exec server sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_mtu_probing'
ip netns exec server "$PYTHON" -c "$SEND" {PROBED}
"""
RECEIVE = """
import socket
server = socket.create_server(("192.0.2.129", 5000))
for _ in range(2):
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
    connection.close()
"""
SEND = """
import json, socket, struct, sys, time
for _ in range(100):
    try:
        connection = socket.create_connection(("192.0.2.129", 5000), timeout=30)
        break
    except OSError:
        time.sleep(0.02)
begun = time.monotonic()
connection.sendall(bytes(int(sys.argv[1])))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
mss, again = struct.unpack_from("I", info, 16)[0], struct.unpack_from("I", info, 100)[0]
print(json.dumps({"seconds": time.monotonic() - begun, "mss": mss, "retransmitted": again}))
"""


def kernel() -> list[dict[str, float]]:
    done = subprocess.run(
        ["unshare", "-rnm", "sh", "-c", PREPARE],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHON": sys.executable, "SEND": SEND, "RECEIVE": RECEIVE},
    )
    return [json.loads(row) for row in done.stdout.splitlines()]


def engine(size: int, mtu: dict[str, Any], **tcp: Any) -> Any:
    veth = {"rate": "10 Gb/s", "delay": "20 us", "queue": {"packets": 1000}}
    done = ackclock.simulate(
        {"hop": [{"name": "near", **veth}, {"name": "far", **veth, "mtu": {"ip": f"{MTU} B", **mtu}}]},
        [{"workload": {"kind": "transfer", "size": f"{size} B"}}],
        duration="20 s",
        seed=1,
        tcp=tcp,
    )
    return done.summaries[0]["flows"][0]


@pytest.mark.realtime
@pytest.mark.skipif(not namespaces() or not all(map(shutil.which, ("ip", "unshare"))), reason="no network namespaces")
def test_kernel_sender_behind_a_small_mtu_does_what_the_engine_does() -> None:
    try:
        reported, probed = kernel()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the kernel has no such devices or rules: {error.stderr.strip()[-200:]}")
    assert reported["mss"] == MTU - 52
    assert reported["retransmitted"] == engine(REPORTED, {})["retransmitted_segments"]
    # The search for the MTU ends within the threshold of 8 B.
    assert MTU - 52 - 8 < probed["mss"] <= MTU - 52
    simulated = engine(PROBED, {"icmp": False}, mtu_probing="black-hole")
    assert simulated["completed_s"] - simulated["from_s"] == pytest.approx(probed["seconds"], abs=STALL_TOLERANCE_S)


ECHO = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.IPPROTO_IP, 10, 0)
server.bind(("0.0.0.0", 9))
while True:
    server.sendto(*server.recvfrom(4000))
"""
DATAGRAMS = """
import json, os, socket, sys
IP_MTU_DISCOVER, IP_MTU, DONT, DO = 10, 14, 0, 2
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect((os.environ["ACKCLOCK_SERVER"], 9))
client.settimeout(0.5)
def echoed(size, tries=1):
    for _ in range(tries):
        try:
            client.send(bytes(size))
            return len(client.recv(4000)) == size
        except OSError:
            pass
    return False
ready = echoed(100, 40)
client.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, DONT)
divided = echoed(1472, 3)
client.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, DO)
longest, longer = echoed(1372, 3), echoed(1373)
found = [ready, divided, longest, longer, client.getsockopt(socket.IPPROTO_IP, IP_MTU)]
open(sys.argv[1], "w").write(json.dumps(found))
"""


@pytest.mark.realtime
@pytest.mark.skipif(not namespaces(), reason="no network namespaces")
@pytest.mark.parametrize(("icmp", "found"), [(True, MTU), (False, 1500)])
def test_real_host_s_datagrams_are_divided_or_reported(tmp_path: Path, icmp: bool, found: int) -> None:
    """With "don't fragment" the host learns the MTU from the emulator's ICMP message."""
    path = tmp_path / "found.json"
    hop = {"name": "line", "rate": "20 Mb/s", "delay": "5 ms", "mtu": {"ip": f"{MTU} B", "icmp": icmp}}
    client = [sys.executable, "-c", DATAGRAMS, str(path)]
    server = [sys.executable, "-c", ECHO]
    ackclock.emulate({"hop": [hop]}, client, server=server, server_ready="none", seconds=40, log=False)
    assert json.loads(path.read_text()) == [True, True, True, False, found]
