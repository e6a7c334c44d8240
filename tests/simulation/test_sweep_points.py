"""The points of a sweep: checked once, and recognised without a check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.errors import InputError
from ackclock.input.scenario.draft import Draft, draft_of, read_draft
from ackclock.input.scenario.fingerprint import fingerprint
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.sweep import check_points, sweep_checked, sweep_draft

LINK = 'title = "a cell"\nsource = "test"\n[[hop]]\nname = "air"\nrate.down = { trace = "cell" }\n'
SCENARIO = """\
link = "air.toml"
duration = "1 s"
seeds = 2
[[flow]]
workload = { kind = "bulk" }
[sweep]
"hop.air.delay" = ["1 ms", "2 ms", "3 ms"]
"tcp.variant" = ["reno", "cubic"]
"""


@pytest.fixture
def scenario(write) -> Path:
    write("cell", "1\n2\n3\n")
    write("air.toml", LINK)
    return write("sweep.toml", SCENARIO)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """The points that have been checked."""
    found: list[dict] = []
    check = Draft.check

    def counted(draft: Draft, point: dict | None = None) -> Scenario:
        found.append(point or {})
        return check(draft, point)

    monkeypatch.setattr(Draft, "check", counted)
    return found


def test_finished_sweep_is_recognised_without_a_check_of_its_points(
    scenario: Path, tmp_path: Path, checks: list[dict]
) -> None:
    first = sweep_draft(read_draft(scenario), folder=tmp_path / "out")
    assert len(checks) == 6, "each point is checked once"
    checks.clear()
    again = sweep_draft(read_draft(scenario), folder=tmp_path / "out")
    assert len(checks) == 1
    assert again.document == first.document
    assert again.document_text() == first.document_text()
    assert [point.params for point in again.points] == [point.params for point in first.points]


def test_document_text_is_the_document(scenario: Path, tmp_path: Path) -> None:

    for folder in (None, tmp_path / "out"):
        sweep = sweep_draft(read_draft(scenario), folder=folder)
        assert json.loads(sweep.document_text()) == json.loads(json.dumps(sweep.document))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("sweep.toml", '"3 ms"', '"4 ms"'),
        ("sweep.toml", '"1 ms", "2 ms"', '"2 ms", "1 ms"'),
        ("air.toml", '"air"\n', '"air"\nqueue = { packets = 5 }\n'),
        ("cell", "3", "4"),
    ],
)
def test_sweep_is_another_one_when_an_input_changes(
    scenario: Path, tmp_path: Path, file: str, old: str, new: str
) -> None:
    first = sweep_draft(read_draft(scenario), folder=tmp_path / "out")
    prints = [fingerprint(read_draft(scenario))]
    path = scenario.with_name(file)
    path.write_text(path.read_text().replace(old, new))
    prints.append(fingerprint(read_draft(scenario)))
    assert None not in prints
    assert prints[0] != prints[1]
    with pytest.raises(InputError, match="holds the results of sweep with another input"):
        sweep_draft(read_draft(scenario), folder=tmp_path / "out")
    assert sweep_draft(read_draft(scenario), folder=tmp_path / "other").data.digest() != first.data.digest()


def test_identity_differs_by_seeds_and_series(scenario: Path) -> None:
    draft = read_draft(scenario)
    identities = {
        check_points(draft, seeds).identity(series).digest for seeds in (None, [5]) for series in ("none", "all")
    }
    assert len(identities) == 4


def test_invalid_point_is_refused_each_time_before_anything_is_written(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(scenario.read_text().replace('"3 ms"', '"3 mm"'))
    for _ in range(2):
        with pytest.raises(InputError, match='"3 mm"'):
            sweep_checked(check_points(read_draft(scenario)), folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_fingerprint_is_unknown_when_a_congestion_control_is_in_python() -> None:
    flow = {"workload": {"kind": "bulk"}, "variant": "python:somewhere.Mine"}
    assert fingerprint(draft_of({"link": "dsl-16m", "flow": [flow]})) is None
