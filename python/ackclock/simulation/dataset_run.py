"""One run of a dataset as a scenario of its own."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.input.document import Document
from ackclock.input.scenario.draft import Draft, read_draft
from ackclock.input.scenario.link_draws import LinkDraws
from ackclock.input.scenario.model import Scenario
from ackclock.storage.dataset_files import INDEX, POINTS, Points


def scenario_of_run(folder: Path, number: int) -> Scenario:
    """The scenario of run `number` of the sweep or comparison in a run folder, with its one seed.

    Its simulation has the summary that the dataset has for the run.

    Raises:
        InputError: the folder has no finished sweep or comparison, or fewer runs.
    """
    if not (folder / INDEX).is_file() or not (folder / POINTS).is_file():
        raise InputError(
            "no finished sweep or comparison",
            "the run folder of `sweep` or `compare`",
            option="--from",
            file=str(folder),
        )
    points = Points.read(folder)
    if not 0 <= number < len(points):
        allowed = f"a number from 0 to {len(points) - 1}, the column `run` of the tables"
        raise InputError(str(number), allowed, option="--run")
    file = folder / "scenario.toml"
    draft = read_draft(file) if points.scenario is None else Draft(Document(points.scenario, str(file)))
    point, seed = points.of_run(number)
    scenario = draft.check(point)
    draws = LinkDraws.of_run(folder)
    return (draws.scenario(scenario, seed) if draws else scenario).with_seeds([seed])
