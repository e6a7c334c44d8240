"""The tools of this machine take every recipe and its undo in a network namespace, whose state
after the undo is the one before the recipe.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ackclock.advice.tables import to_type
from ackclock.advisor.actions import WHO, candidates
from ackclock.advisor.commands import SHAPED
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from tests.advisor.test_recipes import HOUSEHOLD
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(
        not namespaces() or not all(map(shutil.which, ("tc", "ip", "sysctl", "unshare"))),
        reason="no network namespaces, or no iproute2",
    ),
]
ABSENT = (
    "qdisc kind is unknown",
    "qdisc with handle of zero",
    "Parent Qdisc doesn't exist",
    "classifier not found",
    "Unknown device type",
    f'Cannot find device "{SHAPED}"',
    "modprobe",
    "congestion_control",
    "kill:",
    "We have an error talking to the kernel",
    "Cannot find specified",
    "Invalid handle",
)
"""What the tools print where this kernel lacks a module, or a namespace may not choose one; then
there is nothing to undo, either.
"""
PRELUDE = """\
ip link add veth0 type veth peer name veth1
ip addr add 192.0.2.1/24 dev veth0
ip link set veth0 up; ip link set veth1 up
ip route add default via 192.0.2.2 initcwnd 7
sysctl -qw net.ipv4.tcp_rmem="4096 50000 700000"
DEV=veth0 DEV_DSL_DOWN=veth0
state() {
  tc qdisc show; tc class show dev veth0; tc filter show dev veth0
  ip route show; ip -br link | sort; sysctl net.ipv4 2>/dev/null | grep -e tcp_.mem -e congestion_control -e tcp_ecn -e scaling
}
sleep() { command sleep $SLEEP >/dev/null 2>&1; }
"""
QDISCS = {
    "noqueue": "",
    "pfifo": "pfifo limit 99",
    "bfifo": "bfifo limit 99999",
    "tbf": "handle 7: tbf rate 10mbit burst 5000 limit 30000",
}


def run(before: str, body: list[str], sleep: str) -> list[str]:
    """What a shell prints in a namespace whose interface has a root qdisc."""
    qdisc = f"tc qdisc add dev veth0 root {before}\n" if before else ""
    script = f"SLEEP={sleep}\n{PRELUDE}{qdisc}" + "\n".join(body) + "\n"
    done = subprocess.run(
        ["unshare", "-rn", "sh"], input=script, stdout=-1, stderr=-2, text=True, timeout=60, check=True
    )
    return [line for line in done.stdout.splitlines() if not any(known in line for known in ABSENT)]


def compared(label: str, recipe: Recipe, undo: list[str]) -> list[str]:
    """Lines of a shell that print the difference of the states before and after."""
    typed = [step.command.text() for step in recipe.steps]
    changed = ['[ "$before" != "$(state)" ] || unchanged="$unchanged|"'] if "droptail" in label else []
    after = f'[ "$before" = "$(state)" ] || echo "{label}: $(state)"'
    return [
        "before=$(state)",
        *(f"{line} >/dev/null" if line[0] in "stui[" else line for line in typed),
        *changed,
        *undo,
        after,
    ]


@pytest.mark.finding("A2")
@pytest.mark.parametrize("before", QDISCS.values(), ids=QDISCS)
def test_state_after_the_undo_is_the_state_before_the_recipe(before: str) -> None:
    body = []
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        recipe = Recipe.of([action])
        undo = [f"{one.text()} >/dev/null" for one in recipe.undo]
        body += compared(action.label, recipe, undo)
    assert run(before, [*body, 'echo "unchanged: $unchanged"'], "10") == ["unchanged: "]


@pytest.mark.parametrize("before", QDISCS.values(), ids=QDISCS)
def test_router_undoes_its_change_when_the_user_does_not_cancel(before: str) -> None:
    action = next(one for one in candidates(situation_of([HOUSEHOLD]), WHO) if "droptail" in one.label)
    assert run(before, [*compared(action.label, Recipe.of([action]), ["wait"]), 'echo "$unchanged"'], "2") == [""]
    left = ["kill $UNDO", "wait $UNDO 2>/dev/null"]
    kept = run(before, [*compared(action.label, Recipe.of([action]), left)], "10")
    assert any("bfifo" in line for line in kept)


@pytest.mark.parametrize("before", QDISCS.values(), ids=QDISCS)
def test_lines_of_the_screen_restore_the_state_before(before: str) -> None:
    """Those that keep what was before, after the printed undo and after the one by itself; those
    without it where the kernel's own qdisc was there.
    """
    body = []
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        steps = [step.as_json() for step in Recipe.of([action]).steps]
        for keeps in (True, False) if not before else (True,):
            printed = [line.strip() for line in to_type(steps, keeps=keeps, by_itself=True)]
            typed = [line for line in printed if not line.startswith("To type on")]
            lines = [f"{{ {line.removeprefix('undo: ').partition('  #')[0]}; }} >/dev/null" for line in typed]
            after = f'[ "$before" = "$(state)" ] || echo "{action.label}, {keeps}: $(state)"'
            body += ["before=$(state)", *lines, after]
    assert run(before, body, "10") == []
