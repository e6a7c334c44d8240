"""Evaluators for ``wibro``: datagrams and downloads over WiBro Wave 2, measured with synchronised
clocks.
"""

from __future__ import annotations

from ackclock.papers.evaluators import ExperimentData
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import Experiments
from ackclock.papers.wibro import datagrams, downloads


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator; an experiment runs only when a claim needs it."""
    figures = ExperimentData(runs)
    return {**datagrams.evaluators(figures), **downloads.evaluators(figures)}
