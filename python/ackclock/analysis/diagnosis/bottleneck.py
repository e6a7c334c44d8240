"""The bottleneck as one capture shows it: inferred from how packets or their ACKs are spaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, share, size
from ackclock.format import rate

_BY = {"arrivals": "packets arrive", "acks": "ACKs come back"}
_NEARLY = 0.9
_PACKET_BYTES = 1500
_JITTER_S = 0.02
_BESIDE = 0.004
"""Others' data beside the ACKs, by this direction's goodput, from which on the ACKs' spacing is no longer the data's: a fifth of what one ACK for two
segments takes."""


def findings(view: FlowContext) -> Iterator[Finding]:
    """The rate, and a token bucket; with two captures both are measured, and nothing is inferred."""
    found: Any = None if view.crossing else view.figures.get("inferred_path")
    if not found:
        return
    # A link that carries less than came through it is none: the spacing is the sender's own, window by window.
    if found["rate_bps"] and found["rate_bps"] >= _NEARLY * float(view.figures["goodput_bps"] or 0.0):
        evidence = (
            f"The path's narrowest link carries {rate(found['rate_bps'])} (inferred: {share(found['share'])} of the {_BY[found['by']]} as far apart as "
            "packets leave a link of that rate one after the other)."
        )
        if found["by"] == "acks" and view.shared_bps > _BESIDE * float(view.figures["goodput_bps"] or 0.0):
            evidence += (
                " Data shares the ACKs' way and changes their spacing: a capture at the receiver's end tells the rate better."
            )
        yield Finding(view.direction, "inferred_rate", evidence)
    bucket = found["token_bucket"]
    if bucket:
        evidence = (
            f"A token bucket meters the path (inferred from arrivals): {size(bucket['burst_bytes'])} pass at up to {rate(bucket['peak_bps'])}, then "
            f"{rate(bucket['rate_bps'])}."
        )
        yield Finding(
            view.direction,
            "inferred_token_bucket",
            evidence,
            advice="Short transfers see the peak, long ones the rate: judge the path by either, not by their mean.",
        )


def has_queue(buffer: Mapping[str, Any]) -> bool:
    """Whether the inferred buffer is more than jitter: above one packet, and at least 20 ms at the bottleneck's rate."""
    return (buffer["max_based"] or 0) > _PACKET_BYTES and 0 < (buffer["rate_bps"] or 0.0) * _JITTER_S <= buffer["max_based"] * 8
