"""Bytes and seconds of a measurement: what it has taken, what the rest of its plan may take, and
what of the plan does not fit.

A metered link has a price for each byte, so `ByteBudget` counts everything: datagrams and TCP in
both directions, retransmissions, ACKs, and the far end's reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.documents.engine import FlowOutcome, TestResult, TestSpec
    from ackclock.documents.measure import LeftOut, Shortened

TCP_IP_HEADERS = 52
"""IPv4, TCP and its timestamp option."""
SEGMENT = 1448
ACKS = TCP_IP_HEADERS / (2 * (SEGMENT + TCP_IP_HEADERS))
"""Bytes of ACKs for each byte of full segments: one for two segments (RFC 9293, 3.8.6.3)."""
UDP_IP_HEADERS = 48
"""IPv6 and UDP: the larger headers."""
ROW_BYTES = 20
"""Bytes of a report for a datagram at most."""
SAMPLE_BYTES = 150
"""Bytes of a report for a sample of TCP_INFO at most."""
CONNECTION_BYTES = 1_000
"""Handshakes, hello and end of a connection, in both directions."""
RETRANSMITTED = 0.05
"""Allowance for the retransmissions of a transfer of fixed size."""
MIN_S = 1.0
"""A shorter test shows nothing."""


def cost(spec: TestSpec) -> float:
    """The bytes of IP that a test takes at most, in both directions, with its report; infinite for
    bulk transfers without a maximum.
    """
    if "datagrams" in spec:
        trains = [train for train in (spec["datagrams"]["down"], spec["datagrams"]["up"]) if train is not None]
        return sum(train["count"] * (train["payload"] + UDP_IP_HEADERS + ROW_BYTES) for train in trains)
    if "transfers" in spec:
        transfers = spec["transfers"]
        return transfers["count"] * (with_headers(transfers["bytes"]) * (1 + RETRANSMITTED) + CONNECTION_BYTES)
    bulk = spec["bulk"]
    limit = bulk.get("max_bytes")
    return float("inf") if limit is None else limit * (1 + ACKS) + _overhead(spec)


def _overhead(spec: TestSpec) -> float:
    """Connections and samples of a bulk test."""
    bulk = spec["bulk"]
    connections = bulk["down"] + bulk["up"]
    samples = connections * (bulk["duration_ns"] / bulk["sample_ns"] + 2)
    return connections * CONNECTION_BYTES + samples * SAMPLE_BYTES


def bounded(spec: TestSpec, max_bytes: float) -> TestSpec:
    """A bulk test whose `cost` is at most ``max_bytes``."""
    limit = max(1, int((max_bytes - _overhead(spec)) / (1 + ACKS)))
    return {"bulk": {**spec["bulk"], "max_bytes": limit}}


def with_headers(payload: float) -> float:
    """Bytes of IP of a payload in full segments, with their ACKs."""
    return payload * (1 + TCP_IP_HEADERS / SEGMENT) * (1 + ACKS)


def ip_bytes(test: TestResult) -> int:
    """IP bytes that a test sent in both directions, without ACKs: datagrams with their headers, and
    TCP payload with its retransmissions and headers."""
    datagrams = sum(figures["sent"] * figures["ip_bytes"] for figures in test["directions"])
    return int(datagrams + tcp_bytes(test))


def tcp_bytes(test: TestResult) -> int:
    """IP bytes of a test's TCP segments with data."""
    far: Mapping[int, FlowOutcome] = {flow["flow"]: flow for flow in test["far_flows"]}
    size = 0
    for near in test["near_flows"]:
        other = far.get(near["flow"])
        sender, receiver = (near, other) if near["sends"] else (other, near)
        arrived = receiver["bytes"] if receiver else 0
        if sender is None:
            size += arrived
            continue
        # A bulk transfer ends with segments in flight, which the receiver does not count, and with
        # data in the sender's buffer, which is discarded.
        again = sender["retransmitted"] * sender["mss"]
        sent = min(sender["segments_sent"] * sender["mss"], sender["bytes"] + again) if "bulk" in test["spec"] else 0
        size += max(arrived + again, sent) + sender["segments_sent"] * TCP_IP_HEADERS
    return size


def used_bytes(tests: Sequence[TestResult], control_bytes: int, probe_bytes: int) -> int:
    """IP bytes of all tests with their ACKs and handshakes, of the control connection and of the
    probes of ``path``.
    """
    connections = sum(len(test["near_flows"]) for test in tests)
    tcp = sum(map(tcp_bytes, tests)) + control_bytes
    datagrams = sum(map(ip_bytes, tests)) + control_bytes - tcp
    return round(datagrams + tcp * (1 + ACKS) + connections * CONNECTION_BYTES + probe_bytes)


@dataclass
class ByteBudget:
    """The bytes that a measurement may take (``max_bytes``), has taken (``used``) and leaves to
    other parts than tests (``reserved``); and what was left out of the plan or shortened.
    """

    max_bytes: int
    used: int = 0
    reserved: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    shortened: list[Shortened] = field(default_factory=list)

    @property
    def left(self) -> float:
        """Bytes that further tests may take."""
        return float(max(0, self.max_bytes - self.used - self.reserved))

    def leave_out(self, test: str, label: str) -> None:
        """Note a part of the plan that does not fit."""
        self.left_out.append({"test": test, "label": label})

    def shorten(self, test: str, seconds: float, planned_s: float) -> None:
        """Note that the runs of a test are shorter than planned."""
        if not any(one["test"] == test for one in self.shortened):
            self.shortened.append({"test": test, "seconds": round(seconds, 3), "planned_s": planned_s})


@dataclass
class Pace:
    """How long tests take beside their estimates: on a busy machine they take longer."""

    estimated_s: float = 0.0
    taken_s: float = 0.0

    def finished(self, estimated_s: float, taken_s: float) -> None:
        """Count a finished test."""
        self.estimated_s += estimated_s
        self.taken_s += taken_s

    @property
    def factor(self) -> float:
        """The time of a test over its estimate, at least 1."""
        return max(1.0, self.taken_s / self.estimated_s) if self.estimated_s else 1.0
