"""A direction's time by kind of limit, in the kinds of `ackclock.limits`."""

from __future__ import annotations

from ackclock.analysis.diagnosis import acks, receiver_vantage
from ackclock.analysis.diagnosis.flow_context import FlowContext
from ackclock.limits import KINDS, largest

VISIBLE = tuple(kind for kind in KINDS if kind != "pacing")
"""The kinds that a capture shows: time of pacing counts for `cwnd`."""

_GAINS_LITTLE = 1.05
"""Without another limit, a direction that has the path's rate would gain less than 5 %."""


def of(context: FlowContext) -> dict[str, float]:
    """The share of the direction's time by kind, 0 where it is unknown.

    A queue stands on the path of the data, unless two captures show that the ACKs wait in it.
    """
    shares = {kind: context.limited_share(kind) for kind in VISIBLE}
    queue = "ack_path" if acks.ack_queue_dominates(context) else "bottleneck"
    return shares | {queue: context.limited_share("path_rate")}


def limit(context: FlowContext) -> str | None:
    """The kind of limit with the largest share; None if the capture does not show the sender's
    limits.

    A receive window that a slow reader closes or shrinks is a limit of the application, as in a
    simulation. A direction that has the path's rate, as the spacing of its packets shows it, is
    limited by the bottleneck, although a sender such as BBR keeps the queue short.
    """
    if not context.pace_seen:
        return None
    marked = context.other["ecn"]["echoed"]
    kind = largest(of(context), after_loss=bool(context.loss_events or marked))
    if kind in ("cwnd", "recovery") and _has_path_rate(context):
        return "bottleneck"
    return "application" if kind == "receive_window" and _reads_slowly(context) else kind


def _has_path_rate(context: FlowContext) -> bool:
    inferred_bps = float((context.figures.get("inferred_path") or {}).get("rate_bps") or 0.0)
    throughput_bps = float(context.figures["throughput_bps"] or 0.0)
    return inferred_bps / _GAINS_LITTLE <= throughput_bps <= inferred_bps


def _reads_slowly(context: FlowContext) -> bool:
    share = context.limited_share("receive_window")
    closed = receiver_vantage.is_closed_by_reader(context, share)
    return closed or receiver_vantage.shrinking_window(context, share) is not None
