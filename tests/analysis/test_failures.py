"""Findings about connections that fail or wait, in a few packets each, and their verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ackclock import analyze
from ackclock.analysis.summary import verdict_line
from ackclock.analysis.terminal_tables import analysis_tables
from tests.support.captures import simulated_captures
from tests.support.short_flows import (
    ACK,
    FIN,
    PSH,
    RST,
    SYN,
    Connection,
    Packet,
    exchange,
    refused,
    unanswered,
    write_connections,
)

OPEN = exchange(0.0)[:3]
"""A handshake of 20 ms at the client; both ends are at 1."""
REQUEST = Packet(0.03, True, PSH | ACK, 1, 1, 300)
RESPONSE = Packet(0.055, False, PSH | ACK, 1, 301, 1000)


def _closed(at: float, ack: int) -> Packet:
    return Packet(at, True, ACK, 301, ack, window=0)


SCRIPTS: dict[str, tuple[tuple[Packet, ...], str, str, str]] = {
    "refused": (
        refused(0.0),
        "connection_refused",
        "receiving_host",
        "192.0.2.1:80 answered the SYN with a reset after 20 ms",
    ),
    "unanswered": (
        unanswered(0.0),
        "connection_unanswered",
        "network",
        "The SYN was sent 3 times (after waits of 1 s, 2 s, each",
    ),
    "half open": (
        (OPEN[0], *(Packet(0.02 + after, False, SYN | ACK, 0, 1) for after in (0.0, 1.0, 3.0, 7.0))),
        "handshake_unfinished",
        "network",
        "The SYN-ACK was sent 4 times",
    ),
    "peer gone": (
        (*OPEN, *(Packet(0.1 + after, True, PSH | ACK, 1, 1, 400) for after in (0.0, 0.3, 0.9, 2.1))),
        "peer_gone",
        "network",
        "nothing came back for 2.1 s: the server or the path to it is gone",
    ),
    "window closed for ever": (
        (
            *OPEN,
            REQUEST,
            RESPONSE,
            _closed(0.056, 1001),
            *(
                packet
                for at in (0.4, 1.1, 2.5)
                for packet in (Packet(at, False, ACK, 1000, 301), _closed(at + 0.01, 1001))
            ),
        ),
        "zero_window_death",
        "receiving_host",
        "the server probed 3 times, and never opened again",
    ),
    "window closed for a while": (
        (
            *OPEN,
            REQUEST,
            RESPONSE,
            _closed(0.056, 1001),
            Packet(0.4, False, ACK, 1001, 301, 1),
            _closed(0.42, 1001),
            Packet(1.056, True, ACK, 301, 1001),
            Packet(1.08, False, PSH | ACK, 1001, 301, 1000),
            Packet(1.081, True, ACK, 301, 2001),
        ),
        "zero_window_stall",
        "receiving_host",
        "was zero for 1 s, which the server probed 1 time",
    ),
    "slow server": (
        (*OPEN, REQUEST, Packet(2.05, False, PSH | ACK, 1, 301, 1000), Packet(2.051, True, ACK, 301, 1001)),
        "server_think_time",
        "application",
        "The server began its answer 2 s later than the RTT explains",
    ),
    "slow client": (
        (*OPEN, Packet(3.02, True, PSH | ACK, 1, 1, 300), Packet(3.045, False, PSH | ACK, 1, 301, 1000)),
        "client_think_time",
        "application",
        "The client began its request or its next data 3 s later than the RTT explains",
    ),
    "middlebox": (
        (*OPEN, REQUEST, Packet(0.04, False, RST | ACK, 1, 301, ttl=60)),
        "reset_by_middlebox",
        "network",
        "with a TTL of 60; its other packets have 64",
    ),
    "injected": (
        (
            OPEN[0],
            Packet(0.01, False, RST | ACK, 0, 1, ttl=46),
            Packet(0.02, False, SYN | ACK, 0, 1),
            OPEN[2],
            REQUEST,
            Packet(0.055, False, PSH | ACK, 1, 301, 1000),
        ),
        "reset_injected",
        "network",
        "the server did not send it: it accepted the connection 10 ms later",
    ),
    "idle and forgotten": (
        (
            *OPEN,
            REQUEST,
            RESPONSE,
            Packet(0.056, True, ACK, 301, 1001),
            *(Packet(at, True, ACK, 300, 1001) for at in (5.0, 6.0, 7.0)),
            Packet(8.0, True, RST | ACK, 301, 1001),
        ),
        "keepalive_unanswered",
        "network",
        "3 keep-alive probes of the client had no answer in 3 s, and the client then gave up with a reset",
    ),
    "restarted": (
        (
            *OPEN,
            REQUEST,
            RESPONSE,
            Packet(0.056, True, ACK, 301, 1001),
            Packet(9.0, True, PSH | ACK, 301, 1001, 300),
            Packet(9.02, False, RST, 1001),
        ),
        "reset_unknown_connection",
        "receiving_host",
        "of a connection that its host does not have",
    ),
}


def _flow(tmp_path, packets: tuple[Packet, ...]) -> Any:
    path = write_connections(tmp_path / "a.pcap", [Connection(packets, ("10.0.0.1", 2000))])
    return analyze(path).document


@pytest.mark.finding("C7", "C8")
@pytest.mark.parametrize("name", SCRIPTS)
def test_failure_has_a_finding_and_its_party_the_verdict(name, tmp_path):
    packets, finding, party, sentence = SCRIPTS[name]
    document = _flow(tmp_path, packets)
    found = {one["finding"]: one["evidence"] for one in document["flows"][0]["diagnosis"]}
    assert finding in found, found
    assert sentence in found[finding]
    assert document["summary"]["verdict"]["verdict"] == party, verdict_line(document["summary"])


@pytest.mark.finding("C8")
@pytest.mark.parametrize(
    "packets",
    [
        exchange(0.0),
        # A request whose first copy was lost, and a slow path.
        (*OPEN, REQUEST, Packet(0.33, True, PSH | ACK, 1, 1, 300), Packet(0.355, False, ACK, 1, 301, 1000)),
        # The client closes with a reset what it has read.
        (*exchange(0.0)[:-3], Packet(5.0, True, RST | ACK, 301, 2897)),
        # The server closes its window for as long as it takes to read.
        (
            *OPEN,
            REQUEST,
            RESPONSE,
            Packet(0.0555, True, ACK, 301, 1001, window=0),
            Packet(0.056, True, ACK, 301, 1001),
            Packet(0.9, True, FIN | ACK, 301, 1001),
            Packet(0.92, False, FIN | ACK, 1001, 302),
        ),
    ],
    ids=["exchange", "request lost once", "reset after the end", "window closed for 0.5 ms"],
)
def test_verdict_is_nothing_wrong_when_a_short_flow_does_not_fail(packets, tmp_path):
    summary = _flow(tmp_path, packets)["summary"]
    assert summary["verdict"]["verdict"] == "nothing_wrong", verdict_line(summary)


@pytest.mark.finding("C8")
def test_verdict_counts_the_connections_that_failed(tmp_path):
    dead, slow = SCRIPTS["peer gone"][0], SCRIPTS["slow server"][0]

    def verdict(count_dead: int, count_slow: int, count_good: int) -> dict[str, Any]:
        packets = [dead] * count_dead + [slow] * count_slow + [exchange(0.0)] * count_good
        connections = [Connection(one, ("10.0.0.1", 2000 + number)) for number, one in enumerate(packets)]
        return dict(analyze(write_connections(tmp_path / "a.pcap", connections)).document["summary"]["verdict"])

    one_of_ten = verdict(1, 0, 9)
    assert one_of_ten["verdict"] == "nothing_wrong"
    assert "Besides, 1 of 10 connections failed. Flow 1 a2b: The segment" in one_of_ten["evidence"]
    mostly_slow = verdict(1, 4, 5)
    assert mostly_slow["verdict"] == "application"
    assert mostly_slow["share"] == pytest.approx(0.4, abs=0.02)  # nearly all of their time
    assert "4 of 10 connections failed or waited. Flow 2 b2a" in mostly_slow["evidence"]


def test_terminal_has_what_several_flows_have_in_common_once(tmp_path):
    dead, slow = SCRIPTS["peer gone"][0], SCRIPTS["slow server"][0]
    connections = [Connection(one, ("10.0.0.1", 2000 + number)) for number, one in enumerate([dead] * 3 + [slow])]
    table = analysis_tables(analyze(write_connections(tmp_path / "a.pcap", connections)).document)[-1]
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    assert [(row[0], row[2]) for row in rows] == [("1", "peer_gone"), ("4", "server_think_time")]
    assert str(rows[0][-1]).endswith("\nThe same of flows 2 and 3.") and "The same" not in str(rows[1][-1])


@pytest.mark.finding("C8")
def test_no_failure_is_found_when_a_transfer_ends_whole(tmp_path):
    server, client = simulated_captures(tmp_path, {"loss": {"kind": "bernoulli", "mean": 0.01}})
    names = {"peer_gone", "zero_window_death", "zero_window_stall", "server_think_time", "client_think_time"}
    for path in (server, client):
        found = {one["finding"] for one in analyze(path).document["flows"][0]["diagnosis"]}
        assert not found & names


@pytest.mark.finding("C4", "C7", "C8")
@pytest.mark.parametrize(
    ("capture", "finding", "party"),
    [
        ("zwnd.dmp.gz", "zero_window_stall", "receiving_host"),
        ("tcp_zerowindowdead.pcapng", "zero_window_death", "receiving_host"),
        ("tcp_zerowindowrecovery.pcapng", "zero_window_stall", "receiving_host"),
        ("tcp_retransmissions.pcapng", "peer_gone", "network"),
        ("tcp_refuseconnection.pcapng", "connection_refused", "receiving_host"),
        ("nowebaccess3.pcapng", "connection_unanswered", "network"),
        ("latency3.pcapng", "client_think_time", "application"),
        ("latency4.pcapng", "server_think_time", "application"),
    ],
)
def test_failure_of_a_foreign_capture_has_its_finding_and_verdict(oracles, capture, finding, party):
    document = analyze(oracles / "captures-foreign" / capture).document
    assert finding in {one["finding"] for one in document["flows"][0]["diagnosis"]}
    assert document["summary"]["verdict"]["verdict"] == party, verdict_line(document["summary"])


def test_verdict_is_not_application_when_the_receivers_capture_of_a_short_path_shows_losses(oracles):
    """A transfer on a path without delay, whose bucket drops 155 packets before the capture."""
    document = analyze(oracles / "captures-host" / "jumbo-gso.client.pcap.gz").document
    assert document["flows"][1]["vantage"]["place"] == "client"
    assert document["summary"]["verdict"]["verdict"] != "application", verdict_line(document["summary"])


@pytest.mark.finding("C4")
def test_window_probes_are_those_of_tcptrace(oracles):
    """tcptrace: 7 zero window advertisements, 6 probes, no retransmission."""
    direction = analyze(oracles / "captures-foreign" / "zwnd.dmp.gz").document["flows"][0]["a2b"]
    assert (direction["zero_window"]["acks"], direction["zero_window_probes"]) == (7, 6)
    assert direction["retransmitted_segments"] == 0


def test_since_is_seconds_when_it_has_no_unit(tmp_path, ackclock):
    connections = [Connection(exchange(10.0 * number), ("10.0.0.1", 2000 + number)) for number in range(3)]
    write_connections(tmp_path / "a.pcap", connections)
    for since in ("10", "10 s", "10.0"):
        done = ackclock("analyze", "a.pcap", "--since", since, "--json")
        assert json.loads(done.stdout)["packets"] == 20
