"""Captures: what happened to each flow, where and why."""

from ackclock.analysis.filter import PacketFilter
from ackclock.analysis.run import Analysis, analyze

__all__ = ["Analysis", "PacketFilter", "analyze"]
