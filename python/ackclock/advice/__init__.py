"""An advice: the result of `advise`, its tables and its report (`ackclock.advisor` makes it)."""

from ackclock.advice.result import Advice

__all__ = ["Advice"]
