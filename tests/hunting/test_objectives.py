"""The figures of objectives, and what an emulated case shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import _native
from ackclock.hunting.objectives import DIFFERENCE, NAMED, longest_gap_s, read_objective
from ackclock.hunting.plausibility import distance, facts, nearest
from ackclock.hunting.verification import cannot, conclusion, run_of
from ackclock.input.json_schema import json_schema
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.model import Scenario


def scenario(**keys: object) -> Scenario:
    flow = {"name": "a", "workload": {"kind": "bulk"}}
    return draft_of({"link": "dsl-16m", "duration": "10 s", "flow": [flow], **keys}).check()


def test_objectives_are_those_that_the_schema_has() -> None:
    definitions = json_schema("scenario")["$defs"]
    names = definitions["HuntObjective"]["properties"]["name"]["anyOf"][0]["enum"]
    assert names == [*NAMED, DIFFERENCE]
    assert set(definitions["HuntObjective"]["properties"]["of"]["enum"]) <= NAMED.keys()


def test_longest_gap_counts_from_the_first_byte_to_the_end() -> None:
    assert longest_gap_s([1.0, 2.0, 3.0], [0, 5, 6], 3.0) == 1.0
    assert longest_gap_s([1.0, 2.0, 3.0], [5, 5, 5], 3.0) == 2.0
    assert longest_gap_s([1.0, 2.0], [0, 0], 9.0) == 0.0


def test_figures_of_an_emulated_case_are_those_of_a_run() -> None:
    flows = [{"name": name, "variant": "cubic", "start_s": 0.0, "stop_s": 10.0} for name in ("a", "b")]
    serve: list[dict[str, object]] = [
        {"times_s": [], "bytes": [], "segments": 100, "retransmitted": lost} for lost in (10, 0)
    ]
    fetch = [{"times_s": [1.0, 6.0], "bytes": [10, size], "segments": 0, "retransmitted": 0} for size in (100, 300)]
    run = run_of(scenario(), flows, serve, fetch)  # type: ignore[arg-type]
    assert NAMED["share"].measure(run, "a") == pytest.approx(0.5)
    assert NAMED["retransmissions"].measure(run, None) == pytest.approx(0.05)
    assert NAMED["repair"].measure(run, "a") == pytest.approx(5.0)


def test_find_counts_when_half_of_its_effect_is_there() -> None:
    objective = read_objective(_native.read_table("HuntObjective", {"name": "goodput"}), None, ["a"], Path())
    assert conclusion(objective, 0.1, 0.9, 0.4)["counts"] and conclusion(objective, 0.1, 0.9, 0.4)["concluded"]
    assert not conclusion(objective, 0.1, 0.9, 0.6)["counts"]
    assert "less than half" in conclusion(objective, 0.1, 0.9, 0.6)["text"]
    assert not conclusion(objective, 0.1, 0.9, float("nan"))["concluded"]


@pytest.mark.parametrize(
    ("keys", "objective", "text"),
    [
        ({}, "delay", "no figure of the objective delay"),
        ({"flow": [{"workload": {"kind": "call"}}]}, "goodput", "the emulator verifies bulk flows"),
        ({"flow": [{"workload": {"kind": "bulk"}, "direction": "up"}]}, "goodput", "is an upload"),
        ({"tcp": {"host": "windows-xp"}}, "goodput", "has not the TCP of windows-xp"),
        ({"tcp": {"variant": "biad"}}, "goodput", "has no biad loaded"),
        ({"flow": [{"workload": {"kind": "bulk"}, "start": "uniform(1 s, 2 s)"}]}, "goodput", "is drawn"),
        ({"flow": [{"workload": {"kind": "bulk"}, "over": ["dsl"]}]}, "goodput", "does not cross all hops"),
    ],
)
def test_verification_is_refused_with_a_sentence(keys: dict[str, object], objective: str, text: str) -> None:
    assert text in cannot(scenario(**keys), NAMED[objective])


def test_packaged_link_is_nearest_to_itself() -> None:
    own = scenario().hop
    near = nearest(own)
    assert near.link == "dsl-16m" and near.decades == 0.0
    faster = {**facts(own), "rate_down": facts(own)["rate_down"] + 1.0}
    assert 0.0 < distance(facts(own), faster) < 1.0
