"""UDP and QUIC flows, and captures that hold each packet twice."""

from __future__ import annotations

import json
import random
import struct

import pytest

import ackclock
from ackclock import analyze
from ackclock.analysis.terminal_tables import source_tables
from tests.support.captures import simulated_captures
from tests.support.short_flows import Connection, exchange, write_connections

RTT_S = 0.05


def _udp_frame(from_client: bool, port: int, payload: bytes) -> bytes:
    addresses, ports = (bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1])), (port, 443)
    if not from_client:
        addresses, ports = addresses[::-1], ports[::-1]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0x4000, 64, 17, 0) + b"".join(addresses)
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


@pytest.fixture
def mixture(tmp_path):
    """One TCP exchange, a QUIC connection that spins with an RTT of 50 ms, and 20 questions to a
    server.
    """
    path = write_connections(tmp_path / "mixture.pcap", [Connection(exchange(0.0), ("10.0.0.2", 2000))])
    initial = b"\xc3\x00\x00\x00\x01".ljust(1200, b"\0")
    frames = [(1.0, _udp_frame(True, 5000, initial)), (1.02, _udp_frame(False, 5000, initial))]
    for step in range(500):
        spin = 0x60 if int(0.002 * step / RTT_S) % 2 else 0x40
        frames.append((1.1 + 0.002 * step, _udp_frame(False, 5000, bytes([spin]).ljust(1000, b"\0"))))
    frames += [(3.0 + number, _udp_frame(True, 6000 + number, b"question")) for number in range(20)]
    with path.open("ab") as file:
        for at, frame in frames:
            file.write(struct.pack("<IIII", int(at), round(at % 1 * 1e9), len(frame), len(frame)) + frame)
    return path


def test_udp_flows_are_listed_without_tcp_claims(mixture):
    document = analyze(mixture).document
    expected = 2 * 1228 + 500 * 1028 + 20 * 36
    assert document["udp"] == {"flows": 21, "quic_flows": 1, "packets": 522, "bytes": expected, "left_out": 0}
    assert len(document["flows"]) == 1
    quic = document["udp_flows"][0]
    assert (quic["protocol"], quic["quic_version"]) == ("quic", "0x00000001")
    assert (quic["a2b"]["packets"], quic["b2a"]["packets"]) == (1, 501)
    assert quic["b2a"]["spin_rtt_ms"]["p50"] == pytest.approx(50.0, abs=2.0)
    assert quic["frames"] == {"first": 11, "last": 512}
    assert all(flow["protocol"] == "udp" for flow in document["udp_flows"][1:])


def test_udp_flows_are_the_same_in_text_folder_and_objects(mixture, tmp_path):
    analysis = analyze(mixture, out=tmp_path / "run")
    text = json.loads(b"".join(analysis.source.json_text()))
    assert text == json.loads(json.dumps(analysis.document))
    stored = ackclock.open(tmp_path / "run")
    assert stored.document == text
    assert isinstance(stored, ackclock.Analysis)
    assert [flow["protocol"] for flow in stored.source.largest_udp(3)] == ["quic", "udp", "udp"]
    page = analysis.report(tmp_path / "report.html").read_text("utf-8")
    assert "UDP flows" in page


def test_terminal_lists_the_ten_largest_udp_flows(mixture):
    source = analyze(mixture).source
    table = source_tables(source)[-1]
    assert str(table.title) == "UDP flows; the 10 largest of 21 (--all prints all)"
    assert len(list(table.columns[0].cells)) == 10
    assert next(iter(table.columns[1].cells)) == "quic"
    assert len(list(source_tables(source, all_flows=True)[-1].columns[0].cells)) == 21


@pytest.mark.finding("C13")
def test_mirrored_capture_has_the_report_of_the_capture_and_one_finding(tmp_path):
    server, _ = simulated_captures(tmp_path, {"loss": {"kind": "bernoulli", "mean": 0.01}})
    data = server.read_bytes()
    little = "<" if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1") else ">"
    unit = 20_000 if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 20
    twice, at = bytearray(data[:24]), 24
    while at < len(data):
        seconds, fraction, captured, length = struct.unpack_from(f"{little}IIII", data, at)
        packet = data[at + 16 : at + 16 + captured]
        twice += data[at : at + 16] + packet
        twice += struct.pack(f"{little}IIII", seconds, fraction + unit, captured, length) + packet
        at += 16 + captured
    mirrored = tmp_path / "mirrored.pcap"
    mirrored.write_bytes(twice)
    once, document = analyze(server).document, analyze(mirrored).document
    assert document["mirrored_packets"] == once["packets"] == document["packets"] // 2
    assert {"finding": "mirrored_capture", "flows": 1} in document["summary"]["findings"]
    assert once["mirrored_packets"] == 0
    for direction in ("a2b", "b2a"):
        assert document["flows"][0][direction]["causes"] == once["flows"][0][direction]["causes"]
        assert document["flows"][0][direction]["segments"] == once["flows"][0][direction]["segments"]
    tables = source_tables(analyze(mirrored).source)
    assert any("Each packet was captured twice" in str(cell) for cell in tables[0].columns[1].cells)


@pytest.mark.parametrize("lost", [0.02, 0.0])
def test_udp_flow_has_findings_about_its_losses_between_two_captures(tmp_path, lost):
    draw = random.Random(1)
    sent = [(1.0 + 0.004 * number, number.to_bytes(4).ljust(1000, b"x")) for number in range(3000)]
    answers = [(1.0 + 0.2 * number, bytes(4) + number.to_bytes(4).ljust(96, b"y")) for number in range(60)]
    ends = []
    for end, delay in (("server", 0.0), ("client", 0.02)):
        path = write_connections(tmp_path / f"{end}.pcap", [Connection(exchange(0.0), ("10.0.0.2", 2000))])
        frames = [(at + delay, _udp_frame(False, 5000, payload)) for at, payload in sent]
        if end == "client":
            frames = [frame for frame in frames if draw.random() >= lost]
        frames += [(at + 0.02 - delay, _udp_frame(True, 5000, payload)) for at, payload in answers]
        with path.open("ab") as file:
            for at, frame in sorted(frames):
                file.write(struct.pack("<IIII", int(at), round(at % 1 * 1e9), len(frame), len(frame)) + frame)
        ends.append(path)
    analysis = analyze(*ends)
    (flow,) = analysis.document["udp_flows"]
    found = {finding["finding"]: finding for finding in flow["diagnosis"]}
    assert set(found) == ({"loss_radio"} if lost else set())
    titles = [str(table.title) for table in source_tables(analysis.source)]
    assert ("Findings about UDP flows" in titles) == bool(lost)
    assert "diagnosis" not in analyze(ends[0]).document["udp_flows"][0]
