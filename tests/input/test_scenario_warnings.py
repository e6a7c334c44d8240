"""Sentences about parts of a scenario that have no effect."""

import pytest

import ackclock
from ackclock.input.scenario import draft_of
from ackclock.input.toml_writer import to_toml

LIST = {"kind": "list", "packets": [500, 501, 502]}
BULK = {"name": "f", "workload": {"kind": "bulk"}}


def scenario(loss, *flows):
    hop = {"name": "a", "rate": "6 Mb/s", "delay": "20 ms", "loss": loss}
    return {"duration": "10 s", "hop": [hop], "flow": list(flows or (BULK,))}


@pytest.mark.finding("K12")
def test_list_of_data_packets_is_warned_of_when_only_acks_cross():
    (text,) = draft_of(scenario({"up": LIST})).check().warnings()
    assert text.startswith("hop.a.loss.up: the list counts packets with payload")
    assert 'of = "all"' in text


@pytest.mark.parametrize(
    ("loss", "flows"),
    [
        ({"down": LIST}, [BULK]),
        ({"up": {**LIST, "of": "all"}}, [BULK]),
        ({"up": LIST}, [BULK, {**BULK, "name": "g", "direction": "up"}]),
        ({"up": LIST}, [{"workload": {"kind": "web"}}]),
    ],
)
def test_list_of_packets_is_not_warned_of_when_they_cross(loss, flows):
    assert draft_of(scenario(loss, *flows)).check().warnings() == []


@pytest.mark.finding("K12")
def test_list_of_all_packets_loses_acks():
    def lost(**keys):
        (summary,) = ackclock.simulate(scenario({"up": {**LIST, **keys}}), seeds=1).summaries
        return next(hop["drops"] for hop in summary["hops"] if hop["direction"] == "up")

    assert (lost(), lost(of="all")) == (0, 3)


def test_simulate_prints_warnings(ackclock, write):
    done = ackclock("simulate", write("s.toml", to_toml(scenario({"up": LIST}))))
    assert "warning: hop.a.loss.up: the list counts packets" in " ".join(done.stderr.split())
