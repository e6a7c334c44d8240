"""Whether the experiments of a paper's suspected causes show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ackclock.format import significant
from ackclock.papers.causes import CauseExperiment, suspected_causes
from ackclock.papers.claims import claims_of
from ackclock.papers.readings import Alternative
from studies.papers.outcomes import FoundClaim, Outcome

Run = Callable[[Alternative, Sequence[str]], Outcome]
"""Returns the verdicts on some claims with changed keys."""


@dataclass(frozen=True)
class CauseResult:
    """A row of ``causes.csv``: what an experiment did to a claim."""

    claim: str
    experiment: str
    required: str
    choice: str
    found: str
    shown: bool

    def row(self) -> list[str]:
        """The fields in the file's order."""
        return [
            self.claim,
            self.experiment,
            self.required,
            self.choice,
            self.found,
            "yes" if self.shown else "no",
        ]


def examine(paper: str, choice: Outcome, run: Run) -> list[CauseResult]:
    """Run the experiments of every suspected cause on those of its claims that fail."""
    numbers = {claim.id: claim.quantity() for claim in claims_of(paper)}
    results = []
    for cause in suspected_causes(paper):
        for experiment in cause.experiments:
            failing = [name for name in experiment.claims if choice.claims[name].verdict == "fails"]
            if not failing:
                continue
            ran = [run(change, failing) for change in experiment.changes()]
            for name in failing:
                paper_number = numbers[name].value if numbers[name] else None
                results.append(_result(name, experiment, choice.claims[name], list(_of(name, ran)), paper_number))
    return results


def _of(name: str, ran: Sequence[Outcome]) -> Iterator[FoundClaim | None]:
    """A claim in each run; None where no experiment ran for it."""
    for outcome in ran:
        yield outcome.claims[name] if outcome.ran else None


def _result(
    name: str,
    experiment: CauseExperiment,
    choice: FoundClaim,
    steps: Sequence[FoundClaim | None],
    paper_number: float | None,
) -> CauseResult:
    found = [each for each in steps if each is not None]
    figures = [_figure(each, experiment.figure) for each in (choice, *found)]
    shown = len(found) == len(steps) and experiment.requirement.admits(
        found[-1].verdict, figures[-1], figures[0], paper_number
    )
    if experiment.steps:
        shown = shown and _in_one_direction(figures)
    # A claim with a figure beside its own is described by that figure.
    words = [_words(each, figure) for each, figure in zip((choice, *found), figures, strict=True)]
    return CauseResult(
        name, experiment.name, str(experiment.requirement), words[0], ", ".join(words[1:]) or "nothing ran", shown
    )


def _figure(found: FoundClaim, name: str) -> float | None:
    return found.also.get(name) if name else found.ours


def _words(found: FoundClaim, figure: float | None) -> str:
    return found.verdict if figure is None else significant(figure, 4)


def _in_one_direction(figures: Sequence[float | None]) -> bool:
    """Whether the figures rise, or fall, from the choice's over all steps."""
    values = [value for value in figures if value is not None]
    pairs = list(pairwise(values))
    rises, falls = all(a <= b for a, b in pairs), all(a >= b for a, b in pairs)
    return len(values) == len(figures) and rises != falls
