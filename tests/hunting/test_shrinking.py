"""Cases made simple, on planted objectives of which the simplest broken case is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ackclock import _native
from ackclock.hunting.evaluation import Evaluator, Outcome, Store
from ackclock.hunting.shrinking import Shrinking, Shrunk, simplest
from ackclock.hunting.space import Settings
from ackclock.hunting.table import read_hunt
from ackclock.input.scenario.draft import draft_of

DELAY = "hop.a.delay"
LOSSES = "hop.a.loss.down"
POLICER = "hop.a.policer.down"
BURST = f"{POLICER}[2].burst"
MS = 10**9
SCENARIO: dict[str, Any] = {
    "duration": "1 s",
    "hop": [{"name": "a", "rate": "10 Mb/s", "delay": "10 ms"}],
    "flow": [{"name": "f", "workload": {"kind": "bulk"}}],
    "hunt": {
        "objective": "repair",
        "breaks": 0.5,
        "vary": {
            DELAY: [{"from": "1 ms", "to": "100 ms"}, {"schedule": [["0 s", "5 ms"], ["1 s", "50 ms"]]}],
            LOSSES: {"losses": 4, "within": 1000},
            POLICER: ["absent", {"rate": "5 Mb/s", "burst": {"from": "5 kB", "to": "500 kB", "simple": "500 kB"}}],
        },
    },
}


class Planted(Evaluator):
    """Cases whose figure and mechanism are functions of their settings."""

    def __init__(self, figure: Callable[[Settings], float], mechanism: Callable[[Settings], str]) -> None:
        draft = draft_of(SCENARIO)
        super().__init__(draft, read_hunt(draft), Store(None), workers=1)
        self.figure, self.mechanism = figure, mechanism

    def run(self, settings: Settings) -> Outcome:
        return Outcome(self.figure(settings), mechanism=self.mechanism(settings))


def shrunk(
    figure: Callable[[Settings], float],
    case: Settings,
    mechanism: Callable[[Settings], str] = lambda _: "",
    *,
    base: float | None = None,
) -> Shrunk:
    evaluator = Planted(figure, mechanism)
    data = evaluator.draft.written()
    simple = simplest(evaluator.table.space, lambda path: _native.value_at(data, path))
    assert simple == {DELAY: 0, f"{DELAY}[1]": 10 * MS, LOSSES: (), POLICER: 0, BURST: 500_000}
    lowest = evaluator.one(simple) if base is None else Outcome(base)
    return Shrinking(evaluator, simple, lowest).shrink(case, evaluator.one(case))


CASE: Settings = {DELAY: 0, f"{DELAY}[1]": 87 * MS, LOSSES: (3, 40, 41, 900), POLICER: 1, BURST: 6_000}


def test_case_keeps_only_the_losses_that_it_needs() -> None:
    found = shrunk(lambda case: 1.0 if {40, 900} <= set(case[LOSSES]) else 0.0, CASE)  # type: ignore[arg-type]
    assert found.settings[LOSSES] == (40, 900)
    assert found.needs == (LOSSES,)
    assert found.settings[POLICER] == 0 and found.settings[f"{DELAY}[1]"] == 10 * MS


def test_number_stops_near_the_last_one_that_breaks() -> None:
    found = shrunk(lambda case: float(case[f"{DELAY}[1]"] >= 42 * MS), CASE)  # type: ignore[operator]
    assert 42 * MS <= found.settings[f"{DELAY}[1]"] <= 55 * MS  # type: ignore[operator]
    assert found.needs == (f"{DELAY}[1]",)


def test_four_fifths_of_the_excess_stay() -> None:
    def figure(case: Settings) -> float:
        # The policer gives 0.7 of the effect, a long delay the rest.
        return 0.1 + 0.7 * bool(case[POLICER]) + 0.3 * float(case[f"{DELAY}[1]"] > 50 * MS)  # type: ignore[operator]

    found = shrunk(figure, CASE)
    assert found.outcome.value == pytest.approx(1.1) and set(found.needs) == {POLICER, f"{DELAY}[1]"}
    assert found.settings[BURST] == 500_000


def test_nothing_is_needed_when_the_simplest_case_breaks() -> None:
    found = shrunk(lambda _: 1.0, CASE)
    assert found.needs == ()


def test_step_is_not_taken_when_it_changes_the_mechanism() -> None:
    # The policer and the losses break the case each alone.
    found = shrunk(lambda case: float(bool(case[POLICER] or case[LOSSES])), CASE)
    assert found.needs == (LOSSES,)
    found = shrunk(
        lambda case: float(bool(case[POLICER] or case[LOSSES])),
        CASE,
        lambda case: "policed" if case[POLICER] else "lost",
    )
    assert found.needs == (POLICER,) and found.outcome.mechanism == "policed"


def test_step_is_not_taken_when_another_cause_would_break_the_case_as_well() -> None:
    def figure(case: Settings) -> float:
        # Below 40 ms the case breaks without the policer, too.
        return float(bool(case[POLICER]) or case[f"{DELAY}[1]"] < 40 * MS)  # type: ignore[operator]

    found = shrunk(figure, CASE, base=0.0)
    assert set(found.needs) == {POLICER, f"{DELAY}[1]"} and found.settings[f"{DELAY}[1]"] >= 40 * MS  # type: ignore[operator]


def test_lost_packet_stays_when_the_case_needs_it() -> None:
    # With a burst of more than 400 kB one packet is enough.
    def figure(case: Settings) -> float:
        return float(len(case[LOSSES]) >= (1 if case[BURST] > 400_000 else 4))  # type: ignore[arg-type, operator]

    assert shrunk(figure, CASE).settings[LOSSES] == (3, 40, 41, 900)
