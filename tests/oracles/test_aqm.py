"""AQMs beside ns-3 and closed forms, under packet arrivals from a file."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from studies.oracles import aqm, closed_forms
from studies.oracles.agreement import Check
from studies.oracles.aqm_arrivals import ECT0, NOT_ECT, Arrivals


def _id(check: Check) -> str:
    return check.case


@pytest.fixture
def replays() -> None:
    if not aqm.BINARY.exists():
        pytest.skip(f"{aqm.BINARY.name} is not built")


@pytest.mark.slow
@pytest.mark.finding("L11")
@pytest.mark.parametrize("check", aqm.checks(), ids=_id)
@pytest.mark.usefixtures("replays")
def test_queue_agrees_with_ns3_under_the_same_arrivals(check: Check) -> None:
    if aqm.ns3_program() is None:
        pytest.skip("ns-3 (Debian: libns3-dev) or g++ is not installed")
    check.verify()


@pytest.mark.slow
@pytest.mark.finding("L11")
@pytest.mark.parametrize("check", closed_forms.checks(), ids=_id)
@pytest.mark.usefixtures("replays")
def test_queue_agrees_with_its_closed_form_under_constant_overload(check: Check) -> None:
    check.verify()


def test_arrivals_carry_their_load_when_constant() -> None:
    arrivals = Arrivals("constant", 10**7, 1.5, 10, seed=3, flows=8, sparse=4, sizes=(100, 576, 1500), ect=0.5)
    packets = arrivals.packets()
    heavy = [(flow, size, ecn) for _, flow, size, ecn in packets if flow < 8]
    assert packets == sorted(packets)
    assert sum(size for _, size, _ in heavy) * 8 / 10 == pytest.approx(1.5e7, rel=0.03)
    assert Counter(ecn for _, ecn in {(flow, ecn) for flow, _, ecn in heavy}) == {ECT0: 4, NOT_ECT: 4}


def test_arrivals_are_the_same_when_their_seed_is_the_same() -> None:
    bursts = {seed: Arrivals("bursts", 10**6, 1.5, 20, seed=seed).packets() for seed in (1, 2)}
    assert bursts[1] == Arrivals("bursts", 10**6, 1.5, 20, seed=1).packets()
    assert bursts[1] != bursts[2]


def test_overlap_of_signal_times_is_partial_when_half_of_them_moved() -> None:
    def run(times: list[float]) -> aqm.Replay:
        return aqm.Replay(queue=0, drops=len(times), marks=0, signals=np.array(times))

    same, late = run([1.0, 2.0, 3.0, 4.0]), run([1.0, 2.0, 8.0, 9.0])
    assert aqm.overlap([same], [same]) == 1
    assert aqm.overlap([same], [late]) == pytest.approx(0.5)
    assert aqm.overlap([same], [run([])]) == 0
