"""What the path did to a flow: each finding where the simulated path has its cause, and none at the
nearest path that has not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze, simulate
from tests.support.captures import merged

LINE = {"name": "line", "rate": "100 Mb/s", "delay": "15 ms", "queue": {"kind": "droptail", "packets": 1000}}
DOWNLOAD = {"name": "download", "workload": {"kind": "bulk"}}


def policed(rate: str, burst: str, **keys: Any) -> dict[str, Any]:
    return {**LINE, "policer": {"down": {"rate": rate, "burst": burst}}, **keys}


def captures(folder: Path, hop: Mapping[str, Any], *, tcp: Mapping[str, Any], seed: int = 1) -> tuple[Path, Path]:
    """Captures of a download at the server's end and at the client's."""
    flow = {**DOWNLOAD}
    settings = {"host": "linux-6", **tcp}
    simulate({"hop": [dict(hop)]}, [flow], "20 s", seed, tcp=settings, out=folder, captures="pcap")
    made = folder / "captures"
    return made / "download.server.pcap", made / "download.client.pcap"


def findings(*taken: Path) -> dict[str, Mapping[str, Any]]:
    """The findings about the download."""
    flow = analyze(*taken).document["flows"][0]
    return {finding["finding"]: finding for finding in flow["diagnosis"] if finding["direction"] == "b2a"}


POLICERS = [
    ("20 Mb/s", "40 kB", "cubic"),
    ("10 Mb/s", "100 kB", "reno"),
    ("5 Mb/s", "30 kB", "cubic"),
]


@pytest.mark.finding("C22")
@pytest.mark.parametrize(("rate", "burst", "variant"), POLICERS)
def test_policer_is_found_with_its_rate_and_burst(tmp_path, rate, burst, variant):
    ends = captures(tmp_path, policed(rate, burst), tcp={"variant": variant})
    flow = analyze(*ends).document["flows"][0]["b2a"]
    assert flow["loss_cause"]["verdict"] == "policer"
    assert flow["policer"]["rate_bps"] == pytest.approx(float(rate.split()[0]) * 1e6, rel=0.01)
    assert flow["policer"]["burst_bytes"] == pytest.approx(float(burst.split()[0]) * 1e3, abs=2000)
    found = findings(*ends)
    assert found["policer"]["owner"] == "operator"
    assert not found.keys() & {"loss_radio", "loss_both", "loss_congestion", "bottleneck"}
    alone = analyze(ends[0]).document["flows"][0]["b2a"]["inferred_path"]["policer"]
    assert alone["rate_bps"] == pytest.approx(flow["policer"]["rate_bps"], rel=0.02)
    assert "policer" in findings(ends[0])


@pytest.mark.finding("C22")
def test_policer_is_found_when_bursts_wait_at_the_line_behind_it(tmp_path):
    ends = captures(tmp_path, policed("90 Mb/s", "850 kB") | {"rate": "1 Gb/s", "delay": "40 ms"}, tcp={})
    flow = analyze(*ends).document["flows"][0]["b2a"]
    assert flow["policer"]["rate_bps"] == pytest.approx(90e6, rel=0.01)
    assert flow["policer"]["burst_bytes"] == pytest.approx(850e3, rel=0.02)
    assert not findings(*ends).keys() & {"loss_radio", "loss_both", "loss_congestion"}


NO_POLICER: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "a shallow droptail queue": ({**LINE, "rate": "10 Mb/s", "queue": {"kind": "droptail", "packets": 20}}, {}),
    "a queue of one RTT": ({**LINE, "rate": "10 Mb/s", "queue": {"kind": "droptail", "packets": 40}}, {}),
    "random loss": ({**LINE, "loss": {"down": 0.005}}, {}),
    "a shaper with a queue": (
        {**LINE, "shaper": {"down": {"rate": "10 Mb/s", "burst": "40 kB", "queue": {"kind": "droptail", "packets": 30}}}},
        {},
    ),
    "a policer that drops nothing": (policed("20 Mb/s", "40 kB"), {"receive_buffer": "32 KiB"}),
    "an AQM": ({**LINE, "rate": "10 Mb/s", "queue": {"kind": "codel"}}, {}),
}  # fmt: skip


@pytest.mark.finding("C22")
@pytest.mark.parametrize("path", NO_POLICER)
def test_policer_is_not_found_on_the_nearest_other_path(tmp_path, path):
    hop, tcp = NO_POLICER[path]
    ends = captures(tmp_path, hop, tcp=tcp)
    assert "policer" not in findings(*ends)
    assert "policer" not in findings(ends[0])


def narrow(size: str) -> dict[str, Any]:
    return {**LINE, "mtu": {"down": {"ip": size, "icmp": False}}}


@pytest.mark.finding("C21")
@pytest.mark.parametrize("size", ["1400 B", "1280 B"])
def test_path_mtu_is_found_when_long_packets_alone_are_lost(tmp_path, size):
    ends = captures(tmp_path, narrow(size), tcp={"mtu_probing": "black-hole"})
    found = findings(*ends)
    assert "clamp the MSS" in found["path_mtu"]["sentence"]
    assert "tcp_mtu_probing = 1" in found["path_mtu"]["advice"]
    assert not found.keys() & {"loss_radio", "loss_both", "loss_congestion", "policer", "peer_gone"}
    assert "path_mtu" in findings(ends[0])


@pytest.mark.finding("C21")
def test_path_mtu_is_found_with_a_caveat_when_long_packets_alone_are_sent(tmp_path):
    ends = captures(tmp_path, narrow("1300 B"), tcp={})
    for taken in (ends, ends[:1]):
        found = findings(*taken)
        assert "had it vanished in that moment" in found["path_mtu"]["evidence"]
        assert "peer_gone" not in found


def carried(*parts: tuple[str, str]) -> dict[str, Any]:
    """The line with a rate from each of these times on."""
    return {**LINE, "rate": {"down": {"schedule": [list(part) for part in parts]}, "up": "100 Mb/s"}}


@pytest.mark.finding("C21")
def test_application_is_no_limit_when_segments_become_shorter(tmp_path):
    ends = captures(tmp_path, {**LINE, "rate": "10 Mb/s", "mtu": {"down": {"ip": "1200 B"}}}, tcp={})
    found = findings(ends[0])
    assert "application" not in found
    assert found["bottleneck"]["share"] > 0.5


@pytest.mark.finding("C21")
@pytest.mark.parametrize(
    ("hop", "tcp"),
    [
        ({**LINE, "loss": {"down": 0.2}}, {}),
        ({**LINE, "mtu": {"down": {"ip": "1300 B"}}}, {"variant": "bbr"}),
        # Nothing from the first flight on: for a second, and for ever with segments that any path
        # carries. Nothing after the first flight.
        (carried(("0 s", "100 Mb/s"), ("45 ms", "0 b/s"), ("1 s", "100 Mb/s")), {}),
        (carried(("0 s", "100 Mb/s"), ("45 ms", "0 b/s")), {"segment": "1180 B"}),
        (carried(("0 s", "100 Mb/s"), ("75 ms", "0 b/s")), {}),
        (narrow("1500 B"), {}),
        # Short packets that follow each other are lost, too.
        (policed("1 Mb/s", "1000 B"), {"segment": "536 B"}),
        (carried(("0 s", "100 Mb/s"), ("1 s", "0 b/s")), {}),
    ],
    ids=[
        "random loss",
        "a path that reports its size",
        "an outage of a second",
        "a path that ends before short segments",
        "a path that ends after the first flight",
        "a path of 1500 B",
        "a bucket of less than a full packet",
        "a path that ends",
    ],
)
def test_path_mtu_is_not_found_when_size_is_not_the_reason(tmp_path, hop, tcp):
    ends = captures(tmp_path, hop, tcp=tcp)
    assert "path_mtu" not in findings(*ends)
    assert "path_mtu" not in findings(ends[0])


UPLINK = {
    **LINE,
    "rate": {"down": "20 Mb/s", "up": "1 Mb/s"},
    "queue": {"down": {"kind": "droptail", "packets": 60}, "up": {"kind": "droptail", "bytes": "60 kB"}},
}
SLOW_UPLINK = {
    **UPLINK,
    "rate": {"down": "3750 kb/s", "up": "250 kb/s"},
    "delay": "7 ms",
    "queue": {"down": {"bytes": "14 kB"}, "up": {"kind": "fq-codel"}},
}
UPLOAD = {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}


def at_client(folder: Path, hop: Mapping[str, Any], *flows: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The flows of one capture at the client of a download and of others."""
    simulate({"hop": [dict(hop)]}, list(flows), "20 s", 1, tcp={"host": "linux-6"}, out=folder, captures="pcap")
    whole = merged(folder / "client.pcap", *sorted((folder / "captures").glob("*.client.pcap")))
    return analyze(whole).document["flows"]


