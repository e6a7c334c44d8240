"""Debian's user-mode Linux, which has every qdisc of a recipe and ifb, takes each kind of recipe,
the undo by its lines, and the undo by itself; tc says of it what the reader's machine says.

One boot in real time types all of them. Without user-mode Linux the tests are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ackclock.advisor.actions import WHO, candidates
from ackclock.advisor.commands import DEVICE, AutoUndo
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from ackclock.export.qdisc_syntax import FLAGS, VALUES, Value
from studies.advise.machine import INGRESS, Machine, Shell
from studies.virtual_kernel import build, uml
from tests.advisor.test_recipes_on_a_machine import SITUATIONS, devices_of
from tests.support.recipe_grammar import SYSCTLS

pytestmark = [pytest.mark.realtime, pytest.mark.slow, pytest.mark.finding("A2")]
LIMIT_S = 420.0
CONTROL = "cubic"
SETTINGS = {
    "net.ipv4.tcp_congestion_control": CONTROL,
    "net.ipv4.tcp_rmem": "4096 50000 700000",
    "net.ipv4.tcp_wmem": "4096 20000 600000",
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
}
ROOTS = {
    "default": "",
    "fq_codel": "fq_codel limit 1024 flows 512 target 7ms interval 90ms noecn",
    "cake": "cake bandwidth 50Mbit diffserv4 nat wash ack-filter rtt 50ms overhead 8",
    "fq": "fq limit 5000",
    "codel": "codel limit 500 ecn",
    "pie": "pie limit 300 target 20ms ecn",
    "pfifo": "pfifo limit 99",
    "bfifo": "bfifo limit 99999",
    "tbf": "handle 7: tbf rate 10mbit burst 5000 limit 30000",
}
"""What an interface has at its root before a recipe; `default`: what the kernel installs."""
TICKS = {"tupdate"}
"""A kernel rounds it up to its tick, 10 ms here."""
PRELUDE = """\
modprobe -a ifb sch_ingress act_mirred cls_matchall cls_u32 tcp_bbr
for i in {devices}; do
  ip link add d$i type veth peer name p$i
  ip link set d$i up; ip link set p$i up
done
ip addr add 192.0.2.1/24 dev d0
ip route add default via 192.0.2.2 dev d0 initcwnd 7
{settings}
# A program takes 50 ms to start here: one of tc, one of ip, and none for the sysctls.
printf '%s\n' 'qdisc show' > /tmp/tc
for i in {devices}; do
  printf '%s\n' "class show dev d$i" "filter show dev d$i" "filter show dev d$i parent ffff:" >> /tmp/tc
done
printf '%s\n' 'link show' 'route show default' > /tmp/ip
state() {{
  tc -force -batch /tmp/tc 2>/dev/null; ip -br -batch /tmp/ip
  for name in {names}; do echo "s $name = $(</proc/sys/${{name//.//}})"; done
}}
# A recipe's undo sleeps until it may go on, so that no state depends on the speed of this machine.
sleep() {{ until [ -e /tmp/go ]; do command sleep 0.02; done; }}
"""


@dataclass(frozen=True)
class Case:
    """A recipe, the qdisc that is there before, and an interface for each variable."""

    label: str
    recipe: Recipe
    root: str

    @property
    def devices(self) -> dict[str, str]:
        names = [DEVICE.removeprefix("$"), *devices_of(self.recipe)]
        return {name: f"d{number}" for number, name in enumerate(names)}

    @property
    def typed(self) -> list[str]:
        return [step.command.text() for step in self.recipe.steps]

    @property
    def undo(self) -> list[str]:
        return [command.text() for command in self.recipe.undo]

    @property
    def undoes_itself(self) -> bool:
        return any(isinstance(step.command, AutoUndo) for step in self.recipe.steps)


@cache
def cases() -> tuple[Case, ...]:
    """A recipe for each text that differs by more than numbers and names, with the roots in turn;
    SQM in both directions with each root.
    """
    found: list[Case] = []
    seen: set[str] = set()
    for name, what in SITUATIONS.items():
        for action in candidates(situation_of([what]), WHO):
            recipe = Recipe.of([action])
            lines = [step.command.text() for step in recipe.steps]
            if all(line.startswith("# ") for line in lines) or action.label == f"congestion control {CONTROL}":
                continue
            shape = re.sub(r"(?m)(DEV|QDISC)_\w+|congestion_control=\w+|tcp_[a-z]+$|\d+", "X", "\n".join(lines))
            if shape in seen:
                continue
            seen.add(shape)
            label = f"{name}: {action.label}"
            in_each = name == "household" and "both directions" in action.label
            roots = ROOTS if in_each else [list(ROOTS)[len(found) % len(ROOTS)]]
            found += [Case(label, recipe, root) for root in roots]
    return tuple(found)


def typed(lines: list[str]) -> Iterator[str]:
    """Lines as the user's shell runs them, without what they print of success."""
    yield from (f"{line} >/dev/null" if line[0] in "stui[" else line for line in lines)


