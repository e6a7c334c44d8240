"""One run of a dataset as a scenario of its own."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.input.document import Document
from ackclock.input.scenario.draft import Draft, read_draft
from ackclock.input.scenario.link_draws import LinkDraws
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
    document = read_points(folder)
    points, seeds = document["points"], document["seeds"]
    total = len(points) * len(seeds)
    if not 0 <= number < total:
        raise InputError(str(number), f"a number from 0 to {total - 1}, the column `run` of the tables", option="--run")
    file = folder / "scenario.toml"
    draft = Draft(Document(document["scenario"], str(file))) if "scenario" in document else read_draft(file)
    scenario, seed = draft.check(points[number // len(seeds)]), seeds[number % len(seeds)]
    draws = LinkDraws.of_run(folder)
    return (draws.scenario(scenario, seed) if draws else scenario).model_copy(update={"seeds": (seed,)})
