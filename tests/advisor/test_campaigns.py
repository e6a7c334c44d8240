"""The campaigns of studies.advise in small: printed recipes that are typed and simulated, and an
advice beside a grid that is not the advisor's.
"""

from __future__ import annotations

import copy
import datetime
import random
from dataclasses import replace
from typing import Any

import pytest

import ackclock
from ackclock.advisor.situation import situation_of
from studies.advise import beside, recipes, regret
from studies.advise.changes import GridChange, applied, grid
from studies.advise.lines import RECIPES, REGRETS, drawn, scenario
from studies.advise.situations import Drawn
from studies.advise.typed_recipe import lines_of, scenario_situation, typed
from tests.advisor.test_recipes import ADSL, HOUSEHOLD

SEEDS = range(70_000, 70_003)
CPU_S = 4.0
DAY = datetime.date(2026, 1, 2)
XP: dict[str, Any] = {**HOUSEHOLD, "tcp": {"host": "windows-xp"}}


def row_of(
    commands: list[str],
    undo: list[str],
    *,
    who: str = "router",
    text: str = "DEV is the router's interface to the link",
) -> dict[str, Any]:
    """An advice with these lines."""
    steps = [{"who": who, "command": command, "undo": []} for command in commands]
    steps[-1]["undo"] = undo
    return {"steps": steps, "commands": commands, "undo": undo, "alternatives": [], "preconditions": [text]}


@pytest.mark.finding("A1")
@pytest.mark.finding("A2")
def test_recipes_of_a_router_are_within_their_promise_when_they_are_typed() -> None:
    one = Drawn("ADSL", 1, {**ADSL, "duration": "6 s"})
    found = recipes.outcomes(one, "router", CPU_S, SEEDS)
    assert len(found) >= 2
    assert any(outcome.system for outcome in found)
    for outcome in found:
        assert outcome.within, outcome.cause
        assert outcome.gain is not None and outcome.gain > 1.0
    text = recipes.page(found, 1, DAY)
    assert f"| recipes within their interval | {len(found)} of {len(found)} |" in text
    assert "None." in text


@pytest.mark.slow
def test_openwrt_lines_make_another_scenario_when_they_leave_a_direction_out() -> None:
    situation = situation_of([HOUSEHOLD])
    document = ackclock.advise(HOUSEHOLD, may=["router"], workers=1, cpu_s=CPU_S).document
    row = next(row for row in document["advice"] if row["alternatives"])
    (other,) = row["alternatives"]
    whole = scenario_situation(typed(situation, row, other["system"]))
    broken = copy.deepcopy(row)
    lines = broken["alternatives"][0]["commands"]
    at = next(place for place, line in enumerate(lines) if ".upload=" in line or ".download=" in line)
    lines[at] = lines[at].partition("=")[0] + '="0"'
    part = scenario_situation(typed(situation, broken, other["system"]))
    meant = recipes.meant_scenario(situation, row["change"])
    assert recipes.differences(meant, whole[0].scenario((), whole[1])) != recipes.differences(
        meant, part[0].scenario((), part[1])
    )


def test_cake_without_the_cells_is_a_device_before_a_line_that_remains_slower() -> None:
    situation = situation_of([ADSL])
    for cells, name in (("atm overhead 40", ""), ("overhead 0", "typed-up")):
        row = row_of([f"tc qdisc replace dev $DEV root cake bandwidth 1mbit besteffort {cells}"], [])
        changed, keys = scenario_situation(typed(situation, row))
        assert [hop.name for hop in changed.hops if hop.name.startswith("typed")] == ([name] if name else [])
        assert ("hop.dsl.queue.up" in keys) is not bool(name)


