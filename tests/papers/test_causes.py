"""Causes of failing claims: what an experiment must do, and that it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ackclock.papers import causes as papers_causes
from ackclock.papers.causes import (
    CauseExperiment,
    Prediction,
    Predictions,
    Requirement,
    SuspectedCause,
    Withdrawn,
    cause_of,
    cause_outcomes,
    predictions,
    suspected_causes,
    withdrawn_causes,
)
from ackclock.papers.claims import PAPERS, claims_of
from ackclock.papers.evidence import Evidence, judge
from ackclock.papers.experiments import experiments_file, settings_of
from ackclock.papers.readings import Alternative, contradiction, readings_file, readings_of, undecidable_claims
from ackclock.papers.reproduce import calibrated
from ackclock.statistics import interval
from studies.papers import causes
from studies.papers import predictions as committed
from studies.papers.outcomes import FoundClaim, Outcome, OutOfTime, Runner
from studies.papers.page import SCORES, page

CLAIM = "P4-028"  # 1.5 Mbps


@pytest.mark.parametrize(
    ("requirement", "verdict", "figure", "admitted"),
    [
        (Requirement(holds=True), "holds", None, True),
        (Requirement(holds=True), "fails", 1.5, False),
        (Requirement(reaches=True), "fails", 1.6, True),
        (Requirement(reaches=True), "holds", 1.4, False),
        (Requirement(reaches=True), "holds", None, False),
        (Requirement(at_least=1.0, at_most=2.0), "fails", 2.0, True),
        (Requirement(at_least=1.0, at_most=2.0), "holds", 2.1, False),
    ],
)
def test_requirement_compares_the_experiments_figure(
    requirement: Requirement, verdict: str, figure: float | None, admitted: bool
) -> None:
    assert requirement.admits(verdict, figure, 1.2, 1.5) is admitted


def test_figure_above_the_papers_has_to_fall_to_reach_it() -> None:
    assert Requirement(reaches=True).admits("fails", 1.4, 2.0, 1.5)
    assert not Requirement(reaches=True).admits("fails", 1.6, 2.0, 1.5)


def _examined(
    monkeypatch: pytest.MonkeyPatch,
    figures: Mapping[str, float],
    ran: frozenset[str],
    steps: tuple[dict[str, str], ...] = (),
) -> causes.CauseResult:
    experiment = CauseExperiment(
        "more", Alternative("more", {"a": "2"}), Requirement(reaches=True), (CLAIM,), steps=steps
    )
    monkeypatch.setattr(causes, "suspected_causes", lambda paper: (SuspectedCause((CLAIM,), "", (experiment,)),))

    def found(value: float) -> dict[str, FoundClaim]:
        return {CLAIM: FoundClaim("fails", "simulation", value, {})}

    def run(change: Alternative, claims: Sequence[str]) -> Outcome:
        return Outcome(found(figures[change.keys["a"]]), ran)

    (result,) = causes.examine("wibro", Outcome(found(1.25), frozenset({"downloads"})), run)
    return result


def test_cause_is_shown_when_the_figure_reaches_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _examined(monkeypatch, {"2": 1.52}, frozenset({"downloads"}))
    assert result.row() == [CLAIM, "more", "reaches the paper's figure", "1.250", "1.520", "yes"]


def test_cause_is_not_shown_when_the_figure_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _examined(monkeypatch, {"2": 1.4}, frozenset({"downloads"})).shown


def test_cause_is_not_shown_when_no_experiment_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _examined(monkeypatch, {"2": 1.52}, frozenset())
    assert (result.shown, result.found) == (False, "nothing ran")


@pytest.mark.parametrize(("first", "shown"), [(1.3, True), (1.1, False)])
def test_steps_have_to_move_the_figure_in_one_direction(
    monkeypatch: pytest.MonkeyPatch, first: float, shown: bool
) -> None:
    steps: tuple[dict[str, str], ...] = ({"a": "1"}, {"a": "2"})
    assert _examined(monkeypatch, {"1": first, "2": 1.6}, frozenset({"downloads"}), steps).shown is shown


@pytest.mark.parametrize("paper", PAPERS)
def test_experiments_of_causes_change_settings_of_claims_with_a_verdict(paper: str) -> None:
    experiments = experiments_file(paper)["experiments"]
    claims = {claim.id for claim in claims_of(paper)}
    for cause in suspected_causes(paper):
        assert set(cause.claims) <= claims and cause.text
        assert not [name for name in cause.claims if calibrated(name) or contradiction(paper, name)], cause.text
        assert set(cause.claims) == {name for each in cause.experiments for name in each.claims}, cause.text
        for experiment in cause.experiments:
            for change in experiment.changes():
                named = change.experiments or experiments.keys()
                assert set(named) <= experiments.keys(), experiment.name
                assert any(
                    plain[1] != other[1]
                    for name in named
                    for plain, other in zip(
                        settings_of(experiments[name], paper),
                        settings_of(experiments[name], paper, name, change),
                        strict=True,
                    )
                ), f"{experiment.name} changes no setting"


def test_keys_of_a_point_apply_to_that_point_only() -> None:
    hour = Alternative("20:00", {"a": 1}, frozenset({"day"}), points={"7 s": {"b": 2}})
    assert hour.keys_of("day", "", ["7 s"]) == {"a": 1, "b": 2}
    assert hour.keys_of("day", "", ["9 s"]) == {"a": 1}
    assert hour.keys_of("radio", "", ["7 s"]) == {}


@pytest.mark.parametrize("paper", PAPERS)
def test_points_of_causes_are_points_of_their_experiments(paper: str) -> None:
    experiments = experiments_file(paper)["experiments"]
    for cause in suspected_causes(paper):
        for experiment in cause.experiments:
            swept = {
                str(value)
                for name in experiment.change.experiments or experiments.keys()
                for place, _ in settings_of(experiments[name], paper)
                for value in place.point.values()
            }
            assert set(experiment.change.points) <= swept, experiment.name


@pytest.mark.parametrize("paper", PAPERS)
def test_stored_results_of_causes_belong_to_experiments(paper: str) -> None:
    known = {
        (claim, each.name) for cause in suspected_causes(paper) for each in cause.experiments for claim in each.claims
    }
    assert {(row["claim"], row["experiment"]) for row in cause_outcomes(paper)} <= known


@pytest.mark.parametrize("paper", PAPERS)
def test_cause_with_experiments_names_page_and_figures(paper: str) -> None:
    for row in cause_outcomes(paper):
        cause = cause_of(paper, row["claim"])
        assert bool(cause.experiment) != (cause.kind == "unexplained"), row
        assert (cause.kind == "shown") == bool(cause.predictions), row
        if cause.kind in ("shown", "suggested"):
            assert row["found"] in cause.text or row["shown"] == "no", row


def _with_causes(
    monkeypatch: pytest.MonkeyPatch, shown: Mapping[str, str], predicted: str, withdrawn: tuple[Withdrawn, ...] = ()
) -> None:
    """A cause of CLAIM whose experiments have these outcomes; one of them was predicted."""
    made = Prediction("0123456789", "2026-11-28")
    experiments = tuple(
        CauseExperiment(name, Alternative(name), Requirement(holds=True), (CLAIM,), predicted=made)
        if name == predicted
        else CauseExperiment(name, Alternative(name), Requirement(holds=True), (CLAIM,))
        for name in ("first", "second")
    )
    rows = tuple(
        {"claim": CLAIM, "experiment": name, "choice": "1.2", "found": "1.5", "shown": word}
        for name, word in shown.items()
    )
    monkeypatch.setattr(
        papers_causes, "suspected_causes", lambda paper: (SuspectedCause((CLAIM,), "a suspicion", experiments),)
    )
    monkeypatch.setattr(papers_causes, "cause_outcomes", lambda paper: rows)
    monkeypatch.setattr(papers_causes, "withdrawn_causes", lambda paper: withdrawn)
    monkeypatch.setattr(papers_causes, "outcomes", lambda paper: ())


@pytest.mark.finding("P8")
@pytest.mark.parametrize(
    ("shown", "predicted", "kind"),
    [
        ({"first": "yes", "second": "yes"}, "second", "shown"),
        ({"first": "yes", "second": "yes"}, "", "suggested"),
        ({"first": "yes", "second": "no"}, "second", "unexplained"),
        ({"first": "yes"}, "second", "unexplained"),
    ],
    ids=["came-true", "chosen", "came-false", "not-run"],
)
def test_cause_is_shown_by_a_prediction_only(
    monkeypatch: pytest.MonkeyPatch, shown: Mapping[str, str], predicted: str, kind: str
) -> None:
    _with_causes(monkeypatch, shown, predicted)
    cause = cause_of("wibro", CLAIM)
    assert cause.kind == kind
    assert len(cause.predictions) == (kind == "shown")


def test_cause_of_a_prediction_precedes_one_of_chosen_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_causes(monkeypatch, {"first": "yes", "second": "yes"}, "second")
    chosen, predicted = (
        SuspectedCause((CLAIM,), text, (each,))
        for text, each in zip(
            ("chosen", "predicted"), papers_causes.suspected_causes("wibro")[0].experiments, strict=True
        )
    )
    monkeypatch.setattr(papers_causes, "suspected_causes", lambda paper: (chosen, predicted))
    cause = cause_of("wibro", CLAIM)
    assert (cause.kind, cause.text.split()[0]) == ("shown", "predicted")


def test_predictions_count_those_that_came_false(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_causes(monkeypatch, {"first": "yes", "second": "no"}, "second")
    assert predictions("wibro") == Predictions(experiments=2, predicted=1, true=0)


@pytest.mark.finding("P5")
def test_refuted_reading_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    refuted = Withdrawn((CLAIM,), "grants are small", "a measurement", "minimum grant: 3000 B")
    held = {"claim": CLAIM, "reading": "minimum grant", "alternative": "3000 B", "verdict": "holds"}
    for withdrawn, kind in (((), "other_reading"), ((refuted,), "unexplained")):
        _with_causes(monkeypatch, {}, "", withdrawn)
        monkeypatch.setattr(papers_causes, "suspected_causes", lambda paper: ())
        monkeypatch.setattr(papers_causes, "outcomes", lambda paper: (held,))
        assert cause_of("wibro", CLAIM).kind == kind
    assert "a measurement" in cause_of("wibro", CLAIM).text


@pytest.mark.finding("P5")
@pytest.mark.parametrize("paper", PAPERS)
def test_withdrawn_causes_are_suspected_no_more(paper: str) -> None:
    names = {f"{each.name}: {other.name}" for each in readings_of(paper) for other in each.alternatives}
    for each in withdrawn_causes(paper):
        assert each.cause and each.refuted_by
        assert each.alternative in {"", *names}
        assert each.cause not in {cause.text for cause in suspected_causes(paper)}


@pytest.mark.finding("P8")
@pytest.mark.parametrize("paper", PAPERS)
def test_predictions_stand_in_a_commit_before_their_outcome(paper: str) -> None:
    if not committed.has_history():
        pytest.skip("no repository with its history")
    assert committed.problems(paper) == [], "after a rebase: python -m studies.papers.predictions"


def test_experiment_chosen_before_is_no_prediction() -> None:
    if not committed.has_history():
        pytest.skip("no repository with its history")
    experiment = next(each for each in committed.experiments(readings_file("wibro")) if "P4-032" in each["claims"])
    dated = {**experiment, "predicted": {"commit": "fdcfb0e9", "date": "2026-11-24"}}
    assert "without its outcome" in committed.problem("wibro", dated), "the commit has the outcome, too"
    changed = {**experiment, "must": "reaches", "predicted": {"commit": "16e24c1b", "date": "2026-11-24"}}
    assert "as it stands" in committed.problem("wibro", changed), "another requirement"
    assert "no commit" in committed.problem("wibro", {**experiment, "predicted": {}})


@pytest.mark.parametrize("paper", PAPERS)
def test_undecidable_claims_quote_the_paper_twice(paper: str) -> None:
    claims = {claim.id for claim in claims_of(paper)}
    for each in undecidable_claims(paper):
        assert set(each.claims) <= claims and len(each.quotes) >= 2 and "our reading" in each.source


def test_contradictory_claim_has_evidence_without_a_verdict() -> None:
    claim = next(claim for claim in claims_of("wibro") if claim.id == CLAIM)
    result = judge(claim, lambda claim: Evidence(interval([1.5]), "ran"), "", "", "not decidable: a beside b")
    assert result.verdict == "not_tested" and result.why.startswith("not decidable")
    assert result.evidence is not None


def test_outcomes_are_not_run_when_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(OutOfTime):
        Runner("wibro", (1,), tmp_path, until=0.0).outcome()


def test_page_counts_standings_and_predictions() -> None:
    rows = [
        ["wibro", "3", "1", "0", "2", "1", "1", "0", "2", "0", "0"],
        ["asymmetry", "5", "3", "1", "1", "0", "2", "1", "4", "2", "1"],
    ]
    text = page(rows, {})
    assert len(rows[0]) == len(SCORES)
    assert "| **these papers** | 8 | 4 | 1 | 3 | 1 | 3 | 1 | 6 | 2 | 1 |" in text
    assert "Unexplained: 3 of 20 simulated claims (15.0 %)." in text
    assert "Predicted: 2 of 6 experiments on causes (33 %), of which 1 came true." in text


@pytest.mark.finding("P5")
@pytest.mark.parametrize("claim", ["P3-027", "P3-029", "P3-035", "P3-037"])
def test_causes_that_ns2_refutes_are_withdrawn_with_the_refutation(claim: str) -> None:
    assert any(claim in each.claims and "ns-2" in each.refuted_by for each in withdrawn_causes("wimax-simulated"))
    assert "exponential delay" not in cause_of("wimax-simulated", claim).text.partition("withdrawn")[0]
