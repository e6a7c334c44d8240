"""Metrics, reasons, ranks and k of a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock import _native
from ackclock._native import LimitFacts
from ackclock.comparison import compare
from ackclock.comparison.ack_path import unmarked
from ackclock.comparison.asymmetry import Asymmetry, asymmetry, recorded_warning, why_no_asymmetry
from ackclock.comparison.configuration import Configuration, configurations
from ackclock.comparison.ranking import check_rank_by, equal_configurations, ranking, short_run_notes
from ackclock.comparison.result import Comparison
from ackclock.comparison.terminal_tables import ranking_table
from ackclock.comparison.verdict import recommendation, tie_mark, ties
from ackclock.errors import InputError
from ackclock.input.link.bottleneck import bottlenecks
from ackclock.input.link.hop import READ_HOP, Hop
from ackclock.limit_words import KINDS
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.limits import FlowLimit, decide
from ackclock.simulation.metrics import of_flows, of_run, over_seeds
from ackclock.simulation.plan import Plan
from ackclock.simulation.run_list import RunList
from tests.support.synthetic import flow, hop, summary

CUBIC = Configuration("cubic", "auto", "auto", True)
SMALL = Configuration("cubic", "64 KiB", "64 KiB", True)


def test_configurations_are_all_combinations_in_order() -> None:
    found = configurations(["reno", "cubic"], ["64 KiB", ("auto", "16 KiB")], [True, False])
    assert len(found) == 8
    assert [c.label for c in found[:3]] == [
        "reno, 64 KiB, delayed ACK",
        "reno, 64 KiB, ACK per segment",
        "reno, auto send / 16 KiB receive, delayed ACK",
    ]
    assert len({c.label for c in found}) == 8


@pytest.mark.parametrize(
    ("variants", "buffers", "complaint"),
    [([], ["auto"], "variants: found no choice"), (["reno"], ["auto", "auto"], "buffers: found auto twice")],
)
def test_empty_or_repeated_choice_is_refused(variants: list[str], buffers: list[str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        configurations(variants, buffers, [True])


def test_configurations_include_queues_and_ack_techniques() -> None:
    found = configurations(["reno"], ["auto"], [True], ["link", "codel"], ["none", "red+p1"], ["none", "acc+adapt"])
    assert len({c.label for c in found}) == 8
    assert found[0].label == "reno, auto buffers, delayed ACK, ACKs: none"
    assert found[-1].label == "reno, auto buffers, delayed ACK, codel queue, ACKs: red+p1, hosts: acc+adapt"
    assert found[-1].params["queue"] == "codel"
    assert found[-1].params["ack_policy"] == "red+p1"
    assert found[-1].point(None)["tcp.ack_congestion_control"] is True


@pytest.mark.parametrize(
    ("queues", "policies", "techniques", "complaint"),
    [
        (["codle"], ["link"], ["none"], 'queue: found "codle"'),
        (["link"], ["p2"], ["none"], 'ack_policy: found "p2"'),
        (["link"], ["p1+safe"], ["none"], 'ack_policy: found "p1\\+safe"'),
        (["link"], ["none+safe"], ["none"], 'ack_policy: found "none\\+safe"'),
        (["link"], ["red+codel"], ["none"], 'ack_policy: found "red\\+codel"'),
        (["link"], ["link"], ["afr"], 'ack: found "afr"'),
        (["link", "link"], ["link"], ["none"], "queue: found link twice"),
    ],
)
def test_unknown_queue_or_technique_is_refused(
    queues: list[str], policies: list[str], techniques: list[str], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        configurations(["reno"], ["auto"], [True], queues, policies, techniques)


def _hops(*written: dict[str, Any]) -> list[Hop]:
    return [READ_HOP(hop) for hop in written]


def test_queues_are_replaced_at_the_bottleneck_of_their_direction() -> None:
    fast = {"name": "core", "rate": "1 Gb/s"}
    slow = {
        "name": "air",
        "rate": {"down": "10 Mb/s", "up": "1 Mb/s"},
        "queue": {"packets": 20, "ack": {"filter": "p1"}},
    }
    thin = {"name": "tail", "only": "up", "rate": "100 kb/s", "queue": {"packets": 7, "mark": "3 packets"}}
    path = bottlenecks(_hops(fast, slow, thin), "down")
    down, up = "hop.air.queue.down", "hop.tail.queue.up"
    assert path.data_queue
    acks = path.data_queue.written(given=True)["ack"]
    assert path.keys("codel", "link")[down] == {"kind": "codel", "packets": 20, "ack": acks}
    assert path.keys("link", "safe+acks-first")[up] == {
        "kind": "droptail",
        "packets": 7,
        "mark": "3 packets",
        "ack": {"filter": "safe", "first": True},
    }
    assert path.keys("link", "red+p1")[up] == {"kind": "red", "packets": 7, "ack": {"filter": "p1"}}
    assert bottlenecks(_hops(fast, slow, thin), "up").keys("link", "none")[down] == {
        "kind": "droptail",
        "packets": 20,
    }


def test_ack_congestion_control_has_a_note_without_ecn_marking() -> None:
    plain = {"name": "air", "rate": "1 Mb/s", "queue": {"packets": 20}}
    marking = {
        "name": "air",
        "rate": "1 Mb/s",
        "queue": {"up": {"kind": "red", "packets": 20}, "down": {"packets": 20}},
    }
    dropping = {"name": "air", "rate": "1 Mb/s", "queue": {"kind": "codel", "ecn": False}}
    assert unmarked("acc+adapt", _hops(plain), "down")
    assert unmarked("acc", _hops(dropping), "down")
    assert not unmarked("acc", _hops(plain, marking), "down")
    assert unmarked("acc", _hops(plain, marking), "up")
    assert not unmarked("adapt", _hops(plain), "down")


def test_queue_is_not_replaced_in_an_unlimited_direction() -> None:
    with pytest.raises(InputError, match="no hop that limits the direction up"):
        bottlenecks(_hops({"name": "air", "rate": {"down": "1 Mb/s"}}), "down")


def test_ranking_metric_is_refused_when_it_is_unknown_or_needs_two_flows() -> None:
    with pytest.raises(InputError, match="rank_by"):
        compare("dumbbell-10m", rank_by="speed")
    with pytest.raises(InputError, match="rank_by"):
        check_rank_by("jain", 1)
    check_rank_by("jain", 2)


def test_metrics_sum_flows_and_hops() -> None:
    a = flow("a", goodput_bps=6e6, timeouts=1, segments_sent=1000, retransmitted_segments=30)
    b = flow("b", goodput_bps=2e6, timeouts=2, segments_sent=1000, retransmitted_segments=10)
    lossy = [hop("core", drops=100, delivered=900), hop("air", drops=0), hop("air", "up", drops=500, delivered=500)]
    found = of_run(summary([a, b], hops=lossy))
    assert found["goodput_bps"] == 8e6
    assert found["timeouts"] == 3
    assert found["retransmission_rate"] == 0.02
    assert found["jain"] == pytest.approx(64.0 / (2 * 40.0))
    assert found["queue_delay_ms"] == 80.0
    assert found["drops"] == 100
    assert found["ack_drop_share"] == 0.5


def test_metrics_omit_datagram_flows_and_fairness_of_one_flow() -> None:
    datagrams = {**flow("udp"), "rtt_ms": dict.fromkeys(("min", "mean", "p95")), "variant": "udp", "goodput_bps": 1e9}
    found = of_run(summary([flow(goodput_bps=8e6), datagrams]))
    assert found["goodput_bps"] == 8e6
    assert "jain" not in found


def test_metric_without_values_is_omitted() -> None:
    silent = flow(segments_sent=0, retransmitted_segments=0)
    assert "retransmission_rate" not in over_seeds([of_run(summary([silent]))])


def _limit(**changes: Any) -> FlowLimit:
    """A flow that fills its bottleneck, with other shares of its time."""
    shares = {"bottleneck": 0.98, "cwnd": 0.02} if "shares" not in changes else changes.pop("shares")
    full = dict.fromkeys(KINDS, 0.0) | shares
    return decide(LimitFacts(full, "down", bottleneck="air", loss_hop="air", ack_hop="air", **changes))


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (
            _limit(shares={"receive_window": 0.97, "cwnd": 0.03}, window_bytes=65_536, rtt_ms=100.0),
            "the receive window (64 KiB) limits goodput 97 % of the time: one window per RTT of 100 ms is 5.24 Mb/s",
        ),
        (
            _limit(shares={"send_buffer": 0.9, "cwnd": 0.1}, send_buffer_bytes=65_536, rtt_ms=100.0),
            "the send buffer (64 KiB) limits goodput 90 % of the time",
        ),
        (
            _limit(shares={"recovery": 0.7, "cwnd": 0.3}, cuts=9, timeouts=7, channel_drops=300, loss_drops=300),
            "loss recovery takes 70 % of the time: it follows 300 losses on the channel of `air down`, with 7 "
            "retransmission timeouts",
        ),
        (_limit(), "the bottleneck `air down` is full: it has no free capacity 98 % of the time"),
    ],
)
def test_reason_of_a_loser_is_its_limit(limit: FlowLimit, text: str) -> None:
    best = {seed: of_run(summary()) for seed in (1, 2)}
    slow = {seed: of_run(summary([flow(goodput_bps=3e6)])) for seed in (1, 2)}
    lines = ranking({CUBIC: best, SMALL: slow}, limits={CUBIC: _limit(), SMALL: limit})
    assert [line.rank for line in lines] == [1, 2]
    assert text in lines[1].why
    assert "less goodput than the best" in lines[1].why


def test_reason_names_acks_that_the_reverse_path_dropped() -> None:
    lossy = summary([flow(goodput_bps=3e6)], hops=[hop(utilization=0.4), hop("up", "up", drops=870, delivered=130)])
    waits = _limit(shares={"ack_path": 0.8, "cwnd": 0.2}, ack_wait_ms=300.0, ack_part=0.8)
    lines = ranking({CUBIC: {1: of_run(lossy)}}, limits={CUBIC: waits})
    assert "an ACK waits 300 ms on average behind other ACKs, 80 % of the RTT" in lines[0].why
    assert "the reverse path dropped 87 % of the ACKs" in lines[0].why


def test_reason_of_the_winner_has_its_cost() -> None:
    lines = ranking({CUBIC: {1: of_run(summary())}}, limits={CUBIC: _limit()})
    assert lines[0].why == (
        "The bottleneck `air down` is full: it has no free capacity 98 % of the time; 40 ms of queueing delay on "
        "average on a path of 60 ms, without a timeout, with 1 % of the segments retransmitted."
    )


@pytest.mark.finding("U17")
def test_tie_of_distant_means_has_a_mark_and_its_interval() -> None:
    def runs(*goodputs: float) -> dict[int, dict[str, float]]:
        return {seed: of_run(summary([flow(goodput_bps=of)])) for seed, of in enumerate(goodputs)}

    lines = ranking({CUBIC: runs(138e6, 139e6, 140e6), SMALL: runs(31e6, 136e6, 138e6)}, limits={SMALL: _limit()})
    assert [(line.rank, line.undecided, tie_mark(line.as_json())) for line in lines] == [
        (1, False, "="),
        (1, True, "?"),
    ]
    ratio = lines[1].ratio
    assert ratio is not None and lines[0].ratio is None
    assert 0.0 < ratio.lo < 1.0 < ratio.hi
    assert lines[1].why.startswith(
        "27 % less goodput by the mean, but 3 seeds do not separate it from the best: the 95 % interval of its goodput "
        f"is {ratio.lo:.2g} to {ratio.hi:.2g} times the best mean; the bottleneck"
    )
    # The same means without the scatter are apart, and so are ranks.
    apart = ranking({CUBIC: runs(138e6, 139e6, 140e6), SMALL: runs(101e6, 102e6, 102e6)}, limits={SMALL: _limit()})
    assert [(line.rank, line.undecided, tie_mark(line.as_json())) for line in apart] == [(1, False, ""), (2, False, "")]
    assert apart[1].why.startswith("27 % less goodput than the best: the bottleneck")
    near = ranking({CUBIC: runs(138e6, 139e6, 140e6), SMALL: runs(138e6, 138e6, 139e6)})
    assert [(line.rank, line.undecided, tie_mark(line.as_json())) for line in near] == [
        (1, False, "="),
        (1, False, "="),
    ]


@pytest.mark.finding("U17")
def test_ties_of_the_verdict_separate_equal_means_from_scattered_ones() -> None:
    def document(*goodputs: float) -> dict[str, Any]:
        runs = {CUBIC: {s: of_run(summary([flow(goodput_bps=138e6 + s)])) for s in range(3)}}
        runs[SMALL] = {s: of_run(summary([flow(goodput_bps=of)])) for s, of in enumerate(goodputs)}
        lines = ranking(runs)
        cells = [
            {"label": of.configuration.label, "n": 3, "metrics": {k: v.as_json() for k, v in of.metrics.items()}}
            for of in lines
        ]
        return {"rank_by": "goodput_bps", "cells": cells, "ranking": [line.as_json() for line in lines]}

    def sentence(found: Any) -> str:
        return ties(found, {cell["label"]: cell["metrics"] for cell in found["cells"]})

    assert sentence(document(138e6, 137e6, 138e6)) == "1 other is as good in goodput: buffers auto or 64 KiB."
    assert sentence(document(31e6, 136e6, 138e6)) == (
        "1, whose mean is 26.3 % away, cannot be separated from the best by 3 seeds: use more seeds."
    )
    assert sentence(document(31e6, 32e6, 31e6)) == ""


@pytest.mark.finding("U17")
@pytest.mark.parametrize(
    ("goodputs", "text", "column"),
    [
        (
            [9.9e6] + [0.31e6, 0.28e6, 0.3e6] * 3,
            "two modes of goodput, 297 kb/s in 9 and 9.90 Mb/s in 1 of 10 runs, at a",
            "0.297 (9) or 9.90 (1)",
        ),
        ([2e6, 9e6, 17e6], "2.00 Mb/s, 9.00 Mb/s and 17.0 Mb/s of goodput in 3 runs at a", "2.00, 9.00, 17.0"),
        ([8e6, 9e6, 10e6], "9.00 Mb/s of goodput at a", "6.829 .. 11.861"),
    ],
)
def test_goodput_of_the_recommendation_is_listed_when_its_mean_describes_no_run(
    goodputs: list[float], text: str, column: str
) -> None:
    runs = {seed: of_run(summary([flow(goodput_bps=of)])) for seed, of in enumerate(goodputs)}
    lines = ranking({CUBIC: runs})
    comparison = Comparison(
        "link", "", {"hop": []}, "goodput_bps", lines, Dataset(RunList([], [], (1,), of_run)), None, None
    )
    metrics = {line.configuration.label: {k: v.as_json() for k, v in line.metrics.items()} for line in lines}
    assert text in recommendation({"ranking": [line.as_json() for line in lines]}, metrics)
    table = ranking_table(comparison)
    assert column in [cell for of in table.columns for cell in of.cells]


def test_runs_of_few_rtts_have_a_note() -> None:
    lines = ranking({CUBIC: {1: of_run(summary())}})
    assert short_run_notes(lines, 4.0) == [
        "A run has 40 RTTs, of which slow start takes a good part: a longer --duration shows the rate that follows."
    ]
    assert short_run_notes(lines, 10.0) == []


def test_ties_are_ordered_by_delay_and_named() -> None:
    quick = flow(goodput_bps=7.99e6, rtt_ms={**flow()["rtt_ms"], "p95": 70.0})
    lines = ranking(
        {CUBIC: {s: of_run(summary()) for s in (1, 2)}, SMALL: {s: of_run(summary([quick])) for s in (1, 2)}}
    )
    assert [(line.rank, line.configuration) for line in lines] == [(1, SMALL), (1, CUBIC)]
    assert lines[0].tied_with == (CUBIC.label,)
    assert lines[1].why.startswith("Tied, within 1 % of the best, 80 ms more p95 RTT: ")


def test_equal_configurations_are_ordered_by_the_usual_one_and_named() -> None:
    twin = Configuration("reno", "auto", "auto", True)
    runs = {choice: {s: of_run(summary()) for s in (1, 2)} for choice in (twin, CUBIC)}
    lines = ranking(runs, usual="cubic")
    assert [line.configuration for line in lines] == [CUBIC, twin]
    assert lines[1].why == "The same in every figure as cubic, auto buffers, delayed ACK."


def test_low_latency_choice_halves_the_delay_at_90_percent_of_the_goodput() -> None:
    def compared(goodput: float, p95: float) -> Comparison:
        small = flow(goodput_bps=goodput, rtt_ms={**flow()["rtt_ms"], "p95": p95})
        runs = {CUBIC: {s: of_run(summary()) for s in (1, 2)}, SMALL: {s: of_run(summary([small])) for s in (1, 2)}}
        return Comparison(
            "link", "", {}, "goodput_bps", ranking(runs), Dataset(RunList([], [], (1,), of_run)), None, None
        )

    assert (found := compared(7.3e6, 70.0).low_latency_choice) is not None
    assert found.configuration == SMALL
    assert compared(7.1e6, 70.0).low_latency_choice is None
    assert compared(7.3e6, 80.0).low_latency_choice is None


def test_ranking_by_delay_has_the_short_queue_first() -> None:
    quick = flow(goodput_bps=1e6, rtt_ms={**flow()["rtt_ms"], "p95": 70.0})
    runs = {CUBIC: {s: of_run(summary()) for s in (1, 2)}, SMALL: {s: of_run(summary([quick])) for s in (1, 2)}}
    assert ranking(runs, "rtt_p95_ms")[0].configuration == SMALL


def _plan(up: dict[str, Any], *, timestamps: bool = False) -> Plan:
    side = {"rate": {"kind": "fixed", "bps": 10_000_000}, "framing": "none"}
    tcp = {"segment": 960, "header": 40, "timestamps": timestamps, "timestamp_bytes": 12}
    hops = [
        {"medium": None, "name": "air", "down": one, "up": other}
        for one, other in ((side, side), (side, None), (None, up))
    ]
    flows = [{"tcp": None}, {"tcp": tcp, "direction": "down", "hops": [0, 1, 2]}]
    return _native.plan_of({"flows": flows, "hops": hops}, [])


@pytest.mark.parametrize(
    ("bps", "framing", "timestamps", "k"),
    [
        (28_800, "none", False, 13.9),
        (28_800, "cslip", False, 2.08),
        (9_600, "cslip", False, 6.25),
        (28_800, "cslip", True, 6.18),
    ],
)
def test_k_uses_the_slowest_hop_of_each_direction_and_header_compression(
    bps: int, framing: str, timestamps: bool, k: float
) -> None:
    found = asymmetry(_plan({"rate": {"kind": "fixed", "bps": bps}, "framing": framing}, timestamps=timestamps))
    assert found is not None
    assert found.k == pytest.approx(k, rel=0.005)
    assert found.reverse_bps == bps


def test_k_is_absent_when_directions_share_a_medium() -> None:
    plan = _plan({"rate": {"kind": "fixed", "bps": 28_800}, "framing": "none"})
    assert asymmetry(plan) is not None
    plan.document["hops"][0]["medium"] = {"kind": "half-duplex", "bps": 100_000, "turnaround_ps": 0}
    assert asymmetry(plan) is None
    assert why_no_asymmetry(plan) == "both directions share the capacity of air, so there is no ratio"


def test_k_is_absent_for_a_recorded_rate() -> None:
    plan = _plan({"rate": {"kind": "trace", "times_ms": None}, "framing": "none"})
    assert asymmetry(plan) is None
    assert why_no_asymmetry(plan) == "the rate of air is recorded, so the ratio varies"


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (0.5, "the reverse path carries an ACK for every segment"),
        (1.5, "with an ACK for every segment the reverse path carries one ACK in 1.5; with delayed ACKs all"),
        (13.89, "with an ACK for every segment the reverse path carries one ACK in 14, with delayed ACKs one in 6.9"),
    ],
)
def test_k_has_its_consequence_in_words(k: float, text: str) -> None:
    assert Asymmetry(k, 1e7, 28_800.0, 1000, 40).as_json()["implies"] == text


def test_k_is_absent_without_rates() -> None:
    plan = _plan({"rate": None, "framing": "none"})
    plan.document["hops"] = [
        {
            "medium": None,
            "name": "air",
            "down": {"rate": None, "framing": "none"},
            "up": {"rate": None, "framing": "none"},
        }
    ] * 3
    assert asymmetry(plan) is None
    assert why_no_asymmetry(plan) == "no hop limits the direction down"


def test_equal_configurations_are_named_by_their_difference() -> None:
    twins = dict.fromkeys(
        ["reno, 64 KiB, delayed ACK", "reno, auto buffers, delayed ACK"], "cubic, 64 KiB, delayed ACK"
    )
    assert (
        equal_configurations("cubic, 64 KiB, delayed ACK", twins)
        == " The same in every figure: reno; reno, auto buffers, delayed ACK."
    )
    assert equal_configurations("reno, 64 KiB, delayed ACK", twins) == ""


def test_opposite_flows_are_not_ranked_and_reported() -> None:
    there, back = flow(goodput_bps=4e6), {**flow(goodput_bps=1e6), "flow": "opposite", "direction": "up"}
    both = of_flows(summary([there, back]), "opposite")
    alone = of_run(summary([there]))
    assert both["goodput_bps"] == alone["goodput_bps"] == 4e6
    assert both["opposite_goodput_bps"] == 1e6
    assert "jain" not in both


def test_recorded_rate_has_a_note_about_grants() -> None:
    reported = recorded_warning(
        [{"name": "core", "rate": "1 Gb/s"}, {"name": "air", "rate": {"down": {"trace": "a.up"}}}]
    )
    assert reported is not None
    assert "air is a recording" in reported
    assert "grants" in reported
    assert recorded_warning([{"name": "core", "rate": {"down": "1 Gb/s", "up": "1 Mb/s"}}]) is None
