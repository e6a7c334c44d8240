"""Throughput models applied to simulated flows, with the loss and the RTT that each flow had."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock import models
from ackclock.statistics.summary_stats import stats_of

if TYPE_CHECKING:
    from ackclock.documents.engine import FlowRow
    from ackclock.documents.simulate import ExplainedRun, ModelRates

PER_SECOND_PS = 1e12


def with_models(summary: ExplainedRun, flows: Sequence[Mapping[str, Any]]) -> None:
    """Add `model` to every TCP flow of a summary: the result of `of_flow`.

    `flows` are the plan's (docs/inside/plan.md), in the same order.
    """
    for flow, planned in zip(summary["flows"], flows, strict=True):
        flow["model"] = of_flow(flow, planned["tcp"]) if planned.get("tcp") else None


def of_flow(flow: FlowRow, tcp: Mapping[str, Any]) -> ModelRates | None:
    """The models of `ackclock.models` for one flow. Rates are payload in bits/s, without
    retransmissions.

    Args:
        flow: the flow's part of a run's summary.
        tcp: the flow's TCP keys in the plan.

    Returns:
        None without losses and with an unlimited window, else a dict. `loss`: window cuts for each
        sent segment, a measure of loss events; 0 without cuts. `window_bps`: 0.75*W/RTT of a fixed
        window. `mathis_bps`, `padhye_bps`, `padhye_approx_bps`: Reno. `cubic_bps`: CUBIC's response
        function. A model that does not apply is None.
    """
    (rtt_ms,), sent = stats_of(flow.get("rtt_ms"), "mean"), flow["segments_sent"]
    if not rtt_ms or not sent:
        return None
    rtt, window = rtt_ms / 1e3, largest_window(tcp)
    loss = flow["window_cuts"] / sent
    if not 0.0 < loss < 1.0:
        loss = 0.0
    if not loss and math.isinf(window):
        return None
    bits = 8.0 * tcp["segment"]
    delivered_share = 1.0 - min(flow["retransmission_rate"] or 0.0, 1.0)
    model: ModelRates = {
        "loss": loss,
        "window_bps": None,
        "mathis_bps": None,
        "padhye_bps": None,
        "padhye_approx_bps": None,
        "cubic_bps": None,
    }
    if math.isfinite(window):
        model["window_bps"] = bits * models.window_over_rtt(window, rtt)
        model["padhye_bps"] = model["padhye_approx_bps"] = bits * window / rtt
    if loss:
        b, rto = segments_per_ack(tcp), first_timeout(rtt, tcp)
        model["mathis_bps"] = bits * min(models.mathis(loss, rtt, b), window / rtt)
        model["padhye_bps"] = delivered_share * bits * models.padhye_full(loss, rtt, rto, b, window)
        model["padhye_approx_bps"] = delivered_share * bits * models.padhye_approx(loss, rtt, rto, b, window)
        model["cubic_bps"] = bits * min(models.cubic_response(loss, rtt), window) / rtt
    return model


def largest_window(tcp: Mapping[str, Any]) -> float:
    """W_m in whole segments, 1 or more: the smaller socket buffer; infinity if both are tuned or
    unlimited.
    """
    sizes = [tcp["receive_buffer"] if not tcp.get("receive_tuning") else None]
    sizes.append(tcp["send_buffer"] if not tcp.get("send_tuning") else None)
    return min((max(size // tcp["segment"], 1) for size in sizes if size is not None), default=math.inf)


def segments_per_ack(tcp: Mapping[str, Any]) -> float:
    """b of the models: segments per ACK, divided by the segments that byte counting (RFC 3465)
    credits to one ACK.
    """
    each = float((tcp.get("delayed_ack") or {}).get("segments", 1))
    counted = float(tcp["byte_counting"])
    return max(1.0, each / counted) if counted else each


def first_timeout(rtt: float, tcp: Mapping[str, Any]) -> float:
    """T0 in seconds.

    On Linux the minimum RTO bounds the variance term and is added to the RTT; elsewhere
    max(minimum, 2*RTT).
    """
    rto_min = float(tcp["rto_min_ps"]) / PER_SECOND_PS
    return rtt + rto_min if tcp["rto_floor"] == "variance" else max(rto_min, 2.0 * rtt)
