"""What the throughput models say a flow should have got, with the losses and the round trip that it met, beside what it got."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import models

PER_SECOND_PS = 1e12


def with_models(summary: dict[str, Any], flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary, in which every TCP flow has `model`: null where the models have nothing to go by (nothing was lost and the
    window had no fixed limit), else what `of_flow` gives. `flows` are those of the plan (docs/plan.md), in the same order.
    """
    for flow, planned in zip(summary["flows"], flows, strict=True):
        flow["model"] = of_flow(flow, planned["tcp"]) if planned.get("tcp") else None
    return summary


def of_flow(flow: Mapping[str, Any], tcp: Mapping[str, Any]) -> dict[str, float | None] | None:
    """The models of `ackclock.models` at one flow's figures; rates are payload in bits/s, retransmissions left out.

    Args:
        flow: its part of a run's summary.
        tcp: its part of the plan.

    Returns:
        `loss`: window cuts a segment sent, which stand for loss events (0 where there were none, or fewer segments than cuts);
        `window_bps`: 0.75*W/RTT of a fixed window, at most W/RTT of it is had; `mathis_bps`, `padhye_bps`, `padhye_approx_bps`: Reno's;
        `cubic_bps`: CUBIC's response function. None where a model has nothing to go by.
    """
    rtt_ms, sent = (flow.get("rtt_ms") or {}).get("mean"), flow["segments_sent"]
    if not rtt_ms or not sent:
        return None
    rtt, window = rtt_ms / 1e3, largest_window(tcp)
    loss = flow["window_cuts"] / sent
    if not 0.0 < loss < 1.0:
        loss = 0.0
    if not loss and math.isinf(window):
        return None
    bits = 8.0 * tcp["segment"]
    arrived = 1.0 - min(flow["retransmission_rate"] or 0.0, 1.0)
    found: dict[str, float | None] = {"loss": loss, "window_bps": None, "mathis_bps": None}
    found |= {"padhye_bps": None, "padhye_approx_bps": None, "cubic_bps": None}
    if math.isfinite(window):
        found["window_bps"] = bits * models.window_over_rtt(window, rtt)
        found["padhye_bps"] = found["padhye_approx_bps"] = bits * window / rtt
    if loss:
        b, rto = segments_per_ack(tcp), first_timeout(rtt, tcp)
        found["mathis_bps"] = bits * min(models.mathis(loss, rtt, b), window / rtt)
        found["padhye_bps"] = arrived * bits * models.padhye_full(loss, rtt, rto, b, window)
        found["padhye_approx_bps"] = arrived * bits * models.padhye_approx(loss, rtt, rto, b, window)
        found["cubic_bps"] = bits * min(models.cubic_response(loss, rtt), window) / rtt
    return found


def largest_window(tcp: Mapping[str, Any]) -> float:
    """W_m in whole segments, one at least: the smaller socket buffer; infinity where both grow or have no limit."""
    sizes = [tcp["receive_buffer"] if not tcp.get("receive_tuning") else None]
    sizes.append(tcp["send_buffer"] if not tcp.get("send_tuning") else None)
    return min((max(size // tcp["segment"], 1) for size in sizes if size is not None), default=math.inf)


def segments_per_ack(tcp: Mapping[str, Any]) -> float:
    """b, as growth feels it: a host that counts the bytes of an ACK (RFC 3465) grows as if each segment had its own."""
    each = float((tcp.get("delayed_ack") or {}).get("segments", 1))
    counted = float(tcp["byte_counting"])
    return max(1.0, each / counted) if counted else each


def first_timeout(rtt: float, tcp: Mapping[str, Any]) -> float:
    """T0 in seconds: where the minimum bounds the variance (Linux) it comes on top of the round trip; else two round trips or the minimum."""
    least = float(tcp["rto_min_ps"]) / PER_SECOND_PS
    return rtt + least if tcp["rto_floor"] == "variance" else max(least, 2.0 * rtt)
