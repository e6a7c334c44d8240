"""Link files and scenarios that the fuzz target mutates: what it found, and that it finds."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import ackclock.overview
from ackclock.errors import InputError
from ackclock.input.document import read_document
from ackclock.input.scenario import draft_of, read_draft
from studies.input_files import fuzz

DEEP = (
    "x = " + "[" * 5_000,
    "x = " + "[" * 40 + "]" * 40,
    "a" + ".a" * 2_000 + " = 1",
    "x = " + "{ a = " * 40 + "1" + " }" * 40,
)


@pytest.mark.parametrize("line", DEEP, ids=["open", "arrays", "keys", "tables"])
def test_document_is_refused_when_its_values_are_nested_too_deep(line: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(f'duration = "1 s"\n{line}\n')
    with pytest.raises(InputError, match=r"deep\.toml: found tables or arrays nested more than 32 deep"):
        read_document(path)


def test_document_is_read_when_its_values_are_nested_as_deep_as_allowed(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("x = " + "[" * 31 + "]" * 31)
    assert read_document(path).data["x"]


@pytest.mark.parametrize("name", [{"kind": "bulk"}, 1, "other"])
def test_sweep_path_is_refused_when_no_element_has_its_name(name: object) -> None:
    flow = {"name": name, "workload": {"kind": "bulk"}}
    sweep = {"flow.bulk.count": [1, 2]}
    draft = draft_of({"duration": "1 s", "link": "dsl-16m", "flow": [flow], "sweep": sweep})
    with pytest.raises(InputError, match=r"flow\.NAME\.KEY with NAME one of"):
        draft.check(draft.points()[0])


@pytest.mark.parametrize("flows", ["true", "[1]", '["bulk"]'])
def test_sweep_path_is_refused_when_the_flows_are_no_tables(flows: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(f'duration = "1 s"\nlink = "dsl-16m"\nflow = {flows}\n[sweep]\n"flow.bulk.count" = [1]\n')
    draft = read_draft(path)
    with pytest.raises(InputError, match=r"flow\.NAME\.KEY with NAME one of"):
        draft.check(draft.points()[0])


def test_fuzz_target_draws_equal_inputs_when_seed_and_number_are_equal() -> None:
    texts = fuzz.corpus()
    mutations = fuzz.Mutations([line for text in texts for line in text.splitlines() if line.strip()])
    drawn = [mutations.draw(texts, random.Random(f"7 {number % 20}")) for number in range(40)]
    assert drawn[:20] == drawn[20:]
    # Two short ones may be equal by chance.
    assert len(set(drawn)) >= 18


def test_fuzz_target_finds_a_reader_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    def broken(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(ackclock.overview, "overview", broken)
    assert fuzz.run(0.001, tmp_path / "out", 1, 0) == 1
    command = re.search(r"ackclock show (\S+)", capsys.readouterr().out)
    assert command is not None and Path(command[1]).is_file()
