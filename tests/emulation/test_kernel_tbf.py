"""A shaper beside tbf of the running kernel: the same stream of datagrams through both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

import ackclock
from tests.support.namespaces import namespaces

RATE = 10_000_000
OFFERED = 12_500_000
IP_BYTES = 1000
SECONDS = 4.0
BURST = 15_000
QUEUE = 50_000
RATE_TOLERANCE = 0.001
DROP_TOLERANCE = 0.01
STEADY_S = 0.5
"""Burst and queue are over by then."""
LONGEST_GAP_S = 0.03
"""A sender that was longer away let the queue of 40 ms run empty: no measurement of tbf."""
TRIES = 3

PREPARE = f"""\
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add veth0 type veth peer name veth1
ip addr add 192.0.2.1/24 dev veth0
ip link set veth0 up; ip link set veth1 up
ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev veth0
tc qdisc add dev veth0 root stab overhead -14 linklayer ethernet tbf rate {RATE}bit burst {BURST} limit {QUEUE}
exec "$PYTHON" -c "$STREAM"
"""
STREAM = f"""
import json, socket, struct, threading, time
ETH_P_ALL, SO_TIMESTAMPNS = 3, 35
near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
far = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
far.bind(("veth1", 0))
far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 25)
far.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
far.settimeout(1.0)
arrivals = []
def receive():
    while True:
        try:
            packet, about, _, _ = far.recvmsg(2048, 64)
        except TimeoutError:
            return
        if len(packet) == {IP_BYTES}:
            second, ns = struct.unpack("ll", about[0][2])
            arrivals.append(second + ns * 1e-9)
receiver = threading.Thread(target=receive)
receiver.start()
gap = {IP_BYTES} * 8 / {OFFERED}
begun = time.time()
sent = []
for number in range(round({SECONDS} / gap)):
    while (left := begun + number * gap - time.time()) > 0:
        time.sleep(left)
    sent.append(time.time() - begun)
    near.sendto(bytes({IP_BYTES} - 28), ("192.0.2.2", 9))
receiver.join()
print(json.dumps({{"sent": sent, "arrivals": [at - begun for at in arrivals]}}))
"""


def kernel() -> dict[str, list[float]]:
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", PREPARE],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable, "STREAM": STREAM},
    )
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def engine() -> Any:
    shaper = {"rate": f"{RATE} b/s", "burst": f"{BURST} B", "queue": {"bytes": f"{QUEUE} B"}}
    stream = {"kind": "cbr", "rate": f"{OFFERED} b/s", "packet": f"{IP_BYTES} B"}
    done = ackclock.simulate(
        {"hop": [{"name": "line", "shaper": {"down": shaper}, "delay": "1 ms"}]},
        [{"workload": stream, "start": "0 s", "stop": f"{SECONDS} s"}],
        duration=f"{SECONDS + 1} s",
        seed=1,
        measure={"window": ["0 s", f"{SECONDS + 1} s"]},
    )
    return next(row for row in done.summaries[0]["hops"] if row["direction"] == "down")


def offered(row: Any) -> int:
    """Packets that the stream sent: its host begins some milliseconds late."""
    packets: int = row["delivered"] + row["drops"]
    return packets


@pytest.mark.realtime
@pytest.mark.skipif(
    not namespaces() or not all(map(shutil.which, ("tc", "ip", "unshare"))), reason="no network namespaces, or no tc"
)
def test_kernel_tbf_passes_as_many_packets_at_the_same_rate() -> None:
    for _ in range(TRIES):
        found = kernel()
        sent, arrivals = found["sent"], found["arrivals"]
        if max(after - before for before, after in pairwise(sent)) < LONGEST_GAP_S:
            break
    else:
        pytest.skip("the machine is too busy to send a stream")
    steady = [at for at in arrivals if at > STEADY_S]
    rate = (len(steady) - 1) * IP_BYTES * 8 / (steady[-1] - steady[0])
    assert rate == pytest.approx(RATE, rel=RATE_TOLERANCE)
    row = engine()
    assert row["drops"] == row["drops_by_cause"]["queue_full"]
    dropped = 1 - len(arrivals) / len(sent)
    assert row["drops"] / offered(row) == pytest.approx(dropped, rel=DROP_TOLERANCE)


def test_shaper_passes_its_burst_its_queue_and_its_rate() -> None:
    """The closed form: what tbf and the engine have in common."""
    row = engine()
    seconds = offered(row) * IP_BYTES * 8 / OFFERED
    passed = BURST + QUEUE + RATE / 8 * seconds
    assert row["delivered"] * IP_BYTES == pytest.approx(passed, abs=2 * IP_BYTES)
