"""Analysis of captures: flows, loss, delay and what limits each flow."""

from ackclock.analysis.filter import PacketFilter
from ackclock.analysis.run import Analysis, analyze

__all__ = ["Analysis", "PacketFilter", "analyze"]
