"""Perturbed captures of the accuracy study, and captures of several flows with their truth."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from ackclock import analyze
from studies.analyzer.captures import Case, Score, run, scores_at_receiver, scores_at_sender, truth
from studies.analyzer.host_grid import HostGrid
from studies.analyzer.perturbations import (
    PCAP_HEADER,
    SWAP_NS,
    CapturedPacket,
    interleaved,
    late,
    read_capture,
    swapped,
    write_capture,
)

HOP = {"name": "air", "rate": "20 Mb/s", "delay": "5 ms", "queue": {"kind": "droptail", "packets": 30}}
TCP = {"host": "linux-6", "variant": "cubic"}
SEGMENT = 1448
MANY = Case(
    HOP,
    TCP,
    "3 s",
    flow={"workload": {"kind": "bulk"}, "count": 4},
    offloads=("server", "client"),
    gro_us=1000,
)


def packets(*streams, step_ns=4000):
    """Packets of (flow, sent), one each 4 us."""
    return [
        CapturedPacket(flow, number * step_ns, number.to_bytes(2), ((str(number), sent, ""),))
        for number, (flow, sent) in enumerate(streams)
    ]


def test_swapped_packets_are_of_other_streams_and_within_10_us():
    draw = random.Random(1)
    mixed = packets(*[(draw.randrange(3), draw.choice("01")) for _ in range(2000)])
    result = swapped(mixed, random.Random(2))
    assert [packet.at_ns for packet in result] == [packet.at_ns for packet in mixed]
    places = {packet.data: place for place, packet in enumerate(result)}
    moves = [abs(places[packet.data] - place) for place, packet in enumerate(mixed)]
    assert set(moves) == {0, 1}
    assert 0.05 < sum(moves) / len(moves) < 0.25
    for stream in {packet.stream for packet in mixed}:
        of_stream = ([packet.data for packet in order if packet.stream == stream] for order in (mixed, result))
        assert len({tuple(data) for data in of_stream}) == 1
    assert swapped(packets((0, "1"), (0, "0"), step_ns=SWAP_NS + 1), random.Random(2))[0].data == b"\0\0"


def test_late_timestamps_keep_the_order():
    one = packets(*[(0, "1")] * 5000)
    result = late(one, random.Random(3))
    assert [packet.data for packet in result] == [packet.data for packet in one]
    assert all(early.at_ns <= later.at_ns for early, later in pairwise(result))
    assert all(packet.at_ns >= before.at_ns for packet, before in zip(result, one, strict=True))


def test_interleaved_captures_are_in_the_order_of_time():
    first = packets((0, "1"), (0, "0"))
    second = [replace(packet, flow=1, at_ns=packet.at_ns + 1) for packet in first]
    assert [packet.flow for packet in interleaved([first, second])] == [0, 1, 0, 1]


@pytest.mark.parametrize("perturbation", ["", "order swapped", "late timestamps"])
def test_scores_of_several_flows_find_the_fast_retransmissions_when_offloads_are_off(tmp_path, perturbation):
    case = replace(MANY, offloads=(), perturbation=perturbation)
    run(case, tmp_path)
    sender: dict[str, Score] = {}
    receiver: dict[str, Score] = {}
    scores_at_sender(tmp_path, sender)
    scores_at_receiver(tmp_path, receiver)
    true = truth(tmp_path, "server")["why"].to_list().count("fast")
    assert sender["fast"].right + sender["fast"].missed == true > 20
    if not perturbation:
        assert sender["fast"].precision == sender["fast"].recall == 1.0
        assert (receiver["fast"].recall or 0.0) > 0.9


def test_captures_with_offloads_have_the_truth_of_every_segment(tmp_path):
    run(replace(MANY, offloads=()), tmp_path / "segments")
    run(MANY, tmp_path / "offloads")
    for end in ("server", "client"):
        segments, merged = (truth(tmp_path / kind, end) for kind in ("segments", "offloads"))
        assert sorted(segments["packet"]) == sorted(merged["packet"])
        records = read_capture(tmp_path / "offloads" / f"{end}.pcap", tmp_path / "offloads" / f"{end}.csv")
        assert len(records) == merged["record"].n_unique() < segments.height


def test_host_grid_draws_the_same_links_for_all_offloads():
    neither, both = (HostGrid("a", 20, 5, ends).cases() for ends in ((), ("server", "client")))
    for (_, one), (_, other) in zip(neither, both, strict=True):
        assert replace(one, offloads=()) == replace(other, offloads=())
        assert (one.offloads, other.offloads) == ((), ("server", "client"))


def damaged(packets: Sequence[CapturedPacket], draw: random.Random) -> tuple[list[CapturedPacket], int]:
    """Without some packets, with copies of some, and some later than their neighbors.

    Returns the number of the missing segments as well.
    """
    out: list[CapturedPacket] = []
    missing = 0
    for packet in packets:
        fate = draw.random()
        if fate < 0.03 and out:
            missing += len(packet.segments)
            continue
        out.append(replace(packet, at_ns=packet.at_ns + (draw.randrange(3_000_000) if fate > 0.97 else 0)))
        if 0.03 <= fate < 0.05:
            out.append(replace(packet, at_ns=packet.at_ns + draw.randrange(40_000)))
    return sorted(out, key=lambda packet: packet.at_ns), missing


@pytest.mark.finding("C16")
@pytest.mark.parametrize("seed", range(6))
def test_retransmissions_are_at_most_repeated_numbers_and_packets_that_were_not_captured(tmp_path, seed):
    draw = random.Random(seed)
    troubles: tuple[dict[str, Any], ...] = (
        {"loss": {"down": 0.02}},
        {"reorder": {"down": {"mean": 0.02, "delay": "8 ms"}}},
        {},
    )
    tcp = {"host": "linux-6", "variant": draw.choice(("cubic", "reno", "bbr"))}
    offloads = ("server", "client") if seed % 2 else ()
    run(Case(HOP | troubles[seed % 3], tcp, "3 s", seed + 1, offloads=offloads), tmp_path)
    for end in ("server", "client"):
        path = tmp_path / f"{end}.pcap"
        header = path.read_bytes()[:PCAP_HEADER]
        packets, missing = damaged(read_capture(path, path.with_suffix(".csv"), 0), draw)
        write_capture(packets, header, path, path.with_suffix(".csv"))
        analysis = analyze(path, series=True)
        (flow,) = analysis.document["flows"]
        assert analysis.series is not None
        sent = analysis.series.filter((pl.col("way") == "b2a") & (pl.col("payload_bytes") > 0))
        highest, repeated = 0, 0
        for seq, payload in sent.select("seq", "payload_bytes").iter_rows():
            repeated += -(-payload // SEGMENT) if seq < highest else 0
            highest = max(highest, seq + payload)
        assert 0 < flow["b2a"]["retransmitted_segments"] <= repeated + missing
