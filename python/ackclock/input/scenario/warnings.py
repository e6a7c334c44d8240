"""What is allowed in a scenario and is likely not meant: one sentence each."""

from __future__ import annotations

from ackclock.input.link.frame_grid import locked
from ackclock.input.scenario.model import Scenario


def warnings(scenario: Scenario) -> list[str]:
    """Sentences for each part of a checked scenario that has no effect, or that no path has."""
    return [*scenario.warnings(), *frame_locks(scenario)]


def frame_locks(scenario: Scenario) -> list[str]:
    """Sentences about media in frames, to whose grid the RTTs of TCP flows lock."""
    paths = dict.fromkeys(flow.over and tuple(flow.over) for flow in scenario.flow if not flow.is_udp)
    crossed = [[hop for hop in scenario.hop if over is None or hop.name in over] for over in paths]
    return list(dict.fromkeys(text for path in crossed for text in locked(path)))
