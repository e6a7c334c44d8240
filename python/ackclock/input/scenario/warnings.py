"""What is allowed in a scenario and is likely not meant: one sentence each."""

from __future__ import annotations

from ackclock.input.link.frame_grid import locked
from ackclock.input.scenario.model import Scenario


def warnings(scenario: Scenario) -> list[str]:
    """Sentences for each part of a checked scenario that has no effect, or that no path has."""
    return [*scenario.warnings(), *frame_locks(scenario)]


def frame_locks(scenario: Scenario) -> list[str]:
    """Sentences about media in frames, to whose grid the RTTs of TCP flows lock."""
    paths = dict.fromkeys(scenario.hops_of(flow) for flow in scenario.flow if not flow.is_udp)
    return list(dict.fromkeys(text for path in paths for text in locked(path)))
