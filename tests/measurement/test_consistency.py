"""The statements of a direction do not contradict each other, whatever its tests recorded."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.measurement.capacity import SENT_SHARE, capacity
from ackclock.measurement.consistency import (
    FRAMING,
    Statements,
    StreamSender,
    TcpTransfer,
    consistent,
    contradictions,
    late_sentence,
    tcp_transfers,
)

pytestmark = pytest.mark.finding("M9")

RATES = st.floats(1e4, 1e9)
SHARES = st.floats(0.0, 1.0)


@st.composite
def windows(draw):
    """A rate by windows, with its interval."""
    mean = draw(RATES)
    below, above = draw(st.floats(0.0, 0.5)), draw(st.floats(0.0, 0.5))
    return {
        "mean_bps": mean,
        "lo_bps": mean * (1 - below),
        "hi_bps": mean * (1 + above),
        "p5_bps": mean * (1 - below),
        "p50_bps": mean,
        "p95_bps": mean * (1 + above),
        "windows": draw(st.integers(1, 60)),
        "wanders": draw(st.booleans()),
        "busy_share": draw(SHARES),
    }


@st.composite
def queues(draw):
    """Statements about a queue, also such as exclude each other."""
    size = draw(st.none() | st.floats(1e3, 1e7))
    bucket = draw(st.none() | st.floats(1e3, 1e6))
    return {
        "kind": draw(st.sampled_from(["droptail", "per-flow", "codel-like", "pie-like", "aqm", "unknown"])),
        "because": "losses began where the queue was longest",
        "losses": draw(st.sampled_from(["overflow", "aqm", "channel", "both", "none", "unknown"])),
        "buffer_bytes": size,
        "buffer_lo_bytes": size,
        "buffer_hi_bytes": size,
        "tcp_queue_ms": None,
        "stream_queue_ms": 10.0,
        "stream_queue_bytes": 1e4,
        "stream_grows": False,
        "rate": draw(st.none() | windows()),
        "channel_loss": None,
        "jitter": None,
        "token_bucket": bucket and {"burst_bytes": bucket, "lo": 0.9 * bucket, "hi": 1.1 * bucket},
        "stalls": draw(st.none() | st.just({"count": 30, "longest_ms": 40.0})),
    }


@st.composite
def senders(draw):
    """How a stream was sent, on time or not."""
    asked_bps, asked = draw(RATES), draw(st.integers(20, 1_600_000))
    return StreamSender(
        draw(st.sampled_from(["this host", "the far end"])),
        asked_bps,
        draw(st.none() | st.floats(0.01, 1.0).map(lambda share: share * asked_bps)),
        draw(st.none() | RATES),
        asked,
        asked - draw(st.integers(0, asked - 1)) if draw(st.booleans()) else asked,
        draw(SHARES),
        draw(st.floats(0.0, 500.0)),
        draw(st.integers(0, 1000)),
    )


TCP = st.lists(st.builds(TcpTransfer, st.floats(1e3, 1e10), st.floats(0.1, 100.0)), max_size=4)


def document(found: Statements, sender: StreamSender, tcp: list[TcpTransfer]) -> Any:
    """A document with this direction alone."""
    sent: Any = {
        "ip_bytes": 1200,
        "asked_gap_us": 1200 * 8e6 / sender.asked_bps,
        "sent": sender.sent,
        "sent_bps": sender.sent_bps,
        "received_bps": sender.received_bps,
    }
    flows = [
        {
            "direction": "up",
            "test": number,
            # With the headers that `tcp_transfers` adds.
            "received_bytes": transfer.ip_bytes / (1 + 40 / 1448),
            "duration_s": transfer.seconds,
            "given": {"sender": {"mss": 1448}},
        }
        for number, transfer in enumerate(tcp)
    ]
    return {"capacity": {"up": capacity(sent, found)}, "flows": flows, "bytes": None}


@given(queues(), senders(), TCP, st.booleans())
def test_document_has_no_contradiction_whatever_its_tests_recorded(queue, sender, tcp, filled):
    found = consistent(queue, sender, tcp, filled=filled)
    made = document(found, sender, tcp)
    # The document's sizes are whole bytes; these are not.
    assert [one for one in contradictions(made) if not _is_rounding(made, one)] == []
    figures = made["capacity"]["up"]
    best = max((one.rate_bps() for one in tcp), default=0.0)
    if figures["at_least"]:
        assert found.because
        assert figures["queue"]["token_bucket"] is None
        assert (figures["rate_bps"] or 0.0) >= best
    else:
        assert filled and not sender.is_late
        assert sender.sent_bps is None or sender.sent_bps >= SENT_SHARE * sender.asked_bps
    if sender.is_late:
        assert figures["queue"]["kind"] in ("per-flow", "unknown")
        assert figures["queue"]["stalls"] is None
        assert not figures["overflowed"]
        assert "was late: it sent" in str(late_sentence("up", figures))


def _is_rounding(made: Any, text: str) -> bool:
    """A comparison that fails by a rounding error of this test's division and multiplication."""
    figures = made["capacity"]["up"]
    bucket = figures["queue"]["token_bucket"]
    best = max(one.rate_bps(bucket["hi"] if bucket else 0.0) for one in tcp_transfers(made["flows"], "up"))
    bound = figures["rate_bps"] if figures["at_least"] else figures["queue"]["rate"]["hi_bps"]
    return "TCP" in text and bound is not None and best <= bound * (1 + 1e-9)


