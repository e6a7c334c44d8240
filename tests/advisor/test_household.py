"""An advice for a household on a link: what people feel before and after."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock as library
from ackclock.advice.tables import app_gain_text, lines, page, tables
from ackclock.advisor.situation import situation_of
from ackclock.errors import InputError
from ackclock.input.objects import Link
from tests.support.documents import follows

SMALL: dict[str, Any] = {"cpu_s": 0.5, "workers": 1}
LINE = {
    "name": "line",
    "rate": {"down": "4 Mb/s", "up": "1 Mb/s"},
    "delay": "10 ms",
    "queue": {"down": {"bytes": "150 kB"}, "up": {"bytes": "60 kB"}},
}
SCENARIO = {"duration": "4 s", "hop": [LINE], "flow": [{"name": "d", "workload": {"kind": "bulk"}}]}


@pytest.fixture(scope="module")
def bloated() -> library.Advice:
    return library.advise(Link([LINE]), may=["router"], **SMALL)


def test_queues_of_both_directions_are_advised_for_people_on_a_bloated_line(bloated: library.Advice) -> None:
    document = bloated.document
    follows("advise", document)
    assert document["goal"] == "household" and document["loads"] == ["household"]
    first = document["advice"][0]
    assert ("line up" in first["label"] and "downlink" in first["label"]) or "both directions" in first["label"]
    effect = first["effect"]
    assert effect["call_mos"]["advised"] > effect["call_mos"]["baseline"] + 1.0
    assert effect["page_times_alone"]["advised"] <= 1.5 < effect["page_times_alone"]["baseline"]
    assert set(first["loads"]) == {"household"} and first["gain"]["lo"] > 1.0


def test_answer_has_people_before_rates_and_the_rule(bloated: library.Advice) -> None:
    document = bloated.document
    verdict = document["verdict"]
    assert (
        verdict.index(": a call: MOS 1.0, now ") < verdict.index("; a page ") < verdict.index("; round trips of a game")
    )
    assert (
        verdict.index("; round trips of a game") < verdict.index("; download ")
        and " of 3 targets met, 0 as it is." in verdict
    )
    assert any(text.startswith("The goal household counts") for text in lines(document))
    felt, rest = tables(document)
    assert str(felt.title) == "What people feel" and felt.row_count == 1 + len(document["advice"])
    assert str(rest.title) == "Not advised"
    report = page(document)
    assert [section.title for section in report.sections[:3]] == ["What people feel", "Advice", "What to type"]


def test_link_that_people_like_is_left_and_the_verdict_has_what_they_feel() -> None:
    managed = {**LINE, "queue": {"kind": "fq-codel"}, "rate": {"down": "20 Mb/s", "up": "5 Mb/s"}}
    document = library.advise(Link([managed]), may=["receiver"], **SMALL).document
    assert not document["advice"]
    assert document["verdict"].startswith("Leave it as it is: none of the ")
    assert " As it is: a call: MOS 4." in document["verdict"]


def test_goal_is_of_transfers_where_flows_are_given_or_a_direction_is() -> None:
    assert library.advise(SCENARIO, may=["receiver"], cpu_s=0.2, workers=1).document["goal"] == "balanced"
    asked = library.advise(Link([LINE]), direction="up", may=["receiver"], cpu_s=0.2, workers=1).document
    assert asked["goal"] == "balanced" and asked["loads"] == ["down", "up", "both"]
    with pytest.raises(InputError, match="this has flows of its own"):
        library.advise(SCENARIO, goal="call", may=["receiver"])
    assert situation_of([Link([LINE])]).for_goal("latency").loads == ("down", "up", "both")


def test_ratio_across_a_target_is_no_percentage() -> None:
    assert [app_gain_text(ratio) for ratio in (1e3, 1.1, 1e-3)] == ["more targets", "+10 %", "fewer targets"]
