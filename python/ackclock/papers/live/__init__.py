"""The papers' experiments live: emulated links, the running kernel's TCP, `measure`'s probes, and
the same evaluators.
"""

from ackclock.papers.live.experiments import LiveExperiments
from ackclock.papers.live.job import Budget

__all__ = ["Budget", "LiveExperiments"]
