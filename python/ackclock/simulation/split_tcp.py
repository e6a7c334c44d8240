"""Split connections in a plan: a flow across a proxy becomes one flow for each part, joined by
proxies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ackclock.input.scenario.flow import Flow
from ackclock.input.scenario.model import Scenario

Plan = dict[str, Any]


def split(
    scenario: Scenario, flow: Flow, single: Mapping[str, Any], number: int, tcp: Any
) -> tuple[list[Plan], list[Plan]]:
    """The parts of one flow, server first, and the proxies between them. The first part has the
    index `number` in the plan.

    The part that delivers the data to its receiver keeps the flow's name. `tcp` converts a proxy's
    TCP keys to their plan.
    """
    cuts = scenario.cuts(flow)
    pieces = list(_pieces(single["hops"], cuts))
    names = [f"{single['name']}@{scenario.hop[cut].name}" for cut in cuts]
    names.insert(len(cuts) if single["direction"] == "down" else 0, single["name"])
    parts = [{**single, "name": name, "hops": hops} for name, hops in zip(names, pieces, strict=True)]
    proxies = []
    for place, cut in enumerate(cuts):
        hop = scenario.hop[cut]
        assert hop.pep is not None
        proxies.append(
            {
                "name": hop.name,
                "near": number + place,
                "far": number + place + 1,
                "buffer": hop.pep.buffer,
                "handshake": hop.pep.handshake,
                "tcp": tcp(scenario.proxy_tcp(flow, hop.pep.tcp)),
            }
        )
    return parts, proxies


def _pieces(hops: Sequence[int], cuts: Sequence[int]) -> Iterator[list[int]]:
    bounds = [hops[0], *cuts, hops[-1] + 1]
    for start, end in pairwise(bounds):
        yield list(range(start, end))
