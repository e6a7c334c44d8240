"""Compare TCP variants, socket buffers and delayed-ACK settings over a link: cells, intervals, a ranking with
reasons.
"""

from __future__ import annotations

from ackclock.comparison.ranking import RANK_BY
from ackclock.comparison.result import Comparison
from ackclock.comparison.run import compare

__all__ = ["RANK_BY", "Comparison", "compare"]
