"""Results of ``asymmetry``'s experiments beyond their verdicts: one seed of each."""

from __future__ import annotations

from statistics import mean

import pytest

from ackclock.input.scenario.draft import read_draft
from ackclock.papers.asymmetry import table1, table2, table3
from ackclock.papers.experiments import Experiments, keys_of
from ackclock.papers.pauses import pauses_s
from ackclock.papers.scenarios import scenario_path
from ackclock.simulation.engine import run
from ackclock.simulation.plan import build_plan


@pytest.fixture(scope="module")
def runs() -> Experiments:
    return Experiments(seeds=(1,))


def test_ack_filtering_with_unbounded_bursts_is_worse_than_reno_in_table_1(runs: Experiments) -> None:
    draft = read_draft(scenario_path("asymmetry-table1"))
    for path, (rate, framing) in table1.PATHS.items():
        point = {"hop.return.rate": rate, "hop.return.framing": framing, **keys_of("", "Reno+AF, unbounded bursts")}
        point |= keys_of("V1", "")
        flow = run(build_plan(draft.check(point), 1)).summary["flows"][0]
        assert flow["throughput_bps"] / 1e6 < table1.mbps(runs("table1"), "V1", "Reno", path).mean, path


def plain_mbps(path: tuple[str, str], ack: dict[str, str], seed: int, **more: object) -> float:
    """Table 1's transfer by a plain sender, in Mb/s; ns-2's queues of 10 let 9 wait."""
    rate, framing = path
    queues = {"hop.server.queue.down.packets": 9, "hop.return.queue": {"packets": 9, **({"ack": ack} if ack else {})}}
    point = {**keys_of("V1", ""), **queues, "hop.return.rate": rate, "hop.return.framing": framing, **more}
    made = read_draft(scenario_path("asymmetry-table1")).check(point)
    return float(run(build_plan(made, seed)).summary["flows"][0]["throughput_bps"]) / 1e6


def test_ack_filtering_of_a_plain_sender_is_not_better_than_reno_with_ns2_queues() -> None:
    """Reno is ns-2's to 0.03 Mb/s.

    Two per cent are for 28.8 kb/s, 1 % better here and 20 % worse in ns-2:
    docs/models/ack-filter.md says why.
    """
    for path, ns2 in zip(table1.PATHS.values(), (1.93, 6.96, 4.48, 9.31), strict=True):
        reno, af = plain_mbps(path, {}, 1), plain_mbps(path, {"filter": "p1"}, 1)
        assert reno == pytest.approx(ns2, abs=0.03) and af < 1.02 * reno, (path, reno, af)


def test_plain_senders_agree_with_ns2_with_and_without_filtered_acks_under_jitter() -> None:
    """Means of ns-2.35 on V1 with `overhead_ 0.001`, eight seeds each: Reno and Reno with filtered
    ACKs. Jitter of the length of a packet leaves no pattern of bursts to be kept from a slow start
    for the rest of the run."""
    ns2 = ((0.73, 1.20), (6.92, 6.24), (4.46, 3.31), (9.22, 5.51))
    jitter = {"hop.server.jitter.up": {"kind": "uniform", "low": "0 s", "high": "1 ms", "in_order": True}}
    for path, wanted in zip(table1.PATHS.values(), ns2, strict=True):
        for ack, mbps in zip(({}, {"filter": "p1"}), wanted, strict=True):
            ours = mean(plain_mbps(path, ack, seed, **jitter) for seed in range(1, 9))
            assert ours == pytest.approx(mbps, rel=0.06), (path, ack, ours, mbps)


def test_download_keeps_the_calculated_limit_when_the_return_queue_loses_no_ack() -> None:
    """Figure 3 with 64 KiB: 10 packets wait on the telephone line in the experiment."""
    draft = read_draft(scenario_path("asymmetry-figure3"))
    for name, limit in (("SLIP", 1.1), ("CSLIP", 3.2)):
        mbps = []
        for packets in (10, 100):
            point = {**keys_of(name, ""), "tcp.receive_buffer": "64 KiB", "hop.dialup.queue.packets": packets}
            flow = run(build_plan(draft.check(point), 1)).summary["flows"][0]
            mbps.append(float(flow["throughput_bps"]) / 1e6)
        assert mbps[0] > 1.3 * limit and mbps[1] == pytest.approx(limit, rel=0.05), (name, mbps)


def test_ecn_marks_on_data_only_halve_the_reverse_flow(runs: Experiments) -> None:
    """Retransmissions must be ECN-capable, as in ns-2: RED drops what it cannot mark, and a queue
    full of ACKs is above its threshold.
    """
    for result in runs("table3").at("paper", "RED only for data"):
        forward, reverse = table3.kbps(result)
        assert forward > 9000.0 or reverse > 15.0, (forward, reverse)
        lost = next(hop for hop in result.summary["hops"] if hop["hop"] == "return")["drops_by_cause"]
        assert lost["early"] == 0


def test_web_pages_are_fastest_with_ack_filtering(runs: Experiments) -> None:
    table = runs("figure14")
    for hosts in (10, 50):
        reno, acc, af = (
            table.mean(lambda run: run.summary["jobs"]["mean_s"], "cable and radio", f"web {scheme}", count=hosts).mean
            for scheme in ("Reno", "ACC", "AF + adaptation")
        )
        assert af < 0.9 * min(reno, acc), (hosts, reno, acc, af)


def test_pause_is_between_two_samples_with_progress(runs: Experiments) -> None:
    result = runs("figure7").at("paper, finely sampled", "ACC + acks-first")[0]
    pauses = pauses_s(result, "forward", 0.1, since=10.0)
    assert len(pauses) > 50 and all(0.1 < pause < 5.0 for pause in pauses)
    assert pauses_s(result, "nobody", 0.0) == []


def test_transfers_are_fair_when_acks_are_thinned_by_either_technique(runs: Experiments) -> None:
    table = runs("table2")
    assert [table2.fairness(result) for result in table.at("paper", "Reno+AF")] == [pytest.approx(1.0, abs=0.1)]
    assert [table2.fairness(result) for result in table.at("paper", "Reno+ACC")] == [pytest.approx(1.0, abs=0.2)]
