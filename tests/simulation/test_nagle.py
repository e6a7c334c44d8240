"""Nagle's algorithm (RFC 1122, section 4.2.3.4)."""

from typing import Any

import pytest

import ackclock
from ackclock import Flow, Tcp, Transfer, Web

LINE = {"hop": [{"name": "line", "rate": "100 Mb/s", "delay": "50 ms"}]}
DELAYED_ACK = {"segments": 2, "timer": "200 ms"}
RTT_S = 0.1


def host(**tcp: Any) -> Tcp:
    return Tcp(host="ns2", segment="1000 B", initial_window=10, **tcp)


def page_seconds(size: str, **tcp: Any) -> float:
    """Time of a page of one answer on a connection that stays open: no segment has a FIN."""
    flow = Flow(workload=Web(answers=1, size=size, persistent=True))
    seconds: float = ackclock.simulate(LINE, [flow], "5 s", tcp=host(**tcp)).summaries[0]["jobs"]["mean_s"]
    return seconds


@pytest.mark.parametrize(
    ("delayed_ack", "wait_s"),
    [(False, RTT_S), (DELAYED_ACK, RTT_S + 0.2)],
    ids=["every segment acknowledged", "delayed ACK"],
)
def test_small_segment_waits_for_the_ack_of_outstanding_data_when_nagle_is_on(delayed_ack, wait_s):
    at_once = page_seconds("1500 B", delayed_ack=delayed_ack)
    assert page_seconds("1500 B", delayed_ack=delayed_ack, nagle=False) == at_once
    waited = page_seconds("1500 B", delayed_ack=delayed_ack, nagle=True)
    assert waited - at_once == pytest.approx(wait_s, abs=0.001)


@pytest.mark.parametrize("size", ["500 B", "3000 B"], ids=["nothing outstanding", "full segments"])
def test_segment_is_sent_at_once_when_it_is_full_or_nothing_is_outstanding(size):
    assert page_seconds(size, nagle=True) == page_seconds(size)


def test_segment_with_the_fin_is_sent_at_once_when_nagle_is_on():
    def completed_s(**tcp: Any) -> Any:
        flow = Flow(workload=Transfer(size="2500 B"), tcp=host(**tcp))
        return ackclock.simulate(LINE, [flow], "5 s", seed=1).flows["completed_s"][0]

    assert completed_s(nagle=True) == completed_s(nagle=False)
