"""Scenarios: what to run. `read_draft` reads a file; `Draft.check` gives a checked Scenario."""

from ackclock.scenario.draft import Draft, draft_of, find_link, read_draft
from ackclock.scenario.flow import Flow
from ackclock.scenario.model import Scenario
from ackclock.scenario.tcp import TcpKeys

__all__ = ["Draft", "Flow", "Scenario", "TcpKeys", "draft_of", "find_link", "read_draft"]
