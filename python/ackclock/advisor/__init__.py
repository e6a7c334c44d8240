"""`advise`: what to change of the hosts or of a link, and what to type."""

from ackclock.advisor.run import advise

__all__ = ["advise"]
