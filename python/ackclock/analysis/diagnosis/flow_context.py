"""What a rule looks at: one direction of a flow, from the capture that sees it best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.format import milliseconds

ENOUGH_BYTES = 20_000
"""A direction with less data than this has no steady state to speak of."""
FULL_BYTES = 1460


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement. `share` is of the direction's time, None where time is not what it is about; `advice` is what would help, if anything."""

    direction: str
    finding: str
    evidence: str
    share: float | None = None
    advice: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it stands in the document."""
        return {
            "direction": self.direction,
            "finding": self.finding,
            "share": self.share,
            "evidence": self.evidence,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class FlowContext:
    """One direction: `figures` from the capture near its sender, `crossing` from both captures together (empty with one)."""

    flow: Mapping[str, Any]
    direction: str
    figures: Mapping[str, Any]
    other: Mapping[str, Any]
    """The opposite direction in the same capture."""
    place: str
    crossing: Mapping[str, Any] = field(default_factory=dict)
    back: Mapping[str, Any] = field(default_factory=dict)
    """The crossing of the ACKs' way."""
    shared_bps: float = 0.0
    """What other flows sent the ACKs' way from the receiver's host, bit/s."""
    arriving: Mapping[str, Any] | None = None
    """This direction's figures from the capture near its receiver, where there are two."""

    @property
    def at_sender(self) -> bool:
        """The capture shows what this direction's sender saw."""
        return self.place == {"a2b": "client", "b2a": "server"}[self.direction]

    @property
    def far(self) -> bool:
        """The capture is known to be elsewhere than at this direction's sender: its round trips and flight are not the sender's."""
        return not self.at_sender and self.place != "unknown"

    @property
    def pace_seen(self) -> bool:
        """The capture is where the sender's flight and round trips can be seen: elsewhere ACKs follow data at once, as if nothing waited."""
        return (self.figures["limited"] or {}).get("path_rate") is not None

    @property
    def waits_closed(self) -> bool:
        """The sender probed a closed window: it had data waiting (RFC 9293, 3.8.6.1)."""
        return bool(self.figures["zero_windows"] and self.figures["zero_window_probes"])

    @property
    def limited(self) -> Mapping[str, Any]:
        """Shares of time by what held the sender."""
        shares: Mapping[str, Any] = self.figures["limited"] or {}
        return shares

    def held(self, by: str) -> float:
        """The share of time in which this held the sender; 0 where that cannot be seen."""
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
        """Retransmissions of what had arrived. The receiver's end knows of more of them: D-SACKs are lost on their way as other ACKs are."""
        ends = (self.figures, self.arriving or self.figures)
        return max(int(figures["spurious_retransmits"]) for figures in ends)

    @property
    def loss_rate(self) -> float:
        """Loss events a segment: what the models of a transfer's rate mean by p."""
        return self.loss_events / max(1, int(self.figures["segments"]))


def views(document: Mapping[str, Any], flow: Mapping[str, Any]) -> list[FlowContext]:
    """Both directions of a flow, where they have enough data."""
    return [v for way in ("a2b", "b2a") if (v := flow_context(document, flow, way)).figures["unique_bytes"] >= ENOUGH_BYTES]


def flow_context(document: Mapping[str, Any], flow: Mapping[str, Any], way: str) -> FlowContext:
    """One direction, by the capture nearer its sender."""
    crossing = flow[way] if "lost" in flow[way] else {}
    source = flow
    if crossing.get("sender_side_capture") == 2:
        source = partner(document, flow) or flow
    back = {"a2b": "b2a", "b2a": "a2b"}[way]
    behind = flow[back] if "lost" in flow[back] else {}
    shared = _shared_bps(document, flow, back)
    far = (partner(document, flow) if source is flow else flow) if crossing else None
    arriving = None if far is None else far[way]
    return FlowContext(flow, way, source[way], source[back], source["vantage"]["place"], crossing, behind, shared, arriving)


def _shared_bps(document: Mapping[str, Any], flow: Mapping[str, Any], back: str) -> float:
    """What the host that sends `back` sends in other flows, bit/s over each flow's own time."""
    total = 0.0
    for other in document["flows"]:
        for way in ("a2b", "b2a"):
            if other["flow"] != flow["flow"] and _sender(other, way) == _sender(flow, back):
                total += float(other[way]["throughput_bps"] or 0.0)
    return total


def _sender(flow: Mapping[str, Any], way: str) -> str:
    """The address that sends this way, without its port."""
    return str(flow["client" if way == "a2b" else "server"]).rpartition(":")[0]


def partner(document: Mapping[str, Any], flow: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same flow in the second capture."""
    for first, second in document.get("partners", ()):
        if first == flow["flow"]:
            found: Mapping[str, Any] = document["second"]["flows"][second - 1]
            return found
    return None


def size(count: float) -> str:
    """Bytes with a decimal prefix: 850 B, 17 KB, 1.1 MB."""
    for factor, unit in ((1e6, "MB"), (1e3, "KB")):
        if count >= factor:
            return f"{count / factor:.{0 if count / factor >= 10 else 1}f} {unit}"
    return f"{count:.0f} B"


def share(value: float) -> str:
    """A share in whole percent."""
    return f"{100 * value:.0f} %" if value >= 0.01 else "<1 %"


def waiting(ms: float) -> str:
    """Time in a queue; below half a millisecond there is none to speak of."""
    return milliseconds(ms) if ms >= 0.5 else "less than 1 ms"


def many(number: int, noun: str) -> str:
    """1 timeout, 2 timeouts."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
