"""The fitted link over the captured packets."""

from __future__ import annotations

import polars as pl
import pytest

from ackclock.fitting.measured_chart import measured_chart, replay


def test_replay_gives_each_packet_its_wait_and_its_own_time() -> None:
    sent = pl.DataFrame({"time_s": [0.0, 0.0, 0.0, 1.0], "ip_bytes": [1000, 1000, 1000, 1000]})
    found = list(replay(sent, 8e6, None))
    assert [at for at, _ in found] == [0.0, 0.0, 0.0, 1.0]
    assert [delay for _, delay in found] == pytest.approx([1.0, 2.0, 3.0, 1.0])


def test_replay_leaves_out_packets_that_find_no_room() -> None:
    sent = pl.DataFrame({"time_s": [0.0] * 5, "ip_bytes": [1000] * 5})
    assert len(list(replay(sent, 8e6, 3000))) == 3


def test_chart_is_left_out_without_captures_of_both_ends() -> None:
    assert measured_chart({"inputs": [{"capture": "gone.pcap", "end": "server"}], "parameters": []}) is None
