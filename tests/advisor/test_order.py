"""Which of the advised changes stands first: what the reader can apply, then the larger gain, and
of equal gains the change that removes the cause.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import ackclock as library
from ackclock.advice.tables import gain_range, gain_text, lines
from ackclock.advisor.action import WHO, Action
from ackclock.advisor.actions import candidates, needs_bottleneck
from ackclock.advisor.causes import REMOVERS, Cause, causes_of, removed_share
from ackclock.advisor.outcome import ordered
from ackclock.advisor.race import Entry, Runs, label_of
from ackclock.advisor.reader import Reader
from ackclock.advisor.run import _modem_notes
from ackclock.advisor.situation import Situation, situation_of
from ackclock.simulation.plan import build_plan
from ackclock.statistics import Ratio

SLOW_ACKS: dict[str, Any] = {
    "duration": "8 s",
    "hop": [
        {
            "name": "a",
            "rate": {"down": "8 Mb/s", "up": "48 kb/s"},
            "delay": "25 ms",
            "queue": {"down": {"bytes": "120 kB"}, "up": {"packets": 10}},
        }
    ],
    "flow": [{"name": "d", "workload": {"kind": "bulk"}}],
}


def gains(**values: float) -> dict[str, Ratio]:
    return {label: Ratio(value, value - 0.01, value + 0.01, 0.001, 10) for label, value in values.items()}


SIZES = {"sender": (1, 0), "router": (1, 2), "operator": (1, 3)}


def found(situation: Situation, label: str) -> Action:
    return next(action for action in candidates(situation, WHO) if action.label == label)


def causes(what: dict[str, Any]) -> list[list[Cause]]:
    """The limits of one run of a situation as it is."""
    situation = situation_of([what])
    runs = Runs(situation, None, 1, None)
    runs.run("baseline", [Entry("as it is", situation.scenario())], [1])
    return causes_of(runs.summaries, build_plan(situation.scenario(), 1))


@pytest.mark.finding("A10")
def test_change_that_removes_the_cause_stands_first_when_gains_tie() -> None:
    near = gains(sender=1.500, router=1.492, operator=1.2)
    assert ordered(list(near), near, SIZES) == ["sender", "router", "operator"]
    assert ordered(list(near), near, SIZES, {"router": 0.12}) == ["router", "sender", "operator"]
    assert ordered(list(near), near, SIZES, {"router": 0.12, "sender": 0.5}) == ["sender", "router", "operator"]


@pytest.mark.finding("A10")
def test_cause_has_no_effect_on_the_order_when_gains_do_not_tie() -> None:
    apart = gains(sender=1.500, router=1.480, operator=1.2)
    assert ordered(list(apart), apart, SIZES, {"router": 1.0, "operator": 1.0}) == ["sender", "router", "operator"]


@pytest.mark.finding("A10")
def test_ack_filter_removes_the_cause_and_a_larger_initial_window_does_not_when_acks_wait() -> None:
    situation, limits = situation_of([SLOW_ACKS]), causes(SLOW_ACKS)
    assert ("ack_path", "a", "up") in {(one.kind, one.hop, one.direction) for one in limits[0]}
    shares = {
        label: removed_share([found(situation, label)], limits)
        for label in ("ACK filter at a up", "cake with its ACK filter at a up", "initial window of 32 segments")
    }
    assert shares["ACK filter at a up"] == shares["cake with its ACK filter at a up"] > 0.05
    assert shares["initial window of 32 segments"] == 0.0


@pytest.mark.parametrize(
    ("tcp", "kind", "label"),
    [
        ({"host": "windows-xp"}, "send_buffer", "send buffer 50 kB"),
        ({"window_scaling": False}, "receive_window", "window scaling"),
        ({"receive_buffer": "8 KiB"}, "receive_window", "receive buffer auto"),
    ],
)
def test_limit_at_a_host_is_removed_by_that_hosts_change(tcp: dict[str, Any], kind: str, label: str) -> None:
    hop = {"name": "a", "rate": {"down": "20 Mb/s", "up": "20 Mb/s"}, "delay": "120 ms", "queue": {"bytes": "600 kB"}}
    what = {**SLOW_ACKS, "hop": [hop], "tcp": tcp, "duration": "4 s"}
    limits = causes(what)
    assert max(limits[0], key=lambda one: one.share).kind == kind
    actions = candidates(situation_of([what]), WHO)
    removers = [action.label for action in actions if removed_share([action], limits) > 0.5]
    assert any(one.startswith(label.split()[0]) for one in removers), removers
    assert not any("congestion control" in one or "segment" in one for one in removers)


def test_limit_of_the_application_is_removed_by_nothing() -> None:
    idle = Cause("application", None, "", "", 0.9)
    for action in candidates(situation_of([SLOW_ACKS]), WHO):
        assert removed_share([action], [[idle]]) == 0.0
    assert not any(kind == "application" for kind, _ in REMOVERS)


@pytest.mark.finding("A19")
def test_change_that_the_reader_can_apply_stands_first_when_another_gains_more() -> None:
    values = gains(sender=1.2, router=1.1, operator=3.0)
    assert ordered(list(values), values, SIZES) == ["operator", "sender", "router"]
    assert ordered(list(values), values, SIZES, None, ["sender", "router"]) == ["sender", "router", "operator"]
    assert ordered(list(values), values, SIZES, None, []) == ["operator", "sender", "router"]


def captured(situation: Situation, *ends: str) -> Situation:
    """A situation of captures of these ends."""
    inputs = [{"capture": f"{end}.pcap", "run": 1, "end": end} for end in ends]
    return replace(situation, fit={"inputs": inputs}, captured=object())  # type: ignore[arg-type]


@pytest.mark.finding("A19")
@pytest.mark.parametrize(
    ("direction", "ends", "controls"),
    [
        ("down", (), ("sender", "receiver", "router")),
        ("down", ("server",), ("sender",)),
        ("up", ("server",), ("receiver",)),
        ("down", ("client",), ("receiver", "router")),
        ("up", ("client",), ("sender", "router")),
        ("down", ("server", "client"), ("sender", "receiver", "router")),
    ],
)
def test_reader_is_guessed_by_what_was_captured(
    direction: str, ends: tuple[str, ...], controls: tuple[str, ...]
) -> None:
    what = {**SLOW_ACKS, "flow": [{"name": "d", "direction": direction, "workload": {"kind": "bulk"}}]}
    situation = situation_of([what])
    reader = Reader.guessed(captured(situation, *ends) if ends else situation)
    assert reader.controls == controls
    assert "--may" in reader.sentence
    assert not reader.applies(("receiver", "operator"))
    assert reader.as_json() == {"controls": list(controls), "guessed": True}


@pytest.mark.finding("A19")
def test_operators_change_stands_behind_the_readers_unless_may_is_given() -> None:
    bloat = {**SLOW_ACKS, "duration": "4 s"}
    bloat["hop"] = [
        {"name": "net", "delay": "1 ms"},
        {**SLOW_ACKS["hop"][0], "rate": {"down": "4 Mb/s", "up": "1 Mb/s"}},
    ]
    bloat["hop"][1]["queue"] = {"down": {"bytes": "300 kB"}, "up": {"packets": 10}}
    guessed = library.advise(bloat, cpu_s=0.2).document
    assert guessed["may"] == list(WHO)
    assert guessed["reader"]["guessed"]
    who = [row["who"] for row in guessed["advice"]]
    mine = ["operator" not in one for one in who]
    assert mine == sorted(mine, reverse=True)
    assert set(mine) == {True, False}, who
    assert sum("--may" in text for text in lines(guessed)) == 1
    given = library.advise(bloat, may=WHO, cpu_s=0.2).document
    ratios = [row["gain"]["ratio"] for row in given["advice"]]
    assert ratios[0] >= 0.99 * max(ratios)
    assert not any("--may" in text for text in lines(given))


def test_document_names_what_cannot_be_set_and_what_the_reader_controls() -> None:
    document = library.advise(
        {**SLOW_ACKS, "tcp": {"host": "windows-xp"}, "duration": "2 s"}, may=["receiver"], cpu_s=0.2
    ).document
    assert any("Windows XP: " in note and "cannot be set here" in note for note in document["notes"])
    assert document["reader"] == {"controls": ["receiver"], "guessed": False}
    assert "sysctl" not in json.dumps(document["advice"])


def test_queue_of_a_router_does_nothing_before_a_modem_when_it_has_no_rate() -> None:
    home = situation_of(["dsl-16m"])
    labels = ("fq-codel at dsl up", "ACKs first at dsl up", "cake at dsl up", "fq-codel at dsl down")
    needs = {label: needs_bottleneck(found(home.under("both"), label)) for label in labels if label.endswith("up")}
    assert needs == {"fq-codel at dsl up": True, "ACKs first at dsl up": True, "cake at dsl up": False}
    assert not needs_bottleneck(found(home, "fq-codel at dsl down"))
    assert not any(needs_bottleneck(one) for one in candidates(home, WHO) if one.kind == "shaper")


def test_note_names_what_works_before_a_modem_when_the_first_advice_does_not() -> None:
    home = situation_of(["dsl-16m"])
    alone = (found(home, "fq-codel at dsl up"),)
    shaped = next((one,) for one in candidates(home, WHO) if one.kind == "shaper")
    of_gain = gains(**{label_of(alone): 2.5, label_of(shaped): 2.0})
    start = "Where a modem behind the router is slower than its interface, fq-codel at dsl up does nothing"
    assert _modem_notes([alone, shaped], of_gain) == [f"{start}: {label_of(shaped)} (+100 %) works there, too."]
    assert _modem_notes([alone], of_gain) == [f"{start}."]
    assert _modem_notes([shaped, alone], of_gain) == []
    assert _modem_notes([], of_gain) == []


def test_fq_codel_is_tried_with_both_targets_and_not_with_the_present_one() -> None:
    def tried(queue: dict[str, Any]) -> set[str]:
        hop = {"name": "a", "rate": "2 Mb/s", "delay": "25 ms", "queue": {"down": queue, "up": {"packets": 10}}}
        return {one.label for one in candidates(situation_of([{**SLOW_ACKS, "hop": [hop]}]), WHO)}

    default, wide = "fq-codel at a down", "fq-codel with a target of 20 ms at a down"
    assert {default, wide} <= tried({"packets": 100})
    assert tried({"kind": "fq-codel"}) & {default, wide} == {wide}
    assert tried({"kind": "fq-codel", "target": "20 ms", "interval": "200 ms"}) & {default, wide} == {default}


POLICED: dict[str, Any] = {
    "duration": "6 s",
    "hop": [
        {
            "name": "access",
            "rate": "100 Mb/s",
            "delay": "20 ms",
            "policer": {"down": {"rate": "20 Mb/s", "burst": "20 kB"}},
            "queue": {"bytes": "500 kB"},
        }
    ],
    "flow": [{"name": "d", "workload": {"kind": "bulk"}}],
}


def with_burst(size: str) -> dict[str, Any]:
    (hop,) = POLICED["hop"]
    return {**POLICED, "hop": [{**hop, "policer": {"down": {"rate": "20 Mb/s", "burst": size}}}]}


def test_larger_burst_and_a_shaper_below_the_rate_are_tried_when_a_policer_drops() -> None:
    situation = situation_of([POLICED])
    labels = {action.label: action for action in candidates(situation, WHO)}
    burst = labels["a burst of one BDP at the policer of access down"]
    # 20 Mb/s for 40 ms.
    assert [(one.path, one.before, one.to) for one in burst.changes] == [
        ("hop.access.policer.down.burst", "20 kB", "100 kB")
    ]
    assert burst.who == ("operator",)
    shaper = labels["cake at the sender at 95 % of the rate of the policer of access down"]
    assert shaper.who == ("sender",) and shaper.changes[0].to == "19 Mb/s"

    def goodput(action: Action | None) -> float:
        runs = Runs(situation, None, 1, None)
        runs.run("baseline", [Entry("one", situation.scenario([action] if action else []))], [1, 2])
        return sum(flow["goodput_bps"] for one in runs.summaries for flow in one["flows"] if flow["flow"] == "d")

    assert goodput(burst) > 1.3 * goodput(None) and goodput(shaper) > 1.3 * goodput(None)


def test_no_burst_is_tried_when_it_is_large_enough_or_another_hop_is_slower() -> None:
    slower = {"name": "b", "rate": "9 Mb/s", "queue": {"bytes": "50 kB"}}
    for what in (with_burst("400 kB"), {**POLICED, "hop": [*POLICED["hop"], slower]}):
        labels = [action.label for action in candidates(situation_of([what]), WHO)]
        assert not any("at the policer" in label for label in labels)
    assert not any("at the sender" in label for label in labels)


HOLE = {"ip": "1400 B", "icmp": False}


def with_mtu(mtu: dict[str, Any]) -> dict[str, Any]:
    hop = {"name": "access", "rate": "20 Mb/s", "delay": "12 ms", "queue": {"bytes": "100 kB"}, "mtu": mtu}
    return {**POLICED, "duration": "10 s", "hop": [hop]}


def test_shorter_segments_are_tried_where_long_packets_vanish() -> None:
    situation = situation_of([with_mtu(HOLE)])
    labels = {action.label: action for action in candidates(situation, WHO)}
    probing = labels["a sender that searches the path MTU"]
    assert [(one.path, one.to) for one in probing.changes] == [("tcp.mtu_probing", "black-hole")]
    assert [step.command.text() for step in probing.steps] == ["sysctl -w net.ipv4.tcp_mtu_probing=1"]
    clamped = labels["MSS clamped to the MTU at access down"]
    reported = labels["reports of packets that are too long at access down"]

    def goodput(action: Action | None) -> float:
        runs = Runs(situation, None, 1, None)
        runs.run("baseline", [Entry("one", situation.scenario([action] if action else []))], [1])
        return sum(flow["goodput_bps"] for one in runs.summaries for flow in one["flows"] if flow["flow"] == "d")

    assert goodput(None) < 1e5
    assert min(map(goodput, (probing, clamped, reported))) > 1e7


@pytest.mark.parametrize("mtu", [{"ip": "1400 B"}, {**HOLE, "clamp_mss": True}])
def test_no_other_mtu_is_tried_where_senders_learn_it(mtu: dict[str, Any]) -> None:
    labels = [action.label for action in candidates(situation_of([with_mtu(mtu)]), WHO)]
    assert not any("clamped" in label or "reports" in label for label in labels)


def test_gain_from_nothing_is_no_percentage() -> None:
    assert gain_range(0.5, 2.0) == "-50 % .. +100 %"
    assert (gain_text(3e6), gain_range(2.0, 3e6), gain_range(2e6, 3e6)) == (
        "> 1000 x",
        "+100 % .. > 1000 x",
        "> 1000 x",
    )
