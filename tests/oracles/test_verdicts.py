"""Verdicts on shared captures whose set-up is known: what a customer is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import analyze

# The set-ups: captures/README.md and captures-host/README.md of the oracles.
VERDICTS = {
    "captures/loss1-cubic.server": ("network", "24 loss events"),  # 1 % lost of 10 Mb/s
    "captures/loss1-cubic.client": ("network", "24 loss events"),
    "captures/loss1-reno.client": ("network", "20 loss events"),
    "captures-host/gso-cubic.server": ("network", "19 loss events"),  # 0.5 % lost of 20 Mb/s
    "captures-host/gso-cubic.client": ("network", "19 loss events"),
    "captures/down-cubic.client": ("network", "of queue"),
    "captures/up-reno.server": ("network", "of queue"),
    "captures-host/smallwin.server": ("receiving_host", "the reader keeps up"),  # a window of 6 KB
    "captures-host/smallwin.client": ("receiving_host", "limits this flow between its losses"),
    "captures/buf32k-cubic.client": ("receiving_host", "one window per RTT"),
    "captures/zwin.server": ("receiving_host", "closed its window"),  # a reader that stops
    "captures/down-bbr.server": ("nothing_wrong", ""),  # 8.5 of 10 Mb/s, hardly a queue
    "captures-host/jumbo-gso.server": ("nothing_wrong", ""),  # 59 of 60 Mb/s
    "captures-host/http.server": ("application", "no data to send 82 %"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_on_a_capture_of_a_known_setup_names_its_cause(oracles: Path, name: str) -> None:
    expected, evidence = VERDICTS[name]
    verdict = analyze(oracles / f"{name}.pcap.gz").document["summary"]["verdict"]
    assert verdict["verdict"] == expected, verdict["evidence"]
    assert evidence in verdict["evidence"]
