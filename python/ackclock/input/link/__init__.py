"""Links: the path between a server and its clients as a list of hops, server first."""

from ackclock.input.link.catalog import PACKAGED, packaged_links
from ackclock.input.link.hop import DIRECTIONS, Direction, Hop

__all__ = ["DIRECTIONS", "PACKAGED", "Direction", "Hop", "packaged_links"]
