"""What a stream shows whose sender shared its processor, over links of known rate and queue."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from ackclock.measurement.capacity import CapacitySearch, Ran
from ackclock.measurement.consistency import StreamSender, consistent
from ackclock.measurement.queue_facts import QueueFacts, Train
from ackclock.measurement.queue_inference import infer
from tests.measurement.late_sender import pauses, sparse, stream


def statements(train: Train, *, filled: bool = True):
    """The statements about a direction whose stream is this one."""
    queue = infer(QueueFacts(idle=sparse(), stream=train, idle_rtt_ms=40.0))
    arrived = (train.sent_s + 1e-3 * train.delay_ms)[~train.lost]
    assert train.gap_s is not None
    stats: Any = {
        "direction": "up",
        "ip_bytes": train.ip_bytes,
        "asked_gap_us": 1e6 * train.gap_s,
        "sent": len(train.sent_s),
        "sent_bps": train.sent_bps,
        "received_bps": (len(arrived) - 1) * train.ip_bytes * 8 / (arrived.max() - arrived.min()),
    }
    return consistent(queue, StreamSender.of(cast(Any, stats), train), [], filled=filled)


@pytest.mark.finding("M9")
@pytest.mark.parametrize("seed", range(5))
def test_capacity_is_a_lower_bound_when_the_sender_ran_a_third_of_the_time(seed):
    # 200 Mb/s requested of a link of 80 Mb/s.
    found = statements(stream(80e6, 400e3, 200e6, 4.0, pauses(0.004, 0.008, seed)))
    assert (found.at_least, found.queue["rate"], found.queue["stalls"]) == (True, None, None)
    assert found.rate_bps <= 80e6
    assert found.late["host"] == "this host"
    assert "this host was late: it sent" in found.because


@pytest.mark.finding("M9")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("link_bps", "asked_bps"), [(80e6, 100e6), (10e6, 12.5e6), (2e6, 2.5e6)])
def test_capacity_is_right_or_a_lower_bound_when_the_sender_was_late_a_little(seed, link_bps, asked_bps):
    found = statements(stream(link_bps, 0.05 * link_bps / 8, asked_bps, 6.0, pauses(0.01, 0.006, seed)))
    assert found.queue["stalls"] is None
    if found.at_least:
        assert found.rate_bps <= 1.001 * link_bps
    else:
        assert found.queue["rate"]["lo_bps"] <= link_bps <= found.queue["rate"]["hi_bps"], found.queue["rate"]
        assert not found.queue["rate"]["wanders"]


@pytest.mark.finding("M9")
@pytest.mark.parametrize("link_bps", [2e6, 10e6, 80e6])
def test_capacity_has_a_narrow_interval_when_the_sender_was_on_time(link_bps):
    found = statements(stream(link_bps, 0.1 * link_bps / 8, 1.25 * link_bps, 6.0))
    assert (found.at_least, found.late, found.because) == (False, None, None)
    rate = found.queue["rate"]
    assert rate["lo_bps"] <= link_bps <= rate["hi_bps"]
    assert rate["hi_bps"] - rate["lo_bps"] < 0.02 * link_bps
    assert (rate["wanders"], rate["busy_share"], found.queue["stalls"]) == (False, 1.0, None)


@pytest.mark.finding("M9")
def test_pauses_are_the_links_when_the_sender_sends_in_them():
    # 150 ms in every second.
    def resumes(at: float) -> float:
        return at if at % 1.0 > 0.15 else at - at % 1.0 + 0.15

    found = statements(stream(10e6, 400e3, 12.5e6, 6.0, link_pauses=resumes))
    assert found.queue["stalls"]["count"] >= 5
    assert found.queue["stalls"]["longest_ms"] == pytest.approx(150.0, abs=2.0)
    assert not found.at_least


@pytest.mark.finding("M10")
@pytest.mark.parametrize("seed", range(8))
def test_losses_of_a_short_queue_are_not_the_channels_when_the_sender_caught_up_in_bursts(seed):
    link_bps, queue = 10e6, 12_000
    runs = pauses(0.006, 0.006, seed)
    below = [stream(link_bps, queue, rate, 0.4, runs) for rate in (1e6, 4e6, 7.8e6)]
    train = stream(link_bps, queue, 12.5e6, 6.0, runs)
    found = infer(QueueFacts(idle=sparse(), stream=train, below=below, idle_rtt_ms=40.0))
    assert found["losses"] in ("overflow", "unknown"), found


@pytest.mark.finding("M10")
@pytest.mark.parametrize("seed", range(8))
def test_no_aqm_is_named_when_the_sender_paused_for_a_large_part_of_the_time(seed):
    train = stream(10e6, 60e3, 12.5e6, 6.0, pauses(0.006, 0.006, seed))
    # An AQM drops at random from a third of the queue on.
    lost = (train.delay_ms > 40.0) & (np.random.default_rng(seed).random(len(train.sent_s)) < 0.3)
    train = Train(train.ip_bytes, train.sent_s, np.where(lost, np.nan, train.delay_ms), train.gap_s)
    found = infer(QueueFacts(idle=sparse(), stream=train, idle_rtt_ms=40.0))
    assert found["kind"] not in ("codel-like", "pie-like", "aqm"), found


@pytest.mark.finding("M10")
def test_queue_is_unknown_when_the_receiving_host_dropped_datagrams_itself():
    train = stream(10e6, 60e3, 12.5e6, 6.0)
    own = Train(train.ip_bytes, train.sent_s, train.delay_ms, train.gap_s, 0, overrun=int(train.lost.sum()) // 4)
    kinds = [infer(QueueFacts(idle=sparse(), stream=one, idle_rtt_ms=40.0))["kind"] for one in (train, own)]
    assert kinds == ["droptail", "unknown"]


@pytest.mark.finding("M9")
def test_search_requests_no_more_than_a_late_sender_keeps():
    """The sender keeps 100 Mb/s; the path passes 70 Mb/s and shows no queue at the first check."""
    asked = []

    def run(specs, label):
        train = next(one for one in specs[0]["datagrams"].values() if one["payload"] > 20)
        rate = (train["payload"] + 28) * 8e9 / train["gap_ns"]
        asked.append(rate)
        sent = min(rate, 100e6)
        return Ran(len(asked), min(sent, 70e6), sent, lambda: stream(70e6, 350e3, min(rate, 100e6), 0.5), rate)

    # A stream of half a second has too few windows to show that the path is full.
    search = CapacitySearch(
        run, lambda train: infer(QueueFacts(stream=train, idle_rtt_ms=40.0)), "up", 5.0, 1172, 1e6, 1e9
    )
    search.search()
    assert max(asked[-2:]) < 1.3 * 70e6, asked
