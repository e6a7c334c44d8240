"""Token buckets between two captures: found with rate and burst where the link has one, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze, simulate


def buffer_of(folder: Path, link: Any, **tcp: Any) -> dict[str, Any]:
    """What a download's two captures say of the bottleneck's buffer."""
    path = link if isinstance(link, str) else {"hop": [link]}
    simulate(path, [{"name": "f", "workload": {"kind": "bulk"}}], "20 s", 1, tcp=tcp, out=folder, captures="pcap")
    captures = folder / "captures"
    document = analyze(captures / "f.server.pcap", captures / "f.client.pcap").document
    found: dict[str, Any] = document["flows"][0]["b2a"]["bottleneck_buffer_bytes"]
    return found


def metered(cap: str, burst: str) -> dict[str, Any]:
    """A cable channel that meters its stations, as DOCSIS does."""
    medium = {
        "kind": "grants",
        "standard": "docsis-3.1",
        "rate": {"down": "200 Mb/s", "up": "20 Mb/s"},
        "cap": {"down": cap, "up": "10 Mb/s"},
        "burst": burst,
    }
    return {"name": "air", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 300}, "medium": medium}


@pytest.mark.parametrize(("cap", "bps", "burst", "size"), [("10 Mb/s", 10e6, "500 kB", 500e3), ("5 Mb/s", 5e6, "100 kB", 100e3)])
def test_a_metered_channels_rate_and_burst_are_found(tmp_path, cap, bps, burst, size):
    buffer = buffer_of(tmp_path, metered(cap, burst))
    bucket = buffer["token_bucket"]
    # The channel meters its own headers too, which IP packets do not show.
    assert bucket["rate_bps"] == pytest.approx(bps, rel=0.03)
    assert bucket["burst_bytes"] == pytest.approx(size, rel=0.1)
    assert bucket["peak_bps"] > 10 * bps
    assert "token_bucket" in buffer["doubts"]


@pytest.mark.parametrize(
    ("link", "tcp"),
    [
        ({"name": "a", "rate": "10 Mb/s", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 60}}, {}),
        ({"name": "a", "rate": "10 Mb/s", "delay": "20 ms", "loss": {"down": 0.01}}, {}),
        ({"name": "a", "rate": "100 Mb/s", "delay": "20 ms"}, {"receive_buffer": "64 KiB"}),
        ("wimax-nist", {}),
        ("expedience-residential", {}),
    ],
)
def test_links_without_one_have_none(tmp_path, link, tcp):
    assert buffer_of(tmp_path, link, **tcp)["token_bucket"] is None


def test_marks_on_the_way_say_that_the_queue_manages_itself(tmp_path):
    link = {"name": "a", "rate": "10 Mb/s", "delay": "20 ms", "queue": {"kind": "codel"}}
    assert buffer_of(tmp_path, link, ecn=True)["doubts"] == ["marks"]
