"""Standings of simulated claims: crude models, the ensemble of phases, and the words of the
headline.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ackclock.papers import causes, standings
from ackclock.papers.causes import Predictions
from ackclock.papers.claims import PAPERS, claims_of
from ackclock.papers.evidence import ClaimResult, Evidence, Verdict
from ackclock.papers.readings import Alternative, Reading
from ackclock.papers.standings import CRUDE_MODELS, crude_outcomes, over_ensemble, standing
from ackclock.papers.terminal_tables import because, format_standings
from ackclock.statistics import interval

CLAIM = "P3-029"


def _crude(monkeypatch: pytest.MonkeyPatch, verdicts: Mapping[str, str]) -> None:
    rows = tuple({"claim": CLAIM, "model": model, "verdict": word} for model, word in verdicts.items())
    monkeypatch.setattr(standings, "crude_outcomes", lambda paper: rows)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({"infinite buffer": "holds", "no MAC": "holds"}, "holds_crude"),
        ({"infinite buffer": "holds", "no MAC": "fails"}, "holds"),
        ({"infinite buffer": "holds", "no MAC": "no verdict"}, "holds"),
        ({}, "holds"),
    ],
    ids=["each", "one-refutes", "one-undecided", "not-run"],
)
def test_claim_is_counted_apart_when_each_crude_model_has_it(
    monkeypatch: pytest.MonkeyPatch, verdicts: Mapping[str, str], expected: str
) -> None:
    _crude(monkeypatch, verdicts)
    assert standing("wimax-simulated", CLAIM, "holds") == expected


def _phases(monkeypatch: pytest.MonkeyPatch, verdicts: Mapping[str, Verdict], choice: Verdict) -> None:
    """Alternatives that change nothing but jitter, with these verdicts on CLAIM."""
    alternatives = tuple(Alternative(name, {"hop.core.jitter": {"kind": "uniform"}}) for name in verdicts)
    other = Alternative("another rate", {"hop.core.rate": "1 Mb/s"})
    reading = Reading("phase", "none", "the paper", alternatives=(*alternatives, other))
    rows = [
        {"claim": CLAIM, "reading": "phase", "alternative": name, "verdict": verdict}
        for name, verdict in {**verdicts, "another rate": "holds"}.items()
        if verdict != choice
    ]
    for module in (standings, causes):
        monkeypatch.setattr(module, "outcomes", lambda paper: tuple(rows))
    monkeypatch.setattr(standings, "readings_of", lambda paper: (reading,))


@pytest.mark.finding("P2")
@pytest.mark.parametrize(
    ("choice", "verdicts", "expected"),
    [
        ("holds", {"1 ms": "holds", "2 ms": "holds"}, ("holds", ())),
        ("holds", {"1 ms": "fails", "2 ms": "holds"}, ("holds", ("phase: 1 ms",))),
        ("holds", {"1 ms": "fails"}, ("fails", ("the choices",))),
        ("fails", {"1 ms": "holds", "2 ms": "holds"}, ("holds", ("the choices",))),
        ("fails", {"1 ms": "holds"}, ("fails", ("phase: 1 ms",))),
        ("fails", {}, ("fails", ())),
    ],
    ids=["all", "most", "half", "most-against-choice", "half-against-choice", "none"],
)
def test_claim_holds_when_the_majority_of_phases_has_it(
    monkeypatch: pytest.MonkeyPatch,
    choice: Verdict,
    verdicts: Mapping[str, Verdict],
    expected: tuple[Verdict, tuple[str, ...]],
) -> None:
    _phases(monkeypatch, verdicts, choice)
    assert over_ensemble("wimax-simulated", CLAIM, choice) == expected


def test_claim_that_holds_in_one_phase_has_another_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    _phases(monkeypatch, {"1 ms": "fails"}, "holds")
    cause = standings.failing_cause("wimax-simulated", CLAIM, ("the choices",))
    assert (cause.kind, cause.text) == ("other_reading", "holds with another reading (the choices)")


@pytest.mark.parametrize(
    ("alternative", "is_phase"),
    [
        (Alternative("a", {"hop.core.jitter": "1 ms"}), True),
        (Alternative("a", {"hop.core.jitter.mean": "1 ms"}, frozenset({"scenario1"})), True),
        (Alternative("a", {"hop.core.jitter": "1 ms", "hop.core.rate": "1 Mb/s"}), False),
        (Alternative("a", {"hop.core.jitter": "1 ms"}, schemes={"Vegas": {"tcp.variant": "vegas"}}), False),
        (Alternative("a"), False),
    ],
)
def test_phase_changes_nothing_but_jitter(alternative: Alternative, is_phase: bool) -> None:
    assert alternative.is_phase is is_phase


def test_reason_of_a_holding_claim_names_crude_models_and_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    _crude(monkeypatch, {"no MAC": "holds", "infinite buffer": "fails"})
    claim = next(each for each in claims_of("wimax-simulated") if each.id == CLAIM)
    found = Evidence(interval([1.0]), "ran", holds=True)
    result = ClaimResult(claim, "holds", "ran", found, unless=("phase: 1 ms",))
    text = because("wimax-simulated", result)
    assert text == "ran. Holds unless phase: 1 ms. Holds in a crude model, too: no MAC"
    assert result.as_json()["unless"] == ["phase: 1 ms"]


@pytest.mark.parametrize("paper", PAPERS)
def test_stored_crude_outcomes_belong_to_claims_and_models(paper: str) -> None:
    claims = {claim.id for claim in claims_of(paper)}
    for row in crude_outcomes(paper):
        assert row["claim"] in claims and row["model"] in CRUDE_MODELS
    assert all(standings.crude_verdicts(paper, row["claim"]) for row in crude_outcomes(paper))


def test_headline_counts_each_class_apart() -> None:
    counts: dict[standings.Standing, int] = {
        "holds": 3, "holds_crude": 2, "shown": 0, "suggested": 4, "other_reading": 1, "unexplained": 5,
    }  # fmt: skip
    text = format_standings(counts, Predictions(experiments=8, predicted=2, true=1))
    assert text == (
        "3 hold and need the model, 2 hold in crude models, too; of those that fail: 0 cause shown, "
        "4 suggested, 1 another reading, 5 unexplained. Predicted: 2 of 8 experiments on causes, 1 came true"
    )
