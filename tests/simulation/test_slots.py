"""Slots of a constellation through `simulate`, against arithmetic; crates/core tests the draws
themselves (slotted_rate.rs, impairments.rs).
"""

from __future__ import annotations

import statistics
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError

CHANGES = 4
"""In a minute: at 12, 27, 42 and 57 s."""


def run(slots: dict[str, Any], flow: dict[str, Any], seconds: int = 62, seeds: Any = 1, **keys: Any) -> list[Any]:
    hop = {"name": "sky", "delay": "15 ms", "slots": slots, **keys}
    done = ackclock.simulate({"hop": [hop]}, [flow], f"{seconds} s", seeds=seeds, phase_jitter=False)
    return list(done.summaries)


def stream(rate: str, direction: str = "down") -> dict[str, Any]:
    return {"direction": direction, "workload": {"kind": "cbr", "rate": rate, "packet": "1000 B"}}


def hop_of(summary: Any, direction: str) -> Any:
    return next(row for row in summary["hops"] if row["direction"] == direction)


def test_paced_stream_loses_what_is_sent_in_the_changes_and_nothing_else() -> None:
    """250 packets a second, 0.1 s lost at each change."""
    (summary,) = run({"rate": "10 Mb/s", "lost": "100 ms"}, stream("2 Mb/s"))
    assert summary["flows"][0]["datagrams"]["lost"] == pytest.approx(CHANGES * 25, abs=CHANGES)
    (summary,) = run({"rate": "10 Mb/s"}, stream("2 Mb/s"))
    assert summary["flows"][0]["datagrams"]["lost"] == 0


def test_overload_carries_the_rate_but_for_what_the_changes_hold() -> None:
    """57 s and 5 s of 10 Mb/s, less 0.5 s at each change, and a queue of 20 packets after that."""
    (summary,) = run({"rate": "10 Mb/s", "held": "500 ms"}, stream("12 Mb/s"), queue={"packets": 20})
    carried = hop_of(summary, "down")["delivered"] * 8000
    assert carried == pytest.approx(10e6 * (62 - CHANGES * 0.5), rel=0.001)
    assert hop_of(summary, "down")["utilization"] == pytest.approx(1, abs=0.002)


def test_overload_of_many_seeds_carries_the_mean_of_the_quantiles() -> None:
    """30 seeds of 5 slots: uniform from 2 to 6 Mb/s has a standard error of 0.094 Mb/s."""
    slots = {"rate": ["2 Mb/s", "4 Mb/s", "6 Mb/s"]}
    carried = [
        hop_of(summary, "down")["delivered"] * 8000 / 72
        for summary in run(slots, stream("8 Mb/s"), seconds=72, seeds=30, queue={"packets": 20})
    ]
    assert statistics.mean(carried) == pytest.approx(4e6, abs=4 * 0.095e6)
    assert statistics.stdev(carried) > 0.2e6


def test_slots_are_those_of_the_seed_whatever_runs_over_them() -> None:
    slots = {"rate": ["2 Mb/s", "6 Mb/s"], "correlation": 0.5}
    full = [run(slots, flow, queue={"packets": 20}) for flow in (stream("9 Mb/s"), stream("12 Mb/s"))]
    carried = [hop_of(summary, "down")["delivered"] for (summary,) in full]
    assert carried[0] == pytest.approx(carried[1], rel=0.002)


def test_grants_delay_an_uplink_and_no_downlink() -> None:
    """Eight gaps of 5 frames and one of 15 in a cycle of 55: a packet waits 3.1 ms in the mean."""
    grants = {"frame": "1.333333333 ms", "cycle": [55, 55], "every": 5, "pause": 15, "pauses": [1, 1]}
    delays = {}
    for direction in ("down", "up"):
        # 97 packets a second fall on all phases.
        (summary,) = run({"rate": "20 Mb/s", "grants": grants}, stream("776 kb/s", direction))
        delays[direction] = summary["flows"][0]["one_way_delay_ms"]
    frame_ms = 1000 / 750
    wait_ms = (8 * 4**2 + 14**2) / 2 / 55 * frame_ms
    # In a grant the rate is 55 / 9 times that of the slot.
    assert delays["up"]["mean"] - 15 == pytest.approx(wait_ms + 0.4 * 9 / 55, abs=0.15)
    assert delays["up"]["max"] - 15 == pytest.approx(14 * frame_ms, abs=0.5)
    assert delays["down"]["max"] - 15 == pytest.approx(0.4, abs=0.01)


def test_delay_of_the_slots_differs_between_them_and_not_within_one() -> None:
    slots = {"rate": "10 Mb/s", "delay": ["0 ms", "10 ms"]}
    firsts = [
        run(slots, stream("80 kb/s"), seconds=11, seeds=[seed])[0]["flows"][0]["one_way_delay_ms"]
        for seed in range(1, 9)
    ]
    for delay in firsts:
        assert delay["max"] - delay["min"] < 0.01 and 15.7 < delay["min"] < 25.9
    assert statistics.stdev(delay["min"] for delay in firsts) > 1
    (summary,) = run(slots, stream("80 kb/s"))
    assert summary["flows"][0]["one_way_delay_ms"]["max"] - summary["flows"][0]["one_way_delay_ms"]["min"] > 1


def test_link_with_slots_of_one_rate_has_the_figures_of_a_constant_one() -> None:
    bulk = {"workload": {"kind": "bulk"}}
    hop = {"name": "sky", "delay": "15 ms", "queue": {"packets": 60}}
    constant, slots = (
        dict(ackclock.simulate({"hop": [{**hop, **keys}]}, [bulk], "20 s", seed=1).summaries[0]["flows"][0])
        for keys in ({"rate": "20 Mb/s"}, {"slots": {"rate": "20 Mb/s"}})
    )
    for key in ("limits", "limit", "why"):  # of the hops' words
        del constant[key], slots[key]
    assert slots == constant


@pytest.mark.parametrize(
    ("slots", "allowed"),
    [
        ({"rate": "1 Mb/s", "held": "15 s"}, "a slot longer than"),
        ({"rate": ["2 Mb/s", "1 Mb/s"]}, "a list of rates that do not decrease"),
        ({}, "rate"),
    ],
)
def test_slots_are_refused_when_they_are_none(slots: dict[str, Any], allowed: str) -> None:
    with pytest.raises(InputError) as raised:
        run(slots, stream("1 Mb/s"), seconds=1)
    assert allowed in raised.value.allowed
