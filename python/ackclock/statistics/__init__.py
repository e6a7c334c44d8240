"""Intervals, paired comparisons, rankings with ties, modes and fairness
(docs/models/statistics.md).
"""

from __future__ import annotations

from ackclock.statistics.differences import Difference, Moments, Samples, differences
from ackclock.statistics.fairness import jain_index
from ackclock.statistics.intervals import Interval, Mode, Ratio, interval, known, mean_of_known, modes, paired_p, ratio
from ackclock.statistics.joint_rate import joint_rate
from ackclock.statistics.ranking import NEAR_THE_BEST, SAME_WITHIN, Rank, against, holm, rank, ratios

__all__ = [
    "NEAR_THE_BEST",
    "SAME_WITHIN",
    "Difference",
    "Interval",
    "Mode",
    "Moments",
    "Rank",
    "Ratio",
    "Samples",
    "against",
    "differences",
    "holm",
    "interval",
    "jain_index",
    "joint_rate",
    "known",
    "mean_of_known",
    "modes",
    "paired_p",
    "rank",
    "ratio",
    "ratios",
]
