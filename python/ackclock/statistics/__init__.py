"""Intervals, paired comparisons, rankings with ties, modes and fairness
(docs/models/statistics.md).
"""

from __future__ import annotations

from ackclock.statistics.fairness import jain_index
from ackclock.statistics.intervals import Interval, Mode, Ratio, interval, modes, paired_p, ratio
from ackclock.statistics.ranking import NEAR_THE_BEST, SAME_WITHIN, Rank, against, holm, rank

__all__ = [
    "NEAR_THE_BEST",
    "SAME_WITHIN",
    "Interval",
    "Mode",
    "Rank",
    "Ratio",
    "against",
    "holm",
    "interval",
    "jain_index",
    "modes",
    "paired_p",
    "rank",
    "ratio",
]
