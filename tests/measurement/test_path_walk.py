"""The path test over a chain of namespaces: two routers of the running kernel before the server.

Requires root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest

pytestmark = [pytest.mark.realtime, pytest.mark.skipif(os.geteuid() != 0, reason="routers in namespaces require root")]

NAMES = tuple(f"ackclock-walk{os.getpid()}-{number}" for number in range(4))


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def chain() -> Iterator[tuple[str, str]]:
    """A chain of four hosts, 10.99.k.1 -- 10.99.k.2 on wire k.

    Yields the first host's name and the last host's address.
    """
    created = []
    try:
        for name in NAMES:
            try:
                ip("netns", "add", name)
            except (OSError, subprocess.CalledProcessError):
                pytest.skip("this machine allows no network namespaces")
            created.append(name)
            # Linux limits ICMP errors to one per second; this test requires a reply to each probe.
            subprocess.run(
                [
                    "ip",
                    "netns",
                    "exec",
                    name,
                    "sh",
                    "-c",
                    "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv4/icmp_ratelimit",
                ],
                check=True,
            )
        for k, (left, right) in enumerate(pairwise(NAMES)):
            ip("link", "add", "right", "netns", left, "type", "veth", "peer", "name", "left", "netns", right)
            for name, side, end in ((left, "right", 1), (right, "left", 2)):
                ip("-n", name, "address", "add", f"10.99.{k}.{end}/24", "dev", side)
                ip("-n", name, "link", "set", side, "up")
        for k, name in enumerate(NAMES):
            for wire in range(3):
                if wire > k:
                    ip("-n", name, "route", "add", f"10.99.{wire}.0/24", "via", f"10.99.{k}.2")
                elif wire < k - 1:
                    ip("-n", name, "route", "add", f"10.99.{wire}.0/24", "via", f"10.99.{k - 1}.1")
        yield NAMES[0], "10.99.2.2"
    finally:
        for name in created:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def test_every_router_on_the_path_replies_with_its_own_address(chain, tmp_path):
    first, last = chain
    plan = tmp_path / "plan.toml"
    plan.write_text('tests = ["path"]\npath_sizes = [64, 1000, 1500]\npath_rounds = 1\n', encoding="utf-8")
    command = [sys.executable, "-m", "ackclock", "measure", last, "--plan", str(plan), "--json", "--no-report"]
    done = subprocess.run(
        ["ip", "netns", "exec", first, *command, "--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path = json.loads(done.stdout)["path"]
    assert [hop["addresses"] for hop in path] == [["10.99.0.2"], ["10.99.1.2"], ["10.99.2.2"]]
    assert [hop["reached"] for hop in path] == [False, False, True]
    assert {hop["loss_rate"] for hop in path} == {0.0}
    assert all(hop["sent"] == 6 for hop in path)
