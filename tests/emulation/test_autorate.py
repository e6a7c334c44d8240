"""A shaper whose rate a controller changes, between real hosts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ackclock
from tests.support.emulation import DOWNLOAD
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

SEND = """
import socket, time
with socket.create_server(("", 5001)) as listener:
    connection, _ = listener.accept()
end = time.monotonic() + 3
while time.monotonic() < end:
    connection.sendall(bytes(65536))
connection.shutdown(socket.SHUT_WR)
"""
DOUBLING = """
import ackclock


class Doubling(ackclock.RateController):
    def on_sample(self, sample):
        return 2 * self.base_rate if sample.achieved > 0.5 * sample.rate else None
"""


@pytest.mark.parametrize("controller", ["cake-autorate", "python:doubling.Doubling"])
def test_rate_of_an_emulated_shaper_rises_while_real_hosts_use_it(
    controller: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(DOUBLING, "utf-8")
    rates = {"min_shaper_rate": "2 Mb/s", "base_shaper_rate": "8 Mb/s", "max_shaper_rate": "40 Mb/s"}
    hops = [
        {"name": "line", "rate": "50 Mb/s", "delay": "10 ms"},
        {"name": "router", "shaper": {"down": {"autorate": controller, **rates, "queue": {"kind": "cake"}}}},
    ]
    server, client = ([sys.executable, "-c", text] for text in (SEND, DOWNLOAD))
    done = ackclock.emulate({"title": "a line", "source": "test", "hop": hops}, client, server=server, seconds=20)
    assert done.document["command"]["exit"] == 0
    sampled = done.hops.drop_nulls("shaper_rate_bps")["shaper_rate_bps"].to_list()
    assert (sampled[0], max(sampled) > 10_000_000) == (8_000_000, True)
    assert set(done.fates["flow"]) == {"live"}, "pings are no packets of the hosts"
