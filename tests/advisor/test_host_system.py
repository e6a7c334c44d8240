"""What is changed at a host is changed by the commands of that host's own system, and undone."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock as library
from ackclock.advisor.action import WHO, Action
from ackclock.advisor.actions import candidates
from ackclock.advisor.commands import SocketOption
from ackclock.advisor.host_actions import unsettable
from ackclock.advisor.host_system import SYSTEMS, LinuxSystem
from ackclock.advisor.race import Entry, Runs
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from ackclock.advisor.windows_commands import INTERFACE, TCPIP, WindowsCommand
from studies.advise.windows_machine import Prompt, WindowsMachine

HOSTS = library.list_hosts()
VARIED: tuple[dict[str, Any], ...] = (
    {},
    {"window_scaling": False},
    {"send_buffer": "12 KiB", "receive_buffer": "20 KiB"},
    {"window_scaling": False, "timestamps": True, "receive_buffer": "40 KiB"},
)
"""Keys of hosts that leave something to change."""


def line(tcp: dict[str, Any], *flows: str, down: str = "10 Mb/s", **keys: Any) -> dict[str, Any]:
    """Transfers over a line with an RTT of 120 ms."""
    queues = {"down": {"bytes": "150 kB"}, "up": {"bytes": "60 kB"}}
    hop = {"name": "a", "rate": {"down": down, "up": "2 Mb/s"}, "delay": "60 ms", "queue": queues}
    tables = [{"name": f"flow{n}", "direction": one, "workload": {"kind": "bulk"}} for n, one in enumerate(flows)]
    return {"duration": "8 s", "tcp": tcp, "hop": [hop], "flow": tables or [{"workload": {"kind": "bulk"}}], **keys}


def host_actions(what: dict[str, Any]) -> list[Action]:
    """The candidates that change a host."""
    return candidates(situation_of([what]), ["sender", "receiver"])


def found(what: dict[str, Any], label: str) -> Action:
    return next(action for action in host_actions(what) if action.label.startswith(label))


def metrics(what: dict[str, Any], *actions: Action) -> list[dict[str, float]]:
    """Of a run as it is, and of a run with each action."""
    situation = situation_of([what])
    changes = [(), *((action,) for action in actions)]
    entries = [Entry(str(number), situation.scenario(one)) for number, one in enumerate(changes)]
    return [dict(of_seed[1]) for of_seed in Runs(situation, None, 1, None).run("baseline", entries, [1])]


def test_every_host_stack_has_a_system() -> None:
    assert SYSTEMS.keys() == set(HOSTS)


@pytest.mark.finding("A7")
@pytest.mark.parametrize("tcp", VARIED)
@pytest.mark.parametrize("name", HOSTS)
def test_command_is_of_the_hosts_own_system_for_every_host_and_action(name: str, tcp: dict[str, Any]) -> None:
    for flows in (["down"], ["up"], ["down", "up"]):
        for action in host_actions(line({"host": name, **tcp}, *flows)):
            recipe = Recipe.of([action])
            for command in [*(step.command for step in recipe.steps), *recipe.undo]:
                is_windows, is_program = isinstance(command, WindowsCommand), isinstance(command, SocketOption)
                if name.startswith("windows"):
                    assert is_windows, command.text()
                elif not isinstance(SYSTEMS[name], LinuxSystem):
                    assert is_program, command.text()
                else:
                    assert not is_windows, command.text()


@pytest.mark.finding("A7")
@pytest.mark.parametrize(("name", "has"), [("windows-xp", True), ("windows-vista", True), ("linux-6", False)])
def test_command_names_the_page_that_has_it_when_the_host_is_windows(name: str, has: bool) -> None:
    for action in host_actions(line({"host": name, "window_scaling": False})):
        lines = [step.command.text() for step in action.steps]
        typed = [place for place, text in enumerate(lines) if text.startswith(("reg", "netsh"))]
        assert all(lines[place - 1].startswith('rem Microsoft, "') for place in typed), lines
        assert not typed or has


@pytest.mark.parametrize("name", HOSTS)
def test_what_a_host_cannot_set_is_named_and_not_tried(name: str) -> None:
    what = line({"host": name})
    notes = unsettable(situation_of([what]), WHO)
    kinds = {action.kind for action in host_actions(what)}
    for kind, words in (("variant", "congestion control"), ("initial window", "initial window"), ("pacing", "pacing")):
        named = any(words in note and "cannot be set here" in note for note in notes)
        assert not (named and kind in kinds)
        if name != "ns2":
            assert named or kind in kinds
    assert unsettable(situation_of([what]), ["router"]) == []


def test_no_host_is_changed_when_one_end_has_hosts_of_two_systems() -> None:
    what = line({}, "down", "down")
    what["flow"][1]["host"] = "windows-xp"
    assert host_actions(what) == []
    assert "several systems" in unsettable(situation_of([what]), WHO)[0]


def test_each_end_has_its_own_commands_when_the_hosts_differ() -> None:
    what = line({"server": {"host": "windows-xp"}, "client": {"host": "linux-6"}})
    action = found(what, "receive buffer up to")
    assert {change.path for change in action.changes} == {"tcp.server.window_scaling", "tcp.client.receive_limit"}
    typed = {who: [s.command.text() for s in action.steps if s.who == who] for who in ("sender", "receiver")}
    assert typed["sender"][1].startswith("reg add") and "Tcp1323Opts" in typed["sender"][1]
    assert typed["receiver"][0].startswith("sysctl -w net.ipv4.tcp_rmem")
    scenario = situation_of([what]).scenario([action])
    assert scenario.tcp_of(scenario.flow[0], "server").keys["window_scaling"] is True
    assert not any("send_buffer" in change.path for change in action.changes)


@pytest.mark.finding("A7")
def test_send_buffer_of_windows_xp_is_raised_when_it_limits() -> None:
    what = line({"host": "windows-xp"})
    alone, scaled = found(what, "send buffer 64 KiB"), found(what, "send buffer 151840 B and receive buffer")
    base, raised, both = metrics(what, alone, scaled)
    assert raised["goodput_bps"] > 3.5 * base["goodput_bps"]
    assert both["goodput_bps"] > 1.8 * raised["goodput_bps"]
    assert any("DefaultSendWindow is host-wide" in text for text in alone.preconditions)


def test_socket_option_is_advised_when_the_program_sets_a_buffer_of_its_own() -> None:
    action = found(line({"host": "windows-xp", "send_buffer": "8 KiB"}), "send buffer 64 KiB")
    assert [step.command.text() for step in action.steps] == ["rem in the program: SO_SNDBUF = 65536"]
    assert [one.text() for one in action.steps[0].undo] == ["rem in the program: SO_SNDBUF = 8192"]


def test_receive_buffer_of_windows_vista_is_left_to_the_host_when_a_program_sets_it() -> None:
    action = found(line({"host": "windows-vista", "receive_buffer": "20 KiB"}), "receive buffer auto")
    lines = [step.command.text() for step in action.steps]
    assert lines[0] == "rem in the program: no SO_RCVBUF"
    assert [one.text() for one in action.steps[0].undo] == ["rem in the program: SO_RCVBUF = 20480"]
    assert lines[-1] == "netsh interface tcp set global autotuninglevel=normal"


@pytest.mark.finding("A8")
def test_window_scaling_is_tried_when_it_is_off_and_not_when_it_is_on() -> None:
    unscaled = line({"window_scaling": False}, down="20 Mb/s")
    action = found(unscaled, "window scaling")
    base, scaled = metrics(unscaled, action)
    assert scaled["goodput_bps"] > 2.5 * base["goodput_bps"]
    assert {step.who for step in action.steps} == {"sender", "receiver"}
    assert not any("scaling" in one.label for one in host_actions(line({})))


@pytest.mark.finding("A8")
def test_buffers_are_raised_with_window_scaling_when_both_are_needed() -> None:
    long = line({"window_scaling": False}, down="500 Mb/s")
    labels = [action.label for action in host_actions(long) if action.kind == "buffers"]
    assert any(label.startswith("send buffer up to") and "with window scaling" in label for label in labels)
    # Without it no window is larger than 64 KB.
    assert all("with window scaling" in label for label in labels)


@pytest.mark.finding("A8")
def test_advice_is_window_scaling_first_when_it_is_off() -> None:
    unscaled = line({"window_scaling": False}, down="20 Mb/s", duration="4 s")
    advice = library.advise(unscaled, may=["sender", "receiver"], goal="throughput", cpu_s=0.5).document["advice"]
    assert "tcp.window_scaling" in {change["path"] for change in advice[0]["change"]}
    assert "sysctl -w net.ipv4.tcp_window_scaling=1" in advice[0]["commands"]


@pytest.mark.parametrize(
    ("name", "ends"),
    [("linux-6", {"receiver"}), ("linux-2.6.20", {"sender", "receiver"}), ("windows-vista", {"sender", "receiver"})],
)
def test_ecn_is_asked_for_by_the_client_and_set_at_both_ends_where_servers_refuse_it(name: str, ends: set[str]) -> None:
    assert {step.who for step in found(line({"host": name}), "ECN").steps} == ends
    upload = {step.who for step in found(line({"host": name}, "up"), "ECN").steps}
    assert upload == ({"sender"} if len(ends) == 1 else ends)
    assert not any(action.label == "ECN" for action in host_actions(line({"host": name, "ecn": True})))


@pytest.mark.parametrize("name", ["linux-2.6.8", "linux-2.6.15", "linux-2.6.20"])
def test_settings_that_came_later_are_not_tried_on_an_old_linux(name: str) -> None:
    texts = [step.command.text() for action in host_actions(line({"host": name})) for step in action.steps]
    assert not any(word in text for text in texts for word in ("quickack", "root fq", "bbr", "=cubic"))
    assert any("tcp_congestion_control" in text for text in texts) == (name != "linux-2.6.8")


OLD = {
    "none": {},
    "values": {
        (TCPIP.lower(), "TcpWindowSize"): 17_520,
        (TCPIP.lower(), "Tcp1323Opts"): 0,
        (r"hklm\system\currentcontrolset\services\afd\parameters", "DefaultSendWindow"): 8192,
    },
}


@pytest.mark.finding("A7")
@pytest.mark.parametrize("old", OLD.values(), ids=OLD)
@pytest.mark.parametrize("name", ["windows-xp", "windows-vista"])
def test_recipe_makes_its_changes_on_windows_and_its_undo_restores_what_was_there(
    name: str, old: dict[Any, int]
) -> None:
    count = 0
    for tcp in VARIED:
        for action in host_actions(line({"host": name, **tcp})):
            recipe = Recipe.of([action])
            prompts = {who: Prompt(WindowsMachine(dict(old))) for who in action.who}
            before = {who: prompt.machine.state() for who, prompt in prompts.items()}
            for prompt in prompts.values():
                prompt.machine.parameters["autotuninglevel"] = "restricted"
            started = {who: prompt.machine.state() for who, prompt in prompts.items()}
            for step in recipe.steps:
                prompts[step.who].type([step.command.text()])
            _check(action, tcp, prompts)
            for step in recipe.undo_steps:
                prompts[step.who].type([step.command.text()])
            assert {who: prompt.machine.state() for who, prompt in prompts.items()} == started != before
            count += 1
    assert count > 6


def _check(action: Action, tcp: dict[str, Any], prompts: dict[str, Prompt]) -> None:
    """That each changed key has its value on the machine, or in a program."""
    from ackclock.input.units import size_bytes

    states = {who: prompt.machine.state() for who, prompt in prompts.items()}
    comments = {who: "\n".join(prompt.comments) for who, prompt in prompts.items()}
    for change in action.changes:
        key = change.path.removeprefix("tcp.")
        if key in ("send_buffer", "receive_buffer"):
            who, option, value = (
                ("sender", "SO_SNDBUF", "DefaultSendWindow")
                if key == "send_buffer"
                else ("receiver", "SO_RCVBUF", "TcpWindowSize")
            )
            if change.to == "auto":
                assert f"no {option}" in comments[who]
                assert states[who]["autotuninglevel"] == "normal"
            else:
                size = size_bytes(change.to)
                assert f"{option} = {size}" in comments[who] or states[who].get(value) == size
        elif key == "window_scaling":
            for state in states.values():
                scales = state["autotuninglevel"] == "normal" or state.get("Tcp1323Opts") == (
                    3 if "timestamps" in tcp else 1
                )
                assert scales
        elif key == "ecn":
            assert all(state["ecncapability"] == "enabled" for state in states.values())
        else:
            assert key == "delayed_ack"
            assert states["receiver"]["TcpAckFrequency"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "sysctl -w net.ipv4.tcp_ecn=1",
        f"reg add {TCPIP} /v TcpWindowSize /t REG_DWORD /d 4294967296 /f",
        f"reg add {TCPIP} /v TcpWindowSize /t REG_SZ /d 8 /f",
        r"reg add C:\Windows /v TcpWindowSize /t REG_DWORD /d 8 /f",
        f"reg delete {TCPIP} /v TcpWindowSize /f",
        f"reg delete {INTERFACE} /v TcpAckFrequency /f",
        "netsh interface tcp set global autotuninglevel=high",
        "netsh interface tcp set global window=65535",
    ],
)
def test_windows_machine_refuses_a_line_that_its_tool_would_refuse(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Prompt(WindowsMachine()).type([text])
