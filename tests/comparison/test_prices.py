"""Prices of recommended configurations: their measures, their sentences, and their runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ackclock.comparison import Comparison, compare
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.judgement_runs import max_runs
from ackclock.comparison.prices import MEASURES, REFERENCE, Priced, jain_by_seed, named_price, of_beside
from ackclock.comparison.ranking import ranking
from ackclock.comparison.terminal_tables import price_table, tables
from ackclock.comparison.verdict import price, verdict
from ackclock.report.page import Table as PageTable
from ackclock.simulation.metrics import of_run
from ackclock.statistics import interval
from ackclock.terminal import narrow
from tests.support.synthetic import flow, summary

MEASURE = {measure.name: measure for measure in MEASURES}
OURS, THEIRS = "bbr, auto buffers, delayed ACK", "cubic, auto buffers, delayed ACK"


@pytest.mark.finding("U10")
@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "text"),
    [
        ("retransmission_rate", 0.159, 0.004, "15.9 % of the segments are retransmissions instead of 0.400 %"),
        ("retransmission_rate", 0.0139, 0.004, None),
        ("rtt_p95_ms", 212.0, 31.0, "its p95 RTT is 212 ms instead of 31 ms"),
        ("rtt_p95_ms", 40.5, 31.0, None),
        (
            "probe_delay_p95_ms",
            212.0,
            31.0,
            "a sparse flow beside it has a p95 one-way delay of 212 ms instead of 31 ms",
        ),
        ("probe_delay_p95_ms", 31.0, 212.0, None),
        ("probe_loss_rate", 0.2, 0.01, "a sparse flow beside it loses 20.0 % of its packets instead of 1.00 %"),
        ("probe_loss_rate", 0.2, 0.195, None),
        ("probe_loss_rate", 0.04, 0.0, None),
        ("short_p95_s", 1.2, 0.4, "a transfer of 100 kB beside it takes 1200 ms at p95 instead of 400 ms"),
        ("short_p50_s", 1.05, 1.0, None),
        ("short_p50_s", 0.012, 0.010, None),
    ],
)
def test_price_is_named_only_when_it_is_worse_than_the_best_tied_choice(
    metric: str, ours: float, theirs: float, text: str | None
) -> None:
    pool = {OURS: {metric: {1: ours, 2: ours}}, THEIRS: {metric: {1: theirs, 2: theirs}}}
    found = named_price(MEASURE[metric], OURS, pool, {})
    assert (found.text if found else None) == text
    if found:
        assert (found.than, found.certain, found.value, found.best) == (THEIRS, True, ours, theirs)
    assert named_price(MEASURE[metric], OURS, {OURS: pool[OURS]}, {}) is None


@pytest.mark.finding("U10")
@pytest.mark.parametrize(
    ("metric", "ours", "reference", "text"),
    [
        ("cubic_goodput_bps", 1.2e6, 7e6, "a cubic flow beside it gets 1.20 Mb/s instead of 7.00 Mb/s"),
        ("cubic_goodput_bps", 6.4e6, 7e6, None),
        ("beside_reno_goodput_bps", 2.1e6, 9e6, "beside a reno flow it gets 2.10 Mb/s, the host's default 9.00 Mb/s"),
        ("beside_reno_goodput_bps", 12e6, 9e6, None),
        (
            "retransmission_rate",
            0.159,
            0.008,
            "15.9 % of the segments are retransmissions instead of 0.800 %",
        ),
        ("retransmission_rate", 0.017, 0.008, None),
        ("probe_delay_p95_ms", 90.0, 31.0, "a sparse flow beside it has a p95 one-way delay of 90 ms instead of 31 ms"),
        ("short_p50_s", 3.7, 0.5, "a transfer of 100 kB beside it takes 3700 ms at the median instead of 500 ms"),
    ],
)
def test_price_is_also_measured_against_the_hosts_defaults(
    metric: str, ours: float, reference: float, text: str | None
) -> None:
    found = named_price(
        MEASURE[metric], OURS, {OURS: {metric: {1: ours, 2: ours}}}, {metric: {1: reference, 2: reference}}
    )
    assert (found.text if found else None) == text
    assert found is None or (found.than, found.certain) == (REFERENCE, True)


@pytest.mark.finding("U10")
@pytest.mark.parametrize("metric", ["cubic_goodput_bps", "beside_cubic_goodput_bps"])
def test_unfairness_of_a_tied_choice_is_no_price_of_a_fair_one(metric: str) -> None:
    pool = {OURS: {metric: {1: 5e6, 2: 5e6}}, THEIRS: {metric: {1: 9e6, 2: 9e6}}}
    assert named_price(MEASURE[metric], OURS, pool, {metric: {1: 5e6, 2: 5e6}}) is None


@pytest.mark.finding("U10")
def test_price_is_marked_when_the_seeds_do_not_separate_it() -> None:
    pool = {OURS: {"rtt_p95_ms": {1: 20.0, 2: 300.0}}, THEIRS: {"rtt_p95_ms": {1: 30.0, 2: 30.0}}}
    found = named_price(MEASURE["rtt_p95_ms"], OURS, pool, {})
    assert found is not None and not found.certain
    document = _document([found.as_json()])
    assert price(document, OURS).endswith("(not certain).")


def _document(named: list[Any], alternatives: tuple[str, ...] = (THEIRS,)) -> Any:
    priced = {"label": OURS, "alternatives": list(alternatives), "metrics": {}, "named": named}
    return {"prices": {"runs": 10, "seeds": [1, 2], "choices": [priced]}}


def _named(metric: str, text: str, than: str = THEIRS) -> dict[str, Any]:
    return {"metric": metric, "value": 1.0, "best": 2.0, "than": than, "certain": True, "text": text}


@pytest.mark.finding("U10")
def test_sentence_of_the_prices_names_each_alternative_once() -> None:
    document = _document(
        [
            _named("retransmission_rate", "15.9 % of the segments are retransmissions instead of 0.400 %"),
            _named("rtt_p95_ms", "its p95 RTT is 212 ms instead of 31 ms"),
            _named("cubic_goodput_bps", "a cubic flow beside it gets 1.2 Mb/s instead of 7.8 Mb/s", REFERENCE),
        ]
    )
    assert price(document, OURS) == (
        f"Price, against {THEIRS}: 15.9 % of the segments are retransmissions instead of 0.400 %; its p95 RTT is "
        "212 ms instead of 31 ms. Price, against the host's defaults: a cubic flow beside it gets 1.2 Mb/s instead "
        "of 7.8 Mb/s."
    )


@pytest.mark.finding("U10")
def test_verdict_states_that_there_is_no_price_only_after_runs_beside_others() -> None:
    assert price(_document([]), OURS) == (
        "Price: none of 10 %, 10 ms or 1 point of retransmissions, against 1 choice tied with it and the host's "
        "defaults."
    )
    assert price(_document([], ()), OURS) == (
        "Price: none of 10 %, 10 ms or 1 point of retransmissions, against the host's defaults."
    )
    assert price(cast("Any", {"prices": None}), OURS) == price(_document([]), THEIRS) == ""


@pytest.mark.finding("A13")
@pytest.mark.parametrize(
    ("own", "other", "named"), [(5e6, 4.9e6, False), (5e6, 4.2e6, True), (2e6, 2e6, True), (8e6, 1.9e6, True)]
)
def test_equal_share_is_no_price_when_the_other_flow_had_more_before(own: float, other: float, named: bool) -> None:
    pool = {OURS: {"beside_cubic_goodput_bps": {1: own, 2: own}, "cubic_goodput_bps": {1: other, 2: other}}}
    before = {"beside_cubic_goodput_bps": {1: 0.1e6, 2: 0.1e6}, "cubic_goodput_bps": {1: 9.8e6, 2: 9.8e6}}
    assert (named_price(MEASURE["cubic_goodput_bps"], OURS, pool, before) is not None) == named


def test_metrics_beside_other_flows() -> None:
    of_two = of_beside(summary([flow("changed", goodput_bps=6e6), flow("other", goodput_bps=2e6)]))
    assert of_two == {"own_bps": 6e6, "other_bps": 2e6}
    assert jain_by_seed({1: of_two}) == {1: pytest.approx(0.8)}
    ended = {**flow("transfer-1"), "completed_s": 0.5}
    cut = {**flow("transfer-2"), "completed_s": None, "host_start_s": 7.0, "end_s": 10.0}
    times = of_beside(summary([flow("changed"), ended, cut]))
    assert (times["short_p50_s"], times["short_p95_s"], times["short_unfinished"]) == (0.5, 3.0, 1.0)


def test_part_of_a_split_transfer_is_no_transfer_of_its_own() -> None:
    ended = {**flow("transfer-1"), "completed_s": 0.5}
    part = {**flow("transfer-1.server"), "completed_s": 0.1, "feeds": "transfer-1"}
    whole = of_beside(summary([flow("changed"), ended]))
    assert of_beside(summary([flow("changed"), ended, part])) == whole


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compare(
        "dumbbell-10m", variants=["cubic", "vegas"], buffers=["auto"], delayed_ack=[True], seeds=2, duration="20 s",
        out=tmp_path_factory.mktemp("prices") / "run",
    )  # fmt: skip


@pytest.mark.finding("U10")
def test_comparison_has_prices_in_its_document_report_and_verdict(priced: Comparison) -> None:
    document = json.loads(priced.to_json())
    found = {choice["label"]: choice for choice in document["prices"]["choices"]}
    assert set(found) == {ranked.configuration.label for ranked in priced.ranking}
    vegas = next(of["metrics"] for label, of in found.items() if label.startswith("vegas"))
    cubic = next(of["metrics"] for label, of in found.items() if label.startswith("cubic"))
    # cubic with automatic buffers and delayed ACKs is the host's defaults: the same runs.
    assert cubic["cubic_harm"]["mean"] == cubic["reno_harm"]["mean"] == 0.0
    # Vegas yields to a flow that fills the queue, and leaves others a short one.
    assert vegas["cubic_harm"]["mean"] < 0.0
    assert vegas["beside_cubic_jain"]["mean"] < cubic["beside_cubic_jain"]["mean"]
    assert vegas["probe_delay_p95_ms"]["mean"] < cubic["probe_delay_p95_ms"]["mean"]
    for one in found[document["recommended"]]["named"]:
        assert one["text"] in document["verdict"]
    section = next(section for section in priced._page().sections if section.title == "Prices")
    (table,) = (block for block in section.blocks if isinstance(block, PageTable))
    assert len(table.rows) == 3
    (reference,) = document["prices"]["references"]
    assert (reference["label"], reference["named"]) == (REFERENCE, [])
    assert {name for name, of in reference["metrics"].items() if cubic[name] != of} == set()


@pytest.mark.finding("U10")
def test_runs_for_prices_are_stored_counted_and_reused(priced: Comparison) -> None:
    assert priced.folder is not None and priced.prices is not None
    # Two choices under three loads and in three places beside other flows.
    expected = (2 * 3 + 2 * 3) * 2
    assert sum(len(data.runs) for data in priced.prices.datasets) == expected
    steps: list[tuple[int, int]] = []
    again = compare(
        "dumbbell-10m", variants=["cubic", "vegas"], buffers=["auto"], delayed_ack=[True], seeds=2, duration="20 s",
        out=priced.folder, progress=lambda done, total, _: steps.append((done, total)),
    )  # fmt: skip
    assert {total for _, total in steps} == {4 + expected} and steps[-1] == (4 + expected, 4 + expected)
    assert again.document["prices"] == priced.document["prices"]
    assert not list(priced.folder.glob("prices/*/chunks"))


def test_prices_are_equal_for_any_number_of_workers_and_may_be_left_out(priced: Comparison, tmp_path: Path) -> None:
    choices: dict[str, Any] = {
        "variants": ["cubic", "vegas"], "buffers": ["auto"], "delayed_ack": [True], "seeds": 2, "duration": "20 s",
    }  # fmt: skip
    steps: list[tuple[int, int]] = []
    single = compare(
        "dumbbell-10m", **choices, workers=1, progress=lambda done, total, _: steps.append((done, total))
    ).document
    assert single["prices"] == priced.document["prices"]
    assert steps[0] == (0, 4 + max_runs(2, 2, "balanced", 0)) and steps[-1] == (4 + 24, 4 + 24)
    without = compare("dumbbell-10m", **choices, with_prices=False, out=tmp_path / "run")
    assert without.document["prices"] is None and "Price" not in without.document["verdict"]
    assert not (tmp_path / "run" / "prices").exists()
    assert without.document["ranking"] == single["ranking"]


@pytest.mark.parametrize(("unfinished", "cell"), [(0.0, "500, 3000"), (0.4, "500, 3000+")])
def test_short_transfers_that_are_not_complete_have_a_mark(priced: Comparison, unfinished: float, cell: str) -> None:
    assert priced.prices is not None
    figures = {"short_p50_s": 0.5, "short_p95_s": 3.0, "short_unfinished": unfinished}
    one = Priced("cubic", {name: interval([value]) for name, value in figures.items()}, (), ())
    (table,) = price_table(replace(priced, prices=replace(priced.prices, choices=[one], references=[])))
    assert list(table.columns[-1].cells) == [cell]
    assert ("not complete" in str(table.caption)) == bool(unfinished)


@pytest.mark.finding("U9")
@pytest.mark.parametrize("width", [80, 140])
def test_verdict_is_the_last_text_on_the_terminal(priced: Comparison, width: int) -> None:
    shown = tables(priced)
    lines = [line for table in shown for _, line in narrow(table, width) or ()]
    assert max(map(len, lines)) <= width or width == 140
    assert " ".join(str(shown[-1].caption).splitlines()).endswith(priced.document["verdict"])
    assert verdict(priced.document) == priced.document["verdict"]


@pytest.mark.finding("U10")
def test_verdict_names_the_retransmissions_of_the_choice_without_a_tie(priced: Comparison) -> None:
    lossy = flow(segments_sent=1000, retransmitted_segments=159)
    lines = ranking({Configuration("bbr", "auto", "auto", True): {s: of_run(summary([lossy])) for s in (1, 2)}})
    assert "without a timeout, with 16 % of the segments retransmitted" in lines[0].why
    clean = flow(segments_sent=1000, retransmitted_segments=9)
    lines = ranking({Configuration("bbr", "auto", "auto", True): {s: of_run(summary([clean])) for s in (1, 2)}})
    assert "retransmitted" not in lines[0].why
    assert replace(priced, prices=None).document["prices"] is None
