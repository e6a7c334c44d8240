"""Scenarios. `read_draft` reads a file; `Draft.check` returns a checked Scenario."""

from ackclock.input.scenario.draft import Draft, draft_of, find_link, read_draft
from ackclock.input.scenario.flow import Flow
from ackclock.input.scenario.model import Scenario

__all__ = ["Draft", "Flow", "Scenario", "draft_of", "find_link", "read_draft"]
