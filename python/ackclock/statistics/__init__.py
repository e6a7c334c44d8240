"""Intervals, paired comparisons, rankings with ties, modes and fairness
(docs/models/statistics.md).
"""

from __future__ import annotations

from ackclock.statistics.fairness import jain_index
from ackclock.statistics.intervals import Interval, Mode, interval, modes
from ackclock.statistics.ranking import SAME_WITHIN, Difference, Rank, against, holm, paired_p, rank

__all__ = [
    "SAME_WITHIN",
    "Difference",
    "Interval",
    "Mode",
    "Rank",
    "against",
    "holm",
    "interval",
    "jain_index",
    "modes",
    "paired_p",
    "rank",
]
