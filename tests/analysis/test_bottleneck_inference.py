"""The bottleneck inferred from one capture: its rate from spacing at either end, and a token bucket
at the receiver.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze
from studies.analyzer.captures import Case, run
from tests.support.captures import metered

CUBIC = {"host": "linux-6", "variant": "cubic"}


def inferred(folder: Path, hop: dict[str, Any], end: str, tcp: dict[str, Any] | None = None) -> tuple[Any, set[str]]:
    """What a download's capture at one end has, and the names of its findings."""
    run(Case(hop, {**CUBIC, **(tcp or {})}, "20 s"), folder)
    (flow,) = analyze(folder / f"{end}.pcap").document["flows"]
    return flow["b2a"]["inferred_path"], {finding["finding"] for finding in flow["diagnosis"]}


@pytest.mark.parametrize(("end", "by"), [("server", "acks"), ("client", "arrivals")])
@pytest.mark.parametrize("megabits", [1, 8, 40])
def test_link_rate_is_inferred_from_spacing_at_either_end_when_full(tmp_path, end, by, megabits):
    hop = {"name": "air", "rate": f"{megabits} Mb/s", "delay": "25 ms", "queue": {"kind": "droptail", "packets": 60}}
    found, output = inferred(tmp_path, hop, end)
    assert found["by"] == by and found["rate_bps"] == pytest.approx(megabits * 1e6, rel=0.03)
    assert found["token_bucket"] is None and "inferred_rate" in output


@pytest.mark.parametrize(
    ("cap", "bps", "burst", "size"), [("10 Mb/s", 10e6, "500 kB", 500e3), ("5 Mb/s", 5e6, "100 kB", 100e3)]
)
def test_token_bucket_is_inferred_at_the_receivers_end_only(tmp_path, cap, bps, burst, size):
    found, output = inferred(tmp_path, metered(cap, burst), "client")
    bucket = found["token_bucket"]
    assert bucket["rate_bps"] == pytest.approx(bps, rel=0.03) and bucket["burst_bytes"] == pytest.approx(size, rel=0.1)
    assert "inferred_token_bucket" in output


def test_link_rate_is_not_inferred_when_the_window_does_not_fill_it(tmp_path):
    hop = {"name": "air", "rate": "100 Mb/s", "delay": "25 ms"}
    found, _ = inferred(tmp_path, hop, "client", {"receive_buffer": "32 KiB"})
    assert found is None
