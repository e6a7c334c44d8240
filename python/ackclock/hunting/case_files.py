"""The files of a found case: a scenario that `ackclock simulate` runs, and the stub of a test."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ackclock import _native
from ackclock.hunting.objectives import Objective
from ackclock.input.scenario.draft import Draft
from ackclock.input.toml_writer import to_toml
from ackclock.storage.atomic_files import atomic_write
from ackclock.user_class import PREFIX

if TYPE_CHECKING:
    from ackclock.documents.hunt import HuntCase

FOLDER = "cases"
WIDTH = 100
TEST = '''"""Case {number} of a hunt.

{sentence}

It fails while the case breaks: keep it as it is to see the mend, or turn the comparison around to
keep what was found.
"""

from pathlib import Path

from ackclock.hunting import value_of


def test_objective_holds_in_case_{number}() -> None:
    value = value_of(Path(__file__).with_name("{number}.toml"))
    assert value {sign} {breaks!r}, value
'''


def _keep_function(cases: Path, file: Path, name: str) -> None:
    """Copy the file of an objective in Python to where its name is looked for beside a case."""
    module = name.removeprefix(PREFIX).rpartition(".")[0]
    copy = cases / f"{module.replace('.', '/')}.py"
    copy.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(copy, file.read_bytes())


def write_case(
    folder: Path, case: HuntCase, data: dict[str, Any], objective: Objective, draft: Draft
) -> tuple[str, str]:
    """Write a case into `cases/` of a run folder; return its scenario's and its test's path in it.
    `data` are the keys of its scenario.
    """
    number = case["number"]
    hunted = draft.document.data["hunt"]["objective"]
    spec = dict(hunted) if isinstance(hunted, dict) else {"name": hunted}
    scenario = {
        **{key: value for key, value in data.items() if key not in ("title", "source")},
        "title": f"Case {number} of a hunt",
        "source": case["sentence"],
    }
    if "seeds" not in scenario and "seeds" in draft.document.data:
        scenario["seeds"] = draft.document.data["seeds"]
    scenario = _native.with_absolute_traces(scenario, str(Path.cwd()))
    scenario["hunt"] = {"objective": spec, "breaks": objective.breaks}
    places = f"{FOLDER}/{number}.toml", f"{FOLDER}/test_case_{number}.py"
    (folder / FOLDER).mkdir(exist_ok=True)
    if objective.file is not None:
        _keep_function(folder / FOLDER, objective.file, str(spec["name"]))
    atomic_write(folder / places[0], to_toml(scenario).encode())
    test = TEST.format(
        number=number,
        sentence="\n".join(wrap(case["sentence"].replace('"""', "'"), WIDTH)),
        sign=">" if objective.worse == "small" else "<",
        breaks=objective.breaks,
    )
    atomic_write(folder / places[1], test.encode())
    return places
