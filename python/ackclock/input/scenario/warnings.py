"""What is allowed in a scenario and is likely not meant: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.input.link.frame_grid import locked
from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.scenario.flow import BACK, Flow
from ackclock.input.scenario.model import Scenario


def warnings(scenario: Scenario) -> list[str]:
    """Sentences for each part of a checked scenario that has no effect, or that no path has."""
    return [*_idle_loss_lists(scenario), *frame_locks(scenario)]


def frame_locks(scenario: Scenario) -> list[str]:
    """Sentences about media in frames, to whose grid the RTTs of TCP flows lock."""
    paths = {tuple(scenario.hops_of(flow)) for flow in scenario.flow if not flow.is_udp}
    return list(dict.fromkeys(text for path in sorted(paths) for text in locked([scenario.hop[i] for i in path])))


def _idle_loss_lists(scenario: Scenario) -> Iterator[str]:
    for index, hop in enumerate(scenario.hop):
        for direction in DIRECTIONS:
            side = getattr(hop, direction)
            loss = side.loss if side else None
            if not loss or loss.kind != "list" or loss.of != "data":
                continue
            crossing = [flow for flow in scenario.flow if index in scenario.hops_of(flow)]
            if not any(direction in _data_directions(flow) for flow in crossing):
                yield (
                    f'hop.{hop.name}.loss.{direction}: the list counts packets with payload, and none crosses "{hop.name}" '
                    f'{direction}; of = "all" counts ACKs'
                )


def _data_directions(flow: Flow) -> tuple[str, ...]:
    """The directions in which a flow sends packets with payload."""
    if flow.workload.kind in ("live", "web", "probe"):
        return (flow.direction, BACK[flow.direction])
    return (flow.direction,)
