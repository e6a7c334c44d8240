"""RTTs of 0 in a capture: every direction has its findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock import analyze, cli
from tests.support.captures import finding_of
from tests.support.short_flows import ACK, PSH, SYN, Connection, Packet, write_connections

pytestmark = pytest.mark.finding("R4")
SEGMENT = 1448


def _ping_pong(path: Path, fast_s: float, slow_s: float) -> Path:
    """A capture at the sender: 100 rounds of three segments, each acknowledged after `fast_s`, then
    four after `slow_s`.
    """
    at, seq = 1.0, 1
    packets = [
        Packet(at, True, SYN),
        Packet(at, False, SYN | ACK, 0, 1),
        Packet(at, True, ACK, 1, 1),
        Packet(at, True, PSH | ACK, 1, 1, 300),
        Packet(at, False, ACK, 1, 301),
    ]
    for wait_s in [fast_s] * 100 + [slow_s] * 4:
        packets += [Packet(at, False, ACK, seq + number * SEGMENT, 301, SEGMENT) for number in range(3)]
        at, seq = at + wait_s, seq + 3 * SEGMENT
        packets.append(Packet(at, True, ACK, 301, seq))
    return write_connections(path, [Connection(tuple(packets), ("192.0.2.9", 4000))])


def test_rtt_of_zero_has_a_queue_of_no_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = _ping_pong(tmp_path / "zero.pcap", 0.0, 0.04)
    assert cli.run(["analyze", str(capture), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rtt = document["flows"][0]["b2a"]["rtt_ms"]
    assert (rtt["min"], rtt["p95"], rtt["max"]) == (0.0, 0.0, 40.0)
    assert "up to 0 B of this flow in a queue" in finding_of(document, "bottleneck")["evidence"]


def test_rtt_above_zero_keeps_its_bytes_in_the_queue(tmp_path: Path) -> None:
    """A p95 RTT of 1 ms above the handshake's RTT of 0, at 1.77 Mb/s, is 222 bytes."""
    document = analyze(_ping_pong(tmp_path / "short.pcap", 0.001, 0.5)).document
    assert "up to 222 B of this flow in a queue" in finding_of(document, "bottleneck")["evidence"]


def test_public_capture_with_rtts_of_zero_is_analyzed(oracles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = oracles / "captures-public" / "zero-division.pcap.gz"
    if not capture.is_file():
        pytest.skip(f"no {capture.name} among the oracles")
    assert cli.run(["analyze", str(capture), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"]
