"""Captures of real hosts from public trackers, with what is true of them (truth.csv)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ackclock import analyze

FINDINGS = {"w0-no_crlf": "C16", "s7comm-plus": "C17", "dup-tx-only": "C17", "dup-3x": "C17"}


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=pytest.mark.finding(finding)) for name, finding in FINDINGS.items()),
        # 37: segments that a window of the receiver excludes, and copies of a FIN (C16).
        pytest.param(
            "w1-reassembly", marks=pytest.mark.xfail(strict=True, reason="counts what no window allows (C16)")
        ),
    ],
)
def test_retransmissions_of_a_public_capture_are_those_that_its_numbers_show(oracles: Path, name: str) -> None:
    folder = oracles / "captures-public"
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        (must,) = (row["must"] for row in csv.DictReader(file) if row["file"] == name and row["kind"] == "rtx")
    low, high = map(int, must.split("-"))
    flows = analyze(folder / f"{name}.pcap.gz").document["flows"]
    retransmitted = sum(flow[direction]["retransmitted_segments"] for flow in flows for direction in ("a2b", "b2a"))
    assert low <= retransmitted <= high
