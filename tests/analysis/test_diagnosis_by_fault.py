"""Findings on captures with one known fault each: the fault's finding is present, and others' are
not.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze, simulate
from tests.support.captures import merged

AIR = {"name": "air", "rate": "10 Mb/s", "delay": "30 ms", "queue": {"kind": "droptail", "packets": 60}}
DOWNLOAD = {"name": "download", "workload": {"kind": "bulk"}}
UPLOAD = {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}
UPLINK = {
    "rate": {"down": "10 Mb/s", "up": "512 kb/s"},
    "queue": {"down": {"kind": "droptail", "packets": 60}, "up": {"kind": "droptail", "bytes": "24 kB"}},
}
FAST = {"rate": "200 Mb/s", "queue": {"kind": "droptail", "packets": 2000}}
PAGES = {"kind": "web", "size": "20 kB", "jobs": 12, "think": "1 s", "persistent": True}
SATELLITE = ({**AIR, "name": "net", "rate": "1 Gb/s", "delay": "10 ms"},
             {**AIR, "name": "sat", "delay": "290 ms", "queue": {"kind": "droptail", "packets": 400}, "pep": {"buffer": "4 MB"}})  # fmt: skip
CASES: dict[str, tuple[tuple[Mapping[str, Any], ...], Mapping[str, Any], tuple[Mapping[str, Any], ...]]] = {
    "small receive window": (({**AIR},), {"receive_buffer": "16 KiB"}, (DOWNLOAD,)),
    "slow reader": (({**AIR},), {}, ({**DOWNLOAD, "workload": {"kind": "bulk", "read_rate": "1 Mb/s"}},)),
    "small send buffer": (({**AIR},), {"send_buffer": "20 KiB"}, (DOWNLOAD,)),
    "bufferbloat": (({**AIR, "queue": {"kind": "droptail", "bytes": "1200 kB"}},), {}, (DOWNLOAD,)),
    "shared uplink": (({**AIR, **UPLINK},), {}, (DOWNLOAD, UPLOAD)),
    "radio": (({**AIR, "loss": {"down": 0.03}},), {"variant": "reno"}, (DOWNLOAD,)),
    "fast path": (({**AIR, **FAST},), {}, (DOWNLOAD,)),
    "reordering": (({**AIR, "reorder": {"down": {"mean": 0.02, "delay": "10 ms"}}},), {}, (DOWNLOAD,)),
    "pages": (({**AIR, "rate": "100 Mb/s"},), {}, ({**DOWNLOAD, "workload": PAGES},)),
    "short transfer": (
        ({**AIR, "rate": "100 Mb/s", "queue": {"kind": "droptail", "packets": 1000}},),
        {},
        ({**DOWNLOAD, "workload": {"kind": "transfer", "size": "400 kB"}},),
    ),
    "marks": (({**AIR, "queue": {"kind": "fq-codel", "ecn": True}},), {"ecn": True}, (DOWNLOAD,)),
}
WATCHED = {
    "receive_window", "send_buffer", "application", "ack_compression", "stretch_acks", "split_tcp_proxy", "reordering", "ecn", "ack_path",
    "ack_queue", "loss_radio", "loss_both", "lost_retransmissions", "capture_drops", "handshake_loss",
}  # fmt: skip
"""What no capture may show by accident; `bottleneck`, `cwnd`, `recovery` and `models` are matters
of degree.
"""
SENDER = {
    "small receive window": {"receive_window"},
    "slow reader": {"receive_window"},
    "small send buffer": {"send_buffer"},
    "shared uplink": {"ack_compression"},
    "pages": {"application"},
    "marks": {"ecn"},
}
RECEIVER = {
    "small receive window": {"receive_window"},
    "slow reader": {"receive_window"},
    "reordering": {"reordering"},
    "marks": {"ecn"},
}
BOTH = {
    **SENDER,
    "radio": {"loss_radio"},
    "reordering": {"reordering"},
    "shared uplink": {"ack_compression", "ack_path"},
}


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    @cache
    def of(name: str) -> tuple[Path, Path]:
        hops, tcp, flows = CASES[name]
        folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
        simulate(
            {"hop": list(hops)}, list(flows), "20 s", 1, tcp={"host": "linux-6", **tcp}, out=folder, captures="pcap"
        )
        made = folder / "captures"
        ends = [merged(folder / f"{end}.pcap", *sorted(made.glob(f"*.{end}.pcap"))) for end in ("server", "client")]
        return ends[0], ends[1]

    return of


def about_the_download(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {output["finding"]: output for output in document["flows"][0]["diagnosis"] if output["direction"] == "b2a"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", ["sender", "receiver", "both"])
def test_each_fault_is_found_in_its_captures_only(captures, case, at):
    server, client = captures(case)
    taken = {"sender": (server,), "receiver": (client,), "both": (server, client)}[at]
    expected = {"sender": SENDER, "receiver": RECEIVER, "both": BOTH}[at].get(case, set())
    assert about_the_download(analyze(*taken).document).keys() & WATCHED == expected


def test_larger_receive_window_is_advised_despite_long_rtts_by_delayed_acks(captures):
    output = about_the_download(analyze(captures("small receive window")[0]).document)["receive_window"]
    assert output["advice"].startswith("Enlarge the receive buffer")


def test_slow_reader_is_attributed_to_the_receiving_application_at_either_end(captures):
    for capture in captures("slow reader"):
        output = about_the_download(analyze(capture).document)["receive_window"]
        assert "reads more slowly" in output["evidence"]
        assert "receiving application" in output["advice"]


def test_bufferbloat_has_milliseconds_and_bytes(captures):
    output = about_the_download(analyze(*captures("bufferbloat")).document)
    assert "960 ms of queue in the direction of the data, 1.2 MB at the bottleneck" in output["bottleneck"]["evidence"]
    assert "buffer overflow, not radio" in output["loss_congestion"]["evidence"]
    assert "holds 1.2 MB" in output["buffer"]["evidence"]
    assert "by the maximum delay: 961 ms at 10.0 Mb/s" in output["buffer"]["evidence"]
    assert "lost at a time" in output["recovery"]["advice"]


def test_queue_is_found_at_the_receiver_by_echoed_timestamps(captures):
    bloated = about_the_download(analyze(captures("bufferbloat")[1]).document)["far_end"]["evidence"]
    assert "or more of queue" in bloated
    short = about_the_download(analyze(captures("small send buffer")[1]).document)["far_end"]["evidence"]
    assert "no queue stood" in short
    assert "The sender limits itself" in short


def test_ack_compression_names_the_data_in_the_direction_of_the_acks(captures):
    output = about_the_download(analyze(captures("shared uplink")[0]).document)["ack_compression"]
    assert "the uplink is shared with" in output["evidence"]
    assert "within 1 ms" in output["evidence"]
    assert "Prioritise ACKs" in output["advice"]


def test_loss_models_have_rates_for_these_and_for_fewer_losses(captures):
    output = about_the_download(analyze(captures("radio")[0]).document)
    assert "a quarter of them would give about" in output["models"]["advice"]
    assert "Each loss costs about an RTT" in output["recovery"]["advice"]


@pytest.mark.parametrize("size", ["60 kB", "150 kB", "1500 kB"])
@pytest.mark.parametrize("host", ["linux-6", "linux-2.6.20"])
def test_growing_flight_is_not_found_as_a_send_buffer(tmp_path, size, host):
    hop = {**AIR, "rate": "100 Mb/s", "delay": "50 ms", "queue": {"kind": "droptail", "packets": 1000}}
    flow = {**DOWNLOAD, "workload": {"kind": "transfer", "size": size}}
    simulate({"hop": [hop]}, [flow], "20 s", 1, tcp={"host": host}, out=tmp_path / "run", captures="pcap")
    output = about_the_download(analyze(tmp_path / "run" / "captures" / "download.server.pcap").document)
    assert "send_buffer" not in output
    assert "application" not in output


def test_send_buffer_of_windows_xp_is_found_in_a_short_transfer(tmp_path):
    hop = {**AIR, "rate": "100 Mb/s", "delay": "50 ms"}
    flow = {**DOWNLOAD, "workload": {"kind": "transfer", "size": "400 kB"}}
    simulate({"hop": [hop]}, [flow], "20 s", 1, tcp={"host": "windows-xp"}, out=tmp_path / "run", captures="pcap")
    output = about_the_download(analyze(tmp_path / "run" / "captures" / "download.server.pcap").document)["send_buffer"]
    assert "at most 16 KB in flight" in output["evidence"]


def test_larger_send_buffer_is_not_advised_when_the_path_is_full(tmp_path):
    hop = {**AIR, "rate": "2 Mb/s"}
    simulate(
        {"hop": [hop]},
        [DOWNLOAD],
        "20 s",
        1,
        tcp={"host": "linux-6", "send_buffer": "20 KiB"},
        out=tmp_path / "run",
        captures="pcap",
    )
    made = tmp_path / "run" / "captures"
    output = about_the_download(analyze(made / "download.server.pcap", made / "download.client.pcap").document)
    assert "send_buffer" not in output or "only lengthen the queue" in output["send_buffer"]["advice"]


def test_ecn_marks_are_found_as_the_limit_of_a_marked_window(captures):
    assert "echoes of ECN marks" in about_the_download(analyze(captures("marks")[0]).document)["cwnd"]["advice"]


def test_split_connection_is_found_by_different_sequence_numbers(tmp_path):
    flows = [DOWNLOAD]
    simulate({"hop": list(SATELLITE)}, flows, "10 s", 1, tcp={"host": "linux-6"}, out=tmp_path / "run", captures="pcap")
    made = tmp_path / "run" / "captures"
    # A proxy in mid-path keeps addresses and ports; the simulator gives each part its own.
    near = ported(made / "download@sat.server.pcap", tmp_path / "near.pcap", {49152: 50000})
    far = ported(made / "download.client.pcap", tmp_path / "far.pcap", {49153: 50000})
    named = {output["finding"]: output for output in analyze(near, far).document["flows"][0]["diagnosis"]}
    assert "no packet in common" in named["split_tcp_proxy"]["evidence"]
    assert re.search("answered after (19|20) ms, the other's after 580 ms", named["split_tcp_proxy"]["evidence"])


def ported(capture: Path, to: Path, ports: Mapping[int, int]) -> Path:
    """The capture with these ports in the place of those (Ethernet, IPv4 without options);
    checksums are left wrong.
    """
    content = bytearray(capture.read_bytes())
    at = 24
    while at < len(content):
        kept = struct.unpack("<I", content[at + 8 : at + 12])[0]
        for place in (at + 16 + 34, at + 16 + 36):
            port = struct.unpack(">H", content[place : place + 2])[0]
            content[place : place + 2] = struct.pack(">H", ports.get(port, port))
        at += 16 + kept
    to.write_bytes(content)
    return to