def script() -> str:
    """Types all cases; `@@ CASE PHASE` stands before the state in each phase, and before what the
    tools print of errors.
    """
    numbers = range(max(len(case.devices) for case in cases()))
    lines = [
        PRELUDE.format(
            devices=" ".join(map(str, numbers)),
            settings="\n".join(f'sysctl -qw {key}="{value}"' for key, value in SETTINGS.items()),
            names=" ".join(SETTINGS),
        )
    ]
    for number, case in enumerate(cases()):

        def phase(name: str, number: int = number) -> list[str]:
            return [f"echo '@@ {number} {name}'", "state", f"echo '@@ {number} errors'"]

        variables = [f"{name}={device}" for name, device in case.devices.items()]
        root = ROOTS[case.root]
        roots = [f"tc qdisc add dev {device} root {root}" for device in case.devices.values() if root]
        lines += ["rm -f /tmp/go", *variables, *roots, *phase("before"), *typed(case.typed), *phase("applied")]
        undo = case.undo
        if case.undoes_itself:
            lines += [undo[0], "touch /tmp/go", "wait 2>/dev/null", *phase("kept")]
            undo = undo[1:]
        lines += [*typed(undo), *phase("undone")]
        if case.undoes_itself:
            lines += ["rm -f /tmp/go", *typed(case.typed), "touch /tmp/go", "wait", *phase("by itself")]
        lines += [f"tc qdisc del dev {device} root" for device in case.devices.values() if root]
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def phases() -> dict[tuple[int, str], list[str]]:
    """The lines of each phase of each case."""
    with pytest.MonkeyPatch.context() as patch:
        # The cache in which `make uml` keeps its package, not the tests' own.
        patch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        try:
            result = uml.run(script(), LIMIT_S)
        except build.Unavailable as why:
            pytest.skip(str(why))
    found: dict[tuple[int, str], list[str]] = {}
    here: list[str] = []
    for line in result.output.splitlines():
        if marked := re.fullmatch(r"@@ (\d+) (.+)", line):
            here = found.setdefault((int(marked[1]), marked[2]), [])
        else:
            here.append(line)
    return found


def test_machine_has_every_module_of_a_recipe(phases: dict[tuple[int, str], list[str]]) -> None:
    errors = {case.label: lines for n, case in enumerate(cases()) if (lines := phases[n, "errors"])}
    assert errors == {}


def test_state_after_each_undo_is_the_state_before_the_recipe(phases: dict[tuple[int, str], list[str]]) -> None:
    left = {}
    for number, case in enumerate(cases()):
        before = phases[number, "before"]
        for name in ("undone", "by itself") if case.undoes_itself else ("undone",):
            if (after := phases[number, name]) != before:
                left[case.label, case.root, name] = sorted(set(before) ^ set(after))
    assert left == {}


def test_recipe_changes_the_machine_and_stays_when_its_undo_is_cancelled(
    phases: dict[tuple[int, str], list[str]],
) -> None:
    unlike = []
    for number, case in enumerate(cases()):
        before, applied = phases[number, "before"], phases[number, "applied"]
        kept = phases.get((number, "kept"), applied)
        only_loads = all(line.startswith(("# ", "modprobe ")) for line in case.typed)
        if (applied == before) != only_loads or kept != applied:
            unlike.append((case.label, case.root, sorted(set(applied) ^ set(kept))))
    assert unlike == []


def of_tc(kind: str, words: list[str]) -> dict[str, Value]:
    """The parameters that a line of `tc qdisc show` has and the reader knows."""
    found: dict[str, Value] = {}
    for place, word in enumerate(words):
        if word in FLAGS.get(kind, {}):
            key, value = FLAGS[kind][word]
            found[key] = value
        elif word in VALUES[kind] and place + 1 < len(words) and words[place + 1] != "unlimited":
            text = words[place + 1]
            # A limit has a unit that tc does not take.
            found[word] = VALUES[kind][word](re.sub(r"(?<=\d)[pb]$", "", text) if word != "memory_limit" else text)
    return found


