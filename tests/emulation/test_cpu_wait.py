"""How long the processes of an emulation waited for a CPU, as the kernel counts it."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

import ackclock
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.finding("R6"),
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]
SPIN = """
import os, time
os.sched_setaffinity(0, {int(os.environ["CPU"])})
if not (other := os.fork()):
    os.setsid()
end = time.monotonic() + 1.0
while time.monotonic() < end:
    pass
if other:
    os.waitpid(other, 0)
"""


def waits(command: list[str], **options: Any) -> Any:
    done = ackclock.emulate("dsl-16m", command, log=False, **options)
    return done.document["cpu_wait"]


def test_two_processes_on_one_cpu_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU", str(max(os.sched_getaffinity(0))))
    found = waits([sys.executable, "-c", SPIN])
    assert found["server"] is None
    client = found["client"]
    assert client["run_s"] > 0.3
    assert client["wait_s"] > 0.5
    assert 20.0 < client["max_wait_percent"] < 100.0


def test_sleeping_command_runs_and_waits_little() -> None:
    found = waits(["sleep", "1"], server=["sleep", "2"], server_ready="none")
    for end in ("server", "client"):
        assert found[end]["run_s"] < 0.1
        assert found[end]["wait_s"] < 0.3
