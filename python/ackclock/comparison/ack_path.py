"""Path options of a comparison: the bottleneck's queue, the ACK policy, and the hosts' ACK
techniques.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, choices, format_value
from ackclock.input.checked_table import words
from ackclock.input.link.hop import Hop
from ackclock.input.link.queue import marks, queue_kinds
from ackclock.input.link.rate import mean_bps

AS_IS = "link"
"""The link file's queue or ACK policy."""
HOST = "none"
"""The host's default, without an ACK technique."""

POLICIES: dict[str, dict[str, Any]] = {
    "none": {},
    **{name: {"filter": name} for name in words("Filter", "preset")},
    "acks-first": {"first": True},
    "drop-front": {"drop": "front"},
}
"""ACK policies by name; each is a part of the queue's `ack` table."""

TECHNIQUES: dict[str, dict[str, Any]] = {
    HOST: {},
    "acc": {"ack_congestion_control": True, "ecn": True, "timestamps": True},
    "adapt": {"max_burst": 3, "dupack_marking": True, "byte_counting": 2},
}
"""ACK techniques of hosts, as TCP keys: ACK congestion control (requires an ECN-marking queue, such
as `red`, in the direction of the ACKs) and sender adaptation (`asymmetry`, sections 4.3.1 and
4.3.3; byte counting as in RFC 3465)."""


def check_queues(kinds: Sequence[str]) -> None:
    """Raise InputError for an unknown queue."""
    _known(kinds, [AS_IS, *queue_kinds()], "queue")


def check_policies(policies: Sequence[str]) -> None:
    """Raise InputError for a policy with an unknown part or with two parts for the same key."""
    for policy in policies:
        parts = policy.split("+")
        if policy != AS_IS:
            _known(parts, list(dict.fromkeys([*POLICIES, *queue_kinds()])), "ack_policy")
        keys = [key for part in parts for key in POLICIES.get(part, {"kind": part})]
        if len(set(keys)) < len(keys) or ("none" in parts and len(parts) > 1):
            raise InputError(
                format_value(policy), "compatible parts, such as safe+acks-first or red+p1", key="ack_policy"
            )


def check_techniques(techniques: Sequence[str]) -> None:
    """Raise InputError for an unknown ACK technique."""
    for technique in techniques:
        _known(technique.split("+"), list(TECHNIQUES), "ack")


def _known(words: Sequence[str], allowed: Sequence[str], key: str) -> None:
    for word in words:
        if word not in allowed:
            raise InputError(format_value(word), choices(allowed, word), key=key)


def technique_keys(technique: str) -> dict[str, object]:
    """The sweep parameters of a technique, or of several joined by +."""
    return {f"tcp.{key}": value for part in technique.split("+") for key, value in TECHNIQUES[part].items()}


@dataclass(frozen=True)
class Bottlenecks:
    """The bottleneck of each direction: `data` and `acks` are the sweep paths of their queues, with
    the link's queues.
    """

    data: str
    data_queue: Mapping[str, Any]
    acks: str
    ack_queue: Mapping[str, Any]

    def queue_keys(self, kind: str) -> dict[str, object]:
        """The data's bottleneck with another kind of queue, with the same limits and ACK policy."""
        return {self.data: _of_kind(self.data_queue, kind)}

    def policy_keys(self, policy: str) -> dict[str, object]:
        """The ACKs' bottleneck with another policy; a part that is a kind of queue replaces the
        queue.
        """
        if policy == AS_IS:
            return {self.acks: dict(self.ack_queue)}
        queue, acks = dict(self.ack_queue), {}
        for part in policy.split("+"):
            if part in queue_kinds():
                queue = _of_kind(queue, part)
            acks.update(POLICIES.get(part, {}))
        queue.pop("ack", None)
        return {self.acks: {**queue, "ack": acks} if acks else queue}


def bottlenecks(hops: Sequence[Hop], direction: str) -> Bottlenecks:
    """The bottleneck of each direction: the hop with the lowest rate, recorded rates by their mean.

    Raises:
        InputError: no hop limits one of the directions.
    """
    reverse = "up" if direction == "down" else "down"
    data, acks = _slowest(hops, direction), _slowest(hops, reverse)
    return Bottlenecks(
        f"hop.{data.name}.queue.{direction}",
        _queue(data, direction),
        f"hop.{acks.name}.queue.{reverse}",
        _queue(acks, reverse),
    )


def unmarked(technique: str, hops: Sequence[Hop], direction: str) -> bool:
    """Whether hosts use ACK congestion control without an ECN-marking queue in the direction of the
    ACKs (data is sent in `direction`).
    """
    reverse = "up" if direction == "down" else "down"
    sides = [getattr(hop, reverse) for hop in hops]
    return "acc" in technique.split("+") and not any(side and side.queue and marks(side.queue) for side in sides)


UNMARKED = (
    "Hosts with acc receive no congestion signal for ACKs without an ECN-marking queue in their "
    "direction: the only effect is an ACK for each segment (use the ACK policy red, codel or "
    "another queue with ECN)."
)
"""The note about configurations for which `unmarked` is true."""


def slowest_bps(hops: Sequence[Hop], direction: str) -> float | None:
    """The lowest rate of a direction, recorded rates by their mean; None without a rate."""
    return min((bps for hop in hops if (bps := mean_bps(hop, direction))), default=None)


def _slowest(hops: Sequence[Hop], direction: str) -> Hop:
    rated = [(bps, index) for index, hop in enumerate(hops) if (bps := mean_bps(hop, direction))]
    if not rated:
        raise InputError(
            f"no hop that limits the direction {direction}",
            "a link with a rate in that direction, or no choice of queues",
            key="queue",
        )
    return hops[min(rated)[1]]


def _queue(hop: Hop, direction: str) -> dict[str, Any]:
    queue = getattr(hop, direction).queue
    return queue.written(given=True) if queue else {}


def _of_kind(queue: Mapping[str, Any], kind: str) -> dict[str, Any]:
    if kind in (AS_IS, queue.get("kind", "droptail")):
        return dict(queue)
    return {"kind": kind, **{key: queue[key] for key in ("packets", "bytes", "ack") if key in queue}}
