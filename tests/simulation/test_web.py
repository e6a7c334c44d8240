"""Web pages: connections of a flow, and page load times."""

from __future__ import annotations

import pytest

import ackclock
from ackclock.errors import InputError

HOP = {"name": "line", "rate": "100 Mb/s", "delay": "50 ms"}


def web(count: int = 1, **keys: object) -> ackclock.Simulation:
    flow = {"name": "web", "workload": {"kind": "web", **keys}, "count": count, "start": "uniform(0 s, 1 s)"}
    return ackclock.simulate(
        {"hop": [HOP]}, [flow], duration="20 s", tcp={"host": "ns2", "initial_window": 10, "segment": "1000 B"}
    )


def test_web_page_is_a_request_and_four_answers():
    run = web(count=3)
    (summary,) = run.summaries
    assert summary["jobs"]["count"] == summary["jobs"]["completed"] == 3
    assert [row["job"] for row in summary["jobs"]["list"]] == ["web-1", "web-2", "web-3"]
    names = run.flows["flow"].to_list()
    assert names[:5] == ["web-1.request", *(f"web-1.answer-{n}" for n in range(1, 5))] and len(names) == 15
    # Six times the delay for handshakes, request and answers, and less than 10 ms of the line.
    assert 0.3 <= summary["jobs"]["mean_s"] <= 0.31


def test_persistent_connection_carries_all_jobs():
    (summary,) = web(persistent=True, jobs=4, think="uniform(1 s, 2 s)").summaries
    first, *rest = [row["completed_s"] for row in summary["jobs"]["list"]]
    assert len(summary["flows"]) == 1 and len(rest) == 3 and all(later < first for later in rest)


def test_web_refuses_stop():
    flow = {"workload": {"kind": "web"}, "stop": "5 s"}
    with pytest.raises(InputError, match="no stop with web"):
        ackclock.simulate({"hop": [HOP]}, [flow], duration="20 s")


def test_answer_of_the_initial_window_takes_one_rtt_on_linux_6():
    """Three one-way delays for the request, two for the answer's handshake, one for ten segments,
    which the first send buffer holds with room to spare; one of `tcp_wmem[1]` = 16 KiB holds eight,
    and the last two go a round trip later."""
    for tcp, round_trips in (({}, 3), ({"send_start": "16384 B"}, 4)):
        flow = {"name": "web", "workload": {"kind": "web", "answers": 1, "size": "14480 B"}}
        run = ackclock.simulate({"hop": [HOP]}, [flow], duration="5 s", tcp={"host": "linux-6", **tcp})
        assert run.summaries[0]["jobs"]["mean_s"] == pytest.approx(0.1 * round_trips, abs=0.003), tcp
