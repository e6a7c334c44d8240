"""`hunt`: search the ranges of a scenario's [hunt] for the case in which an objective is worst."""

from ackclock.hunting.result import Hunt
from ackclock.hunting.run import hunt, value_of

__all__ = ["Hunt", "hunt", "value_of"]
