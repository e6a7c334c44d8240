"""Captures of real hosts from public trackers, with what is true of them (truth.csv)."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from ackclock import analyze

FINDINGS = {
    "w0-no_crlf": "C16",
    "w1-reassembly": "C16",
    "s7comm-plus": "C17",
    "dup-tx-only": "C17",
    "dup-3x": "C17",
}
NAMED = {
    "nagle-resp.server": "C18",
    "uip.sender": "C19",
    "oneway-acks": "C20",
    "w3-pppoe-over-qinq": "C23",
    "w-erspan-missed": "C24",
    "backlog.server": "C25",
    "w2-handshake-reorder": "C26",
    "sndbuf2.server": "C28",
    "keepalive": "C29",
    "rst-inject-rae": "C30",
    "time-backwards": "C32",
    "nat-both-sides": "C33",
}
"""Captures with the identifier of what was said wrong of them."""


def truth(folder: Path, name: str, kind: str) -> tuple[str, str]:
    """What must and what must never be said of a capture (truth.csv)."""
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        (row,) = (row for row in csv.DictReader(file) if row["file"] == name and row["kind"] == kind)
    return row["must"], row["never"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.finding(finding)) for name, finding in FINDINGS.items()]
)
def test_retransmissions_of_a_public_capture_are_those_that_its_numbers_show(oracles: Path, name: str) -> None:
    folder = oracles / "captures-public"
    low, high = map(int, truth(folder, name, "rtx")[0].split("-"))
    flows = analyze(folder / f"{name}.pcap.gz").document["flows"]
    retransmitted = sum(flow[direction]["retransmitted_segments"] for flow in flows for direction in ("a2b", "b2a"))
    assert low <= retransmitted <= high


def claims_of(path: Path) -> str:
    """The verdict and the findings of a capture, with their texts."""
    document = analyze(path).document
    findings = [flow["diagnosis"] for flow in document["flows"]]
    return json.dumps([document["summary"]["verdict"], document["summary"]["findings"], findings])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.finding(finding)) for name, finding in NAMED.items()]
)
def test_finding_of_a_public_capture_is_what_happened(oracles: Path, name: str) -> None:
    folder = oracles / "captures-public"
    must, never = truth(folder, name, "finding")
    text = claims_of(folder / f"{name}.pcap.gz")
    assert re.search(must, text), text
    assert not never or not re.search(never, text), text


@pytest.mark.finding("C23")
def test_padding_behind_pppoe_is_no_data(oracles: Path) -> None:
    (flow,) = analyze(oracles / "captures-public/w3-pppoe-over-qinq.pcap.gz").document["flows"]
    assert (flow["a2b"]["retransmitted_segments"], flow["b2a"]["retransmitted_segments"]) == (12, 13)


@pytest.mark.finding("C25")
def test_timestamps_behind_a_nat_explain_the_syns_without_an_answer(oracles: Path) -> None:
    text = claims_of(oracles / "captures-public/twrecycle.server.pcap.gz")
    assert "tw_recycle" in text
    assert "filter on the path" not in text


@pytest.mark.finding("C29")
def test_probes_with_a_byte_are_no_retransmissions(oracles: Path) -> None:
    (flow,) = analyze(oracles / "captures-public/keepalive.pcap.gz").document["flows"]
    assert (flow["a2b"]["retransmitted_segments"], flow["a2b"]["keep_alives"]) == (0, 9)


@pytest.mark.finding("C31")
def test_newest_identification_after_three_duplicate_acks_is_a_fast_retransmission(oracles: Path) -> None:
    (flow,) = analyze(oracles / "captures-public/w-dupack-ipid.pcap.gz").document["flows"]
    assert (flow["b2a"]["fast_retransmits"], flow["b2a"]["out_of_order"]) == (1, 0)


@pytest.mark.finding("C33")
def test_translated_connection_is_counted_once(oracles: Path) -> None:
    document = analyze(oracles / "captures-public/nat-both-sides.pcap.gz").document
    assert document["summary"]["connections"]["established"] == 1
    assert [flow.get("translation_of") for flow in document["flows"]] == [None, 1]


@pytest.mark.finding("C34")
def test_receiver_without_window_updates_is_no_slow_program(oracles: Path) -> None:
    text = claims_of(oracles / "captures-public/zephyr.sender.pcap.gz")
    assert "sends no window updates" in text
    assert "reads more slowly" not in text


PATHS = {
    "uip.sender": "C19",
    "mtu.server+mtu.client": "C21",
    "mtu.server": "C21",
    "policer-cubic.A+policer-cubic.B": "C22",
    "policer-cubic.A": "C22",
    "loopback-1000-requests": "C27",
}
"""What a path did, and what it did not: found from the row's files, or from the first of them."""


@pytest.mark.parametrize("names", [pytest.param(names, marks=pytest.mark.finding(of)) for names, of in PATHS.items()])
def test_findings_of_a_public_capture_are_those_of_its_path(oracles: Path, names: str) -> None:
    folder = oracles / "captures-public"
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        (row,) = (row for row in csv.DictReader(file) if row["file"].split("+")[0] == names.split("+")[0])
    document = analyze(*(folder / f"{name}.pcap.gz" for name in names.split("+"))).document
    found = json.dumps([*(flow["diagnosis"] for flow in document["flows"]), document["summary"]])
    # How a receiver's timer is called is a matter of the hosts' findings.
    if row["must"] and row["must"] != "delayed_ack":
        assert re.search(row["must"], found), found
    assert not re.search(row["never"], found), found
