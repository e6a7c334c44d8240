"""`python -m studies.papers.crude`: the papers' holding claims in crude models of their links.

`make crude` writes `crude.csv` of each paper, from which `reproduce` counts apart the claims that
would hold in a crude model, too. The page of `make readings` has them from there. Runs and outcomes
are kept and reused. With `--minutes` the command ends with status 3 when that time is over before
all outcomes exist; the same command continues.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from ackclock.papers.claims import PAPERS
from ackclock.papers.experiments import experiments_file, settings_of
from ackclock.papers.standings import CRUDE_MODELS, CrudeVerdict
from studies.papers import crude_models
from studies.papers.outcomes import SOURCES, FoundClaim, OutOfTime, Runner
from studies.papers.page import KEPT, SEEDS, ours
from studies.papers.parts import OUT_OF_TIME, csv_text, deadline, parser

COLUMNS = ("claim", "model", "verdict", "ours")


def changes(paper: str, experiment: str, model: str) -> bool:
    """Whether a model changes a setting of an experiment."""
    settings = settings_of(experiments_file(paper)["experiments"][experiment], paper, experiment)
    return any(crude_models.apply(scenario, model) != scenario for _, scenario in settings)


def rows(runner: Runner) -> Iterator[list[str]]:
    """The rows of a paper's ``crude.csv``: its simulated claims that hold with the choices, in each
    model that changes their scenarios.
    """
    choice = runner.outcome()
    holding = [name for name, each in choice.claims.items() if each.decided and each.verdict == "holds"]
    found = {
        model: runner.changed(model, partial(crude_models.apply, model=model), holding, [crude_models.__file__])
        for model in CRUDE_MODELS
    }
    for claim in holding:
        for model, outcomes in found.items():
            result, ran = outcomes[claim]
            if any(changes(runner.paper, experiment, model) for experiment in ran):
                yield [claim, model, _verdict(result), ours(result) if result else ""]


def _verdict(found: FoundClaim | None) -> CrudeVerdict:
    return "no verdict" if found is None or not found.decided else "holds" if found.verdict == "holds" else "fails"


def write(runner: Runner) -> None:
    """Write a paper's ``crude.csv``."""
    place = SOURCES / "papers" / runner.paper.replace("-", "_") / "crude.csv"
    place.write_text(csv_text(COLUMNS, rows(runner)), "utf-8")


def main() -> int:
    """Run the crude models of each paper."""
    asked = parser(__doc__, KEPT).parse_args()
    until = deadline(asked.minutes)
    unfinished = []
    for paper in asked.only or PAPERS:
        try:
            write(Runner(paper, range(1, SEEDS.get(paper, 1) + 1), asked.kept, asked.workers, until))
        except OutOfTime:
            unfinished.append(paper)
    for paper in unfinished:
        print(f"{paper} is not finished: run the same command again", file=sys.stderr)
    return OUT_OF_TIME if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
