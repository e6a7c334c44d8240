"""Conditions under which a recommendation may be another one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.comparison.conditions import Condition, conditions, not_tried, rivals, seeds_under
from ackclock.comparison.verdict import otherwise
from ackclock.errors import InputError
from ackclock.input.scenario.assumptions import assumptions
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.link_draws import LinkDraws, draws_path
from ackclock.input.toml_writer import to_toml
from ackclock.statistics import ratio

WIRED = {"name": "wired", "rate": "1 Gb/s", "delay": "8 ms"}
AIR = {
    "name": "air",
    "medium": {"kind": "grants", "standard": "nr", "rate": {"down": "20 Mb/s", "up": "5 Mb/s"}},
    "queue": {"down": {"bytes": "200 kB"}, "up": {"bytes": "60 kB"}},
}
LINE = {"name": "line", "rate": "4 Mb/s", "delay": "10 ms", "queue": {"bytes": "60 kB"}}
FEW: dict[str, Any] = {"duration": "30 s", "seeds": 2, "buffers": ["auto"], "delayed_ack": [True], "may_harm": True}


def _write(tmp_path: Path, *assumed: Any, **side: Any) -> Path:
    path = tmp_path / "line.toml"
    path.write_text(to_toml({"title": "a line", "hop": [{**LINE, **side}], "assumed": list(assumed)}))
    return path


@pytest.mark.finding("P2")
def test_verdict_names_the_jitter_when_it_makes_another_choice_better() -> None:
    """vegas is better by the goal with RTTs on the grid of frames, cubic with 2 ms of jitter."""
    done = ackclock.compare([WIRED, AIR], variants=["vegas", "cubic"], **FEW)
    assert done.document["judgement"]["recommended"] == "vegas, auto buffers, delayed ACK"
    rows = {row["condition"]: row for row in done.document["judgement"]["conditions"]}
    half, two = (rows[f"the mean jitter of `wired` is {mean} ms"] for mean in ("0.5", "2"))
    assert (half["flips"], two["flips"], two["harms"]) == (False, True, False)
    assert two["than"] == "cubic, auto buffers, delayed ACK"
    assert "Not so where the mean jitter of `wired` is 2 ms: cubic, auto buffers" in done.document["verdict"]


@pytest.mark.finding("A17")
def test_verdict_names_the_key_without_a_source_when_another_value_makes_another_choice_better(tmp_path: Path) -> None:
    link = _write(tmp_path, {"key": "hop.line.loss.mean", "values": [1e-6, 0.02]}, loss={"mean": 1e-6})
    done = ackclock.compare(link, variants=["cubic", "bbr"], goal="throughput", **FEW)
    assert done.document["judgement"]["recommended"].startswith("cubic")
    rows = done.document["judgement"]["conditions"]
    assert [(row["condition"][-5:].split()[-1], row["flips"]) for row in rows] == [("1e-06", False), ("0.02", True)]
    assert "Not so where `hop.line.loss.mean`, whose value has no source, is 0.02: bbr" in done.document["verdict"]


def test_comparison_has_no_conditions_when_its_link_has_neither_frames_nor_assumptions() -> None:
    done = ackclock.compare([LINE], variants=["reno", "cubic"], **{**FEW, "duration": "2 s"})
    assert done.document["judgement"]["conditions"] == []
    assert not any("Not tried" in note for note in done.document["notes"])


@pytest.mark.finding("A17")
def test_first_look_has_a_note_when_conditions_take_much_of_its_runs(tmp_path: Path) -> None:
    link = _write(tmp_path, {"key": "hop.line.loss.mean", "values": [0.02]}, loss={"mean": 1e-6})
    done = ackclock.compare(link, variants=["cubic", "bbr"], **{**FEW, "duration": "2 s"})
    assert done.document["judgement"]["conditions"] == []
    text = "Not tried in this first look: whether the recommendation holds where `hop.line.loss.mean`, whose value has no source, is 0.02."
    assert done.document["notes"][-1] == text


@pytest.mark.finding("A17")
def test_leo_is_compared_with_other_values_of_what_has_no_source() -> None:
    hops = draft_of({"link": "leo", "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}).check().hop
    points = [condition.point for condition in conditions("leo", hops)]
    assert points == [
        {"hop.satellite.loss.bad_sojourn": "2.5 ms"},
        {"hop.satellite.loss.bad_sojourn": "18 ms"},
        {"hop.satellite.slots.lost": "0 ms"},
        {"hop.satellite.slots.lost": "480 ms"},
        {"hop.satellite.slots.grants.pause": 5},
        {"hop.satellite.queue.down.bytes": "875 kB"},
    ]


def test_link_without_a_file_has_the_conditions_of_its_frames_only() -> None:
    hops = draft_of({"duration": "1 s", "hop": [WIRED, AIR], "flow": [{"workload": {"kind": "bulk"}}]}).check().hop
    assert [list(one.point) for one in conditions([WIRED, AIR], hops)] == [["hop.wired.jitter"]] * 2


@pytest.mark.parametrize(
    ("assumed", "line", "message"),
    [
        ({"key": "tcp.variant", "values": ["reno"]}, "assumed[1].key", "a key of a hop"),
        ({"key": "hop.line.loss.mean", "values": []}, "assumed[1].values", "a list of other values"),
        ({"key": "hop.line.loss.mean", "value": [1]}, "assumed[1].value", 'unknown key "value"'),
    ],
)
def test_assumption_is_refused_when_its_table_is_invalid(tmp_path: Path, assumed: Any, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        assumptions(_write(tmp_path, assumed))
    assert raised.value.key == line


def test_assumption_is_refused_when_the_link_has_no_such_key(tmp_path: Path) -> None:
    link = _write(tmp_path, {"key": "hop.air.loss.mean", "values": [0.1]})
    with pytest.raises(InputError, match="air"):
        ackclock.compare(link, variants=["cubic"], **{**FEW, "duration": "2 s"})


def test_condition_keeps_its_values_when_a_fitted_link_draws_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wired = {**WIRED, "jitter": {"kind": "exponential", "mean": "1 ms"}}
    link = tmp_path / "line.toml"
    link.write_text(to_toml({"title": "fitted", "hop": [wired, AIR], "fit": {"inputs": []}}))
    drawn = {"hop.wired.jitter.down.mean": [3.0, 4.0], "hop.wired.delay.down": [7.0, 9.0]}
    pl.DataFrame(drawn).write_parquet(draws_path(link))
    seen: dict[tuple[str, ...], set[float]] = {}
    scenario = LinkDraws.scenario

    def recorded(draws: LinkDraws, given: Any, seed: int, kept: Any = ()) -> Any:
        found = scenario(draws, given, seed, kept)
        seen.setdefault(tuple(dict.fromkeys(kept)), set()).add(found.hop[0].down.jitter.plan()["mean_ps"] / 1e9)
        assert found.hop[0].down.delay in (7 * 10**9, 9 * 10**9)
        return found

    monkeypatch.setattr(LinkDraws, "scenario", recorded)
    ackclock.compare(link, variants=["reno", "cubic"], **FEW)
    assert seen == {(): {3.0, 4.0}, ("hop.wired.jitter",): {0.5, 2.0}}


def test_rivals_are_the_best_choices_of_other_kinds() -> None:
    kinds = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c": "c", "d": "d"}
    assert rivals(["b1", "a1", "b2", "a2", "c", "d"], "a2", kinds.__getitem__) == ["b1", "c"]
    assert rivals(["a1", "a2"], "a2", kinds.__getitem__) == []


@pytest.mark.parametrize(
    ("cells_cpu_s", "available", "full", "first_look"),
    [(20.0, 5, 4, 4), (100.0, 5, 5, 5), (9.9, 5, 3, 0), (9.9, 2, 2, 0), (10.0, 5, 3, 2), (20.0, 1, 1, 1)],
)
def test_seeds_under_conditions_are_a_fifth_of_the_runs_and_three_without_a_first_look(
    cells_cpu_s: float, available: int, full: int, first_look: int
) -> None:
    assert seeds_under(1.0, cells_cpu_s, available, is_first_look=False) == full
    assert seeds_under(1.0, cells_cpu_s, available, is_first_look=True) == first_look


def test_note_about_what_was_not_tried_has_the_values_of_a_key_together() -> None:
    tried = [Condition("x", "1", {}), Condition("x", "2", {}), Condition("y", "3", {})]
    assert not_tried(tried).endswith("holds where x is 1 or 2, or y is 3.")


def test_first_mean_is_a_loss_by_its_interval_or_by_three_percent() -> None:
    assert ratio([(0.99, 1.0), (0.991, 1.0), (0.989, 1.0)]).is_loss
    assert ratio([(0.96, 1.0)]).is_loss
    assert not ratio([(0.98, 1.0)]).is_loss
    assert not ratio([(math.nan, 1.0)]).is_loss


def test_verdict_has_nothing_about_conditions_when_another_choice_is_better_but_harms() -> None:
    gain = {"value": 0.5, "lo": 0.4, "hi": 0.6, "p": 0.01, "n": 5}
    row = {"condition": "c", "than": "bbr", "gain": gain, "harms": True, "flips": False}
    document: Any = {"judgement": {"conditions": [row]}}
    assert otherwise(document) == []
    document["judgement"]["conditions"].append({**row, "harms": False, "flips": True})
    assert otherwise(document) == ["Not so where c: bbr is 100 % better there."]
