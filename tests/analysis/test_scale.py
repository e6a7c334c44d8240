"""The cost of an analysis by its number of flows, counted in work and not in time."""

from __future__ import annotations

import pytest

from ackclock import analyze
from ackclock.analysis.diagnosis import diagnose
from tests.support.short_flows import Connection, exchange, refused, write_connections


class _Counted(dict):
    """A mapping that counts how often a value is read."""

    reads = 0

    def __getitem__(self, key):
        _Counted.reads += 1
        return super().__getitem__(key)


def _reads_per_flow(document, flows: int) -> float:
    """Values of flows that a diagnosis of the first `flows` reads, over their number."""
    _Counted.reads = 0
    diagnose({**document, "flows": [_Counted(flow) for flow in document["flows"][:flows]]})
    return _Counted.reads / flows


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """2,000 connections of 20 hosts to one server, one in two refused."""
    connections = [
        Connection((refused if number % 2 else exchange)(number * 1e-3), (f"10.0.0.{number % 20}", 2000 + number // 20))
        for number in range(2000)
    ]
    return write_connections(tmp_path_factory.mktemp("many") / "many.pcap", connections)


@pytest.mark.finding("C1")
def test_diagnosis_reads_a_flow_as_often_when_there_are_twenty_times_as_many(many):
    document = analyze(many).document
    assert len(document["flows"]) == 2000
    few, all_ = _reads_per_flow(document, 100), _reads_per_flow(document, 2000)
    assert few > 10
    assert all_ < 1.1 * few
