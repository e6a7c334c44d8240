"""One run of a dataset as a scenario of its own."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.input.scenario.draft import read_draft
from ackclock.input.scenario.model import Scenario
from ackclock.storage.dataset_files import INDEX, POINTS, read_points


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
    points, seeds = read_points(folder)
    total = len(points) * len(seeds)
    if not 0 <= number < total:
        raise InputError(str(number), f"a number from 0 to {total - 1}, the column `run` of the tables", option="--run")
    scenario = read_draft(folder / "scenario.toml").check(points[number // len(seeds)])
    return scenario.model_copy(update={"seeds": (seeds[number % len(seeds)],)})
