"""``reproduce``: a paper's claims and our results, each with a verdict and a reason."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ackclock.notebook import Progress
from ackclock.papers import asymmetry, wibro, wimax_bursts, wimax_measured, wimax_simulated
from ackclock.papers.asymmetry import drawings as asymmetry_figures
from ackclock.papers.causes import Predictions, predictions
from ackclock.papers.claims import PAPERS, claims_of, expand_ids
from ackclock.papers.evaluators import ExperimentData
from ackclock.papers.evidence import By, ClaimResult, Evaluate, Verdict, judge
from ackclock.papers.experiments import Experiments
from ackclock.papers.figure_data import PaperFigure
from ackclock.papers.readings import contradiction, readings_of
from ackclock.papers.standings import (
    Standing,
    apply_ensemble,
    crude_verdicts,
    failing_cause,
    standing,
    standings,
)
from ackclock.papers.wibro import figures as wibro_figures
from ackclock.papers.wimax_bursts import figures as bursts_figures
from ackclock.papers.wimax_measured import figures as measured_figures
from ackclock.papers.wimax_simulated import figures as simulated_figures
from ackclock.result import Result
from ackclock.storage import atomic_files, run_kind
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.papers.documents import ClaimDocument, ReproductionDocument
    from ackclock.report.page import Page

DOCUMENT = run_kind.REPRODUCE.document
QUICK_SEEDS = (1,)
FULL_SEEDS = tuple(range(1, 11))
"""The number of seeds is that of P1's random cases."""


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """The verdicts on a paper's claims. ``folder`` is the run folder, None without one."""

    paper: str
    claims: Sequence[ClaimResult]
    folder: Path | None = None
    figures: Sequence[PaperFigure] = ()
    seeds: Sequence[int] = ()

    @property
    def totals(self) -> dict[Verdict, int]:
        """The number of claims by verdict."""
        return {verdict: sum(claim.verdict == verdict for claim in self.claims) for verdict in get_args(Verdict)}

    @property
    def totals_by(self) -> dict[By, dict[Verdict, int]]:
        """`totals` of simulated claims, of arithmetic on the paper's own numbers, and of every
        other origin that occurs.
        """
        seen: list[By] = [by for by in get_args(By) if any(claim.by == by for claim in self.claims)]
        return {
            by: {
                verdict: sum((claim.by, claim.verdict) == (by, verdict) for claim in self.claims)
                for verdict in get_args(Verdict)
            }
            for by in get_args(By)
            if by in ("simulation", "arithmetic", *seen)
        }

    @property
    def gated(self) -> dict[str, int]:
        """The number of claims that hold and fail, of those that do not depend on the paper's own
        network.
        """
        return {verdict: sum(c.verdict == verdict and c.gated for c in self.claims) for verdict in ("holds", "fails")}

    @property
    def standings(self) -> dict[Standing, int]:
        """The number of simulated claims by standing: how they hold, and why they fail."""
        return standings(self.paper, self.claims)

    @property
    def predictions(self) -> Predictions:
        """The predictions among the experiments that ran for the paper's failing claims."""
        return predictions(self.paper)

    @property
    def document(self) -> ReproductionDocument:
        """The document of ``reproduce --json``."""
        made: ReproductionDocument = {
            "paper": self.paper,
            "claims": [self._claim(claim) for claim in self.claims],
            "seeds": list(self.seeds),
            "totals": self.totals,
            "totals_by": self.totals_by,
            "gated": self.gated,
            "standings": self.standings,
            "predictions": self.predictions.as_json(),
        }
        if self.figures:
            made["figures"] = [figure.as_json() for figure in self.figures]
        if self.folder:
            made["folder"] = str(self.folder)
        return made

    def _claim(self, claim_result: ClaimResult) -> ClaimDocument:
        """A claim's entry; of a simulated one with its standing, and its cause if it fails."""
        entry = claim_result.as_json()
        if not claim_result.simulated:
            return entry
        entry["standing"] = standing(self.paper, claim_result.claim.id, claim_result.verdict, claim_result.unless)
        if claim_result.verdict == "fails":
            cause = failing_cause(self.paper, claim_result.claim.id, claim_result.unless)
            entry["cause"] = {"kind": cause.kind, "text": cause.text, "experiment": cause.experiment or None}
            if cause.predictions:
                entry["cause"]["predictions"] = [
                    {"commit": each.commit, "date": each.date} for each in cause.predictions
                ]
        elif crude := crude_verdicts(self.paper, claim_result.claim.id):
            entry["crude"] = crude
        return entry

    @property
    def verdicts(self) -> pl.DataFrame:
        """One row for each claim: the fields of the JSON, nested names joined by underscores."""
        from ackclock.simulation.run_files import entries_frame

        return entries_frame(claim.as_json() for claim in self.claims)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`verdicts`."""
        return {"verdicts": self.verdicts}

    def _page(self) -> Page:
        from ackclock.papers.report_page import page

        return page(self.document)

    def _title(self) -> str:
        return self.paper

    def _tables(self) -> list[Table]:
        from ackclock.papers.terminal_tables import verdict_table

        return [verdict_table(self)]


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    seeds: int | Sequence[int] | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Evaluate every claim of a paper in ``claims.csv``.

    Args:
        paper: one of ``PAPERS``, such as "asymmetry".
        quick: one seed instead of ten, for a first look.
        seeds: how many (10 means 1 to 10), or a list, instead.
        workers: threads; all cores when None.
        out: the run folder; finished runs in it are reused.
        force: rename another run in ``out`` (to ``out.1``) instead of raising InputError.
        keep: without ``out``, keep the runs in ``runs/<hash>``.
        progress: called with the number of finished runs, the number of all runs, and the label of
            the last one.

    Raises:
        InputError: no paper has that name, or another run is in ``out``.
        RunFailed: a run failed in the engine.
    """
    claims_of(paper)  # an unknown paper is refused before anything is written
    asked = range(1, seeds + 1) if isinstance(seeds, int) else seeds
    chosen = tuple(asked) if asked is not None else QUICK_SEEDS if quick else FULL_SEEDS
    identity = Identity.of("reproduce", [paper, list(chosen)])
    folder = Path(out) if out is not None else identity.default_folder() if keep else None
    experiments = Experiments(chosen, workers, folder, progress, paper)
    found = EVALUATORS[paper](experiments)
    with opened(folder, identity, seeds=chosen if found else (), force=force) as run:
        claim_results = [apply_ensemble(paper, each) for each in verdicts(paper, found)]
        drawn = _DRAWINGS[paper](ExperimentData(experiments)) if paper in _DRAWINGS else ()
        done = Reproduction(paper, claim_results, folder, drawn, chosen)
        if run:
            atomic_files.write_json(run.path / DOCUMENT, done.document)
            run.finish()
    return done


