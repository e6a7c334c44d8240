"""Comparison of TCP variants, socket buffers and ACK policies over a link: intervals, and a ranking
with reasons.
"""

from __future__ import annotations

from ackclock.comparison.ranking import RANK_BY
from ackclock.comparison.result import Comparison
from ackclock.comparison.run import compare

__all__ = ["RANK_BY", "Comparison", "compare"]