@pytest.mark.parametrize(
    ("what", "lines", "who", "problem"),
    [
        (XP, ["sysctl -w net.ipv4.tcp_congestion_control=bbr"], "sender", "another system|no sysctl|no command"),
        (HOUSEHOLD, ["tc qdisc replace dev $DEV_X root fq_codel"], "router", "DEV_X"),
        (HOUSEHOLD, ["tc qdisc replace dev $DEV root cake bandwidth 1mbit overhead 44"], "router", "no framing"),
        (HOUSEHOLD, ["sysctl -w net.ipv4.tcp_congestion_control=unheard_of"], "sender", "no congestion control"),
        (HOUSEHOLD, ["ip route change $(ip route show default) initcwnd 32"], "receiver", "no effect"),
    ],
)
def test_recipe_is_refused_when_its_lines_have_no_effect_that_is_known(
    what: Any, lines: list[str], who: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        typed(situation_of([what]), row_of(lines, [], who=who)).scenario()


def test_undo_is_a_miss_when_it_leaves_another_qdisc() -> None:
    situation = situation_of([HOUSEHOLD])
    row = row_of(["tc qdisc replace dev $DEV root fq_codel"], ["tc qdisc replace dev $DEV root bfifo limit 1000000"])
    recipe = typed(situation, row, root=("fq_codel",))
    assert "root of eth0" in recipes.undo_problem(situation, row, "", ("fq_codel",), recipe)
    right = row_of(
        ["tc qdisc add dev $DEV root fq_codel"],
        ["tc qdisc del dev $DEV root"],
    )
    assert recipes.undo_problem(situation, right, "", (), typed(situation, right)) == ""


SCALED = r"reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters /v Tcp1323Opts /t REG_DWORD /d 1 /f"
SEND = r"reg add HKLM\SYSTEM\CurrentControlSet\Services\Afd\Parameters /v DefaultSendWindow /t REG_DWORD /d 99000 /f"


def test_window_of_windows_is_scaled_when_the_registry_of_both_ends_has_it() -> None:
    situation = situation_of([XP])
    row = row_of([SCALED, SEND], [], who="sender")
    for steps, is_scaled in ((row["steps"], False), ([*row["steps"], {**row["steps"][0], "who": "receiver"}], True)):
        both = {**row, "steps": steps, "commands": [step["command"] for step in steps], "undo": []}
        changed, keys = scenario_situation(typed(situation, both))
        scenario_now = changed.scenario((), keys)
        tcp = scenario_now.tcp_of(scenario_now.flow[0]).keys
        assert (tcp["window_scaling"], tcp["send_buffer"]) == (is_scaled, 99_000)


def test_lines_are_refused_when_the_lists_of_an_advice_differ() -> None:
    row = row_of(["tc qdisc replace dev $DEV root fq_codel"], ["tc qdisc del dev $DEV root"])
    assert len(lines_of(row)[0]) == 1
    with pytest.raises(ValueError, match="differ"):
        lines_of({**row, "commands": []})


def test_miss_of_a_recipe_names_its_figures_and_its_cause() -> None:
    found = recipes.Outcome(
        7, "ADSL", "router", 1, "cake", "", 1.5, 2.0, 0.8, 0.0, 1.7, [2e6, 1e6, 80.0, 70.0], "", ["rate 2, typed 1"]
    )
    (text,) = recipes.misses([found])
    for part in ("+50 %", "-20 %", "+70 %", "2.00 Mb/s to 1.00 Mb/s", "the lines do something else: rate 2, typed 1"):
        assert part in text
    assert "too narrow" in replace(found, meant=0.9).cause
    (text,) = recipes.misses([found], {(7, "cake"): "traced by hand"})
    assert "Cause: traced by hand." in text
    assert recipes.traced(recipes.SEED) and not recipes.traced(1)
    assert "| recipes that lose | 1 | 0 |" in recipes.page([found], 1, DAY)


@pytest.mark.parametrize("kinds", [RECIPES, REGRETS])
def test_drawn_situations_are_scenarios_and_the_same_for_a_seed(kinds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACKCLOCK_DATA", raising=False)
    count = len(kinds)
    found, again = ([next(source) for _ in range(count)] for source in (drawn(kinds, 3), drawn(kinds, 3)))
    assert found == again
    assert not any(one.kind.startswith("LTE") for one in found)
    for one in found:
        assert situation_of([one.data]).own


@pytest.mark.slow
def test_advice_leaves_a_good_line_and_so_does_the_grid() -> None:
    data = scenario(random.Random(4), "good", "Linux, bbr", "down", "5 s")
    width = regret.Width(of_kind=1, tripled=0, kept=3)
    found = regret.outcome(Drawn("good", 1, data), 1, CPU_S, range(60_000, 60_004), width)
    assert found.is_good and found.advised == regret.LEFT and found.regret == 0.0
    text = regret.page({1: [found]}, DAY)
    assert "| good situations that are left as they are | 1 of 1 | all |" in text
    changed = replace(found, advised="vegas", gain=0.9)
    assert "a good situation is changed: vegas" in regret.page({1: [changed]}, DAY)


def test_grid_has_no_congestion_control_of_linux_when_the_host_is_another() -> None:
    assert not any(one.kind in ("variant", "delayed ACK") for one in grid(situation_of([XP])))
    assert any(one.kind == "variant" for one in grid(situation_of([HOUSEHOLD])))
    scaled = [one for one in grid(situation_of([XP])) if one.keys.get("tcp.window_scaling")]
    assert scaled


@pytest.mark.slow
def test_vegas_is_harm_beside_one_cubic_flow_and_an_equal_share_is_none() -> None:
    data = {**HOUSEHOLD, "flow": HOUSEHOLD["flow"][:1]}
    situation = situation_of([data])
    vegas = beside.figures(situation, applied(situation, (GridChange("v", "vegas", {"tcp.variant": "vegas"}),)), (1, 2))
    assert any(one.is_harm and "beside cubic" in one.name for one in vegas)
    equal = GridChange("q", "fq-codel", {"hop.dsl.queue.down": {"kind": "fq-codel"}})
    assert not any(one.is_harm for one in beside.figures(situation, applied(situation, (equal,)), (1, 2)))
