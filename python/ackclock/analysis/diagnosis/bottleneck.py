"""The bottleneck inferred from one capture: the spacing of packets or of their ACKs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, share, size
from ackclock.format import rate

_BY = {"arrivals": "packets arrive", "acks": "ACKs arrive"}
_NEARLY = 0.9
_FILLS_PATH = 0.3
"""Share of the time with a standing queue at which the goodput is about the bottleneck's rate."""
_TOGETHER = 4.0
"""The flow may share the bottleneck, and it may not use it all of the time."""
_PACKET_BYTES = 1500
_JITTER_S = 0.02
_BESIDE = 0.004
"""Rate of other data in the ACKs' direction, relative to this direction's goodput, above which the
ACKs' spacing is not that of the data: a fifth of the share that one ACK for two segments takes."""


def findings(context: FlowContext) -> Iterator[Finding]:
    """The bottleneck's rate and a token bucket, from one capture. Two captures measure both."""
    inferred: Any = None if context.crossing else context.figures.get("inferred_path")
    if not inferred:
        return
    goodput_bps = float(context.figures["goodput_bps"] or 0.0)
    # A rate below the goodput is the sender's own spacing, window by window. One far above the
    # goodput of a flow that fills its path is that of ACKs that a frame has carried together.
    together = inferred["by"] == "acks" and context.limited_share("path_rate") >= _FILLS_PATH
    if inferred["rate_bps"] and _NEARLY * goodput_bps <= inferred["rate_bps"] <= (
        _TOGETHER * goodput_bps if together else math.inf
    ):
        evidence = (
            f"The bottleneck carries {rate(inferred['rate_bps'])} (inferred: "
            f"{share(inferred['share'])} of the {_BY[inferred['by']]} with the spacing of "
            "back-to-back packets at that rate)."
        )
        if inferred.get("in_bursts"):
            evidence += (
                " They come in bursts, each of which counts as one: if the link was not busy, the spacing is that of "
                "the sender."
            )
        if inferred["by"] == "acks" and context.shared_bps > _BESIDE * float(context.figures["goodput_bps"] or 0.0):
            evidence += (
                " Data shares the direction of the ACKs and changes their spacing: a capture at "
                "the receiver measures the rate better."
            )
        yield Finding(context.direction, "inferred_rate", evidence)
    bucket = inferred["token_bucket"]
    if bucket:
        evidence = (
            "A token bucket limits the path (inferred from arrivals): "
            f"{size(bucket['burst_bytes'])} pass at up to {rate(bucket['peak_bps'])}, then "
            f"{rate(bucket['rate_bps'])}."
        )
        yield Finding(
            context.direction,
            "inferred_token_bucket",
            evidence,
            advice="Short transfers see the peak, long ones the rate: judge the path by either, not by their mean.",
        )


def has_queue(buffer: Mapping[str, Any]) -> bool:
    """Whether the inferred buffer is more than jitter: above one packet, and at least 20 ms at the
    bottleneck's rate.
    """
    return (buffer["max_based"] or 0) > _PACKET_BYTES and 0 < (buffer["rate_bps"] or 0.0) * _JITTER_S <= buffer[
        "max_based"
    ] * 8
