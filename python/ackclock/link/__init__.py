"""Links: the path between a server and its clients, hop by hop, server first."""

from ackclock.link.hop import DIRECTIONS, Direction, Hop
from ackclock.link.packaged import PACKAGED, packaged_links

__all__ = ["DIRECTIONS", "PACKAGED", "Direction", "Hop", "packaged_links"]
