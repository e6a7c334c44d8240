"""Tunnels, link types and 802.11 beside tshark, and the words about what is not decoded."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock import analyze
from ackclock.analysis.summary import not_decoded_line
from ackclock.analysis.terminal_tables import source_tables
from tests.support import ROOT

CORPUS = ROOT / "crates/trace/tests/corpus"
OTHERWISE = ("link-gre-in-gre", "tunnel-vxlan-of-20", "link-pppoe")
"""More tunnels within each other than are decoded, where tshark has another limit; PPPoE with a
length that cuts the packet in it.
"""
FILES = [
    path
    for kind in ("tunnel", "link", "ip-")
    for path in sorted(CORPUS.glob(f"{kind}*.bin"))
    if path.stem not in OTHERWISE and "without-end" not in path.stem
]


@pytest.mark.finding("C41")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tcp_segments_are_those_of_tshark(path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    command = [tshark, "-r", str(path), "-Y", "tcp", "-T", "fields", "-e", "tcp.len", "-E", "occurrence=l"]
    lengths = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    document = analyze(path).document
    payload = sum(flow[side]["payload_bytes"] for flow in document["flows"] for side in ("a2b", "b2a"))
    assert (document["tcp_packets"], payload) == (len(lengths), sum(map(int, lengths)))
    others = [*document["not_decoded"], *(() if not document["malformed"] else ("malformed",))]
    assert document["tcp_packets"] or document["udp"]["packets"] or others, "an empty table and no word"


@pytest.mark.finding("C41")
@pytest.mark.parametrize(
    ("name", "kind", "overhead"), [("gtpu", "GTP-U", 36), ("vxlan", "VXLAN", 50), ("radiotap", None, 0)]
)
def test_flow_of_a_public_capture_is_found_in_its_tunnel(
    oracles: Path, name: str, kind: str | None, overhead: int
) -> None:
    document = analyze(oracles / f"captures-public/{name}.pcap.gz").document
    assert (len(document["flows"]), document["tcp_packets"], document["udp"]["packets"]) == (1, 89, 0)
    assert [tunnel["kind"] for tunnel in document["tunnels"]] == ([kind] if kind else [])
    for tunnel in document["tunnels"]:
        assert (tunnel["packets"], tunnel["max_overhead_bytes"]) == (89, overhead)
        assert tunnel["inner_mtu_bytes"] == 1500 - overhead


@pytest.mark.finding("C41")
def test_mirror_in_gre_of_a_public_capture_is_decoded_as_tshark_does(oracles: Path) -> None:
    document = analyze(oracles / "captures-public/w-erspan-missed.pcap.gz").document
    assert [tunnel["kind"] for tunnel in document["tunnels"]] == ["GRE"]
    assert document["tcp_packets"] == 106
    assert {kind["kind"]: kind["packets"] for kind in document["not_decoded"]}["ICMP"] == 84


@pytest.mark.finding("C41")
def test_terminal_and_document_name_what_is_not_decoded_when_nothing_is() -> None:
    analysis = analyze(CORPUS / "link-wifi-protected.bin")
    assert {"finding": "not_decoded", "flows": 0} in analysis.document["summary"]["findings"]
    rows = [
        tuple(map(str, cells))
        for cells in zip(*(column.cells for column in source_tables(analysis.source)[0].columns), strict=True)
    ]
    assert rows == [
        ("not decoded", "None of the packets was decoded: 802.11 protected data (14). They are in no figure.")
    ]
    assert not_decoded_line(analyze(CORPUS / "tunnel-vxlan.bin").document) == ""
