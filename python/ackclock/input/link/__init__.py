"""Links: the path between a server and its clients as a list of hops, server first."""

from ackclock.input.link.hop import DIRECTIONS, Direction, Hop
from ackclock.input.link.names import PACKAGED, packaged_links

__all__ = ["DIRECTIONS", "PACKAGED", "Direction", "Hop", "packaged_links"]