def verdicts(paper: str, evaluators: Mapping[str, Evaluate], only: Sequence[str] | None = None) -> list[ClaimResult]:
    """The verdict on each claim of a paper by its evaluators.

    Args:
        paper: one of ``PAPERS``.
        evaluators: claim id to evaluator, as ``EVALUATORS[paper]`` returns them.
        only: ids of the claims to judge; all without it.

    Raises:
        InputError: no paper has that name.
        RunFailed: a run failed in the engine.
    """
    return [
        judge(
            claim,
            evaluators.get(claim.id),
            untested(claim.id),
            calibrated(claim.id),
            contradiction(paper, claim.id),
        )
        for claim in claims_of(paper)
        if only is None or claim.id in only
    ]


EVALUATORS: dict[str, Callable[[Experiments], Mapping[str, Evaluate]]] = {
    "asymmetry": asymmetry.evaluators,
    "wimax-simulated": wimax_simulated.evaluators,
    "wimax-measured": wimax_measured.evaluators,
    "wimax-bursts": wimax_bursts.evaluators,
    "wibro": wibro.evaluators,
}


_DRAWINGS: dict[str, Callable[[ExperimentData], Sequence[PaperFigure]]] = {
    "asymmetry": asymmetry_figures.drawings,
    "wimax-simulated": simulated_figures.drawings,
    "wimax-measured": measured_figures.drawings,
    "wimax-bursts": bursts_figures.drawings,
    "wibro": wibro_figures.drawings,
}


@cache
def _entries(file: str, key: str) -> tuple[tuple[frozenset[str], str], ...]:
    text = resources.files(__package__).joinpath(file).read_text("utf-8")
    return tuple((frozenset(expand_ids(entry["claims"])), entry["why"]) for entry in tomllib.loads(text)[key])


def untested(claim_id: str) -> str:
    """The reason why a claim without an evaluator is not tested (``not_tested.toml``; the first
    entry that names it).
    """
    reasons = _entries("not_tested.toml", "reason")
    return next((why for ids, why in reasons if claim_id in ids), "no evaluator covers this claim yet")


def calibrated(claim_id: str) -> str:
    """The reading that was calibrated on a claim (``readings.toml``), and how; empty for a
    prediction.
    """
    paper = next((name for name, prefix in PAPERS.items() if claim_id.startswith(f"{prefix}-")), "")
    return next((each.calibration for each in readings_of(paper) if claim_id in each.calibrated_on), "")