@given(queues(), senders(), TCP, st.booleans())
def test_statements_stay_when_they_are_made_consistent_again(queue, sender, tcp, filled):
    once = consistent(queue, sender, tcp, filled=filled)
    assert consistent(once.queue, sender, tcp, filled=filled and not once.at_least).queue == once.queue


@given(queues().filter(lambda queue: queue["rate"] is not None), senders(), TCP)
def test_statements_are_kept_when_the_sender_was_on_time_and_tcp_carried_no_more(queue, sender, tcp):
    on_time = StreamSender(
        sender.host,
        sender.asked_bps,
        0.99 * sender.asked_bps,
        sender.received_bps,
        sender.asked,
        sender.asked,
        0.0,
        0.0,
        0,
    )
    slower = [TcpTransfer(min(one.ip_bytes, queue["rate"]["hi_bps"] / 8 * one.seconds), one.seconds) for one in tcp]
    found = consistent(queue, on_time, slower, filled=True)
    assert (found.at_least, found.because, found.late) == (False, None, None)
    assert {**found.queue, "rate": None} == {**queue, "rate": None}
    assert found.queue["rate"]["hi_bps"] == pytest.approx(queue["rate"]["hi_bps"], rel=1e-12)


@pytest.mark.parametrize(
    ("tcp_bps", "wanders", "at_least", "hi_bps"),
    [(76e6, False, False, 80.1e6), (82e6, False, False, 82e6), (90e6, False, True, None), (90e6, True, False, 90e6)],
)
def test_tcp_above_the_interval_widens_it_or_makes_the_capacity_a_lower_bound(tcp_bps, wanders, at_least, hi_bps):
    assert 82e6 < (1 + FRAMING) * 80.1e6 < 90e6
    queue = _steady(80e6, wanders=wanders)
    sender = StreamSender("this host", 100e6, 100e6, 80e6, 10_000, 10_000, 0.0, 0.0, 0)
    found = consistent(queue, sender, [TcpTransfer(tcp_bps / 8 * 10, 10.0)], filled=True)
    assert found.at_least is at_least
    assert (found.queue["rate"] and found.queue["rate"]["hi_bps"]) == (hi_bps and pytest.approx(hi_bps))
    assert found.rate_bps == (90e6 if at_least else 80e6)


def test_tcp_may_carry_a_token_buckets_burst_above_the_capacity():
    queue = {**_steady(10e6), "token_bucket": {"burst_bytes": 1e6, "lo": 0.9e6, "hi": 1.1e6}}
    sender = StreamSender("this host", 12.5e6, 12.5e6, 10e6, 10_000, 10_000, 0.0, 0.0, 0)
    found = consistent(cast(Any, queue), sender, [TcpTransfer(10e6 / 8 * 4 + 1e6, 4.0)], filled=True)
    assert not found.at_least


@pytest.mark.parametrize(
    ("pause_share", "longest_ms", "is_of_path"), [(0.06, 40.0, False), (0.06, 300.0, True), (0.0, 40.0, True)]
)
def test_stalls_as_short_as_the_pauses_of_hosts_are_not_the_paths(pause_share, longest_ms, is_of_path):
    stalls = {"count": 2, "longest_ms": longest_ms}
    sender = StreamSender(
        "this host", 12.5e6, 12.5e6, 10e6, 10_000, 10_000, pause_share, 26.0 if pause_share else 0.0, 0
    )
    found = consistent(cast(Any, {**_steady(10e6), "stalls": stalls}), sender, [], filled=True)
    assert found.queue["stalls"] == (stalls if is_of_path else None)


def _steady(rate: float, *, wanders: bool = False) -> Any:
    return {
        "kind": "droptail",
        "because": "",
        "losses": "overflow",
        "buffer_bytes": 1e5,
        "buffer_lo_bytes": 1e5,
        "buffer_hi_bytes": 1e5,
        "stream_grows": False,
        "rate": {
            "mean_bps": rate,
            "lo_bps": rate - 1e5,
            "hi_bps": rate + 1e5,
            "p5_bps": rate,
            "p50_bps": rate,
            "p95_bps": rate,
            "windows": 10,
            "wanders": wanders,
            "busy_share": 1.0,
        },
        "token_bucket": None,
        "stalls": None,
    }
