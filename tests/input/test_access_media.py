"""Grants, handovers and cells in link files: parameter sets and invalid values."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock import _native
from ackclock.comparison.asymmetry import asymmetry
from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.simulation.plan import build_plan

BULK = {"workload": {"kind": "bulk"}}
RATE = {"down": "30 Mb/s", "up": "5 Mb/s"}


def plan_of(*hops):
    return build_plan(draft_of({"hop": list(hops), "duration": "10 s", "flow": [BULK]}).check(), 1).document


def grants(**keys):
    return {"name": "air", "medium": {"kind": "grants", "standard": "lte", "rate": RATE, **keys}}


def test_grants_standard_supplies_absent_keys_only():
    medium = plan_of(grants(period="20 ms", repair={"error": {"up": 0.2}}))["hops"][0]["medium"]
    assert medium["ask"] == {"kind": "scheduled", "period_ps": 20 * 10**9, "first_grant": 100}
    assert (medium["down"]["repair"]["error"], medium["up"]["repair"]["error"]) == (0.1, 0.2)
    assert medium["up"]["interval_ps"] == 10**9


@pytest.mark.parametrize(
    "keys, expected",
    [
        ({"standard": "wifi"}, "docsis-3.1"),
        ({"contention": {"opportunities": 2}}, "contention"),
        ({"requests": "contention", "period": "5 ms"}, "scheduled"),
        ({"rate": "1 kb/s"}, "more than a block"),
        ({"contention": {"backoff": [5, 3]}, "requests": "contention"}, "powers of two"),
        ({"repair": {"error": 2}}, "probability"),
    ],
)
def test_invalid_medium_is_refused(keys, expected):
    with pytest.raises(InputError, match=expected):
        plan_of(grants(**keys))


@pytest.mark.parametrize(
    "link, low, high",
    [
        ("docsis-3.1", 440e6, 500e6),
        ("lte-uplink", 24e6, 31e6),
        ("nr-uplink", 170e6, 206e6),
        ("gpon", 290e6, 300e6),
    ],
)
def test_saturating_datagrams_have_the_nominal_rate(link, low, high):
    flow = {"workload": {"kind": "cbr", "rate": f"{round(high / 1e6) * 2} Mb/s", "packet": "1500 B"}}
    run = ackclock.simulate(link, [flow], duration="3 s", seed=1, measure={"window": ["1 s", "3 s"]})
    got = run.summaries[0]["flows"][0]["throughput_bps"]
    assert low < got < high
    medium: Any = draft_of({"link": link, "duration": "1 s", "flow": [BULK]}).check().hop[1].medium
    assert got == pytest.approx(medium.nominal_bps["down"], rel=0.02)


def test_k_counts_cells_and_frames():
    """1500 B and 52 B with 40 B more take 33 and 2 cells of 53 B; a subscription's rate on cable
    counts 18 B more each.
    """
    line = {
        "name": "line",
        "rate": {"down": "16 Mb/s", "up": "1 Mb/s"},
        "framing": {"kind": "atm", "overhead": "32 B"},
    }
    dsl: Any = asymmetry(_native.plan_of(plan_of(line), []))
    assert dsl.k == pytest.approx(16 / 1 * (2 * 53) / (33 * 53))
    cable = build_plan(draft_of({"link": "docsis-3.1", "duration": "1 s", "flow": [BULK]}).check(), 1)
    cable_k: Any = asymmetry(cable)
    assert cable_k.k == pytest.approx(25 * (52 + 18) / (1500 + 18), rel=0.001)


def test_handover_changes_rtt_in_both_directions_and_loses_a_share():
    hop = {
        "name": "sky",
        "rate": "10 Mb/s",
        "delay": "10 ms",
        "handover": {"every": "1 s", "gap": "100 ms", "loss": 1.0, "high": "50 ms"},
    }
    flow = {"workload": {"kind": "cbr", "rate": "1 Mb/s", "packet": "1000 B"}}
    run = ackclock.simulate({"hop": [hop]}, [flow], duration="30 s", seed=1)
    [down] = [row for row in run.summaries[0]["hops"] if row["direction"] == "down"]
    assert down["drops_by_cause"]["outage"] / (down["drops"] + down["delivered"]) == pytest.approx(
        0.1 * 29 / 30, rel=0.05
    )
    with pytest.raises(InputError, match="gap shorter"):
        plan_of({**hop, "handover": {"every": "1 s", "gap": "1 s"}})


def test_clients_share_delay_and_drops_in_a_shared_access_point_queue():
    """Client 0 is sent six times what goes and, like client 1, a little beside: behind one queue
    both wait and lose, behind two only the first.
    """

    def flow(name, rate, count):
        workload = {
            "kind": "onoff",
            "rate": rate,
            "on": "500 ms",
            "off": "500 ms",
            "distribution": "exponential",
            "packet": "1000 B",
        }
        return {"name": name, "count": count, "workload": workload}

    second = {}
    for kind in ("shared", "per-client"):
        hop = {
            "name": "air",
            "queue": {"kind": "droptail", "packets": 50},
            "medium": {"kind": "wlan", "ap_queue": kind},
        }
        flows = [flow("greedy", "30 Mb/s", 1), flow("modest", "1 Mb/s", 2)]
        run = ackclock.simulate({"hop": [hop]}, flows, duration="60 s", seed=1, clients=2).summaries[0]
        second[kind] = next(row for row in run["flows"] if row["flow"] == "modest-2")
    assert second["per-client"]["one_way_delay_ms"]["max"] < 5, "its own packet, and one of the other's before it"
    # 50 frames of 1.62 ms.
    assert second["shared"]["one_way_delay_ms"]["p95"] == pytest.approx(81, rel=0.04)
    assert second["shared"]["throughput_bps"] < 0.7 * second["per-client"]["throughput_bps"]


def test_shared_queue_is_refused_with_cells():
    with pytest.raises(InputError, match="only one of them"):
        plan_of({"name": "air", "medium": {"kind": "wlan", "ap_queue": "shared", "handover": {"every": "1 s"}}})


CELL = {"name": "air", "queue": {"kind": "droptail", "packets": 50}}
VOICE = {"name": "voice", "direction": "up", "workload": {"kind": "cbr", "rate": "80 kb/s", "packet": "200 B"}}
UPLOAD = {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}


def beside_an_upload(*connections, **more):
    """The voice's delays and the hop's counters of three stations that talk and upload."""
    medium = {"kind": "wimax", "channel": "7 MHz", "connections": list(connections)}
    link = {"hop": [{**CELL, "medium": medium, **more}]}
    run = ackclock.simulate(link, [{**VOICE, "count": 3}, {**UPLOAD, "count": 3}], clients=3, duration="5 s", seed=1)
    summary = run.summaries[0]
    return [flow["one_way_delay_ms"] for flow in summary["flows"][:3]], summary


def test_voice_on_its_own_connection_does_not_queue_behind_an_upload():
    shared, _ = beside_an_upload()
    assert min(delay["mean"] for delay in shared) > 100.0
    granted, _ = beside_an_upload({"traffic": "udp", "service": {"kind": "ugs", "interval": "20 ms", "bytes": "250 B"}})
    # A packet every 20 ms, a grant every 20 ms: no delay varies.
    assert max(delay["max"] - delay["min"] for delay in granted) < 0.01
    polled, _ = beside_an_upload({"traffic": "udp", "service": {"kind": "rtps", "interval": "20 ms"}})
    # A request waits for its poll, then for its grant two frames later, then for its place in that.
    assert max(delay["max"] for delay in polled) < 20.0 + 3 * 5.0
    assert max(delay["max"] for delay in granted) < max(delay["max"] for delay in polled)


def test_traffic_of_further_connections_is_counted_once():
    voice = {"traffic": "udp", "service": {"kind": "ugs", "interval": "20 ms", "bytes": "250 B"}}
    for more in ({}, {"delay": "3 ms"}, {"delay": "3 ms", "per_client": True}):
        _, summary = beside_an_upload(voice, **more)
        up = next(hop for hop in summary["hops"] if hop["direction"] == "up")
        sent = sum(flow["segments_sent"] for flow in summary["flows"])
        # What has been sent has been delivered or dropped, but for what is in queues and windows at
        # the end.
        assert 0 <= sent - up["delivered"] - up["drops"] <= 3 * 51 + 12


@pytest.mark.parametrize(
    "keys, expected",
    [
        ({"connections": [{"traffic": "udp", "service": {"kind": "ugs"}}]}, "interval and bytes"),
        ({"connections": [{"traffic": "all", "service": {"kind": "be"}}]}, "tcp"),
        ({"connections": [{"traffic": "udp", "service": {}}] * 9}, "connections"),
        (
            {"connections": [{"traffic": "udp", "service": {}}], "caps": [{"direction": "up", "rate": "1 Mb/s"}]},
            "all traffic",
        ),
        (
            {"connections": [{"traffic": "udp", "service": {}}], "handover": {"every": "5 s", "gap": "50 ms"}},
            "handover and connections exclude each other; leave one of them out",
        ),
    ],
)
def test_invalid_connections_are_refused(keys, expected):
    with pytest.raises(InputError, match=expected):
        plan_of({**CELL, "medium": {"kind": "wimax", "channel": "7 MHz", **keys}})
