"""The input of a diagnosis rule: one direction of a flow, from the capture nearer to its sender.

`capture_context` builds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.format import milliseconds

ENOUGH_BYTES = 20_000
"""Minimum data of a direction, in bytes, for a diagnosis."""
FULL_BYTES = 1460
NEARLY = 0.75
"""A rate above this share of a limit reaches the limit, slow start included."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: `evidence` and `advice` are sentences; `share` is the share of the direction's
    time, None if time is no part of it.
    """

    direction: str
    finding: str
    evidence: str
    share: float | None = None
    advice: str = ""

    def as_json(self) -> dict[str, Any]:
        """The finding in the document."""
        return {
            "direction": self.direction,
            "finding": self.finding,
            "share": self.share,
            "evidence": self.evidence,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class FlowContext:
    """One direction.

    `figures` are from the capture near its sender, `crossing` from both captures (empty with one).
    """

    flow: Mapping[str, Any]
    direction: str
    figures: Mapping[str, Any]
    other: Mapping[str, Any]
    """The opposite direction in the same capture."""
    place: str
    crossing: Mapping[str, Any] = field(default_factory=dict)
    back: Mapping[str, Any] = field(default_factory=dict)
    """As `crossing`, in the direction of the ACKs."""
    shared_bps: float = 0.0
    """Rate of other flows from the receiver's host in the direction of the ACKs, bit/s."""
    arriving: Mapping[str, Any] | None = None
    """This direction's figures from the capture near its receiver, with two captures."""
    second_handshake: Mapping[str, Any] | None = None
    """The handshake in the second of two captures."""

    @property
    def has_window_scaling(self) -> bool:
        """Whether SYN and SYN-ACK have the window scale option in all captures."""
        seen = [one for one in (self.flow["handshake"], self.second_handshake) if one is not None]
        return all(one["window_scaling"] for one in seen)

    @property
    def strips_window_scaling(self) -> bool:
        """Whether one capture has the window scale option of an end, and the other has not."""
        ours, there = self.flow["handshake"], self.second_handshake
        keys = ("client_window_scale", "server_window_scale")
        return there is not None and any((ours[key] is None) != (there[key] is None) for key in keys)

    @property
    def at_sender(self) -> bool:
        """Whether the capture is at this direction's sender."""
        return self.place == {"a2b": "client", "b2a": "server"}[self.direction]

    @property
    def far(self) -> bool:
        """Whether the capture is known not to be at this direction's sender: its RTT and flight are
        not the sender's.
        """
        return not self.at_sender and self.place != "unknown"

    @property
    def pace_seen(self) -> bool:
        """Whether the capture shows the sender's flight and RTT.

        Elsewhere ACKs follow data at once, as if no data were in flight.
        """
        return (self.figures["limited"] or {}).get("path_rate") is not None

    @property
    def waits_closed(self) -> bool:
        """Whether the sender probed a zero window, so it had data (RFC 9293, 3.8.6.1)."""
        return bool(self.figures["zero_windows"] and self.figures["zero_window_probes"])

    @property
    def closed_share(self) -> float:
        """The share of the flow's time in which the advertised window was zero."""
        lasted = float(self.flow["duration_s"])
        return min(1.0, float(self.figures["zero_window"]["closed_s"]) / lasted) if lasted > 0.0 else 0.0

    @property
    def has_path_rate(self) -> bool:
        """Whether the direction has three quarters of the bottleneck's rate, measured by two
        captures or inferred from the spacing of its packets: its losses are then those of a sender
        that fills the path.
        """
        crossing_bps = (self.crossing.get("bottleneck_buffer_bytes") or {}).get("rate_bps") or 0.0
        inferred_bps = (self.figures.get("inferred_path") or {}).get("rate_bps") or 0.0
        goodput_bps = float(self.figures["goodput_bps"] or 0.0)
        # A rate below the goodput is the sender's own spacing.
        path_bps = float(crossing_bps or (inferred_bps if inferred_bps > 0.9 * goodput_bps else 0.0))
        return goodput_bps > NEARLY * path_bps > 0.0

    @property
    def limited(self) -> Mapping[str, Any]:
        """Shares of time, by what limited the sender."""
        shares: Mapping[str, Any] = self.figures["limited"] or {}
        return shares

    def limited_share(self, by: str) -> float:
        """The share of time with this limit; 0 if unknown."""
        return self.limited.get(by) or 0.0

    @property
    def segment(self) -> int:
        """Payload of a full segment in bytes."""
        return int(self.figures["largest_segment_bytes"]) or FULL_BYTES

    @property
    def loss_events(self) -> int:
        """Recoveries and timeouts."""
        return int(self.figures["repairs"]["recoveries"] + self.figures["repairs"]["timeouts"])

    @property
    def not_needed(self) -> int:
        """Spurious retransmissions.

        The receiver's capture has more evidence of them: D-SACKs may be lost on the path.
        """
        ends = (self.figures, self.arriving or self.figures)
        return max(int(figures["spurious_retransmits"]) for figures in ends)

    @property
    def loss_rate(self) -> float:
        """Loss events per segment, the p of throughput models."""
        return self.loss_events / max(1, int(self.figures["segments"]))


def size(count: float) -> str:
    """Bytes with a decimal prefix: 850 B, 17 KB, 1.1 MB."""
    for factor, unit in ((1e6, "MB"), (1e3, "KB")):
        if count >= factor:
            return f"{count / factor:.{0 if count / factor >= 10 else 1}f} {unit}"
    return f"{count:.0f} B"


def share(value: float) -> str:
    """A share in percent without decimals."""
    return f"{100 * value:.0f} %" if value >= 0.01 else "<1 %"


def span(seconds: float) -> str:
    """A time: `3.1 ms`, `12 s`."""
    return milliseconds(1e3 * seconds) if seconds < 1.0 else f"{seconds:.3g} s"


def waiting(ms: float) -> str:
    """Time in a queue; below half a millisecond `less than 1 ms`."""
    return milliseconds(ms) if ms >= 0.5 else "less than 1 ms"


def many(number: int, noun: str) -> str:
    """1 timeout, 2 timeouts."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
