"""Path options of a comparison: the bottleneck's queue, the ACK policy, and the hosts' ACK
techniques.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ackclock.errors import InputError, choices, format_value
from ackclock.input.link.bottleneck import AS_IS, POLICIES
from ackclock.input.link.hop import Hop
from ackclock.input.link.queue import marks, queue_kinds

HOST = "none"
"""The host's default, without an ACK technique."""

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
