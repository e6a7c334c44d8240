"""Crude models of a link: what each changes, and what it leaves as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.model import Scenario
from ackclock.input.units import rate_bps
from ackclock.papers.claims import Claim
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.experiments import Experiments, experiments_file, settings_of
from ackclock.papers.reproduce import EVALUATORS
from ackclock.papers.standings import CRUDE_MODELS
from ackclock.statistics import interval
from studies.papers import crude_models
from studies.papers.crude import changes
from studies.papers.outcomes import Runner

AIR: dict[str, Any] = {
    "name": "air",
    "queue": {"packets": 50},
    "delay": "1 ms",
    "loss": {
        "down": {
            "kind": "gilbert-elliott",
            "bad_sojourn": "300 ms",
            "good_sojourn": "29.7 s",
            "loss_good": 0.0,
            "loss_bad": 0.5,
        },
    },
    "medium": {
        "kind": "wimax",
        "channel": "7 MHz",
        "modulation": "64qam-3/4",
        "cyclic_prefix": "1/16",
        "dl_ul": "3:1",
        "error": 0.02,
        "arq": {"block": "64 B", "window": 1024, "timer": "20 ms", "attempts": 8},
    },
}


def _scenario(air: Mapping[str, Any], kind: str = "bulk") -> Scenario:
    workload = {"kind": kind} if kind == "bulk" else {"kind": kind, "rate": "1 Mb/s", "packet": "1000 B"}
    hops = [{"name": "core", "rate": "100 Mb/s", "delay": "45 ms"}, dict(air)]
    return draft_of({"duration": "10 s", "hop": hops, "flow": [{"name": "flow", "workload": workload}]}).check()


def _air(model: str, air: Mapping[str, Any] = AIR, kind: str = "bulk") -> dict[str, Any]:
    hop: dict[str, Any] = crude_models.apply(_scenario(air, kind), model).hop[1].written(given=True)
    return hop


def test_models_are_those_that_pages_describe() -> None:
    assert crude_models._MODELS.keys() == CRUDE_MODELS.keys()


@pytest.mark.finding("P9")
def test_infinite_buffer_removes_every_limit_and_keeps_the_medium() -> None:
    caps = [{"direction": "down", "rate": "1 Mb/s", "burst": "8 kB"}]
    air = _air("infinite buffer", {**AIR, "queue": {"bytes": "64 kB"}, "medium": {**AIR["medium"], "caps": caps}})
    assert air["queue"]["packets"] == crude_models.NO_LIMIT and "bytes" not in air["queue"]
    assert air["medium"]["caps"][0]["buffer"] == "100 MB"
    assert air["loss"] == _scenario(AIR).hop[1].written(given=True)["loss"]


@pytest.mark.finding("P9")
def test_no_mac_has_the_mediums_measured_rate_and_idle_delay() -> None:
    air = _air("no MAC")
    assert "medium" not in air and "loss" in air and air["queue"]["packets"] == 50
    assert rate_bps(air["rate"]["down"]) == pytest.approx(17.3e6, rel=0.02), "3:1 of a 7 MHz channel"
    delays = {direction: float(text.split()[0]) for direction, text in air["delay"].items()}
    assert 1.0 + 2.0 < delays["down"] < delays["up"] < 1.0 + 30.0, "frames down; request and grant up"


@pytest.mark.finding("P9")
def test_no_mac_has_a_limit_on_tcp_for_tcp_only() -> None:
    cap = {"direction": "down", "traffic": "tcp", "low": "300 kb/s", "high": "1 Mb/s", "every": "60 s", "burst": "8 kB"}
    medium = {**AIR["medium"], "caps": [cap]}
    capped = {key: value for key, value in AIR.items() if key != "queue"} | {"medium": medium}
    assert _air("no MAC", capped)["rate"]["down"] == "650 kb/s"
    assert _air("no MAC", capped)["queue"]["down"]["bytes"] == "8 kB"
    datagrams = _air("no MAC", capped, "cbr")
    assert rate_bps(datagrams["rate"]["down"]) > 15e6 and "queue" not in datagrams


@pytest.mark.finding("P9")
def test_fixed_rate_keeps_the_share_of_losses() -> None:
    caps = [{"direction": "down", "low": "300 kb/s", "high": "1 Mb/s", "every": "60 s", "burst": "8 kB"}]
    air = _air("fixed rate", {**AIR, "medium": {**AIR["medium"], "caps": caps}})
    assert air["loss"]["down"]["kind"] == "bernoulli"
    assert air["loss"]["down"]["mean"] == pytest.approx(0.005)
    assert "error" not in air["medium"] and "arq" in air["medium"]
    (cap,) = air["medium"]["caps"]
    assert cap["rate"] == "650 kb/s" and "low" not in cap


def test_model_without_effect_leaves_a_scenario_equal() -> None:
    line = {"name": "air", "rate": "1 Mb/s", "loss": {"down": {"kind": "bernoulli", "mean": 0.01}}}
    for model in CRUDE_MODELS:
        assert crude_models.apply(_scenario(line), model) == _scenario(line), model


def test_return_line_without_medium_is_changed_by_its_buffer_only() -> None:
    assert [changes("asymmetry", "table3", model) for model in CRUDE_MODELS] == [True, False, False]


def test_claim_that_a_model_leaves_without_a_figure_has_no_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def found(claim: Claim) -> Evidence:
        return Evidence(interval([2.8]), "", holds=True)

    def fails(claim: Claim) -> Evidence:
        raise ZeroDivisionError

    def evaluators(runs: Experiments) -> Mapping[str, Evaluate]:
        return {"P1-077": found, "P1-123": fails}

    monkeypatch.setitem(EVALUATORS, "asymmetry", evaluators)
    runner = Runner("asymmetry", (1,), tmp_path)
    ran = [runner.changed("no MAC", lambda scenario: scenario, ["P1-077", "P1-123"], []) for _ in range(2)]
    assert ran[0] == ran[1], "kept"
    (kept, _), (none, _) = ran[0].values()
    assert kept is not None and kept.verdict == "holds" and none is None


@pytest.mark.finding("P9")
def test_no_mac_measures_a_hop_of_one_direction_in_that_direction() -> None:
    settings = settings_of(experiments_file("asymmetry")["experiments"]["figure13"], "asymmetry", "figure13")
    changed = crude_models.apply(settings[0][1], "no MAC")
    (radio,) = (hop for hop in changed.hop if hop.name == "radio")
    assert radio.down is None and "medium" not in radio.written(given=True)
