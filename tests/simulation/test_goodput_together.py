"""The goodput of several flows together is at most the rate of their line."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import ackclock
from ackclock.simulation.metrics import of_run, together_bps
from ackclock.statistics.joint_rate import covered_s
from tests.support.synthetic import flow, summary

BULK = {"kind": "bulk"}


def _line(down: float, up: float) -> dict[str, object]:
    queue = {"kind": "droptail", "bytes": "40 kB"}
    rate = {"down": f"{down} Mb/s", "up": f"{up} Mb/s"}
    return {"hop": [{"name": "line", "rate": rate, "delay": "10 ms", "queue": queue}]}


FLOWS = st.lists(
    st.tuples(
        st.sampled_from(("down", "up")),
        st.integers(0, 1500),
        st.one_of(
            st.just(({"kind": "bulk"}, {})),
            st.tuples(
                st.builds(lambda kb: {"kind": "transfer", "size": f"{kb} kB"}, st.integers(3, 200)),
                st.builds(
                    lambda every, times: {"repeat": {"every": f"{every} ms", "times": times}},
                    st.integers(50, 400),
                    st.integers(1, 6),
                ),
            ),
        ),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.finding("A12")
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)
@given(flows=FLOWS, down=st.integers(1, 8), up=st.integers(1, 4), windowed=st.booleans())
def test_goodput_together_is_at_most_the_rate_of_the_line_when_flows_are_sequential_or_overlap(
    flows, down, up, windowed
):
    described = [
        {"name": f"f{number}", "direction": direction, "start": f"{start} ms", "workload": workload, **repeat}
        for number, (direction, start, (workload, repeat)) in enumerate(flows)
    ]
    measure: dict[str, Any] = {"measure": {"window": ["1 s", "3 s"]}} if windowed else {}
    run = ackclock.simulate(_line(down, up), described, duration="4 s", sample="0 s", **measure)
    for direction, rate in (("down", down), ("up", up)):
        of = [flow for flow in run.summaries[0]["flows"] if flow["direction"] == direction]
        if not windowed:
            assert together_bps(of) <= together_bps(of, "throughput_bps") <= 1e6 * rate * (1 + 1e-9)
        elif active_s := covered_s((flow["from_s"], flow["end_s"]) for flow in of if flow["end_s"] > flow["from_s"]):
            # A window has a packet more than its time where one arrives as it begins. Data that
            # waited for a retransmission may have arrived before it.
            assert together_bps(of, "throughput_bps") <= 1e6 * rate + 8 * 1500 / active_s


@pytest.mark.finding("A12")
def test_report_has_a_goodput_below_the_rate_of_the_line_when_transfers_follow_each_other():
    transfers = {
        "name": "page",
        "workload": {"kind": "transfer", "size": "60 kB"},
        "repeat": {"every": "300 ms", "times": 10},
    }
    run = ackclock.simulate(_line(8, 2), [transfers], duration="4 s", sample="0 s")
    rates = [flow["goodput_bps"] for flow in run.summaries[0]["flows"]]
    assert sum(rates) > 8e6 > max(rates)
    answer = run._page().answer
    shown = re.search(r"10 TCP flows down together had ([\d.]+) Mb/s", answer)
    assert shown
    assert min(rates) <= 1e6 * float(shown[1]) <= max(rates)
    assert of_run(run.summaries[0])["goodput_bps"] == pytest.approx(together_bps(run.summaries[0]["flows"]))


def test_goodput_together_is_the_sum_of_the_rates_when_the_flows_have_the_same_time():
    flows = [flow(goodput_bps=3e6), flow(goodput_bps=2e6)]
    assert together_bps(flows) == 5e6
    assert of_run(summary(flows))["goodput_bps"] == 5e6


def test_goodput_together_adds_the_directions_when_they_carry_data_at_other_times():
    down = flow(goodput_bps=3e6, end_s=5.0)
    up = flow(goodput_bps=2e6, from_s=5.0, end_s=10.0, direction="up")
    assert together_bps([down, up]) == 5e6


def test_goodput_together_begins_with_the_measurement_window_when_the_flow_began_before():
    early = flow(goodput_bps=3e6, host_start_s=0.0, from_s=5.0, end_s=10.0)
    late = flow(goodput_bps=3e6, host_start_s=5.0, from_s=5.0, end_s=10.0)
    never = flow(goodput_bps=None, host_start_s=None, from_s=10.0, end_s=10.0)
    assert together_bps([early, late, never]) == 6e6


def test_goodput_together_begins_with_the_start_when_an_older_summary_has_no_window():
    first, second = flow(goodput_bps=3e6, end_s=5.0), flow(goodput_bps=2e6, host_start_s=5.0, end_s=10.0)
    del first["from_s"], second["from_s"]
    assert together_bps([first, second]) == 2.5e6
