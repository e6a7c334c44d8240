"""The recipe of an advice does all that the advice changes; its undo restores what was there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ackclock.advisor.actions import WHO, Action, candidates
from ackclock.advisor.commands import AutoUndo, Comment
from ackclock.advisor.race import Entry, Runs, compatible
from ackclock.advisor.recipe import Recipe
from ackclock.advisor.situation import situation_of
from tests.support.recipe_grammar import sqm_queue


def household(duration: str, dsl: dict[str, Any]) -> dict[str, Any]:
    """A download and an upload over a DSL line with these keys."""
    return {
        "duration": duration,
        "hop": [{"name": "net", "delay": "5 ms"}, {"name": "dsl", "delay": "8 ms", **dsl}],
        "flow": [
            {"name": "download", "workload": {"kind": "bulk"}},
            {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}},
        ],
    }


HOUSEHOLD = household(
    "5 s",
    {
        "rate": {"down": "20 Mb/s", "up": "2 Mb/s"},
        "queue": {"down": {"bytes": "1 MB"}, "up": {"bytes": "256 kB"}},
    },
)
ADSL = household(
    "8 s",
    {
        "rate": {"down": "8 Mb/s", "up": "1 Mb/s"},
        "framing": {"kind": "atm", "overhead": "32 B"},
        "queue": {"down": {"bytes": "256 kB"}, "up": {"bytes": "128 kB"}},
    },
)


def found(what: Any, *parts: str) -> list[Action]:
    """The candidate of a situation whose label has each text."""
    actions = candidates(situation_of([what]), WHO)
    return [next(one for one in actions if part in one.label) for part in parts]


def texts(commands: Any) -> list[str]:
    return [command.text() for command in commands]


@pytest.mark.finding("A1")
def test_openwrt_lines_shape_the_uplink_when_cake_up_is_advised_with_sqm_down() -> None:
    pair = found(HOUSEHOLD, "cake with its ACK filter at dsl up", "line rate, the downlink")
    assert compatible(*pair)
    (openwrt,) = Recipe.of(pair).alternatives
    queue = sqm_queue(openwrt.commands)
    assert (queue.download, queue.upload) == (19_000, 2_000)
    assert "ack-filter" in queue.egress.split()
    assert "ingress" in queue.ingress.split()
    assert not any("unshaped" in text for text in texts(openwrt.commands))


@pytest.mark.finding("A1")
@pytest.mark.parametrize("other", ["ACKs first at dsl up", "ACK filter at dsl up", "fq-codel at dsl up"])
def test_openwrt_lines_are_not_printed_when_sqm_cannot_do_all_of_the_routers_lines(other: str) -> None:
    actions = candidates(situation_of([HOUSEHOLD]), WHO)
    change = next(one for one in actions if one.label == other)
    (shaper,) = found(HOUSEHOLD, "line rate, the downlink")
    assert Recipe.of([change, shaper]).alternatives == ()


@pytest.mark.finding("A1")
@pytest.mark.parametrize(("link", "option"), [("the downlink", "upload=0"), ("the uplink", "download=0")])
def test_openwrt_lines_name_the_direction_that_remains_unshaped(link: str, option: str) -> None:
    (openwrt,) = Recipe.of(found(HOUSEHOLD, f"line rate, {link}")).alternatives
    notes = [text for text in texts(openwrt.commands) if "unshaped" in text]
    assert [option in note for note in notes] == [True]


def test_openwrt_lines_are_those_of_the_shaper_when_another_host_acts_too() -> None:
    pair = found(HOUSEHOLD, "congestion control bbr", "both directions")
    assert Recipe.of(pair).alternatives == Recipe.of(pair[1:]).alternatives != ()


@pytest.mark.finding("A1")
def test_changes_exclude_each_other_when_both_replace_the_root_qdisc_of_an_interface() -> None:
    for shaper in ("both directions", "the uplink"):
        assert not compatible(*found(HOUSEHOLD, "codel at dsl up", f"line rate, {shaper}"))
    assert compatible(*found(HOUSEHOLD, "codel at dsl down", "codel at dsl up"))
    assert compatible(*found(HOUSEHOLD, "codel at dsl up", "line rate, the downlink"))


@pytest.mark.finding("A2")
def test_undo_names_no_value_of_the_model() -> None:
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        for text in texts(Recipe.of([action]).undo):
            assert "bfifo" not in text and "replace" not in text, text
            assert not text.startswith("sysctl") or text.rpartition("=")[2].startswith('"$OLD_'), text


TWO = {
    **HOUSEHOLD,
    "flow": [
        {"name": "v", "variant": "vegas", "workload": {"kind": "bulk"}},
        {"name": "c", "variant": "cubic", "workload": {"kind": "bulk"}},
    ],
}


@pytest.mark.finding("A11")
def test_undo_restores_the_congestion_control_of_each_flow_when_they_differ() -> None:
    undo = texts(Recipe.of(found(TWO, "congestion control bbr")).undo)
    assert undo == [
        "# in the program of c: TCP_CONGESTION = cubic",
        "# in the program of v: TCP_CONGESTION = vegas",
    ]
    assert texts(Recipe.of(found(TWO, "congestion control cubic")).undo) == undo[1:]


def test_undo_restores_the_hosts_congestion_control_when_the_flows_have_the_same() -> None:
    (bbr,) = found(HOUSEHOLD, "congestion control bbr")
    assert texts(Recipe.of([bbr]).undo) == ['sysctl -w net.ipv4.tcp_congestion_control="$OLD_TCP_CONGESTION_CONTROL"']
    assert any("host-wide" in text for text in bbr.preconditions)


def test_recipe_saves_before_it_changes_and_saves_once() -> None:
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        lines = texts(step.command for step in Recipe.of([action]).steps)
        saves = [place for place, text in enumerate(lines) if text.startswith("OLD_")]
        assert saves == list(range(len(saves))), lines
        assert len(set(lines)) == len(lines)


def test_recipe_of_a_router_starts_its_undo_first_and_shows_how_to_cancel_it() -> None:
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        recipe = Recipe.of([action])
        commands = [step.command for step in recipe.steps]
        automatic = [one for one in commands if isinstance(one, AutoUndo)]
        types_tc = any(text.startswith(("tc", "ip link")) for text in texts(commands))
        assert bool(automatic) == (types_tc and set(action.who) <= {"router", "operator"}), action.label
        if automatic:
            assert automatic[0].undo == recipe.undo[1:]
            assert isinstance(commands[-1], Comment) and "kill $UNDO" in commands[-1].words
            assert recipe.undo[0].text() == "kill $UNDO"


@pytest.mark.finding("A3")
def test_cake_of_a_recipe_counts_cells_when_the_line_has_them() -> None:
    for action in candidates(situation_of([ADSL]), WHO):
        recipe = Recipe.of([action])
        for text in texts(step.command for step in recipe.steps):
            if " cake " in text and text.startswith("tc"):
                assert " atm overhead 40" in text, text
        for other in recipe.alternatives:
            assert sqm_queue(other.commands).atm_overhead == 40
            assert 'uci set sqm.ackclock.linklayer="atm"' in texts(other.commands)


def test_cake_of_a_recipe_counts_a_minimum_when_the_line_has_one_and_uci_has_no_lines_for_it() -> None:
    line = {"rate": {"down": "20 Mb/s", "up": "2 Mb/s"}, "framing": "docsis", "queue": {"bytes": "256 kB"}}
    for action in candidates(situation_of([household("5 s", line)]), WHO):
        recipe = Recipe.of([action])
        cakes = [
            text for text in texts(step.command for step in recipe.steps) if text.startswith("tc") and " cake " in text
        ]
        assert all(" noatm overhead 18 mpu 64" in text for text in cakes)
        assert not recipe.alternatives


def test_cake_of_a_recipe_counts_packets_when_the_line_has_no_cells() -> None:
    for action in candidates(situation_of([HOUSEHOLD]), WHO):
        recipe = Recipe.of([action])
        assert not any(" atm" in text for text in texts(step.command for step in recipe.steps))
        for other in recipe.alternatives:
            assert 'uci set sqm.ackclock.linklayer="none"' in texts(other.commands)


@pytest.mark.finding("A3")
def test_sqm_empties_the_modems_queue_when_its_rate_is_that_of_the_cells() -> None:
    situation = situation_of([ADSL])
    runs = Runs(situation, None, 1, None)
    (shaper,) = found(ADSL, "line rate, both directions")
    assert shaper.hop
    packets = replace(shaper.hop[1], framing=None)
    medians_ms = {}
    for name, actions in (("none", ()), ("cells", (shaper,)), ("packets", (replace(shaper, hop=("dsl", packets)),))):
        runs.run("baseline", [Entry(name, situation.scenario(actions))], [1])
        hops = runs.summaries[-1]["hops"]
        found_ms = [hop["queue_delay_ms"]["p50"] for hop in hops if (hop["hop"], hop["direction"]) == ("dsl", "up")]
        (medians_ms[name],) = found_ms
    assert medians_ms["none"] > 500.0
    assert medians_ms["packets"] > 100.0
    assert medians_ms["cells"] < 15.0
