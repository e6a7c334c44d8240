"""Every recipe is read by a model of the machine: what the advice changes is changed, nothing else,
and after the undo the machine is as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest

from ackclock.advisor.actions import WHO, Action, Change, candidates
from ackclock.advisor.race import compatible
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from ackclock.input.units import rate_bps, size_bytes, time_ps
from studies.advise.machine import Machine, Shell
from tests.advisor import test_order
from tests.advisor.test_recipes import ADSL, HOUSEHOLD, TWO
from tests.support.recipe_grammar import SYSCTLS

WINDOWS = {**HOUSEHOLD, "tcp": {"receive_buffer": "64 KiB", "send_buffer": "64 KiB", "variant": "bbr", "pacing": False}}
MIDDLE: dict[str, Any] = {
    **HOUSEHOLD,
    "hop": [
        {"name": "core-1", "rate": "9 Mb/s", "delay": "30 ms", "queue": {"packets": 50}},
        {"name": "air", "rate": {"down": "9 Mb/s", "up": "9 Mb/s"}, "queue": {"kind": "fq-codel", "ecn": False}},
    ],
}
POLICED: dict[str, Any] = {**test_order.POLICED, "duration": "8 s"}
SITUATIONS = {
    "household": HOUSEHOLD,
    "policed": POLICED,
    "adsl": ADSL,
    "two-variants": TWO,
    "windows": WINDOWS,
    "unscaled": {**HOUSEHOLD, "tcp": {"window_scaling": False, "send_buffer": "32 KiB"}},
    "two-hops": MIDDLE,
    **{name: name for name in ("dsl-16m", "geo-100m", "docsis-3.1", "cable-dialup")},
}
ROOTS: dict[str, list[str]] = {
    "default": [],
    "pfifo": ["pfifo limit 1000"],
    "fq_codel": ["fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn"],
    "cake of another line": ["cake bandwidth 50Mbit diffserv4 nat wash ack-filter rtt 50ms overhead 8 atm"],
    "fq_codel without ECN": ["fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms noecn"],
    "cake": ["cake unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0"],
    "tbf": ["handle 7: tbf rate 10Mbit burst 5000 lat 20ms"],
}
HOST = {
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
    "net.ipv4.tcp_window_scaling": "0",
    "net.ipv4.tcp_ecn": "2",
}
QDISC = {"fq-codel": "fq_codel", "codel": "codel", "pie": "pie", "cake": "cake", "red": "red"}


def shell_of(devices: Sequence[str], root: Sequence[str]) -> Shell:
    """A machine with an interface for each variable and a route with a metric."""
    names = {name: f"eth{number}" for number, name in enumerate(["DEV", *devices])}
    machine = Machine(interfaces=dict.fromkeys(names.values(), "up"), sysctls=dict(HOST))
    machine.route["initcwnd"] = "14"
    shell = Shell(machine, dict(names))
    shell.type(f"tc qdisc add dev {device} root {one}" for device in names.values() for one in root)
    return shell


def devices_of(recipe: Recipe) -> list[str]:
    return sorted({name for step in recipe.steps for name in re.findall(r"\$(DEV_\w+)", step.command.text())})


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def check_cake(given: dict[str, Any], queue: dict[str, Any], bps: int | None, framing: Any) -> None:
    """That a cake has the rate, the ACK filter and the cells of an advice."""
    words = {None: "no-ack-filter", "cake": "ack-filter", "cake-aggressive": "ack-filter-aggressive"}
    assert given["ack-filter"] == words[(queue.get("ack") or {}).get("filter")]
    assert given["bandwidth"] == (bps or 0)
    assert given["tins"] == "besteffort"
    cells = ("atm", size_bytes(framing["overhead"]) + 8.0) if framing else ("noatm", 0.0)
    assert (given["cells"], given["overhead"]) == cells


def check(action: Action, what: Any, shells: dict[str, Shell], recipe: Recipe) -> dict[str, set[str]]:
    """Checks that the machines have what an action changes; the names of what it may change."""
    may: dict[str, set[str]] = {who: set() for who in shells}
    changes = {change.path: change for change in action.changes}
    situation = situation_of([what])
    for path, change in changes.items():
        if path.startswith("tcp."):
            _check_host(path.removeprefix("tcp."), change, shells, may, recipe)
        elif found := re.fullmatch(r"hop\.sqm\.queue\.(down|up)", path if action.hop else ""):
            direction = found[1]
            framing = changes.get(f"hop.sqm.framing.{direction}")
            root = shells["router"].machine.queue(direction)
            assert root is not None and root.kind == "cake"
            assert root.parameters["ingress"] == (direction == "down")
            bps = rate_bps(changes[f"hop.sqm.rate.{direction}"].to)
            check_cake(root.parameters, change.to, bps, framing.to if framing else None)
            ifb = {"interface ifb4dev", "root of ifb4dev", "ingress of eth0", "filter eth0 ffff: 10"}
            may["router"] |= {"root of eth0"} if direction == "up" else ifb
        elif found := re.fullmatch(r"hop\.sender\.(?:queue|rate)\.(down|up)", path if action.hop else ""):
            root = shells["sender"].machine.roots["eth0"]
            check_cake(root.parameters, {}, rate_bps(changes[f"hop.sender.rate.{found[1]}"].to), None)
            may["sender"].add("root of eth0")
        elif action.hop and path.startswith(("hop.sqm.rate", "hop.sqm.framing")):
            assert path.replace(".rate.", ".queue.").replace(".framing.", ".queue.") in changes
        elif found := re.fullmatch(r"hop\.([\w-]+)\.queue\.(down|up)", path):
            hop = next(one for one in situation.hops if one.name == found[1])
            side = getattr(hop, found[2])
            (who,) = action.who
            name = "DEV" if who == "router" else f"DEV_{found[1].upper().replace('-', '_')}_{found[2].upper()}"
            device = shells[who].variables[name]
            root = shells[who].machine.roots[device]
            if change.to["kind"] == "droptail":
                assert root.parameters == {"limit": float(size_bytes(change.to["bytes"]))}
                assert root.kind == "bfifo"
            else:
                assert root.kind == QDISC[change.to["kind"]]
                if "target" in change.to:
                    assert root.parameters["target"] == time_ps(change.to["target"]) / 1e6
                    assert root.parameters["interval"] == time_ps(change.to["interval"]) / 1e6
            if root.kind == "cake":
                atm = None if isinstance(side.framing, str) else side.framing
                rate = side.rate if isinstance(side.rate, int) else None
                check_cake(root.parameters, change.to, rate, atm and {"overhead": f"{atm.cake_overhead - 8} B"})
            may[who].add(f"root of {device}")
        elif path.endswith(".ack.first"):
            (who,) = action.who
            (device,) = (dev for dev, root in shells[who].machine.roots.items() if root.kind == "prio")
            (words,) = (
                w for (dev, parent, _), w in shells[who].machine.filters.items() if (dev, parent) == (device, "1:")
            )
            assert words[-2:] == ("flowid", "1:1")
            may[who] |= {f"root of {device}", f"filter {device} 1: 10"}
        else:
            # A device with a configuration of its own: the recipe names the key.
            assert any(f"on the device: {path} = " in text for shell in shells.values() for text in shell.comments)
    return may


def _check_host(key: str, change: Change, shells: dict[str, Shell], may: dict[str, set[str]], recipe: Recipe) -> None:
    sysctls = {who: shell.machine.sysctls for who, shell in shells.items()}
    comments = {who: "\n".join(shell.comments) for who, shell in shells.items()}
    if key == "variant":
        name = {"westwood+": "westwood"}.get(change.to, change.to)
        typed = f"TCP_CONGESTION = {name}" in comments["sender"]
        assert typed != (sysctls["sender"]["net.ipv4.tcp_congestion_control"] == name != "cubic") or name == "cubic"
        may["sender"].add("net.ipv4.tcp_congestion_control")
    elif key in ("send_limit", "receive_limit"):
        who, name = ("sender", "wmem") if key == "send_limit" else ("receiver", "rmem")
        assert int(sysctls[who][f"net.ipv4.tcp_{name}"].split()[2]) == size_bytes(change.to)
        may[who].add(f"net.ipv4.tcp_{name}")
    elif key in ("send_buffer", "receive_buffer"):
        who, name = ("sender", "SNDBUF") if key == "send_buffer" else ("receiver", "RCVBUF")
        assert f"no SO_{name}" in comments[who]
    elif key in ("delayed_ack", "initial_window"):
        who, metric, value = (
            ("receiver", "quickack", "1") if key == "delayed_ack" else ("sender", "initcwnd", str(change.to))
        )
        assert shells[who].machine.route[metric] == value
        may[who].add("route")
    elif key in ("window_scaling", "ecn"):
        for who in ("sender", "receiver") if key == "window_scaling" else ("receiver",):
            assert sysctls[who][f"net.ipv4.tcp_{key}"] == "1"
            may[who].add(f"net.ipv4.tcp_{key}")
    else:
        assert key == "pacing"
        assert shells["sender"].machine.roots["eth0"].kind == "fq"
        may["sender"].add("root of eth0")


def typed(actions: Sequence[Action], root: Sequence[str]) -> tuple[Recipe, dict[str, Shell], dict[str, dict[str, Any]]]:
    """A recipe on the machines of those who type it, and their states before."""
    recipe = Recipe.of(actions)
    shells = {who: shell_of(devices_of(recipe), root) for who in dict.fromkeys(step.who for step in recipe.steps)}
    before = {who: shell.machine.state() for who, shell in shells.items()}
    for step in recipe.steps:
        shells[step.who].type([step.command.text()])
    return recipe, shells, before


def sets_of(what: Any) -> list[tuple[Action, ...]]:
    """All single actions and all pairs of one situation."""
    actions = candidates(situation_of([what]), WHO)
    pairs = [pair for pair in combinations(actions, 2) if compatible(*pair)]
    return [*((one,) for one in actions), *pairs[:: max(1, len(pairs) // 150)]]


def by_undo(recipe: Recipe, shells: dict[str, Shell]) -> None:
    for step in recipe.undo_steps:
        shells[step.who].type([step.command.text()])


def by_itself(_recipe: Recipe, shells: dict[str, Shell]) -> None:
    for shell in shells.values():
        shell.wait()


@pytest.mark.finding("A1")
@pytest.mark.finding("A2")
@pytest.mark.parametrize("what", SITUATIONS.values(), ids=SITUATIONS)
def test_recipe_makes_the_changes_of_its_advice_and_its_undo_restores_the_machine(what: Any) -> None:
    count = 0
    for number, actions in enumerate(sets_of(what)):
        root = list(ROOTS.values())[number % len(ROOTS)]
        recipe, shells, before = typed(actions, root)
        may: dict[str, set[str]] = {who: set() for who in shells}
        for action in actions:
            for who, names in check(action, what, shells, recipe).items():
                may[who] |= names
        for who, shell in shells.items():
            assert changed(before[who], shell.machine.state()) <= may[who], recipe
        by_undo(recipe, shells)
        assert {who: shell.machine.state() for who, shell in shells.items()} == before, recipe
        assert not any(shell.jobs for shell in shells.values())
        count += 1
    assert count > 20


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_router_is_as_it_was_when_the_undo_in_the_background_is_not_cancelled(root: list[str]) -> None:
    for action in candidates(situation_of([HOUSEHOLD]), ["router", "operator"]):
        recipe, shells, before = typed([action], root)
        by_itself(recipe, shells)
        assert {who: shell.machine.state() for who, shell in shells.items()} == before, recipe


@pytest.mark.finding("A1")
@pytest.mark.finding("A3")
@pytest.mark.parametrize("what", [HOUSEHOLD, ADSL, "dsl-16m", "docsis-3.1"], ids=["household", "adsl", "dsl", "docsis"])
def test_openwrt_lines_leave_the_queues_that_the_tc_lines_leave(what: Any) -> None:
    count = 0
    for number, actions in enumerate(sets_of(what)):
        recipe, shells, _ = typed(actions, [])
        for other in recipe.alternatives:
            openwrt = shell_of([], list(ROOTS.values())[number % len(ROOTS)])
            before = openwrt.machine.state()
            openwrt.type(command.text() for command in other.commands)
            for direction in ("down", "up"):
                wanted, found = (one.machine.queue(direction) for one in (shells["router"], openwrt))
                if wanted is None:
                    assert found is None
                    continue
                assert found is not None
                rates = [one.parameters.pop("bandwidth") for one in (wanted, found)]
                assert {**wanted.parameters, "bandwidth": 0} == {**found.parameters, "bandwidth": 0}
                assert rates[1] == pytest.approx(rates[0], abs=1000)
            openwrt.type(command.text() for command in other.undo)
            assert openwrt.machine.state() == before
            count += 1
    assert count >= 3


@pytest.mark.parametrize(
    "line",
    [
        "tc qdisc replace dev eth0 root cake bandwith 9mbit",
        "tc qdisc replace dev eth0 root fq_codel target 5min",
        "tc qdisc del dev eth0 root",
        "tc filter replace dev eth0 parent 1: protocol ip prio 10 u32 flowid 1:1",
        "ip link del ifb4dev",
        "ip route change default via 192.0.2.2 initialcwnd 3",
        "sysctl -w net.ipv4.tcp_nothing=1",
        "uci delete sqm.ackclock",
        "reboot",
    ],
)
def test_machine_refuses_a_line_that_its_tool_would_refuse(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        shell_of([], []).type([line])


def test_machine_changes_a_qdisc_of_the_same_kind_as_the_kernel_does() -> None:
    shell = shell_of([], ["cake bandwidth 50Mbit overhead 8 nat"])
    shell.type(["tc qdisc replace dev eth0 root cake bandwidth 9mbit"])
    root = shell.machine.roots["eth0"]
    assert (root.parameters["bandwidth"], root.parameters["overhead"], root.parameters["nat"]) == (9e6, 8.0, True)
    shell.type(["tc qdisc replace dev eth0 root fq_codel", "tc qdisc replace dev eth0 root cake bandwidth 9mbit"])
    assert shell.machine.roots["eth0"].parameters["overhead"] == 0.0
    shell.type(["tc qdisc replace dev eth0 root fq_codel flows 512"])
    with pytest.raises(ValueError, match="number of flows"):
        shell.type(["tc qdisc replace dev eth0 root fq_codel flows 512"])


def test_sysctls_of_the_machine_are_those_of_the_recipes() -> None:
    assert HOST.keys() == SYSCTLS.keys()
