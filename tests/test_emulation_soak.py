"""An emulation that runs for long: memory and descriptors stay as they are. ACKCLOCK_SOAK says for how many seconds (default: two minutes)."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.cells import namespaces

pytestmark = pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")

LINK = """title = "a line"
source = "test"
[[hop]]
name = "line"
rate = "20 Mb/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 100 }
loss = { kind = "bernoulli", mean = 0.001 }
"""
SINK = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
while True:
    udp.recv(2000)
"""
HALF_LOAD = """
import os, socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
while True:
    try:
        udp.sendto(bytes(1472), (sys.argv[1], 9))
    except OSError:
        pass
    due = max(due + 0.0012, time.monotonic() - 0.02)
    time.sleep(max(0.0, due - time.monotonic()))
"""
"""1500 B every 1.2 ms: 10 of 20 Mb/s."""
WARM_S = 15.0
GROWTH_KB = 2048


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def descriptors(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def soak(folder, seconds):
    """Memory and descriptors when warm, and at the end; packets that crossed."""
    (folder / "line.toml").write_text(LINK, encoding="utf-8")

    def both(to):
        sink, send = (shlex.join([sys.executable, "-c", text]) for text in (SINK, HALF_LOAD))
        return ["sh", "-c", f"{sink} & exec {send} {to}"]

    argv = [sys.executable, "-m", "ackclock", "emulate", "line.toml", "--out", "run", "--no-report"]
    argv += ["--server", shlex.join(both("100.64.0.2")), "--", *both("100.64.0.1")]
    running = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(WARM_S)
    warm = resident_kb(running.pid), descriptors(running.pid)
    time.sleep(seconds)
    end = resident_kb(running.pid), descriptors(running.pid)
    running.send_signal(signal.SIGTERM)
    assert running.wait(60 + seconds / 20) == 0, running.stderr
    return warm, end


def check(warm, end):
    assert end[1] == warm[1], "descriptors"
    assert end[0] - warm[0] < GROWTH_KB, f"{warm[0]} KB, then {end[0]} KB"


@pytest.mark.slow
def test_memory_and_descriptors_stay_as_they_are_for_long(tmp_path):
    check(*soak(tmp_path, float(os.environ.get("ACKCLOCK_SOAK", "120"))))


def test_the_emulator_runs_before_others_where_it_may_with_exact_timers_and_its_interfaces_offload_nothing(tmp_path):
    (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
    ask = (
        "import fcntl, socket, struct, array\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "def feature(command):\n"
        "    word = array.array('B', struct.pack('II', command, 1))\n"
        "    fcntl.ioctl(udp, 0x8946, struct.pack('16sP', b'client', word.buffer_info()[0]) + bytes(16))\n"
        "    return struct.unpack('II', word)[1]\n"
        "said = [feature(command) for command in (0x14, 0x16, 0x18, 0x1e, 0x23, 0x2b)]\n"
        "open('offloads', 'w').write(str(sum(said)))\n"
        "import time; time.sleep(3)\n"
    )
    argv = [sys.executable, "-m", "ackclock", "emulate", "line.toml", "--no-log", "--out", "run", "--", sys.executable, "-c", ask]
    running = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not (tmp_path / "offloads").exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.5)
    policy = os.sched_getscheduler(running.pid) & ~os.SCHED_RESET_ON_FORK
    slack = Path(f"/proc/{running.pid}/timerslack_ns").read_text().strip()
    running.wait(30)
    assert (tmp_path / "offloads").read_text() == "0"
    # What runs before all others has no slack at all.
    assert slack in ("0", "1")
    if os.geteuid() == 0:
        assert policy == os.SCHED_FIFO
