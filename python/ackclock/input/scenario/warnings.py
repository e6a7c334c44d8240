"""What is allowed in a scenario and is likely not meant: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.scenario.flow import BACK, Flow
from ackclock.input.scenario.model import Scenario


def warnings(scenario: Scenario) -> list[str]:
    """A sentence for each part of a checked scenario that has no effect."""
    return list(_idle_loss_lists(scenario))


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
