"""What an advice says to type is read back by the grammar of each tool."""

from __future__ import annotations

import pytest

from ackclock.advisor.actions import WHO, candidates
from ackclock.advisor.commands import Qdisc, RouteMetric, Service, SocketOption, Sysctl, Uci
from ackclock.advisor.openwrt import SqmQueue
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from ackclock.advisor.windows_commands import SetNetsh, WindowsSocketOption
from ackclock.input.link.names import packaged_links
from tests.support.recipe_grammar import parse, sqm_queue


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
        recipe = Recipe.of([action])
        typed = [command for step in recipe.steps for command in (step.command, *step.undo)] + [*recipe.undo]
        typed += [command for other in recipe.alternatives for command in (*other.commands, *other.undo)]
        for command in typed:
            assert parse(command.text()) == command, command.text()


def test_sqm_lines_shape_to_the_rates_of_the_tc_lines() -> None:
    shapers = [action for what in ("dsl-16m", "docsis-3.1") for action in actions_of(what) if action.kind == "shaper"]
    assert len(shapers) == 6
    for action in shapers:
        (other,) = Recipe.of([action]).alternatives
        queue = sqm_queue([parse(command.text()) for command in other.commands])
        assert queue == action.sqm
        cake = {
            "up" if step.command.device == "$DEV" else "down": step.command.arguments
            for step in action.steps
            if isinstance(step.command, Qdisc) and step.command.kind == "cake"
        }
        for direction, rate in (("down", queue.download), ("up", queue.upload)):
            if rate:
                assert f"{rate}kbit" in cake[direction]
            else:
                assert direction not in cake
        assert ("ack-filter" in queue.egress) == ("ack-filter" in cake.get("up", ()))


def test_sqm_queue_is_refused_when_a_line_is_missing() -> None:
    lines = SqmQueue(5000, 1000).commands()
    assert sqm_queue(lines) == SqmQueue(5000, 1000)
    for place in (0, 1, 3, len(lines) - 2, len(lines) - 1):
        with pytest.raises(ValueError, match=r"queue|option"):
            sqm_queue([*lines[:place], *lines[place + 1 :]])


def test_shaper_is_tried_when_the_medium_has_a_subscription_and_not_when_its_rate_varies() -> None:
    assert any(action.kind == "shaper" for action in actions_of("docsis-3.1"))
    assert not any(action.kind == "shaper" for action in actions_of("wimax-nist"))


def test_ack_priority_alone_warns_that_it_is_strict() -> None:
    for action in actions_of("dsl-16m"):
        assert ("strict priority" in " ".join(action.preconditions)) == ("ACKs first" in action.label)


def test_ack_reconstruction_is_tried_with_a_filter_at_the_bottleneck_of_the_acks() -> None:
    (action,) = [one for one in actions_of("dsl-16m") if "reconstruction" in one.label]
    assert {change.path.rpartition(".")[0] for change in action.changes} == {
        "hop.dsl.queue.up.ack",
        "hop.dsl.reconstruct",
    }
    assert "operator" in action.who


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
        ("# in the program: no SO_RCVBUF", SocketOption("SO_RCVBUF", None)),
        ("tc qdisc del dev $DEV root", Qdisc("$DEV")),
        ("sysctl -w net.ipv4.tcp_window_scaling=1", Sysctl("net.ipv4.tcp_window_scaling", "1")),
        ("netsh interface tcp set global ecncapability=enabled", SetNetsh("ecncapability", "enabled")),
        ("rem in the program of d: SO_SNDBUF = 65536", WindowsSocketOption("SO_SNDBUF", "65536", "d")),
        ('uci set sqm.ackclock.download="15200"', Uci("set", "sqm.ackclock.download", "15200")),
        ("/etc/init.d/sqm restart", Service("sqm")),
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
        "# in the program: SO_RCVBUF = many",
        "SO_RCVBUF = 65536",
        'uci set sqm.ackclock.download="many"',
        'uci set network.wan.mtu="1400"',
        "/etc/init.d/network restart",
        "ip route change $(ip route show default) quickack 2",
        "tc qdisc replace dev $DEV root fq_codel limit",
        "tc qdisc replace dev $DEV root fq_codel target 5",
        "tc qdisc replace dev $DEV root cake bandwith 1mbit",
        "tc qdisc replace dev $DEV root codel ecn ecn",
        "tc qdisc replace dev $DEV codel",
        "tc qdisc del dev $DEV root fq",
        "tc filter replace dev $DEV parent 1: u32",
        "sysctl -w net.ipv4.tcp_window_scaling=2",
        "netsh interface tcp set global autotuninglevel=highest",
        "netsh interface tcp set global rss=enabled",
        "netsh interface tcp show global",
        r"reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /v Tcp1323Opts /t REG_DWORD /d 4 /f",
        r"reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /v DefaultSendWindow /t REG_DWORD /d 4096 /f",
        r"reg delete HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /f",
        "rem in the program: SO_SNDBUF = many",
    ],
)
def test_parse_refuses_what_the_tool_would_refuse(text: str) -> None:
    with pytest.raises(ValueError, match="command"):
        parse(text)
