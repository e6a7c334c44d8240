"""Evaluators beside the sentences they judge: figure sets on which a stricter or a more lenient
reading errs.
"""

from __future__ import annotations

import pytest

from ackclock.papers.asymmetry.figures import ReturnedAcks, acks_spread_out, idle_as_stated
from ackclock.papers.asymmetry.table2 import no_start_is_shut_out
from ackclock.papers.asymmetry.table3 import is_closest
from ackclock.papers.claims import claims_of
from ackclock.papers.wimax_simulated.scenario3 import RATIOS, close_to_one, steadiest
from ackclock.papers.wimax_simulated.single import loses, queues_have_the_order


@pytest.mark.finding("P4")
@pytest.mark.parametrize(
    ("until_s", "before_s", "stated"),
    [(160.0, 3.0, True), (125.0, 9.0, True), (81.3, 3.0, False), (160.0, -9.0, False), (160.0, 30.0, False)],
    ids=["as-stated", "about", "half", "after-the-retransmission", "long-before"],
)
def test_idle_time_is_about_the_papers_not_half_of_it(until_s: float, before_s: float, stated: bool) -> None:
    assert idle_as_stated(until_s, before_s) is stated


def _rates(*ratios: float) -> list[dict[str, float]]:
    """Goodputs at several error rates: New Reno's is 10."""
    return [{"New Reno": 10.0, "Veno": 10.0 * ratio} for ratio in ratios]


@pytest.mark.finding("P7")
@pytest.mark.parametrize(
    ("ratios", "below"),
    [
        ((0.7, 0.8, 0.9, 1.02), True),
        ((0.7, 1.3, 1.2, 1.1), False),
        ((0.98, 0.99, 0.98, 1.6), False),
        ((0.5, 1.01, 1.01, 1.01), False),
    ],
    ids=["above-at-one-rate", "below-at-one-rate", "below-by-less-than-above", "below-by-one-rate"],
)
def test_scheme_loses_over_a_range_when_it_is_below_in_the_majority_of_it(
    ratios: tuple[float, ...], below: bool
) -> None:
    assert loses(_rates(*ratios), "Veno") is below


def _queues(*rows: tuple[float, float, float, float, float]) -> list[dict[str, float]]:
    return [dict(zip(("Westwood", "BIC", "New Reno", "Veno", "Vegas"), row, strict=True)) for row in rows]


@pytest.mark.finding("P7")
@pytest.mark.parametrize(
    ("rows", "stated"),
    [
        ([(9, 8, 5, 4, 3), (8, 8.1, 6, 6.2, 3), (9, 7, 5, 4, 2)], True),
        ([(9, 8, 5, 4, 3), (8, 7, 6, 7.5, 3), (9, 7, 5, 4, 2)], False),
        ([(9, 8, 5, 5.5, 3), (8, 7, 6, 6.5, 3), (9, 7, 5, 4, 2)], False),
        ([(7, 8, 5, 4, 3), (8, 9, 6, 5, 3), (8, 8, 5, 4, 2)], False),
    ],
    ids=["ties-at-one-queue", "veno-above-bic", "veno-above-new-reno", "bic-best"],
)
def test_order_over_queues_is_that_of_the_whole_range(
    rows: list[tuple[float, float, float, float, float]], stated: bool
) -> None:
    assert queues_have_the_order(_queues(*rows)) is stated


def _curve(*values: float) -> dict[str, float]:
    return dict(zip(RATIOS, values, strict=True))


# ns-2 with NIST's module, six flows, Mb/s each (released bookkeeping), and a scheme that only keeps
# at 6:1 what it had at 5:1.
NIST = {
    "New Reno": _curve(1.55, 1.70, 1.76, 1.58, 1.36, 2.71),
    "Westwood": _curve(1.55, 1.72, 1.79, 1.57, 1.29, 2.75),
    "BIC": _curve(1.64, 2.08, 2.15, 2.13, 2.93, 2.94),
}


@pytest.mark.finding("P7")
def test_steadiest_scheme_is_that_of_the_whole_curve() -> None:
    kept = {scheme: row["6:1"] / row["5:1"] for scheme, row in NIST.items()}
    assert max(kept, key=lambda scheme: kept[scheme]) != "BIC", "5:1 alone, where the others have collapsed"
    assert steadiest(NIST) == "BIC"
    collapsed = {**NIST, "BIC": _curve(2.9, 1.2, 1.1, 1.0, 0.9, 2.9)}
    assert steadiest(collapsed) != "BIC", "6:1 is three times 5:1"


@pytest.mark.finding("P7")
def test_fair_protocols_have_no_unfair_run() -> None:
    runs = [0.98] * 9 + [0.62]
    assert sum(runs) / len(runs) >= 0.9
    assert not close_to_one({"BIC": runs})
    assert close_to_one({"BIC": [0.91] * 10, "Vegas": [0.99] * 10})


@pytest.mark.finding("P7")
def test_second_connection_gets_a_share_in_every_start() -> None:
    starts = [0.999] * 9 + [0.55]
    assert abs(sum(starts) / len(starts) - 0.99) <= 0.05, "within the cell's tolerance"
    assert not no_start_is_shut_out(starts)
    assert no_start_is_shut_out([0.95] * 10)


@pytest.mark.finding("P7")
@pytest.mark.parametrize(
    ("claim", "kbps", "closest"),
    [
        ("P1-046", 27.1, True),
        ("P1-046", 24.3, False),
        ("P1-046", 28.7, False),
        ("P1-048", 28.4, True),
        ("P1-048", 25.0, False),
        ("P1-044", 23.0, True),
    ],
)
def test_cell_of_table_3_differs_from_those_of_other_schemes(claim: str, kbps: float, closest: bool) -> None:
    cell = next(each for each in claims_of("asymmetry") if each.id == claim)
    quantity = cell.quantity()
    assert quantity is not None and abs(kbps / quantity.value - 1.0) <= 0.15, "within the cell's tolerance"
    assert is_closest(kbps, cell) is closest


@pytest.mark.finding("P7")
def test_acks_are_dilated_by_k_on_every_slow_return_link() -> None:
    fast = ReturnedAcks(k=0.052, waiting=0.02, apart_ms=1.7)
    dilated = ReturnedAcks(k=13.9, waiting=9.0, apart_ms=11.4)
    thinned = ReturnedAcks(k=13.9, waiting=9.0, apart_ms=25.0)
    assert thinned.waiting > 1.0 and thinned.apart_ms > 8.0, "as far apart as a fixed bound asks"
    assert acks_spread_out([dilated, ReturnedAcks(2.08, 9.0, 1.7)], fast)
    assert not acks_spread_out([thinned], fast)
    assert not acks_spread_out([dilated, ReturnedAcks(2.08, 0.3, 1.7)], fast), "nothing waits"
    assert not acks_spread_out([dilated], ReturnedAcks(0.052, 0.02, 11.0)), "dilated with k < 1, too"
