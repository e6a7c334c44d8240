"""Proxies in a link file: the split of connections, and their metrics."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.simulation.plan import build_plan

HOPS: list[dict[str, Any]] = [
    {"name": "core", "rate": "100 Mb/s", "delay": "10 ms"},
    {"name": "sky", "rate": "5 Mb/s", "delay": "300 ms", "pep": {"buffer": "1 MB", "tcp": {"variant": "reno"}}},
    {"name": "home", "rate": "100 Mb/s", "delay": "1 ms"},
]
BULK = {"workload": {"kind": "bulk"}}


def plan_of(hops, *flows, **keys):
    return build_plan(draft_of({"hop": hops, "duration": "10 s", "flow": list(flows), **keys}).check(), 1).document


def test_flow_is_split_at_the_proxy_and_its_last_part_has_its_name():
    plan = plan_of(HOPS, {"name": "get", **BULK}, {"name": "put", "direction": "up", **BULK})
    assert [(flow["name"], flow["hops"]) for flow in plan["flows"]] == [
        ("get@sky", [0]),
        ("get", [1, 2]),
        ("put", [0]),
        ("put@sky", [1, 2]),
    ]
    assert [(proxy["near"], proxy["far"], proxy["buffer"]) for proxy in plan["proxies"]] == [
        (0, 1, 10**6),
        (2, 3, 10**6),
    ]
    assert [flow["tcp"]["variant"] for flow in plan["flows"]] == ["cubic"] * 4
    assert {proxy["tcp"]["variant"] for proxy in plan["proxies"]} == {"reno"}


def test_flow_across_two_proxies_has_three_parts():
    hops = [HOPS[0], HOPS[1], {**HOPS[2], "pep": {}}]
    plan = plan_of(hops, {"name": "get", **BULK})
    assert [(flow["name"], flow["hops"]) for flow in plan["flows"]] == [
        ("get@sky", [0]),
        ("get@home", [1]),
        ("get", [2]),
    ]
    assert [(proxy["near"], proxy["far"]) for proxy in plan["proxies"]] == [(0, 1), (1, 2)]


def test_datagrams_and_flows_elsewhere_are_not_split():
    udp = {"name": "voice", "workload": {"kind": "cbr", "rate": "64 kb/s", "packet": "200 B"}}
    local = {"name": "local", "over": ["sky", "home"], **BULK}
    plan = plan_of(HOPS, udp, local)
    assert "proxies" not in plan
    assert [flow["name"] for flow in plan["flows"]] == ["voice", "local"]


@pytest.mark.parametrize(
    "hops, flow, expected",
    [
        ([{**HOPS[0], "pep": {}}, HOPS[2]], BULK, "the server is before the first one"),
        (HOPS, {"workload": {"kind": "web"}}, "persistent web"),
        ([{"name": "core"}, HOPS[1]], BULK, "with some delay"),
        ([HOPS[0], {**HOPS[1], "pep": {"handshake": "never"}}], BULK, "through"),
        ([HOPS[0], {**HOPS[1], "pep": {"tcp": {"variant": "renos"}}}], BULK, "reno"),
    ],
)
def test_invalid_proxy_is_refused(hops, flow, expected):
    with pytest.raises(InputError, match=expected):
        plan_of(hops, flow)


def test_metrics_of_a_split_connection_are_end_to_end():
    flows = [{"name": "get", "workload": {"kind": "transfer", "size": "1 MB"}}]
    run = ackclock.simulate({"hop": HOPS}, flows, duration="20 s", seed=1)
    [first, last] = run.summaries[0]["flows"]
    assert (first["feeds"], "feeds" in last) == ("get", False)
    assert first["completed_s"] < last["completed_s"]
    assert run.metrics["goodput_bps"]["mean"] == pytest.approx(last["goodput_bps"])
    assert run.summaries[0]["proxies"][0]["held_bytes_max"]["down"] <= 10**6


def test_proxy_can_be_swept_and_its_resolved_scenario_runs():
    draft = {"hop": HOPS, "duration": "5 s", "flow": [BULK], "sweep": {"hop.sky.pep.handshake": ["local", "through"]}}
    scenarios = [draft_of(draft).check(point) for point in draft_of(draft).points()]
    peps: list[Any] = [scenario.hop[1].pep for scenario in scenarios]
    assert [pep.handshake for pep in peps] == ["local", "through"]
    written = scenarios[1].hop[1].written()
    assert written["pep"]["handshake"] == "through"
    assert written["pep"]["tcp"] == {"variant": "reno"}
