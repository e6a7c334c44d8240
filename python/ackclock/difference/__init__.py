"""`diff`: two runs of a kind, or two captures, figure by figure."""

from ackclock.difference.result import Diff
from ackclock.difference.run import diff

__all__ = ["Diff", "diff"]
