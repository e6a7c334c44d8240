"""Link files from captures of both ends of a path."""

from ackclock.fitting.result import Fit
from ackclock.fitting.run import fit

__all__ = ["Fit", "fit"]