def difference(machine: Machine, lines: list[str], devices: list[str]) -> list[str]:
    """What the machine of the reader and that of the tools say differently."""
    unlike = []
    roots = {
        m[3]: m for line in lines if (m := re.match(r"qdisc (\S+) (\S+) dev (\S+) root (?:refcnt \d+ )?(.*)", line))
    }
    for device in [*devices, *(name for name in machine.interfaces if name not in devices)]:
        model, real = machine.roots.get(device), roots.get(device)
        kind = real[1] if real and real[2] != "0:" else None
        if kind != (model.kind if model else None):
            unlike.append(f"{device}: {kind} is {model}")
        elif model and real and kind:
            shown = of_tc(kind, real[4].split())
            for key in (shown.keys() & model.parameters.keys()) - TICKS:
                value, wanted = shown[key], model.parameters[key]
                if value != (pytest.approx(wanted, rel=0.01) if isinstance(wanted, float) else wanted):
                    unlike.append(f"{device}: {kind} {key} {value} is {wanted}")
    ingress = {m[1] for line in lines if (m := re.match(rf"qdisc ingress {INGRESS} dev (\S+) ", line))}
    links = {m[1] for line in lines if (m := re.match(r"([\w.-]+)(?:@\S+)? +(?:UP|DOWN|UNKNOWN) ", line))}
    if ingress != machine.ingress:
        unlike.append(f"ingress {ingress} is {machine.ingress}")
    if not set(machine.interfaces) <= links:
        unlike.append(f"interfaces {links} are {set(machine.interfaces)}")
    filters = "\n".join(lines)
    for (device, parent, prio), words in machine.filters.items():
        at = "" if parent == INGRESS else f"parent {parent} "
        if not re.search(rf"filter {at}protocol \w+ pref {prio} {words[0]}", filters):
            unlike.append(f"no filter {device} {parent} {prio} in {filters}")
        if words[0] == "matchall" and f"(Egress Redirect to device {words[-1]})" not in filters:
            unlike.append(f"no redirection to {words[-1]} in {filters}")
    route = " ".join(line for line in lines if line.startswith("default via "))
    unlike += [
        f"{key} {value} in {route}" for key, value in machine.route.items() if value and f"{key} {value}" not in route
    ]
    sysctls = dict(line.removeprefix("s ").split(" = ") for line in lines if line.startswith("s "))
    for key, value in machine.sysctls.items():
        if sysctls[key].split() != value.split():
            unlike.append(f"{key} {sysctls[key]} is {value}")
    return unlike


def modelled(case: Case) -> Shell:
    """The reader's machine before a recipe."""
    devices = case.devices
    machine = Machine(interfaces=dict.fromkeys(devices.values(), "up"), sysctls=dict(SETTINGS))
    machine.route = {"default": "", "via": "192.0.2.2", "dev": "d0", "initcwnd": "7"}
    shell = Shell(machine, dict(devices))
    shell.type(f"tc qdisc add dev {device} root {ROOTS[case.root]}" for device in devices.values() if ROOTS[case.root])
    return shell


def test_reader_and_tools_agree_on_the_machine_before_and_after_each_recipe(
    phases: dict[tuple[int, str], list[str]],
) -> None:
    unlike: dict[Any, list[str]] = {}
    for number, case in enumerate(cases()):
        shell = modelled(case)
        for name, lines in (("before", []), ("applied", case.typed), ("undone", case.undo)):
            shell.type(lines)
            if found := difference(shell.machine, phases[number, name], list(case.devices.values())):
                unlike[case.label, case.root, name] = found
    assert unlike == {}


def test_cases_have_every_kind_of_command() -> None:
    """Needs no machine: what is typed in it has every command of a recipe that changes one."""
    text = "\n".join(line for case in cases() for line in case.typed)
    for part in (
        *(" cake bandwidth ", " fq_codel", " codel", " pie", " prio bands", " bfifo limit", " root fq", "atm overhead"),
        *("type ifb", "ffff: ingress", "mirred egress redirect", "u32 match", "initcwnd", "quickack", "modprobe"),
        *("tcp_congestion_control", "tcp_rmem", "trap '' HUP"),
    ):
        assert part in text, part
    assert SETTINGS.keys() == SYSCTLS.keys()
    assert {case.root for case in cases()} == ROOTS.keys()
