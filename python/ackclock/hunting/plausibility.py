"""How far a link is from those that people have: the distance to the nearest packaged link, in
decades.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ackclock.errors import InputError
from ackclock.input.link.bottleneck import slowest_bps, slowest_hop
from ackclock.input.link.hop import DIRECTIONS, Hop, base_rtt_ps
from ackclock.input.link.names import packaged_links
from ackclock.input.scenario.draft import draft_of

PACKET_BYTES = 1500


@dataclass(frozen=True)
class Nearest:
    """The packaged link that is most like a link, and the distance in decades: 1 if rates, RTT and
    buffers differ tenfold.
    """

    link: str
    decades: float


def facts(hops: Sequence[Hop]) -> dict[str, float]:
    """log10 of what makes a link: the rate of each direction in b/s, the RTT of the empty path in
    s, and the time in s that the data's full buffer takes.
    """
    found: dict[str, float] = {}
    for direction in DIRECTIONS:
        if bps := slowest_bps(hops, direction):
            found[f"rate_{direction}"] = math.log10(bps)
        if bps and (bytes_ := _buffer_bytes(hops, direction)):
            found[f"buffer_{direction}"] = math.log10(8 * bytes_ / bps)
    if rtt := base_rtt_ps(hops):
        found["rtt"] = math.log10(rtt / 1e12)
    return found


def _buffer_bytes(hops: Sequence[Hop], direction: str) -> float | None:
    hop = slowest_hop(hops, direction)
    queue = getattr(hop, direction).queue if hop is not None and getattr(hop, direction) else None
    if queue is None:
        return None
    written = queue.written()
    limits = [written["bytes"]] if isinstance(written.get("bytes"), int) else []
    if isinstance(written.get("packets"), int):
        limits.append(written["packets"] * PACKET_BYTES)
    return min(limits, default=None)


def distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """The root mean square of the differences of what both have; infinite without anything."""
    names = one.keys() & other.keys()
    return math.sqrt(sum((one[name] - other[name]) ** 2 for name in names) / len(names)) if names else math.inf


def nearest(hops: Sequence[Hop]) -> Nearest:
    """The nearest packaged link."""
    own = facts(hops)
    return min((Nearest(link, distance(own, of)) for link, of in _packaged().items()), key=lambda one: one.decades)


@cache
def _packaged() -> dict[str, dict[str, float]]:
    found = {}
    for link in packaged_links():
        try:
            scenario = draft_of({"link": link, "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}).check()
        except InputError:
            continue
        found[link] = facts(scenario.hop)
    return found
