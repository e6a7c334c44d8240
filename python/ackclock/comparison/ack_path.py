"""What a comparison varies on the path: the bottleneck's queue, what is done to ACKs on their way back, and what hosts do for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, choices, format_value
from ackclock.input.link.ack_handling import PRESETS
from ackclock.input.link.hop import Hop
from ackclock.input.link.queue import QUEUES
from ackclock.input.link.rate import TraceRate

AS_IS = "link"
"""The link file's own queue, or what it does to ACKs."""
HOST = "none"
"""No technique for ACKs beyond the host's own."""

POLICIES: dict[str, dict[str, Any]] = {
    "none": {},
    **{name: {"filter": name} for name in PRESETS},
    "acks-first": {"first": True},
    "drop-front": {"drop": "front"},
}
"""What a queue does to ACKs, by name; each is a part of the queue's `ack` table."""

TECHNIQUES: dict[str, dict[str, Any]] = {
    HOST: {},
    "acc": {"ack_congestion_control": True, "ecn": True, "timestamps": True},
    "adapt": {"max_burst": 3, "dupack_marking": True, "byte_counting": 2},
}
"""What hosts do for ACKs, as TCP keys: ACK congestion control (it needs a queue that marks, such as `red`, on the ACKs' way) and sender
adaptation (`asymmetry`, sections 4.3.1 and 4.3.3; byte counting as in RFC 3465)."""


def check_queues(kinds: Sequence[str]) -> None:
    """Refuse a queue that does not exist. Raises InputError."""
    _known(kinds, [AS_IS, *QUEUES], "queue")


def check_policies(policies: Sequence[str]) -> None:
    """Refuse a policy with a part that does not exist, or with two that speak of the same. Raises InputError."""
    for policy in policies:
        parts = policy.split("+")
        if policy != AS_IS:
            _known(parts, list(dict.fromkeys([*POLICIES, *QUEUES])), "ack_policy")
        told = [key for part in parts for key in POLICIES.get(part, {"kind": part})]
        if len(set(told)) < len(told) or ("none" in parts and len(parts) > 1):
            raise InputError(format_value(policy), "parts that go together, such as safe+acks-first or red+p1", key="ack_policy")


def check_techniques(techniques: Sequence[str]) -> None:
    """Refuse what no host can do for ACKs. Raises InputError."""
    for technique in techniques:
        _known(technique.split("+"), list(TECHNIQUES), "ack")


def _known(words: Sequence[str], allowed: Sequence[str], key: str) -> None:
    for word in words:
        if word not in allowed:
            raise InputError(format_value(word), choices(allowed, word), key=key)


def technique_keys(technique: str) -> dict[str, object]:
    """The sweep parameters of a technique, or of several with + between."""
    return {f"tcp.{key}": value for part in technique.split("+") for key, value in TECHNIQUES[part].items()}


@dataclass(frozen=True)
class Bottlenecks:
    """The hop that limits each direction: `data` and `acks` are its paths in a sweep, with what stands there now."""

    data: str
    data_queue: Mapping[str, Any]
    acks: str
    ack_queue: Mapping[str, Any]

    def queue_keys(self, kind: str) -> dict[str, object]:
        """The data's bottleneck with another kind of queue. Limits and what is done to ACKs stay."""
        return {self.data: _of_kind(self.data_queue, kind)}

    def policy_keys(self, policy: str) -> dict[str, object]:
        """The ACKs' bottleneck with another policy; a part that names a queue replaces its kind."""
        if policy == AS_IS:
            return {self.acks: dict(self.ack_queue)}
        queue, acks = dict(self.ack_queue), {}
        for part in policy.split("+"):
            if part in QUEUES:
                queue = _of_kind(queue, part)
            acks.update(POLICIES.get(part, {}))
        queue.pop("ack", None)
        return {self.acks: {**queue, "ack": acks} if acks else queue}


def bottlenecks(hops: Sequence[Hop], direction: str) -> Bottlenecks:
    """Where packets of each direction wait: at the hop of the lowest rate, recordings by their mean.

    Raises:
        InputError: no hop limits one of the directions.
    """
    back = "up" if direction == "down" else "down"
    data, acks = _slowest(hops, direction), _slowest(hops, back)
    return Bottlenecks(
        f"hop.{data.name}.queue.{direction}", _queue(data, direction), f"hop.{acks.name}.queue.{back}", _queue(acks, back)
    )


def unmarked(technique: str, hops: Sequence[Hop], direction: str) -> bool:
    """Whether hosts use ACK congestion control where no queue on the ACKs' way (data goes in `direction`) marks anything."""
    back = "up" if direction == "down" else "down"
    sides = [getattr(hop, back) for hop in hops]
    return "acc" in technique.split("+") and not any(side and side.queue and side.queue.marks for side in sides)


UNMARKED = (
    "Hosts with acc hear of no congestion of ACKs where no queue on their way marks: an ACK for each segment is all it does there "
    "(ACK policy red, codel or another queue that marks)."
)
"""What a reader should know of the configurations that `unmarked` names."""


def _slowest(hops: Sequence[Hop], way: str) -> Hop:
    rated = [(bps, place) for place, hop in enumerate(hops) if (bps := _bps(hop, way))]
    if not rated:
        raise InputError(
            f"no hop that limits the direction {way}", "a link with a rate there, or no choice of queues", key="queue"
        )
    return hops[min(rated)[1]]


def _bps(hop: Hop, way: str) -> float | None:
    side = getattr(hop, way)
    if side is not None and hop.medium is None and isinstance(side.rate, TraceRate):
        return side.rate.recording.mean_bps()
    return hop.slowest_bps(way)


def _queue(hop: Hop, way: str) -> dict[str, Any]:
    queue = getattr(hop, way).queue
    return queue.model_dump(exclude_none=True, exclude_unset=True) if queue else {}


def _of_kind(queue: Mapping[str, Any], kind: str) -> dict[str, Any]:
    if kind in (AS_IS, queue.get("kind", "droptail")):
        return dict(queue)
    return {"kind": kind, **{key: queue[key] for key in ("packets", "bytes", "ack") if key in queue}}
