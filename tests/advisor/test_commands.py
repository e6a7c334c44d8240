"""What an advice says to type is read back by the grammar of each tool."""

from __future__ import annotations

import pytest

from ackclock.advisor.actions import WHO, candidates
from ackclock.advisor.commands import Qdisc, RouteMetric, SocketOption, Sysctl, parse
from ackclock.advisor.situation import situation_of
from ackclock.input.link.catalog import packaged_links


def actions_of(what):
    return candidates(situation_of([what]), WHO)


WINDOW = {
    "duration": "5 s",
    "tcp": {"receive_buffer": "64 KiB", "send_buffer": "64 KiB", "variant": "bbr"},
    "hop": [{"name": "line", "rate": "10 Mb/s", "delay": "20 ms", "queue": {"kind": "red", "packets": 100}}],
    "flow": [{"name": "download", "workload": {"kind": "bulk"}}],
}


@pytest.mark.parametrize("what", [*packaged_links(), WINDOW], ids=[*packaged_links(), "window"])
def test_every_command_and_its_undo_are_parsed_back(what) -> None:
    found = actions_of(what)
    assert found
    for action in found:
        assert action.changes
        for step in action.steps:
            for command in (step.command, *step.undo):
                assert parse(command.text()) == command, command.text()


@pytest.mark.parametrize("what", ["dsl-16m", "geo-100m", "wimax-nist"])
def test_every_action_makes_a_scenario_that_differs(what) -> None:
    from ackclock.simulation.plan import build_plan

    situation = situation_of([what])
    base = build_plan(situation.scenario(), 1).digest
    for action in actions_of(what):
        assert build_plan(situation.scenario([action]), 1).digest != base, action.label
        assert [who for who in action.who if who not in WHO] == []


def test_candidates_are_those_of_the_ones_who_may_act() -> None:
    situation = situation_of(["dsl-16m"])
    for who in WHO:
        found = candidates(situation, [who])
        assert found
        assert {doing for action in found for doing in action.who} == {who}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("sysctl -w net.ipv4.tcp_congestion_control=bbr", Sysctl("net.ipv4.tcp_congestion_control", "bbr")),
        ("ip route change $(ip route show default) initcwnd 32", RouteMetric("initcwnd", 32)),
        ("unset SO_RCVBUF", SocketOption("SO_RCVBUF", None)),
        ("tc qdisc del dev $DEV root", Qdisc("$DEV")),
        (
            "tc qdisc replace dev eth0 root cake bandwidth 950kbit besteffort ack-filter",
            Qdisc("eth0", "cake", ("bandwidth", "950kbit", "besteffort", "ack-filter")),
        ),
    ],
)
def test_parse_reads_a_command(text: str, command) -> None:
    assert parse(text) == command
    assert command.text() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rm -rf /",
        "sysctl -w net.ipv4.tcp_rmem=4096",
        'sysctl -w net.ipv4.tcp_rmem="4096 131072"',
        "sysctl -w net.ipv4.tcp_congestion=bbr",
        "modprobe tcp_nothing",
        "SO_RCVBUF = many",
        "ip route change $(ip route show default) quickack 2",
        "tc qdisc replace dev $DEV root fq_codel limit",
        "tc qdisc replace dev $DEV root fq_codel target 5",
        "tc qdisc replace dev $DEV root cake bandwith 1mbit",
        "tc qdisc replace dev $DEV root codel ecn ecn",
        "tc qdisc replace dev $DEV codel",
        "tc qdisc del dev $DEV root fq",
        "tc filter replace dev $DEV parent 1: u32",
    ],
)
def test_parse_refuses_what_the_tool_would_refuse(text: str) -> None:
    with pytest.raises(ValueError, match="command"):
        parse(text)
