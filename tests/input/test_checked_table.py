"""Tables that Rust reads, as Python has them."""

from __future__ import annotations

import copy
import pickle

import pytest

from ackclock import _native
from ackclock.errors import InvalidValue
from ackclock.input.checked_table import ReadBy, kinds, replaced, words
from ackclock.input.link.hop import READ_HOP, with_keys
from ackclock.input.scenario.hosts import READ_ENDS, READ_KEYS, resolve

CODEL = {"kind": "codel", "target": "5 ms", "ack": {"filter": "cake"}}


def test_table_has_its_keys_in_whole_units_and_its_plan() -> None:
    queue = ReadBy("Queue")(CODEL)
    assert (queue.table_name, queue.kind, queue.target, queue.mtu, queue.packets) == (
        "CoDel",
        "codel",
        5 * 10**9,
        1514,
        None,
    )
    assert (queue.ack.filter.keep, queue.ack.first) == (2, False)
    assert queue.plan() == {"kind": "codel", "packets": 1000, "bytes": None, "target_ps": 5 * 10**9,
                            "interval_ps": 10**11, "mtu": 1514, "signal": "mark"}  # fmt: skip
    with pytest.raises(AttributeError, match="CoDel has no key flows"):
        _ = queue.flows


def test_written_table_has_the_given_keys_or_all() -> None:
    queue = ReadBy("Queue")({"bytes": "262144 B"})
    assert queue.written(given=True) == {"bytes": "256 KiB", "kind": "droptail"}
    assert queue.written() == {"bytes": "256 KiB", "kind": "droptail", "drop": "tail"}
    assert replaced(queue, bytes="3 kB").bytes == 3000
    with pytest.raises(InvalidValue, match="a size above zero"):
        replaced(queue, bytes="0 B")


def test_table_is_the_same_when_copied_or_pickled() -> None:
    queue = ReadBy("Queue")(CODEL)
    for again in (copy.deepcopy(queue), pickle.loads(pickle.dumps(queue))):
        assert again == queue and hash(again) == hash(queue)
        assert again.written(given=True) == queue.written(given=True)
    others: list[object] = [ReadBy("Queue")({**CODEL, "target": "6 ms"}), "codel"]
    assert queue not in others


def test_error_has_the_place_below_the_table_and_its_code() -> None:
    with pytest.raises(InvalidValue) as caught:
        ReadBy("Queue")({"kind": "codel", "ack": {"filter": {"kep": 1}}})
    assert (caught.value.key, caught.value.code) == (("ack", "filter", "kep"), "unknown-key")
    assert caught.value.allowed.endswith("(did you mean keep?)")


@pytest.mark.parametrize(
    "value", [None, 3, 2**70, 1.5, "x", [1, "y"], (1,), object()], ids=lambda value: type(value).__name__
)
def test_value_of_another_type_is_named_in_the_message(value: object) -> None:
    with pytest.raises(InvalidValue, match="a table with a kind: droptail, red"):
        ReadBy("Queue")(value)


def test_hop_has_its_directions_with_the_keys_that_they_were_given() -> None:
    rates = {"down": "2 Mb/s", "up": "1 Mb/s"}
    hop = READ_HOP({"name": "line", "rate": rates, "queue": {"packets": 9}, "delay": "5 ms"})
    assert (hop.down.rate, hop.up.delay, hop.slowest_bps) == (
        2_000_000,
        5 * 10**9,
        {"down": 2_000_000, "up": 1_000_000},
    )
    assert hop.up.queue.written(given=True) == {"packets": 9, "kind": "droptail"}
    assert (hop.down.framing, hop.down.outage, hop.has_stations) == ("none", (), False)
    changed = with_keys(hop, {"down": {"rate": 3_000_000}, "up": {"queue": None}}, None)
    assert changed.written() == {
        "name": "line",
        "queue": {"down": {"packets": 9, "kind": "droptail", "drop": "tail"}},
        "rate": {"down": "3 Mb/s", "up": "1 Mb/s"},
        "delay": "5 ms",
    }
    one_way = READ_HOP({"name": "sky", "only": "up", "medium": {"kind": "half-duplex", "rate": "2 Mb/s"}})
    assert (one_way.down, one_way.slowest_bps, one_way.has_stations) == (None, {"up": 2_000_000}, True)


def test_tcp_of_a_proxy_is_checked_and_written_in_usual_units() -> None:
    hop = READ_HOP({"name": "sky", "pep": {"tcp": {"rto_min": "0.2 s", "variant": "cubic"}}})
    assert hop.pep.tcp.written() == {"variant": "cubic", "rto_min": "200 ms"}
    assert READ_HOP({"name": "sky", "pep": {"tcp": {}}}).pep.tcp is None
    with pytest.raises(InvalidValue) as caught:
        READ_HOP({"name": "sky", "pep": {"tcp": {"variant": "cubicc"}}})
    assert caught.value.key == ("pep", "tcp", "variant")


def test_kinds_and_words_are_those_of_the_structs() -> None:
    assert kinds("Queue")["fq-codel"] == "FqCoDel" and kinds("CoDel") == {}
    assert words("Filter", "preset") == ("safe", "p1", "cake", "cake-aggressive")
    with pytest.raises(_native.InputError, match='found table "Quue"'):
        _native.read_table("Quue", {})


def test_flow_has_its_tcp_keys_and_what_follows_from_its_workload() -> None:
    web = {"kind": "web", "jobs": 3, "answers": 4}
    flow = ReadBy("Flow")({"workload": web, "count": 2, "direction": "up", "sack": False, "client": {"max_burst": 3}})
    assert (flow.instances, flow.connections, flow.sending_end) == (2, 30, "client")
    assert (flow.is_udp, flow.is_live, flow.is_spread, flow.data_bytes) == (False, False, True, None)
    assert (flow.sack, flow.client.max_burst, flow.start) == (False, 3, [0, 0])
    again = pickle.loads(pickle.dumps(flow))
    assert again == flow and again.connections == 30
    with pytest.raises(AttributeError, match="Flow has no key conections"):
        _ = flow.conections


def test_tcp_of_an_end_overrides_that_of_both_ends() -> None:
    ends = READ_ENDS({"variant": "reno", "server": {"variant": "cubic"}, "overhead": "1 ms"})
    flow = ReadBy("Flow")({"workload": {"kind": "bulk"}, "client": {"host": "windows-xp"}})
    assert [resolve(ends, flow, end=end).keys["variant"] for end in ("server", "client", None)] == [
        "cubic",
        "reno",
        "reno",
    ]
    assert (resolve(ends, flow, end="client").host, resolve(ends, flow).host) == ("windows-xp", "linux-6")
    assert resolve(ends).overhead == 10**9 and "overhead" not in resolve(ends).written()
    assert resolve(ends, READ_KEYS({"variant": "bbr"})) == resolve(READ_KEYS({"variant": "bbr"}))


def test_class_that_python_cannot_load_is_named() -> None:
    for name, found in (
        ("python:no_such_module.Control", "cannot be imported"),
        ("python:json.loads", "no such class"),
    ):
        with pytest.raises(InvalidValue, match=found) as caught:
            READ_KEYS({"variant": name})
        assert caught.value.key == ("variant",)
