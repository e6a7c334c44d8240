"""Evaluators for ``wimax-measured``: four TCP variants over a commercial fixed WiMAX access, at a
residence and on a campus.
"""

from __future__ import annotations

from ackclock.papers.evaluators import ExperimentData
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import Experiments
from ackclock.papers.wimax_measured import acks, campus, concurrent, datagrams, pchar, transfers, uploads, windows


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator; an experiment runs only when a claim needs it."""
    figures = ExperimentData(runs)
    parts = (pchar, datagrams, transfers, uploads, windows, concurrent, campus, acks)
    return {claim: found for part in parts for claim, found in part.evaluators(figures).items()}
