"""Token buckets between two captures: rate and burst if the link has one, none otherwise."""

from __future__ import annotations

import pytest

from tests.support.captures import buffer_of, metered


@pytest.mark.parametrize(
    ("cap", "bps", "burst", "size"), [("10 Mb/s", 10e6, "500 kB", 500e3), ("5 Mb/s", 5e6, "100 kB", 100e3)]
)
def test_token_bucket_is_measured_with_rate_and_burst(tmp_path, cap, bps, burst, size):
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
def test_token_bucket_is_not_found_without_one(tmp_path, link, tcp):
    assert buffer_of(tmp_path, link, **tcp)["token_bucket"] is None


def test_ecn_marks_show_active_queue_management(tmp_path):
    link = {"name": "a", "rate": "10 Mb/s", "delay": "20 ms", "queue": {"kind": "codel"}}
    assert buffer_of(tmp_path, link, ecn=True)["doubts"] == ["marks"]
