"""A long emulation: memory and descriptors do not grow.

ACKCLOCK_SOAK is its length in seconds (default: two minutes).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from studies.emulator.soak import LINK, MAX_GROWTH_KB, Soak
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]


@pytest.mark.slow
def test_memory_and_descriptors_do_not_grow_in_a_long_emulation(tmp_path):
    soak = Soak(tmp_path)
    samples = list(soak.samples(float(os.environ.get("ACKCLOCK_SOAK", "120"))))
    warm, end = samples[0], samples[-1]
    assert end.descriptors == warm.descriptors, samples
    assert end.resident_kb - warm.resident_kb < MAX_GROWTH_KB, samples
    assert soak.document["packets_out"] > 1000


def test_emulator_has_real_time_priority_and_no_timer_slack_and_its_interfaces_have_no_offloads(tmp_path):
    (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
    read_offloads = (
        "import fcntl, socket, struct, array\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "def feature(command):\n"
        "    word = array.array('B', struct.pack('II', command, 1))\n"
        "    fcntl.ioctl(udp, 0x8946, struct.pack('16sP', b'client', word.buffer_info()[0]) + bytes(16))\n"
        "    return struct.unpack('II', word)[1]\n"
        "enabled = [feature(command) for command in (0x14, 0x16, 0x18, 0x1e, 0x23, 0x2b)]\n"
        "open('offloads', 'w').write(str(sum(enabled)))\n"
        "import time; time.sleep(3)\n"
    )
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        "line.toml",
        "--no-log",
        "--out",
        "run",
        "--",
        sys.executable,
        "-c",
        read_offloads,
    ]
    running = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not (tmp_path / "offloads").exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.5)
    policy = os.sched_getscheduler(running.pid) & ~os.SCHED_RESET_ON_FORK
    slack = Path(f"/proc/{running.pid}/timerslack_ns").read_text().strip()
    running.wait(30)
    assert (tmp_path / "offloads").read_text() == "0"
    # A SCHED_FIFO thread has a slack of 0.
    assert slack in ("0", "1")
    if os.geteuid() == 0:
        assert policy == os.SCHED_FIFO
