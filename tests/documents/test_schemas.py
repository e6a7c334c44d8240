"""The documents of the commands follow the schemas that `ackclock schema` prints. Documents that
take longer are checked where other tests make them, with `tests.support.documents.follows`.
"""

from __future__ import annotations

import json

import document_types
import jsonschema
import pytest
from pydantic import ValidationError

import ackclock
from ackclock import cli
from ackclock.documents import DOCUMENTS
from ackclock.papers.claims import claims_of
from ackclock.papers.evidence import judge
from ackclock.papers.reproduce import Reproduction
from tests.support.documents import follows

FLOW = {"name": "download", "workload": {"kind": "bulk"}}


@pytest.mark.parametrize("command", DOCUMENTS)
def test_schema_command_prints_that_of_each_document(command, capsys):
    assert cli.run(["schema", command]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["title"] == f"ackclock {command} --json"
    jsonschema.Draft202012Validator.check_schema(printed)


def test_types_of_the_engine_are_those_that_type_checkers_read():
    assert document_types.STUB.read_text("utf-8") == document_types.stub()


@pytest.fixture(scope="module")
def run():
    return ackclock.simulate("dsl-16m", [FLOW], duration="2 s").document


def test_simulation_follows_its_schema_with_one_seed_and_with_several(run):
    follows("simulate", run)
    probes = [FLOW, {"name": "probe", "workload": {"kind": "probe"}}, {"name": "web", "workload": {"kind": "web"}}]
    several = follows("simulate", ackclock.simulate("wimax-nist", probes, duration="1 s", seeds=2).document)
    assert set(several) >= {"runs", "summary"}


def test_document_violates_its_schema_when_a_field_is_renamed_or_has_another_type(run):
    renamed = {("goodput" if key == "goodput_bps" else key): value for key, value in run["flows"][0].items()}
    for flow in (renamed, {**run["flows"][0], "why": 1}):
        with pytest.raises(ValidationError):
            follows("simulate", {**run, "flows": [flow]})
    follows("simulate", {**run, "further": 1})


def test_sweep_follows_its_schema():
    scenario = {"link": "dsl-16m", "duration": "1 s", "flow": [FLOW], "sweep": {"tcp.variant": ["reno", "cubic"]}}
    assert len(follows("sweep", ackclock.sweep(scenario).document)["cells"]) == 2


def test_claims_follow_their_schema_when_none_was_tested():
    claims = [judge(claim, None, "not run") for claim in claims_of("wibro")[:20]]
    document = follows("reproduce", Reproduction("wibro", claims).document)
    assert document["totals"]["not_tested"] > 0
