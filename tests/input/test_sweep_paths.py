"""Dotted paths of a sweep set the values of a scenario."""

from __future__ import annotations

from ackclock.input.scenario import draft_of

HOPS = [
    {"name": "core", "rate": "1 Gb/s"},
    {"name": "air", "rate": "1 Mb/s", "loss": 0.1, "delay": {"down": "1 ms", "up": "2 ms"}},
]
BASE = {"duration": "10 s", "hop": HOPS, "flow": [{"name": "f", "workload": {"kind": "bulk"}}]}


def checked(**point):
    return draft_of(BASE).check({key.replace("__", "."): value for key, value in point.items()})


def test_sweep_points_are_the_product_with_the_last_path_fastest():
    draft = draft_of({**BASE, "sweep": {"tcp.variant": ["reno", "cubic"], "duration": ["1 s", "2 s"]}})
    assert [tuple(point.values()) for point in draft.points()] == [
        ("reno", "1 s"), ("reno", "2 s"), ("cubic", "1 s"), ("cubic", "2 s"),
    ]  # fmt: skip


def test_scenario_without_a_sweep_has_one_point():
    assert draft_of(BASE).points() == [{}]


def test_unquoted_dotted_paths_equal_quoted_ones():
    quoted = draft_of({**BASE, "sweep": {"hop.air.loss.down.mean": [0.1]}})
    nested = draft_of({**BASE, "sweep": {"hop": {"air": {"loss": {"down": {"mean": [0.1]}}}}}})
    assert quoted.points() == nested.points()


def test_sweep_path_sets_a_tcp_key():
    assert checked(tcp__variant="reno").tcp.variant == "reno"


def test_sweep_path_sets_one_direction_of_a_common_value():
    air = checked(hop__air__loss__down__mean=0.5).hop[1]
    assert (air.down.loss.mean, air.up.loss.mean) == (0.5, 0.1)
    air = checked(hop__air__rate__up="64 kb/s").hop[1]
    assert (air.down.rate, air.up.rate) == (1_000_000, 64_000)


def test_sweep_path_sets_both_directions_of_separate_values():
    air = checked(hop__air__delay="9 ms").hop[1]
    assert air.down.delay == air.up.delay == 9 * 10**9


def test_sweep_path_adds_an_absent_key():
    air = checked(hop__air__queue__packets=7).hop[1]
    assert air.down.queue.packets == air.up.queue.packets == 7
    assert checked(hop__core__loss__down__mean=0.5).hop[0].up.loss is None


def test_sweep_path_sets_a_flow_by_name_and_a_top_level_key():
    assert checked(flow__f__count=3).flow[0].count == 3
    assert checked(duration="3 s").duration == 3 * 10**12
    assert checked(clients=4).clients == 4


def test_sweep_path_sets_the_link():
    draft = draft_of(
        {**{key: BASE[key] for key in ("duration", "flow")}, "sweep": {"link": ["cable-dialup", "dsl-16m"]}}
    )
    assert [draft.check(point).hop[-1].name for point in draft.points()] == ["client", "dsl"]


def test_sweep_point_does_not_change_the_draft():
    draft = draft_of(BASE)
    draft.check({"hop.air.loss.down.mean": 0.5})
    assert draft.check() == checked()
