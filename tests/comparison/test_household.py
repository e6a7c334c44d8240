"""A comparison by what people do on a link: the targets of a household first, then the goodput."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import ackclock
from ackclock import cli
from ackclock.arguments.compare import HOUSEHOLD_QUEUES, CompareArguments
from ackclock.comparison.judgement import HouseholdJudge
from ackclock.comparison.terminal_tables import tables
from ackclock.errors import InputError
from ackclock.goals import GOALS, TRANSFER_GOALS
from ackclock.simulation.goals import app_scores, score, targets_met, value
from ackclock.simulation.loads import HOUSEHOLD
from tests.support.documents import follows

BLOATED = {"name": "line", "rate": {"down": "8 Mb/s", "up": "1 Mb/s"}, "delay": "10 ms", "queue": {"bytes": "200 KiB"}}
MANAGED = {**BLOATED, "queue": {"kind": "fq-codel"}}
FEW: dict[str, Any] = {"variants": ["cubic", "bbr"], "queue": ["link", "fq-codel"], "seeds": 2}
GOOD = {"call_mos": 4.4, "page_load_s": 0.4, "page_times_alone": 1.1, "game_late_share": 0.0, "bulk_goodput_bps": 4e6}
BAD = {"call_mos": 2.0, "page_load_s": 4.0, "page_times_alone": 9.0, "game_late_share": 0.9, "bulk_goodput_bps": 4e6}


@pytest.fixture(scope="module")
def bloated() -> ackclock.Comparison:
    return ackclock.compare([BLOATED], **FEW)


def _decided(
    runs: Mapping[str, Mapping[str, float]], goal: str = "household"
) -> tuple[str | None, dict[str, list[str]]]:
    """The recommended of choices with these figures in each of three seeds, the first of which are
    the host's defaults, and the harms that were found.
    """
    labels = list(runs)
    under = {
        label: {HOUSEHOLD: {seed: {**run, **app_scores(run)} for seed in (1, 2, 3)}} for label, run in runs.items()
    }
    changes = {label: number for number, label in enumerate(labels)}
    judge = HouseholdJudge(goal, False, under, labels[0], lambda _: [], lambda _: {}, changes)
    recommended = judge.decide("", labels)[1]
    return recommended, {label: [harm.text for harm in harms] for label, harms in judge.harm.items() if harms}


@pytest.mark.finding("U52")
def test_each_goal_has_a_score() -> None:
    span = {"from_s": 0.0, "end_s": 10.0}
    flows = [{"direction": one, "variant": "cubic", "goodput_bps": 1e6, **span} for one in ("down", "up")]
    of_transfers = {goal for goal in TRANSFER_GOALS if score(goal, None, flows, 10.0) > 0.0}
    of_apps = {name.removeprefix("score_") for name in app_scores(GOOD)}
    assert of_transfers | of_apps == set(GOALS)


def test_target_counts_before_any_goodput_and_goodput_after_it() -> None:
    less = {**GOOD, "bulk_goodput_bps": 1e6}
    assert _decided({"now": BAD, "less": less, "more": GOOD})[0] == "more"
    assert _decided({"now": {**BAD, "bulk_goodput_bps": 9e6}, "less": less})[0] == "less"
    assert app_scores(less)["score_household"] > app_scores({**BAD, "bulk_goodput_bps": 9e9})["score_household"]


def test_gain_within_5_percent_is_no_reason_to_change_anything() -> None:
    assert _decided({"now": GOOD, "other": {**GOOD, "bulk_goodput_bps": 4.15e6}})[0] == "now"
    assert _decided({"now": GOOD, "other": {**GOOD, "bulk_goodput_bps": 4.4e6}})[0] == "other"
    # Unless people feel less.
    assert _decided({"now": BAD, "other": {**BAD, "bulk_goodput_bps": 4.1e6}})[0] == "now"
    assert _decided({"now": BAD, "other": {**BAD, "bulk_goodput_bps": 4.1e6, "call_mos": 3.8}})[0] == "other"


def test_variant_with_more_goodput_that_harms_the_call_is_not_recommended() -> None:
    fast = {**BAD, "bulk_goodput_bps": 8e6}
    recommended, harms = _decided({"now": BAD, "fast": {**fast, "call_mos": 1.4}})
    assert recommended == "now" and harms == {"fast": ["worse for a call: MOS 2.0, now 1.4"]}
    assert _decided({"now": BAD, "fast": fast}) == ("fast", {})
    # A page that is complete in neither is no worse.
    never = {"page_load_s": float("nan"), "page_times_alone": float("nan")}
    assert _decided({"now": {**BAD, **never}, "fast": {**fast, **never}}) == ("fast", {})
    # A call that stays as people want it may lose a little, and one that was good must not be lost.
    assert _decided({"now": GOOD, "fast": {**GOOD, "call_mos": 4.1, "bulk_goodput_bps": 8e6}})[0] == "fast"
    assert _decided({"now": GOOD, "fast": {**GOOD, "call_mos": 3.9, "bulk_goodput_bps": 8e6}})[0] == "now"


def test_goal_of_one_application_counts_its_own_target_and_figure() -> None:
    clear = {**BAD, "call_mos": 4.3, "bulk_goodput_bps": 1e6}
    assert _decided({"now": BAD, "clear": clear}, "call")[0] == "clear"
    assert _decided({"now": BAD, "clear": clear}, "game")[0] == "now"
    assert targets_met("household", [clear]) == targets_met("call", [clear]) == 1 and targets_met("page", [clear]) == 0
    assert (
        value("page", GOOD) == 10.0 * value("page", BAD) and value("page", {**BAD, "page_load_s": float("nan")}) == 0.0
    )


@pytest.mark.finding("U49")
def test_bloated_line_gets_a_queue_that_keeps_people_apart(bloated: ackclock.Comparison) -> None:
    document = bloated.document
    follows("compare", document)
    assert (
        document["goal"] == "household"
        and document["recommended"] == "cubic, auto buffers, delayed ACK, fq-codel queue"
    )
    text = document["verdict"]
    assert text.startswith("Use an fq-codel queue in both directions: a call: MOS ") and "; a page " in text
    assert "round trips of a game above 100 ms: 100 %, now 0 %" in text or "now 0 %." in text
    assert "The goal household counts the number of targets that are met, then the goodput" in text
    cell = next(cell for cell in document["cells"] if cell["label"] == document["recommended"])
    loads = cell["loads"]
    assert set(loads) == {"household"} and loads["household"]["call_mos"]["mean"] > 4.0
    assert loads["household"]["call_mos"]["n"] == 2 and "score_household" not in loads["household"]
    assert cell["metrics"]["goodput_bps"]["mean"] > 7e6, "of the transfer alone"


def test_queue_with_the_variant_of_the_host_is_not_run_beside_other_flows(
    bloated: ackclock.Comparison,
) -> None:
    judgement = bloated.document["judgement"]
    recommended = next(one for one in judgement["choices"] if one["label"] == bloated.document["recommended"])
    assert recommended["harm"] == [] and [target["met"] for target in recommended["targets"]] == [True] * 3
    assert judgement["household_s"] == 60.0 and bloated.document["prices"]["choices"] == []
    assert {data.runs.params[0].get("load") for data in bloated.further} == {"household"}


def test_people_stand_first_on_the_terminal_and_in_the_report(bloated: ackclock.Comparison) -> None:
    felt, choices = tables(bloated)
    assert str(felt.title).startswith("A household on this link. Use an fq-codel queue")
    assert list(map(str, felt.columns[0].cells))[:3] == ["a call", "a page", "a game"]
    assert felt.row_count == 5 and choices.row_count == 4
    page = bloated._page()
    assert page.answer.startswith("Use an fq-codel queue") and page.sections[0].title == "What people feel"
    assert page.subtitle.endswith("2 seeds each, a household of 60 s")


@pytest.mark.finding("U49")
def test_managed_line_is_kept_as_it_is() -> None:
    document = ackclock.compare([MANAGED], variants=["cubic", "reno"], queue=["link", "codel"], seeds=2).document
    assert document["recommended"] == "cubic, auto buffers, delayed ACK"
    assert document["verdict"].startswith("Keep the link as it is: a call: MOS 4.")
    assert "None of the 3 other choices does better by this rule." in document["verdict"]


def test_defaults_are_of_a_household_unless_an_option_is_about_transfers() -> None:
    household = CompareArguments.defaults_beside({})
    assert household["goal"] == "household" and household["queue"] is HOUSEHOLD_QUEUES and household["seeds"] == 3
    assert CompareArguments.defaults_beside({"goal": "call"})["queue"] is HOUSEHOLD_QUEUES
    for about in ({"direction": "up"}, {"buffers": ["auto"]}, {"opposite": 1}, {"goal": "latency"}):
        assert "queue" not in CompareArguments.defaults_beside(about)
    for link, goal in (
        ("dsl-16m", "household"),
        ("geo-100m-pep", "balanced"),
        ("cable-dialup", "balanced"),
        ([MANAGED], "household"),
        ("none", "household"),
    ):
        assert CompareArguments.defaults_beside({"link": link})["goal"] == goal, link
    assert CompareArguments.defaults_beside({"direction": "up"})["goal"] == "balanced"
    with pytest.raises(InputError, match="household is judged by runs with a household"):
        ackclock.compare("dsl-16m", goal="household", with_prices=False)


def test_link_without_rates_is_compared_by_variants_alone() -> None:
    done = ackclock.compare([{"name": "path", "delay": "20 ms", "loss": 0.01}], variants=["cubic", "reno"], seeds=1)
    assert {cell["queue"] for cell in done.document["cells"]} == {"link"}


@pytest.mark.finding("U50")
def test_show_names_what_the_link_is_good_for(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["show", "dsl-16m"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Today: good for a call, a page in " in shown and "beside an upload for none of these: a call (MOS " in shown
    assert cli.run(["show", "geo-100m-pep"]) == 0
    assert "Today: " not in capsys.readouterr().out
    assert cli.run(["show", "cable-dialup"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Today: good for a 720p video, not for a call (MOS 1.0)" in shown and "beside an upload not for" in shown
