"""What a diagnosis needs of the whole capture: rates by host, the flow in the second capture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import ENOUGH_BYTES, FlowContext

Flow = Mapping[str, Any]
DIRECTIONS = ("a2b", "b2a")


class CaptureContext(ABC):
    """A capture as the rules see it. Each method takes constant time for a flow."""

    @property
    @abstractmethod
    def head(self) -> Mapping[str, Any]:
        """The document's figures of the whole capture, and of the second in `second`."""

    @abstractmethod
    def partner(self, flow: Flow) -> Flow | None:
        """The same flow in the second capture."""

    @abstractmethod
    def with_ends_of(self, flow: Flow) -> tuple[int, list[Flow]]:
        """The flows with this flow's addresses and ports: in the first of two captures their
        number, in the second the flows; none with one capture.
        """

    @abstractmethod
    def rate_of_others(self, flow: Flow, direction: str) -> float:
        """The rate at which the sender of this flow's direction sends in its other flows, bit/s."""

    def flow_contexts(self, flow: Flow) -> list[FlowContext]:
        """The contexts of both directions, if they have enough data for a diagnosis."""
        both = (self.flow_context(flow, direction) for direction in DIRECTIONS)
        return [context for context in both if context.figures["unique_bytes"] >= ENOUGH_BYTES]

    def flow_context(self, flow: Flow, direction: str) -> FlowContext:
        """The context of one direction, from the capture nearer to its sender."""
        crossing = flow[direction] if "lost" in flow[direction] else {}
        source = flow
        if crossing.get("sender_side_capture") == 2:
            source = self.partner(flow) or flow
        back = {"a2b": "b2a", "b2a": "a2b"}[direction]
        behind = flow[back] if "lost" in flow[back] else {}
        far = (self.partner(flow) if source is flow else flow) if crossing else None
        arriving = None if far is None else far[direction]
        second = self.partner(flow)
        return FlowContext(
            flow,
            direction,
            source[direction],
            source[back],
            source["vantage"]["place"],
            crossing,
            behind,
            self.rate_of_others(flow, back),
            arriving,
            None if second is None else second["handshake"],
        )


class DocumentContext(CaptureContext):
    """The context of a document with all its flows, indexed in one pass over them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._rates = HostRates(document["flows"])
        self._second: list[Flow] = document["second"]["flows"] if "second" in document else []
        self._partners: dict[int, int] = dict(document.get("partners", ()))
        self._by_ends = [_by_ends(document["flows"]), _by_ends(self._second)] if self._second else []

    @property
    def head(self) -> Mapping[str, Any]:
        return self._document

    def partner(self, flow: Flow) -> Flow | None:
        number = self._partners.get(flow["flow"], 0)
        return self._second[number - 1] if 0 < number <= len(self._second) else None

    def with_ends_of(self, flow: Flow) -> tuple[int, list[Flow]]:
        here, there = (by_ends.get(_ends(flow), []) for by_ends in self._by_ends) if self._by_ends else ([], [])
        return len(here), there

    def rate_of_others(self, flow: Flow, direction: str) -> float:
        return self._rates.of_others(flow, direction)


class HostRates:
    """The throughput of each host's flows, in bit/s, each over its own duration."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self._total: defaultdict[str, float] = defaultdict(float)
        self._directions: defaultdict[str, int] = defaultdict(int)
        for flow in flows:
            for host, bps in _sent(flow):
                self._total[host] += bps
                self._directions[host] += 1

    def of_others(self, flow: Flow, direction: str) -> float:
        """The rate at which the sender of this flow's direction sends in its other flows, bit/s."""
        host = _sender(flow, direction)
        own = [bps for sender, bps in _sent(flow) if sender == host]
        # The difference of equal sums need not be 0 in floating point.
        return self._total[host] - sum(own) if self._directions[host] > len(own) else 0.0


def _sent(flow: Flow) -> list[tuple[str, float]]:
    """The sender's address and the throughput of each direction with data."""
    return [
        (_sender(flow, direction), float(flow[direction]["throughput_bps"]))
        for direction in DIRECTIONS
        if flow[direction]["throughput_bps"]
    ]


def _sender(flow: Flow, direction: str) -> str:
    """The address of a direction's sender, without its port."""
    return str(flow["client" if direction == "a2b" else "server"]).rpartition(":")[0]


def _ends(flow: Flow) -> tuple[str, str]:
    return flow["client"], flow["server"]


def _by_ends(flows: Iterable[Flow]) -> dict[tuple[str, str], list[Flow]]:
    found: defaultdict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in flows:
        found[_ends(flow)].append(flow)
    return dict(found)
