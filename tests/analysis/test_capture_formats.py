"""Capture formats beside pcap and pcapng, against Wireshark's own writers and readers."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ackclock import InputError, analyze
from ackclock._native import is_capture
from tests.support.short_flows import Connection, exchange, write_connections

META = struct.pack("<Q", 0) + struct.pack(">BBHHH", 27, 4, 16, 0, 0)
"""A record of provenance metadata, with which Wireshark's ERF files begin; its time is 0."""


@pytest.fixture
def capture(tmp_path) -> Path:
    """Ten exchanges at Unix times from 1,000,000,000 s on."""
    connections = [Connection(exchange(1e9 + number), ("10.0.0.1", 2000 + number)) for number in range(10)]
    return write_connections(tmp_path / "a.pcap", connections)


def _needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def _erf(pcap: Path) -> bytes:
    """The packets of a nanosecond pcap as ERF of Ethernet; the wire length includes the FCS."""
    data, out, at = pcap.read_bytes(), b"", 24
    while at < len(data):
        seconds, ns, captured, length = struct.unpack_from("<IIII", data, at)
        frame = data[at + 16 : at + 16 + captured]
        taken_at = struct.pack("<Q", seconds << 32 | -(-(ns << 32) // 10**9))
        out = out or taken_at + META[8:]  # tshark takes records months apart for no ERF
        out += taken_at
        out += struct.pack(">BBHHH", 2, 4, 18 + captured, 0, length + 4) + bytes(2) + frame
        at += 16 + captured
    return out


def _document(path: Path) -> Any:
    document: Any = analyze(path).document
    del document["capture"]
    return document


def test_snoop_of_editcap_has_the_same_report(capture, tmp_path):
    editcap = _needs("editcap")
    micros, snoop = tmp_path / "us.pcap", tmp_path / "a.snoop"
    subprocess.run([editcap, "-F", "pcap", capture, micros], check=True)
    subprocess.run([editcap, "-F", "snoop", micros, snoop], check=True)
    assert snoop.read_bytes()[:8] == b"snoop\0\0\0"
    assert _document(snoop) == _document(micros)


@pytest.mark.parametrize(("form", "version"), [("netmon1", "1.x"), ("netmon2", "2.x")])
def test_network_monitor_of_editcap_is_refused_with_the_converter(form, version, capture, tmp_path):
    editcap = _needs("editcap")
    path = tmp_path / "a.cap"
    subprocess.run([editcap, "-F", form, capture, path], check=True)
    with pytest.raises(InputError, match=f"Network Monitor {version} capture.*editcap -F pcapng"):
        analyze(path)
    converted = tmp_path / "a.pcapng"
    subprocess.run([editcap, "-F", "pcapng", path, converted], check=True)
    assert len(analyze(converted).document["flows"]) == 10


def test_erf_has_the_same_report_as_the_pcap(capture, tmp_path):
    path = tmp_path / "a.erf"
    path.write_bytes(_erf(capture))
    erf, pcap = _document(path), _document(capture)
    # Wireshark counts the metadata as a frame, too.
    assert (erf.pop("packets"), erf.pop("skipped")) == (pcap.pop("packets") + 1, {"unknown_link_type": 1})
    assert pcap.pop("skipped") == {}
    assert erf["start_s"] == pytest.approx(pcap["start_s"], abs=1e-6)
    assert [flow["client"] for flow in erf["flows"]] == [flow["client"] for flow in pcap["flows"]]
    for one, other in zip(erf["flows"], pcap["flows"], strict=True):
        assert one["a2b"]["payload_bytes"] == other["a2b"]["payload_bytes"]
        assert one["duration_s"] == pytest.approx(other["duration_s"], abs=1e-8)
        assert one["frames"]["first"] == other["frames"]["first"] + 1


def test_tshark_reads_the_same_packets_of_the_erf_file(capture, tmp_path):
    tshark = _needs("tshark")
    path = tmp_path / "a.erf"
    path.write_bytes(_erf(capture))
    done = subprocess.run([tshark, "-r", path, "-Y", "tcp"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ERF has no magic number, and this tshark takes the file for another format: {done.stderr}")
    assert len(done.stdout.splitlines()) == analyze(path).document["tcp_packets"]


def test_capture_is_recognised_in_each_format_and_another_file_is_not(capture, tmp_path):
    """`advise` once had a list of first bytes of its own, without ERF."""
    files = {
        "pcap": (capture.read_bytes(), True),
        "gzip": (gzip.compress(capture.read_bytes()), True),
        "erf": (_erf(capture), True),
        "network monitor": (b"GMBU" + bytes(60), True),
        "link file": (b'[[hop]]\nname = "line"\nrate = "2 Mb/s"\n', False),
        "gzip of text": (gzip.compress(b"rate = 2"), False),
        "empty": (b"", False),
    }
    for name, (content, expected) in files.items():
        path = tmp_path / "file"
        path.write_bytes(content)
        assert is_capture(path) is expected, name
    assert not is_capture(tmp_path)