@pytest.mark.finding("C36")
def test_upload_that_slows_a_download_is_found_in_one_capture_at_the_client(tmp_path):
    flows = at_client(tmp_path, UPLINK, DOWNLOAD, UPLOAD)
    (found,) = (f for flow in flows for f in flow["diagnosis"] if f["finding"] == "upload_slows_download")
    assert (found["direction"], found["owner"]) == ("b2a", "router")
    assert "slows the download down" in found["sentence"]


@pytest.mark.finding("C36")
@pytest.mark.parametrize(
    ("hop", "flows"),
    [
        (UPLINK, (DOWNLOAD,)),
        ({**UPLINK, "queue": {"kind": "fq-codel"}}, (DOWNLOAD, UPLOAD)),
        # The upload alone has a queue; the ACKs have another one.
        (SLOW_UPLINK, (DOWNLOAD, UPLOAD)),
        ({**UPLINK, "rate": {"down": "2 Mb/s", "up": "20 Mb/s"}}, (DOWNLOAD, UPLOAD)),
    ],
    ids=["no upload", "a queue per flow", "a queue per flow of a slow uplink", "a full downlink"],
)
def test_upload_is_not_blamed_when_the_uplink_has_no_queue(tmp_path, hop, flows):
    for flow in at_client(tmp_path, hop, *flows):
        assert "upload_slows_download" not in {finding["finding"] for finding in flow["diagnosis"]}


@pytest.mark.finding("C35")
def test_random_loss_is_reported_without_a_model_and_to_the_operator(tmp_path):
    ends = captures(tmp_path, {**LINE, "rate": "50 Mb/s", "loss": {"down": 0.01}}, tcp={"variant": "reno"})
    for taken in (ends, ends[:1], ends[1:]):
        summary = analyze(*taken).document["summary"]
        assert summary["verdict"]["verdict"] == "network"
        for text in (summary["verdict"]["evidence"], summary["customer"], summary["operator"]):
            assert not re.search("Padhye|square-root|Reno|CUBIC|BBR|long queue", text), text
    found = findings(*ends)["loss_radio"]
    assert found["owner"] == "operator"
    assert re.match(
        r"1[\d.]* % of the packets are lost without a queue; each loss slows the sender down", found["sentence"]
    )
