"""The p95 delay of the sparse flow: what a lost packet costs, predicted and measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ackclock.advisor.race import Entry, Runs
from ackclock.advisor.situation import situation_of
from ackclock.advisor.verification import figures
from ackclock.simulation.sparse_flow import SparseDelays, path_lost_share, path_p95_ms


def side(arrived: int, lost: int, ms: float = 20.0) -> SparseDelays:
    return SparseDelays.of_delays([ms] * arrived, arrived + lost)


@pytest.mark.parametrize(
    ("lost", "seconds"), [(0, 0), (5, 0), (6, 1), (22, 1), (23, 3), (36, 3), (37, 7), (50, 15), (100, 63)]
)
def test_p95_has_the_timeouts_until_at_most_a_twentieth_is_missing(lost: int, seconds: int) -> None:
    """0.22^2 and 0.36^3 are below 0.05, 0.23^2 and 0.37^3 above it."""
    found = path_p95_ms([side(100 - lost, lost), side(100, 0, 30.0)])
    delays = 30.0 if lost == 100 else 50.0
    assert found == pytest.approx(1e3 * seconds + delays)


def test_round_trip_is_lost_when_either_direction_loses_a_packet() -> None:
    sides = [side(96, 4), side(96, 4)]
    assert path_lost_share(sides) == pytest.approx(1 - 0.96**2)
    assert path_p95_ms(sides) == pytest.approx(1040.0), "each loses less than 5 %, both more"
    assert path_p95_ms([side(98, 2), side(98, 2)]) == pytest.approx(40.0)


def test_p95_counts_lost_packets_as_infinite_when_few_are_lost() -> None:
    """RFC 7679, section 5.1: of 100 packets with 4 lost the p95 is the 95th of the 96."""
    delays = [float(ms) for ms in range(1, 97)]
    assert SparseDelays.of_delays(delays, 100).p95_ms == 95.0
    assert SparseDelays.of_delays(delays, 96).p95_ms == 92.0
    assert SparseDelays.of_delays(delays, 102).p95_ms is None


def row(*, sent: int, arrived: int, lost: int, longest_ms: float = 30.0) -> Any:
    delay = {"count": arrived, "p95": 25.0 if arrived else None, "max": longest_ms if arrived else None}
    datagrams = {"lost": lost, "delay_p95_ms": 25.0 if lost <= 0.05 * (arrived + lost) else None}
    return {
        "segments_sent": sent,
        "one_way_delay_ms": delay,
        "datagrams": datagrams,
        "host_start_s": 0.0,
        "end_s": 0.1 * sent,
    }


def test_last_packets_of_a_run_are_in_flight_when_the_delay_explains_them() -> None:
    few = SparseDelays.of_row(row(sent=100, arrived=92, lost=0))
    assert (few.lost, few.sent, few.p95_ms) == (0, 92, 25.0)
    long = SparseDelays.of_row(row(sent=100, arrived=70, lost=0, longest_ms=3000.0))
    assert (long.lost, long.sent) == (0, 70)


def test_last_packets_of_a_run_are_lost_when_the_delay_explains_fewer() -> None:
    starved = SparseDelays.of_row(row(sent=100, arrived=30, lost=0))
    assert (starved.lost, starved.p95_ms) == (60, None)
    none = SparseDelays.of_row(row(sent=100, arrived=0, lost=0))
    assert (none.lost, none.lost_share) == (90, 1.0)


def test_measured_figures_follow_the_same_rule() -> None:
    def end(sent: int, delays: list[float], **of: int) -> Any:
        return {"sparse": {"sent": sent, "delays_ms": delays}, **of}

    serve = end(100, [10.0] * 50, retransmitted_segments=3)
    fetch = end(100, [20.0] * 100, received=1_000_000)
    found = figures(serve, fetch, 8.0)
    assert found["goodput_bps"] == 1e6
    assert found["sparse_loss_rate"] == pytest.approx(0.5), "the server received half of what the client sent"
    assert found["sparse_rtt_p95_ms"] == pytest.approx(15_000 + 30.0)


def starved(**acks: Any) -> Mapping[str, float]:
    """The metrics of a download whose ACKs fill the line up, with an ACK policy."""
    line = {
        "name": "line",
        "rate": {"down": "8 Mb/s", "up": "64 kb/s"},
        "delay": "20 ms",
        "queue": {"down": {"bytes": "64 kB"}, "up": {"bytes": "4 kB", "ack": acks}},
    }
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    situation = situation_of([{"duration": "8 s", "hop": [line], "flow": [flow]}])
    (found,) = Runs(situation, None, workers=1).run("starved", [Entry("", situation.scenario())], [1])
    return found[1]


def test_queue_that_starves_other_traffic_is_late_in_the_prediction() -> None:
    """ACKs first: strict priority lets few other packets pass. The p95 of the few that arrived once
    showed a gain.
    """
    first, filtered = starved(first=True), starved(filter="safe")
    assert first["sparse_loss_rate"] > 0.2
    assert first["sparse_rtt_p95_ms"] > 1000.0
    assert filtered["sparse_loss_rate"] <= 0.05 + 1e-9
    assert filtered["sparse_rtt_p95_ms"] < 1000.0
