"""One direction of a flow of a document, from the capture nearer to its sender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock import _native

if TYPE_CHECKING:
    from ackclock.documents.analyze import Side
    from ackclock.documents.engine import DirectionReport, FlowReport, Report

SIDES: tuple[Side, Side] = ("a2b", "b2a")
_BACK: Mapping[Side, Side] = {"a2b": "b2a", "b2a": "a2b"}


@dataclass(frozen=True, slots=True)
class DirectionView:
    """One direction.

    `figures` are from the capture near its sender, `crossing` from both captures (None with one).
    """

    flow: FlowReport
    direction: Side
    figures: DirectionReport
    other: DirectionReport
    """The opposite direction in the same capture."""
    place: str
    crossing: DirectionReport | None = None
    back: DirectionReport | None = None
    """As `crossing`, in the direction of the ACKs."""
    arriving: DirectionReport | None = None
    """This direction's figures from the capture near its receiver, with two captures."""

    @property
    def capture(self) -> int:
        """The number of the capture near its sender, from 1."""
        return self.crossing["sender_side_capture"] if self.crossing else 1

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
        """Whether the capture shows the sender's flight and RTT."""
        limited = self.figures["limited"]
        return limited is not None and limited["path_rate"] is not None

    @property
    def not_needed(self) -> int:
        """Spurious retransmissions, by the capture with more evidence of them."""
        ends = (self.figures, self.arriving or self.figures)
        return max(figures["spurious_retransmits"] for figures in ends)

    def limit_shares(self) -> dict[str, float]:
        """The share of the direction's time by kind of limit (`ackclock.limit_words.KINDS` without
        pacing, whose time counts for `cwnd`), 0 where it is unknown.
        """
        data_ms, acks_ms = (one and one.get("one_way_delay_ms") for one in (self.crossing, self.back))
        limited = self.figures["limited"] or {"recovery": 0.0}
        return _native.capture_limit_shares(limited, data_ms, acks_ms, self.figures["rtt_ms"]["min"] or 0.0)


class DirectionViews:
    """The directions of a document's flows."""

    def __init__(self, document: Report) -> None:
        self._second: list[FlowReport] = document["second"]["flows"] if "second" in document else []
        self._partners: dict[int, int] = dict(document.get("partners", ()))

    def of(self, flow: FlowReport, direction: Side) -> DirectionView:
        """The view of one direction, from the capture nearer to its sender."""
        both = (flow[direction], flow[_BACK[direction]])
        crossing, back = (figures if "lost" in figures else None for figures in both)
        number = self._partners.get(flow["flow"], 0)
        partner = self._second[number - 1] if 0 < number <= len(self._second) else None
        source = (partner or flow) if crossing and crossing["sender_side_capture"] == 2 else flow
        far = (partner if source is flow else flow) if crossing else None
        return DirectionView(
            flow,
            direction,
            source[direction],
            source[_BACK[direction]],
            source["vantage"]["place"],
            crossing,
            back,
            None if far is None else far[direction],
        )
