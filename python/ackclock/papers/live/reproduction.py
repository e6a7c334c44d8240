"""``reproduce --live``: a paper's claims by real traffic over its packaged links, beside the same
claims by the simulator.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, choices, format_value
from ackclock.notebook import Progress
from ackclock.papers.claims import Claim, claims_of
from ackclock.papers.evidence import ClaimResult, Evaluate, Evidence, Unobservable, judge
from ackclock.papers.live.experiments import LiveExperiments
from ackclock.papers.live.job import Budget
from ackclock.papers.live.run import ATTEMPTS
from ackclock.papers.reproduce import DOCUMENT, EVALUATORS, QUICK_SEEDS, Reproduction, calibrated, reproduce, untested
from ackclock.storage import atomic_files
from ackclock.storage.run_folder import Identity, RunFolder

if TYPE_CHECKING:
    from ackclock.papers.documents import LiveDocument, ReproductionDocument

LIVE = ("wibro", "wimax-bursts", "wimax-measured")
"""Papers whose experiments are measurements of a path, which can be made again over it."""
SIMULATED = "simulated"


@dataclass(frozen=True, repr=False)
class LiveReproduction(Reproduction):
    """The verdicts on every claim by live runs.

    ``simulated`` has the verdicts by simulation, ``runs`` the live runs with the emulator's audit.
    """

    simulated: Reproduction | None = None
    runs: LiveDocument | None = None

    @property
    def document(self) -> ReproductionDocument:
        """The document of ``reproduce --live --json``: as without ``--live``, with ``simulated`` in
        each claim, and ``live``.
        """
        document = super().document
        beside = {claim.claim.id: claim for claim in self.simulated.claims} if self.simulated else {}
        for claim in document["claims"]:
            if (other := beside.get(claim["id"])) is not None:
                text = other.as_json()
                claim["simulated"] = {
                    "verdict": text["verdict"],
                    "ours": text["ours"],
                    "by": text["by"],
                    "why": text["why"],
                }
        if self.runs:
            document["live"] = self.runs
        return document


def reproduce_live(
    paper: str,
    *,
    quick: bool = False,
    full: bool = False,
    workers: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> LiveReproduction:
    """Judge a paper's claims by the running kernel's TCP and by `measure`'s probes over emulated
    links, and by one seed of the simulator.

    Args:
        paper: one of ``LIVE``.
        quick: 20 s for each point of an experiment instead of a minute.
        full: the papers' durations, three runs each.
        workers: emulations at a time; six when None.
        out: the run folder; valid runs found there are not run again.
        force: move another run that is in ``out`` aside (to ``out.1``) instead of refusing to write
            there.
        progress: called with the number of finished runs, the number of all runs, and the label of
            the last one.

    Raises:
        InputError: the paper's experiments cannot be run live, or another run is in ``out``.
        RunFailed: this machine allows no emulation.
    """
    claims = claims_of(paper)
    if paper not in LIVE:
        raise InputError(format_value(paper), f"a paper that measured a path: {choices(LIVE, paper)}", key="--live")
    budget = Budget.quick() if quick else Budget.full() if full else Budget()
    identity = Identity.of("reproduce --live", [paper, asdict(budget)])
    folder = Path(out) if out is not None else identity.default_folder()
    experiments = LiveExperiments(paper, budget, folder, workers, progress)
    found = EVALUATORS[paper](experiments)
    with RunFolder(folder, identity, seeds=range(1, budget.repeats + 1), force=force) as run:
        claim_result = [
            judge(
                claim, _live(found.get(claim.id), experiments.invalid_reasons), untested(claim.id), calibrated(claim.id)
            )
            for claim in claims
        ]
        simulated = reproduce(paper, seeds=QUICK_SEEDS, out=folder / SIMULATED)
        done = LiveReproduction(paper, claim_result, folder, simulated=simulated, runs=experiments.document())
        # Invalid runs have been repeated.
        (folder / "report.html").unlink(missing_ok=True)
        atomic_files.write_json(folder / DOCUMENT, done.document)
        run.finish()
    return done


def _live(evaluate: Evaluate | None, invalid_reasons: list[str]) -> Evaluate | None:
    """The same evaluator, whose figures now are measured ones. Arithmetic needs no traffic, and so
    no verdict here; and there is none on runs that the emulator calls invalid, whose figures are
    shown all the same."""
    if evaluate is None:
        return None

    def measured(claim: Claim) -> Evidence:
        invalid_reasons.clear()
        try:
            found = evaluate(claim)
        except (ArithmeticError, LookupError, TypeError) as missing:
            # Evaluators are written for simulated runs, which have every figure: a loss in each, a
            # sample of each second.
            raise Unobservable(f"a figure that these runs did not give ({missing!r})") from None
        if found.by == "arithmetic":
            raise Unobservable("arithmetic, which no traffic can confirm or refute")
        # A number's sentence explains the simulator's figure; a statement's has the figures that
        # support the verdict.
        why = found.why if found.holds is not None else ""
        if invalid_reasons:
            why = f"no verdict, as no emulation was valid in {ATTEMPTS} attempts: {invalid_reasons[0]}" + (
                f". {why}" if why else ""
            )
        return replace(found, by="measurement", why=why, decidable=found.decidable and not invalid_reasons)

    return measured


def sides(done: LiveReproduction) -> list[tuple[ClaimResult, ClaimResult]]:
    """Claim by claim: by live runs, by simulation."""
    beside = {claim.claim.id: claim for claim in done.simulated.claims} if done.simulated else {}
    return [(claim, beside.get(claim.claim.id, claim)) for claim in done.claims]
