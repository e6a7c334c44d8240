"""Server and client of a flow with TCP keys of their own: `tcp.server` and `tcp.client`."""

from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.resolution import resolved, scenario_hash
from ackclock.simulation.plan import build_plan

BULK = {"workload": {"kind": "bulk"}}
XP = {"client": {"host": "windows-xp"}}


def scenario(tcp=None, *flows, **keys):
    data = {"link": "dumbbell-10m", "duration": "10 s", "tcp": tcp or {}, "flow": list(flows or (BULK,)), **keys}
    return draft_of(data).check()


def planned(tcp=None, *flows):
    return build_plan(scenario(tcp, *flows), 1).document["flows"]


def test_plan_has_one_tcp_when_both_ends_are_alike():
    (flow,) = planned({"host": "linux-6", "client": {"variant": "cubic"}})
    assert "tcp_client" not in flow


def test_client_of_another_host_has_its_keys_and_the_server_its_own():
    (flow,) = planned({"variant": "bbr", **XP})
    assert flow["tcp"]["receive_tuning"] and flow["tcp"]["sack"]
    assert flow["tcp_client"]["receive_buffer"] == 65535
    assert not flow["tcp_client"]["sack"]
    assert flow["tcp_client"]["variant"] == "bbr", "a key of both ends"


@pytest.mark.parametrize(
    ("tcp", "flow", "server", "client"),
    [
        ({"initial_window": 3}, {}, 3, 3),
        ({"initial_window": 3, "client": {"initial_window": 4}}, {}, 3, 4),
        ({"client": {"initial_window": 4}}, {"initial_window": 5}, 5, 5),
        ({"client": {"initial_window": 4}}, {"initial_window": 5, "server": {"initial_window": 6}}, 6, 5),
    ],
)
def test_key_of_a_flow_precedes_that_of_tcp_and_of_an_end_that_of_both(tcp, flow, server, client):
    (one,) = planned(tcp, {**BULK, **flow})
    assert one["tcp"]["initial_window"] == server
    assert one.get("tcp_client", one["tcp"])["initial_window"] == client


@pytest.mark.parametrize(
    "tcp",
    [XP, {"server": {"host": "ns2"}, **XP}, {"host": "windows-xp", "server": {"host": "linux-6", "overhead": "7 us"}}],
    ids=["client", "both", "server"],
)
def test_resolved_scenario_has_the_same_plan_when_ends_differ(tcp):
    first = scenario(tcp, BULK, {**BULK, "direction": "up", "server": {"delayed_ack": False}}, {**BULK, "host": "ns2"})
    second = draft_of(resolved(first)).check()
    assert build_plan(second, 1).document == build_plan(first, 1).document
    assert resolved(second) == resolved(first)
    assert scenario_hash(second) == scenario_hash(first) != scenario_hash(scenario())


def test_resolved_scenario_keeps_given_keys_of_ends_when_the_variant_is_swept():
    data = resolved(scenario({"variant": "reno", **XP}), swept=["tcp.variant"])
    assert data["tcp"] == {"host": "linux-6", "variant": "reno", "client": {"host": "windows-xp"}}


@pytest.mark.parametrize("direction", ["down", "up"])
def test_receiver_acknowledges_and_sender_controls_congestion_when_hosts_differ(direction):
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    eager: dict[str, Any] = {"delayed_ack": False, "quick_acks": 0}
    lazy: dict[str, Any] = {"delayed_ack": {"segments": 8, "timer": "100 ms"}, "quick_acks": 0}
    acks = {}
    for name, tcp in (("eager", {sender: lazy, receiver: eager}), ("lazy", {sender: eager, receiver: lazy})):
        flow = {**BULK, "direction": direction, **tcp, sender: {**tcp[sender], "variant": "reno"}}
        (summary,) = ackclock.simulate(scenario_data(flow), seeds=1).summaries
        row = summary["flows"][0]
        assert row["variant"] == "reno"
        back = [hop["delivered"] for hop in summary["hops"] if hop["direction"] != direction]
        acks[name] = back[0] / row["segments_sent"]
    assert acks["eager"] > 0.95
    assert acks["lazy"] < 0.5


def scenario_data(*flows):
    return {"link": "dumbbell-10m", "duration": "10 s", "flow": list(flows)}


def test_window_stays_unscaled_when_only_the_server_scales():
    (summary,) = ackclock.simulate({**scenario_data(BULK), "tcp": XP}, seeds=1).summaries
    row = summary["flows"][0]
    assert row["advertised_window_bytes"] <= 65535
    assert "receive window" in row["why"]


def test_sweep_sets_a_key_of_one_end():
    data = {
        **scenario_data(BULK),
        "tcp": {"host": "linux-6"},
        "sweep": {"tcp.client.receive_buffer": ["32 KiB", "1 MiB"]},
    }
    found = ackclock.sweep(data, seeds=1)
    assert found.runs["goodput_bps"][0] < found.runs["goodput_bps"][1]


def test_typed_tcp_has_both_ends():
    tcp = ackclock.Tcp(variant="cubic", client=ackclock.Tcp(host="windows-xp", receive_buffer=65535))
    flow = ackclock.Flow(workload=ackclock.Bulk(), tcp=tcp).to_dict()
    assert flow["client"] == {"host": "windows-xp", "receive_buffer": "65535 B"}
    assert build_plan(scenario(None, flow), 1).document["flows"][0]["tcp_client"]["receive_buffer"] == 65535


def test_error_in_an_end_names_its_key():
    with pytest.raises(InputError, match=r"tcp\.client\.rto_min"):
        scenario({"client": {"rto_min": "90 s", "rto_max": "60 s"}})
    with pytest.raises(InputError, match=r"tcp\.server\.host"):
        scenario({"server": {"host": "windows-95"}})
