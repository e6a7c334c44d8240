"""Ranges, choices and loss lists: settings at points of the unit cube, values of a scenario."""

from __future__ import annotations

import pytest

from ackclock.errors import InvalidValue
from ackclock.hunting.space import ABSENT, Losses, read_space

RATE = {"from": "1 Mb/s", "to": "100 Mb/s", "scale": "log"}


def test_range_on_a_log_scale_has_the_geometric_middle_with_three_digits() -> None:
    space = read_space({"hop.a.rate": RATE})
    assert [space.point(space.decode([at]))["hop.a.rate"] for at in (0, 0.5, 1)] == ["1 Mb/s", "10 Mb/s", "100 Mb/s"]
    assert space.point(space.decode([0.3]))["hop.a.rate"] == "3.98 Mb/s"


def test_range_of_whole_numbers_gives_whole_numbers_when_both_ends_are() -> None:
    space = read_space({"flow.a.count": {"from": 1, "to": 4}, "hop.a.loss": {"from": 0.0, "to": 0.1}})
    point = space.point(space.decode([0.4, 0.25]))
    assert point == {"flow.a.count": 2, "hop.a.loss": 0.025}


def test_choice_has_the_leaves_of_its_option_alone() -> None:
    space = read_space({"hop.a.policer": [ABSENT, {"rate": RATE, "burst": "30 kB"}]})
    assert space.steps == [1.0, 0.0]
    without, with_ = space.decode([0, 0.5]), space.decode([1, 0.5])
    assert space.point(without) == {"hop.a.policer": ABSENT}
    assert space.point(with_) == {"hop.a.policer": {"rate": "10 Mb/s", "burst": "30 kB"}}
    assert len(space.active(without)) == 1 and len(space.active(with_)) == 2


def test_choice_of_three_has_no_order() -> None:
    space = read_space({"tcp.variant": ["reno", "cubic", "bbr"]})
    assert [space.decode(unit)["tcp.variant"] for unit in ([0.9, 0.1, 0.2], [0.1, 0.9, 0.2], [0, 0, 0.2])] == [0, 1, 2]
    assert space.distance({"tcp.variant": 0}, {"tcp.variant": 2}) == 1.0


def test_schedule_inside_a_choice_keeps_its_lists() -> None:
    delay = {"from": "10 ms", "to": "100 ms"}
    space = read_space({"hop.a.delay": [delay, {"schedule": [["0 s", delay], ["4 s", "50 ms"]]}]})
    assert space.point(space.decode([1, 0, 0]))["hop.a.delay"] == {"schedule": [["0 s", "10 ms"], ["4 s", "50 ms"]]}


def test_losses_are_increasing_packets_and_none_leaves_the_key_out() -> None:
    losses = Losses("loss", 3, 1000)
    assert losses.decode([0, 0.5, 0.5, 0.5]) == ()
    assert losses.shown(()) == ABSENT
    assert losses.decode([1, 0.5, 0, 0]) == (32, 33, 34)
    assert losses.decode([1, 1, 0.5, 0]) == (1000,)  # what is beyond `within` is not lost
    assert losses.shown((5, 9)) == {"kind": "list", "packets": [5, 9]}


@pytest.mark.parametrize(
    ("spec", "key", "text"),
    [
        ({"from": "1 ms", "to": "1 Mb/s"}, ("k", "to"), "a time with its unit"),
        ({"from": "5 ms", "to": "1 ms"}, ("k", "to"), "at least `from`"),
        ({"from": "0 ms", "to": "1 ms", "scale": "log"}, ("k", "from"), "above zero"),
        ({"from": "1 ms"}, ("k",), "the end of the range"),
        ({"from": 1, "to": 2, "scale": "cubic"}, ("k", "scale"), "log, linear"),
        ({"from": 1, "to": 2, "too": 2}, ("k", "too"), "from, to, scale, simple"),
        ({"losses": 0, "within": 9}, ("k", "losses"), "from 1 to 64"),
        ({"losses": 2, "within": 1}, ("k", "within"), "2 or more"),
        ([], ("k",), "at least one choice"),
        (["a", "a"], ("k", 1), "different choices"),
        ("5 ms", ("k",), "a range such as"),
    ],
)
def test_wrong_range_is_refused_with_its_key_and_what_is_allowed(
    spec: object, key: tuple[object, ...], text: str
) -> None:
    with pytest.raises(InvalidValue) as raised:
        read_space({"k": spec})
    assert raised.value.key == key
    assert text in raised.value.allowed
