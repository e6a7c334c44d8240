"""JSON Schema: what the program takes is valid, what it refuses is not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ackclock import cli
from ackclock.errors import InputError
from ackclock.input.document import Document
from ackclock.input.json_schema import KINDS, json_schema
from ackclock.input.link.names import PACKAGED
from ackclock.measurement.plan import plan_of
from tests.support import ROOT

SCHEMAS = {kind: json_schema(kind) for kind in KINDS}
LINKS = sorted(PACKAGED.glob("*.toml"))
SCENARIOS = [
    path
    for path in [*ROOT.glob("examples/*.toml"), *ROOT.glob("python/ackclock/papers/**/*.toml")]
    if "duration" in tomllib.loads(path.read_text("utf-8")) and path.name != "mistake.toml"
]


def errors(kind: str, document: Any) -> list[str]:
    found = Draft202012Validator(SCHEMAS[kind]).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_is_valid_and_every_key_has_text_and_valid_examples(kind: str) -> None:
    schema = SCHEMAS[kind]
    Draft202012Validator.check_schema(schema)
    tables = {"": schema, **schema["$defs"]}
    keys = [(table, name, of_key) for table, of in tables.items() for name, of_key in of["properties"].items()]
    for table, name, of_key in keys:
        assert of_key["description"].endswith("."), (table, name)
        examples = [*of_key["examples"], *([of_key["default"]] if "default" in of_key else [])]
        for example in examples:
            validator = Draft202012Validator({**of_key, "$defs": schema["$defs"]})
            assert [error.message for error in validator.iter_errors(example)] == [], (table, name, example)


@pytest.mark.parametrize("path", LINKS, ids=lambda path: path.stem)
def test_packaged_link_is_valid(path: Path) -> None:
    assert errors("link", tomllib.loads(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_packaged_scenario_is_valid(path: Path) -> None:
    assert errors("scenario", tomllib.loads(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "key",
    [
        {"rate": "10 Mbps"},
        {"rate": 10},
        {"delay": "20"},
        {"delay": "-1 s"},
        {"queue": {"kind": "fifo"}},
        {"queue": {"kind": "codel", "tarqet": "5 ms"}},
        {"loss": 1.5},
        {"loss": {"mean": -0.1}},
        {"only": "sideways"},
        {"speed": "10 Mb/s"},
        {"medium": {"kind": "wlan", "streams": 0}},
        {"rate": {"down": "1 Mb/s", "left": "1 Mb/s"}},
    ],
    ids=str,
)
def test_hop_is_invalid_when_the_program_refuses_it(key: dict[str, Any]) -> None:
    assert errors("link", {"hop": [{"name": "line", "rate": "1 Mb/s"}]}) == []
    assert errors("link", {"hop": [{"name": "line", "rate": "1 Mb/s", **key}]})


def test_scenario_with_an_unknown_variant_is_invalid_and_with_a_class_valid() -> None:
    scenario = {"link": "dsl-16m", "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}
    assert errors("scenario", {**scenario, "tcp": {"variant": "python:own.Mine"}}) == []
    assert errors("scenario", {**scenario, "tcp": {"variant": "cubik"}})
    assert errors("scenario", {**scenario, "sweep": {"tcp.variant": ["reno"]}}) == []
    assert errors("scenario", {**scenario, "sweep": {"tcp.variant": "reno"}})


PLANS = [
    {"tests": ["tcp"], "buffers": ["auto", "64 KiB"], "congestion": ["cubic"]},
    {"steps": ["500 kb/s"], "labels": {"ssi": 3}, "offset": "5 s", "path_sizes": [64, 1500]},
]
BAD_PLANS = [
    {"tests": []},
    {"tests": ["speed"]},
    {"path_sizes": [20]},
    {"buffers": ["64"]},
    {"congestion": []},
    {"shares": [20.0]},
    {"steps": ["1"]},
    {"start_rate": 1},
    {"duration": "10"},
    {"timeout": "1 s"},
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_plan_is_valid_when_measure_takes_it(plan: dict[str, Any]) -> None:
    plan_of(Document(plan))
    assert errors("plan", plan) == []


@pytest.mark.parametrize("plan", BAD_PLANS, ids=str)
def test_plan_is_invalid_when_measure_refuses_it(plan: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        plan_of(Document(plan))
    assert errors("plan", plan)


def test_command_prints_the_schema_and_refuses_another_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["schema", "link"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS["link"]
    assert cli.run(["schema", "plan"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS["plan"]
    assert cli.run(["schema", "report"]) == 2
    assert "link, scenario, plan" in capsys.readouterr().err
    with pytest.raises(InputError, match="link, scenario, plan"):
        json_schema("report")
