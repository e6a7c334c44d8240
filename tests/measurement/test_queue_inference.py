"""The queue of a path by the streams of ``measure``, over simulated links of known queues."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ackclock.measurement.capacity import CapacitySearch, Ran
from ackclock.measurement.document import _directions
from ackclock.measurement.queue_facts import QueueFacts, Train
from ackclock.measurement.queue_inference import DROPTAIL, _losses, infer
from ackclock.measurement.stream_evidence import wilson
from studies.measurement.drawn_links import draw, draw_bursts, score, scored, totals
from studies.measurement.simulated_path import SimulatedPath, Stream, stream_over


def link(queue, rate="10 Mb/s", **more):
    hop = {"name": "line", "rate": rate, "delay": "18 ms", "queue": queue, **more}
    return {"title": "drawn", "source": "test", "hop": [hop]}


def statements(queue, rate="10 Mb/s", *, direction="down", seconds=6.0, seed=11, **more):
    return infer(SimulatedPath(link(queue, rate, **more), direction, seed, seconds).facts())


@pytest.mark.finding("M2")
def test_tail_drops_are_overflow_and_the_buffer_is_right_when_the_link_has_jitter():
    jitter = {"kind": "normal", "mean": "6 ms", "sd": "3 ms"}
    found = statements({"kind": "droptail", "bytes": "60 kB"}, "12 Mb/s", jitter=jitter)
    assert (found["kind"], found["losses"]) == ("droptail", "overflow")
    assert found["buffer_bytes"] == pytest.approx(61_200, rel=0.1)
    assert found["rate"]["mean_bps"] == pytest.approx(12e6, rel=0.02)


def test_interval_of_a_loss_rate_begins_at_zero_when_nothing_was_lost_and_ends_at_one_when_all_was():
    for sent in (1, 7, 199, 253, 1000):
        none, all_lost = wilson(0, sent), wilson(sent, sent)
        assert none["lo"] == 0 and all_lost["hi"] == 1 and none["hi"] < 1 and all_lost["lo"] > 0


def test_losses_of_a_full_queue_may_be_the_channels_as_well_when_few_datagrams_are_below_it():
    sent_s = np.linspace(0.0, 0.4, 400)
    train = Train(1228, sent_s, np.where(sent_s < 0.35, 1e3 * sent_s, np.nan))

    def of(below: int) -> str:
        seen: Any = SimpleNamespace(train=train, channel=wilson(0, below))
        return _losses(seen, DROPTAIL)

    assert (of(400), of(200)) == ("overflow", "unknown")


@pytest.mark.finding("M3")
def test_no_buffer_is_stated_when_each_flow_has_its_own_queue():
    found = statements({"kind": "fq-codel"}, "25 Mb/s")
    assert (found["kind"], found["losses"], found["buffer_bytes"]) == ("per-flow", "aqm", None)
    assert found["tcp_queue_ms"] < 15.0
    assert found["stream_queue_ms"] > 300.0


@pytest.mark.finding("M3")
@pytest.mark.parametrize(("queue", "kind"), [("codel", "codel-like"), ("pie", "pie-like"), ("dualpi2", "pie-like")])
def test_an_aqm_is_named_without_a_buffer_when_its_drops_show_it(queue, kind):
    found = statements({"kind": queue}, seconds=10.0)
    assert (found["kind"], found["losses"], found["buffer_bytes"]) == (kind, "aqm", None)
    assert found["tcp_queue_ms"] < 30.0


@pytest.mark.finding("M5")
@pytest.mark.parametrize(("seed", "kind", "losses"), [(11, "unknown", "unknown"), (12, "droptail", "both")])
def test_capacity_is_what_the_link_carries_when_one_percent_is_lost_after_it(seed, kind, losses):
    found = statements({"kind": "droptail", "bytes": "100 kB"}, "15 Mb/s", seconds=10.0, seed=seed, loss={"mean": 0.01})
    assert found["rate"]["mean_bps"] == pytest.approx(15e6, rel=0.01)
    assert found["rate"]["lo_bps"] <= 15e6 <= found["rate"]["hi_bps"]
    # With the first seed only two unloaded datagrams are lost: too few to explain a held TCP.
    assert (found["kind"], found["losses"]) == (kind, losses)


@pytest.mark.finding("M4")
def test_rate_wanders_and_the_buffer_stays_right_when_the_link_follows_a_recording(tmp_path):
    # Two seconds at 12 Mb/s, then two at 3 Mb/s: opportunities of 1500 bytes by their millisecond.
    fast, slow = range(1, 2001), range(2004, 4001, 4)
    (tmp_path / "recording").write_text("".join(f"{at}\n" for at in (*fast, *slow)))
    rate = {"trace": str(tmp_path / "recording")}
    found = statements({"kind": "droptail", "bytes": "90 kB"}, rate, seconds=8.0)
    assert found["rate"]["wanders"]
    assert found["rate"]["p5_bps"] < 5e6 < found["rate"]["p95_bps"]
    assert found["rate"]["lo_bps"] < 7.5e6 < found["rate"]["hi_bps"]
    assert (found["kind"], found["losses"]) == ("droptail", "overflow")
    assert found["buffer_bytes"] == pytest.approx(91_200, rel=0.1)


@pytest.mark.finding("M6")
def test_a_low_rate_train_has_no_bottleneck_rate():
    figures = {"direction": "down", "bottleneck": {"rate_bps": 9600.0, "filled": False}}
    assert _directions({"directions": [figures]})["down"]["bottleneck"]["rate_bps"] is None


def test_nothing_is_stated_when_no_stream_filled_the_path():
    idle = Train(48, np.arange(0.0, 4.0, 0.04), np.full(100, 20.0))
    found = infer(QueueFacts(idle=idle))
    assert (found["kind"], found["losses"], found["buffer_bytes"], found["rate"]) == ("unknown", "unknown", None, None)
    assert found["channel_loss"] is not None
    assert found["channel_loss"]["sent"] == 100


def test_losses_are_the_channels_when_a_stream_below_the_capacity_loses():
    over = link({"kind": "droptail", "bytes": "60 kB"}, loss={"mean": 0.05})
    trains, _ = stream_over(over, [Stream("stream", "down", 5e6, 1200), Stream("idle", "down", 9600, 48)], 8.0, 4)
    found = infer(QueueFacts(idle=trains["idle"], stream=trains["stream"]))
    assert (found["kind"], found["losses"], found["buffer_bytes"]) == ("unknown", "channel", None)


def _search(capacity, lost, max_bps=1e9):
    """A search over a path that passes ``capacity`` less ``lost``: the rates that it sent."""
    sent = []

    def run(specs, label):
        train = next(iter(one for one in specs[0]["datagrams"].values() if one["payload"] > 20))
        rate = (train["payload"] + 28) * 8e9 / train["gap_ns"]
        sent.append(rate)
        return Ran(len(sent), min(rate, capacity) * (1 - lost), rate, lambda: _stream(train, rate, capacity, lost))

    return CapacitySearch(run, lambda train: infer(QueueFacts(stream=train)), "up", 5.0, 1172, 1e6, max_bps), sent


def _stream(train, rate, capacity, lost):
    count, size = min(train["count"], 4000), train["payload"] + 28
    sent_s = np.arange(count) * train["gap_ns"] * 1e-9
    service = size * 8 / min(capacity, rate)
    delay = 1e3 * (0.02 + np.minimum(np.arange(count) * (service - train["gap_ns"] * 1e-9), 40 * service))
    drops = np.random.default_rng(1).random(count) < max(0.0, 1 - capacity / rate) + lost
    delay[drops & (np.arange(count) > count // 4)] = np.nan
    return Train(size, sent_s, delay)


@pytest.mark.parametrize("capacity", [9.6e3, 33e3, 1e6, 3.9e6, 16e6, 100e6])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_capacity_search_ends_above_the_capacity_despite_radio_loss(capacity, lost):
    search, sent = _search(capacity, lost)
    found = search.search()
    assert capacity < sent[found.number - 1] < 6 * capacity
    assert all(sent[number - 1] < capacity for number in found.below)


def test_path_is_not_full_when_it_carries_the_maximum_rate():
    search, sent = _search(1e12, 0.0, 1e8)
    found = search.search()
    assert (found.filled, sent[found.number - 1]) == (False, pytest.approx(1e8, rel=0.01))


def test_token_bucket_is_right_when_the_sender_falls_behind_its_rate():
    """Tokens of 10 Mb/s, at most 400 kB, in front of a fast link; the sender pauses nine times."""
    rate, depth, size, limit = 10e6 / 8, 400e3, 1200, 500e3
    sent_s, delay_ms = [], []
    now = tokens_at = behind_s = 0.0
    tokens = depth
    for number in range(8000):
        now += 0.01 if number in range(40, 400, 40) else size * 8 / 20e6
        tokens, tokens_at = min(depth, tokens + rate * (now - tokens_at)), now
        # Tokens below zero are a queue that the rate serves.
        lost = tokens - size < -limit
        behind_s = max(0.0, size - tokens) / rate
        tokens -= 0 if lost else size
        sent_s.append(now)
        delay_ms.append(np.nan if lost else 20.0 + 1e3 * behind_s)
    stream = Train(size, np.array(sent_s) - sent_s[0], np.array(delay_ms))
    idle = Train(48, np.arange(0.0, 4.0, 0.04), np.full(100, 20.0))
    found = infer(QueueFacts(idle=idle, stream=stream, idle_rtt_ms=40.0))["token_bucket"]
    assert found is not None
    assert found["burst_bytes"] == pytest.approx(depth, rel=0.03)


@pytest.mark.finding("M3")
def test_token_bucket_and_pauses_are_stated_with_their_size_when_a_link_has_them(tmp_path):
    links = list(draw_bursts(502, 2, tmp_path))
    assert [one.bucket_bytes is not None for one in links] == [True, False]
    for drawn, found in scored(links):
        assert set(score(drawn, found).values()) == {"right"}, (drawn.name, found)


@pytest.mark.slow
@pytest.mark.finding("M2")
@pytest.mark.finding("M3")
def test_statements_about_drawn_links_are_rarely_false_or_unknown(tmp_path):
    verdicts = [score(drawn, found) for drawn, found in scored(draw(900, 36, tmp_path))]
    for name, counts in totals(verdicts).items():
        assert counts["false"] <= 2, (name, counts)
        assert counts["unknown"] <= 0.45 * counts.total(), (name, counts)
    false = sum(list(one.values()).count("false") for one in verdicts)
    assert 30 * false <= sum(map(len, verdicts))
