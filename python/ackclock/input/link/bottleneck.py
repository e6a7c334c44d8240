"""The bottleneck of a path in each direction: its rate, its BDP, and the keys that change its queue
or its ACK policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError
from ackclock.format import rate
from ackclock.input.checked_table import CheckedTable, words
from ackclock.input.link.hop import DIRECTIONS, Hop, base_rtt_ps
from ackclock.input.link.queue import queue_kinds
from ackclock.input.link.rate import mean_bps

AS_IS = "link"
"""The link file's queue or ACK policy."""

CALL_BPS = 80e3
"""The IP packets of a call in a direction: 160 B of G.711 and 40 B of headers each 20 ms."""

POLICIES: Mapping[str, Mapping[str, str | bool]] = {
    "none": {},
    **{name: {"filter": name} for name in words("Filter", "preset")},
    "acks-first": {"first": True},
    "drop-front": {"drop": "front"},
}
"""ACK policies by name; each is a part of the queue's `ack` table."""


@dataclass(frozen=True)
class Bottlenecks:
    """The bottleneck of each direction: `data` and `acks` are the sweep paths of their queues, with
    the link's queues. `both`: a kind of queue is that of both, as where both carry data.
    """

    data: str
    data_queue: CheckedTable | None
    acks: str
    ack_queue: CheckedTable | None
    both: bool = False

    def keys(self, kind: str, policy: str) -> dict[str, object]:
        """The data's bottleneck with another kind of queue, with the same limits and ACK policy,
        and the ACKs' bottleneck with another policy; a part that is a kind of queue replaces the
        queue.
        """
        parts = policy.split("+")
        other = [part for part in parts if part in queue_kinds()]
        queue = _of_kind(self.ack_queue, other[-1] if other else kind if self.both else AS_IS)
        if policy != AS_IS:
            queue.pop("ack", None)
            if acks := {key: value for part in parts for key, value in POLICIES.get(part, {}).items()}:
                queue["ack"] = acks
        return {self.data: _of_kind(self.data_queue, kind), self.acks: queue}


def bottlenecks(hops: Sequence[Hop], direction: str, *, both: bool = False) -> Bottlenecks:
    """The bottleneck of each direction: the hop with the lowest rate, recorded rates by their mean.
    `both` is that of `Bottlenecks`.

    Raises:
        InputError: no hop limits one of the directions.
    """
    reverse = "up" if direction == "down" else "down"
    data, acks = _slowest(hops, direction), _slowest(hops, reverse)
    return Bottlenecks(
        f"hop.{data.name}.queue.{direction}",
        getattr(data, direction).queue,
        f"hop.{acks.name}.queue.{reverse}",
        getattr(acks, reverse).queue,
        both,
    )


def slowest_bps(hops: Sequence[Hop], direction: str) -> float | None:
    """The lowest rate of a direction, recorded rates by their mean; None without a rate."""
    return min((bps for hop in hops if (bps := mean_bps(hop, direction))), default=None)


def bdp_bytes(hops: Sequence[Hop], direction: str) -> float | None:
    """The bandwidth-delay product of a path without queues: the lowest rate of the data's direction
    (the mean of a recorded one) times the delays of both. None without a rate.
    """
    bps = slowest_bps(hops, direction)
    return None if bps is None else bps * base_rtt_ps(hops) / 8e12


def slowest_hop(hops: Sequence[Hop], direction: str) -> Hop | None:
    """The first hop with the lowest rate of a direction, recorded rates by their mean; None without
    a rate.
    """
    rated = [(bps, index) for index, hop in enumerate(hops) if (bps := mean_bps(hop, direction))]
    return hops[min(rated)[1]] if rated else None


def _slowest(hops: Sequence[Hop], direction: str) -> Hop:
    found = slowest_hop(hops, direction)
    if found is None:
        raise InputError(
            f"no hop that limits the direction {direction}",
            "a link with a rate in that direction, or no choice of queues",
            key="queue",
        )
    return found


def _of_kind(queue: CheckedTable | None, kind: str) -> dict[str, Any]:
    """A queue as written, with the same limits and ACK policy if it is to be of another kind."""
    written = queue.written(given=True) if queue else {}
    if kind in (AS_IS, written.get("kind", "droptail")):
        return written
    return {"kind": kind, **{key: written[key] for key in ("packets", "bytes", "ack") if key in written}}


def unfit_for_household(hops: Sequence[Hop]) -> str:
    """Why a household is not the default load of a link, as a clause; empty where it is."""
    if any(hop.pep for hop in hops):
        return "a page does not run over a proxy"
    rates = [bps for direction in DIRECTIONS if (bps := slowest_bps(hops, direction))]
    if min(rates, default=CALL_BPS) < CALL_BPS:
        return f"a call sends {rate(CALL_BPS)} in each direction, more than the link's {rate(min(rates))}"
    return ""
