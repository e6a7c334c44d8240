"""Moving stations: fading signals and changes of cells."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.simulation.plan import build_plan

BULK = {"workload": {"kind": "bulk"}}
MEDIA: dict[str, dict[str, Any]] = {
    "wimax": {"kind": "wimax", "channel": "7 MHz", "cyclic_prefix": "1/16", "dl_ul": "1:1"},
    "wlan": {"kind": "wlan", "standard": "802.11g"},
    "grants": {"kind": "grants", "standard": "lte", "rate": {"down": "20 Mb/s", "up": "10 Mb/s"}},
    "half-duplex": {"kind": "half-duplex", "rate": "20 Mb/s"},
}
QUEUE = {"kind": "droptail", "packets": 50}


def plan_of(*hops):
    return build_plan(draft_of({"hop": list(hops), "duration": "10 s", "flow": [BULK]}).check(), 1).document


def air(kind, **handover):
    return {"name": "air", "delay": "5 ms", "queue": QUEUE, "medium": {**MEDIA[kind], "handover": handover}}


def datagrams(rate, direction="down"):
    return {"name": direction, "direction": direction, "workload": {"kind": "cbr", "rate": rate, "packet": "1000 B"}}


def run(hop, *flows, duration="30 s", **keys):
    return ackclock.simulate({"hop": [hop]}, list(flows), duration=duration, seed=1, **keys).summaries[0]


@pytest.mark.parametrize("kind", MEDIA)
def test_handover_gap_delays_packets_and_next_cell_adds_its_delay(kind):
    """Two cells, of which the second is 40 ms further away: half of all packets wait that long, and
    those of the gap longer.
    """
    hop = air(kind, every="2 s", gap="100 ms", cells=[{}, {"delay": "40 ms"}])
    for direction in ("down", "up"):
        [flow] = run(hop, datagrams("400 kb/s", direction))["flows"]
        delay = flow["one_way_delay_ms"]
        assert delay["min"] < 25
        assert delay["p95"] > 40
        assert 135 <= delay["max"] < 230, "the gap, and the delay of the cell behind it"
        [row] = [row for row in run(hop, datagrams("400 kb/s", direction))["hops"] if row["direction"] == direction]
        assert row["drops"] <= 0.02 * row["delivered"]


@pytest.mark.parametrize("kind", MEDIA)
def test_queue_that_is_not_forwarded_is_lost_at_handover(kind):
    """Saturated: the queue of 50 is full at each of the 14 changes."""
    lost = {}
    for queue in ("forwarded", "lost"):
        summary = run(air(kind, every="2 s", gap="20 ms", queue=queue), datagrams("40 Mb/s"), duration="29 s")
        [row] = [row for row in summary["hops"] if row["direction"] == "down"]
        lost[queue] = row["drops_by_cause"]["handover"]
    assert lost["forwarded"] == 0 or kind == "wimax"
    # Less what has just been taken from the queue: up to a frame of 802.16 carries 40.
    assert 14 * 10 <= lost["lost"] <= 14 * 52


@pytest.mark.parametrize("kind", ["wimax", "grants", "half-duplex"])
def test_slower_cell_has_its_share_of_the_rate(kind):
    """A quarter of the speed in every second cell: (1 + 1/4)/2 of the rate."""
    one: list[dict[str, Any]] = [{}]
    rates = [
        run(air(kind, every="1 s", gap="0 ms", cells=cells), datagrams("40 Mb/s"))["flows"][0]["throughput_bps"]
        for cells in (one, [*one, {"speed": 0.25}])
    ]
    assert rates[1] / rates[0] == pytest.approx(0.625, rel=0.03)


def test_stations_change_cells_together_or_spread():
    plan = plan_of(air("wlan", every="10 s", first="4 s", spread="1 s"))
    assert plan["hops"][0]["roaming"] == {
        "every_ps": 10 * 10**12, "first_ps": 4 * 10**12, "spread_ps": 10**12, "gap_ps": 50 * 10**9, "forwards": True,
        "cells": [{"speed": 1.0, "delay_ps": 0}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "handover, expected",
    [
        ({"every": "1 s", "gap": "1 s"}, "gap shorter"),
        ({"every": "1 s", "cells": []}, "one cell"),
        ({"every": "1 s", "cells": [{"speed": 0}]}, "0.01 to 1"),
        ({"every": "1 s", "queue": "kept"}, "forwarded"),
        ({"every": "1 us"}, "millisecond"),
    ],
)
def test_invalid_handover_is_refused(handover, expected):
    with pytest.raises(InputError, match=expected):
        plan_of(air("wlan", **handover))


def test_packet_radio_refuses_cells():
    with pytest.raises(InputError, match="handover"):
        plan_of({"name": "air", "medium": {"kind": "packet-radio", "handover": {"every": "1 s"}}})


LEVELS: dict[str, Any] = {"kind": "markov", "levels": [{"cinr": 5, "stay": "300 ms"}, {"cinr": 20, "stay": "900 ms"}]}


def test_signal_loss_shares_fading_between_directions():
    """A quarter of the time at 5 dB, where half is lost; beyond 20 dB nothing is."""
    loss = {"kind": "signal", "fading": LEVELS, "points": [[5, 0.5], [20, 0]]}
    summary = run(
        {"name": "line", "rate": "10 Mb/s", "loss": loss},
        datagrams("1 Mb/s"),
        datagrams("1 Mb/s", "up"),
        duration="600 s",
    )
    shares = [row["drops_by_cause"]["loss"] / (row["drops"] + row["delivered"]) for row in summary["hops"]]
    assert shares[0] == pytest.approx(0.125, rel=0.15)
    assert shares[1] == pytest.approx(shares[0], rel=0.03)


def test_wimax_station_loss_and_modulation_follow_one_signal():
    """At 5 dB, BPSK 1/2 and 30 % lost; at 20 dB, 64-QAM 2/3 and nothing.

    Datagrams that both modulations carry lose a quarter of 30 %.
    """
    medium = {
        **MEDIA["wimax"],
        "fading": LEVELS,
        "amc": {"delay": "5 ms", "hysteresis": 0},
        "signal_loss": [[5, 0.3], [20, 0]],
    }
    summary = run({"name": "air", "medium": medium}, datagrams("200 kb/s"), duration="600 s")
    [row] = [row for row in summary["hops"] if row["direction"] == "down"]
    assert row["drops_by_cause"]["loss"] / (row["drops"] + row["delivered"]) == pytest.approx(0.075, rel=0.15)


@pytest.mark.parametrize(
    "medium, expected",
    [
        ({"signal_loss": [[5, 0.3]]}, "fading"),
        ({"fading": LEVELS, "signal_loss": [[5, 0.3], [5, 0.1]]}, "increasing order of decibels"),
        ({"fading": LEVELS, "signal_loss": [[5, 1.3]]}, "increasing order of decibels"),
        ({"fading": LEVELS, "signal_loss": {"down": [[5, 0.3]]}}, "both"),
    ],
)
def test_invalid_signal_loss_is_refused(medium, expected):
    with pytest.raises(InputError, match=expected):
        plan_of({"name": "air", "medium": {**MEDIA["wimax"], **medium}})
