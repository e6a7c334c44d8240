"""Rates of Reno and CUBIC by closed forms, for a direction's losses, RTT and window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock import models
from ackclock.analysis.diagnosis.flow_context import FlowContext

_RTO_MIN_S = 0.2
EVENTS = 3
"""Minimum number of loss events for a loss rate."""
WITHIN = 2.0
"""Factor by which a measured rate and a model's differ where losses explain the rate."""
LOSSES_LIMIT = "The losses limit the rate"
"""Beginning of the advice where losses limit the rate."""


def rates(
    context: FlowContext, rtt_ms: Mapping[str, Any], times: float = 1.0, has_window: bool = True
) -> dict[str, float]:
    """Rates of closed-form models for the direction's loss rate and receive window (unless
    `has_window` is false) with this RTT, in bit/s; empty below three loss events, and without an
    RTT.

    `counted_bps` is Padhye's model of a sender whose window grows with acknowledged segments
    (Linux, RFC 3465) instead of ACKs. CUBIC is at least as fast as such a Reno (RFC 9438, section
    4.3). `times` multiplies the losses.
    """
    if context.loss_events < EVENTS or not rtt_ms["mean"]:
        return {}
    seconds, p, bits = rtt_ms["mean"] * 1e-3, min(context.loss_rate * times, 0.5), 8.0 * context.segment
    per_ack = segments_per_ack(context)
    window = (
        max(1.0, (context.figures["advertised_window_bytes"]["max"] or 0) / context.segment) if has_window else math.inf
    )
    rto = max(_RTO_MIN_S, 4.0 * (rtt_ms["sd"] or 0.0) * 1e-3) + seconds
    counted = models.padhye_full(p, seconds, rto, 1.0, window)
    return {
        "mathis_bps": models.mathis(p, seconds, per_ack) * bits,
        "padhye_bps": models.padhye_full(p, seconds, rto, per_ack, window) * bits,
        "counted_bps": counted * bits,
        "cubic_bps": max(counted, models.cubic_response(p, seconds) / seconds) * bits,
    }


def segments_per_ack(context: FlowContext) -> float:
    """Segments that an ACK acknowledges, between 1 and 2 as in the models."""
    return min(2.0, max(1.0, float(context.figures["ack_interarrival_ms"]["segments_per_ack"] or 1.0)))
