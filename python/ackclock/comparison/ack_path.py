"""Path options of a comparison: the bottleneck's queue, the ACK policy, and the hosts' ACK
techniques.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, choices, format_value
from ackclock.input.checked_table import CheckedTable, words
from ackclock.input.link.hop import Hop
from ackclock.input.link.queue import marks, queue_kinds
from ackclock.input.link.rate import mean_bps

AS_IS = "link"
"""The link file's queue or ACK policy."""
HOST = "none"
"""The host's default, without an ACK technique."""

POLICIES: Mapping[str, Mapping[str, str | bool]] = {
    "none": {},
    **{name: {"filter": name} for name in words("Filter", "preset")},
    "acks-first": {"first": True},
    "drop-front": {"drop": "front"},
}
"""ACK policies by name; each is a part of the queue's `ack` table."""

TECHNIQUES: Mapping[str, Mapping[str, int | bool]] = {
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


def technique_keys(technique: str) -> dict[str, int | bool]:
    """The sweep parameters of a technique, or of several joined by +."""
    return {f"tcp.{key}": value for part in technique.split("+") for key, value in TECHNIQUES[part].items()}


@dataclass(frozen=True)
class Bottlenecks:
    """The bottleneck of each direction: `data` and `acks` are the sweep paths of their queues, with
    the link's queues.
    """

    data: str
    data_queue: CheckedTable | None
    acks: str
    ack_queue: CheckedTable | None

    def keys(self, kind: str, policy: str) -> dict[str, object]:
        """The data's bottleneck with another kind of queue, with the same limits and ACK policy,
        and the ACKs' bottleneck with another policy; a part that is a kind of queue replaces the
        queue.
        """
        parts = policy.split("+")
        other = [part for part in parts if part in queue_kinds()]
        queue = _of_kind(self.ack_queue, other[-1] if other else AS_IS)
        if policy != AS_IS:
            queue.pop("ack", None)
            if acks := {key: value for part in parts for key, value in POLICIES.get(part, {}).items()}:
                queue["ack"] = acks
        return {self.data: _of_kind(self.data_queue, kind), self.acks: queue}


def bottlenecks(hops: Sequence[Hop], direction: str) -> Bottlenecks:
    """The bottleneck of each direction: the hop with the lowest rate, recorded rates by their mean.

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


def _of_kind(queue: CheckedTable | None, kind: str) -> dict[str, Any]:
    """A queue as written, with the same limits and ACK policy if it is to be of another kind."""
    written = queue.written(given=True) if queue else {}
    if kind in (AS_IS, written.get("kind", "droptail")):
        return written
    return {"kind": kind, **{key: written[key] for key in ("packets", "bytes", "ack") if key in written}}
