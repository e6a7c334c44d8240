"""The p95 delay of a sparse flow, one way or RTT, with the time that its lost packets cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.documents.simulate import SimulatedFlow

SPARSE = "sparse_"
"""What precedes the direction in the name of a sparse flow."""
PROBE_BYTES = 64
"""IP size of a sparse packet."""
PROBE_SHARE = 0.01
"""Maximum share of a link's rate that a sparse flow takes."""
SPARSE_EVERY_S = 0.02
"""Minimum spacing of the sparse packets, that of a voice call (RFC 3551, section 4.2)."""
UNKNOWN_BPS = 1e7
"""The rate of a path without one, for spacings."""
MIN_SPARSE = 20
"""Minimum number of sparse packets in a run."""
QUANTILE = 0.95
TIMEOUT_S = 1.0
"""After this time a sender without an RTT sample sends a packet again, and doubles the time at each
further loss: the initial RTO (RFC 6298, section 2.1), about the initial PTO (RFC 9002, 6.2.2)."""
MAX_TIMEOUTS = 6
"""Maximum number of retransmissions in a row: the p95 is 63 s at most, and the delay."""


@dataclass(frozen=True, slots=True)
class SparseDelays:
    """The one-way delays of the sparse packets of one direction.

    Attributes:
        sent: number of the packets that arrived or were lost; 0 without any.
        lost: number of those that were lost.
        p95_ms: the p95 of all of them, a lost one as infinite (RFC 7679, section 5.1); None where
            it is infinite.
        arrived_p95_ms: the p95 of those that arrived; None without any.
    """

    sent: int
    lost: int
    p95_ms: float | None
    arrived_p95_ms: float | None

    @classmethod
    def of_row(cls, flow: SimulatedFlow) -> SparseDelays:
        """Those of a flow of datagrams at equal times in a summary (docs/inside/plan.md).

        The last packets of a run may be in flight. As many as the maximum delay, 1 s at least,
        explains are left out; further ones are lost.
        """
        delay = flow["one_way_delay_ms"]
        sent, lost = int(flow["segments_sent"]), int(flow["datagrams"]["lost"])
        every_s = (flow["end_s"] - (flow["host_start_s"] or 0.0)) / sent if sent else math.inf
        open_end = max(0, sent - lost - delay["count"])
        lost += max(0, open_end - math.ceil(max((delay["max"] or 0.0) / 1e3, TIMEOUT_S) / every_s))
        known = delay["count"] + lost
        finite = _rank(known) <= delay["count"]
        return cls(known, lost, flow["datagrams"]["delay_p95_ms"] if finite else None, delay["p95"])

    @classmethod
    def of_delays(cls, delays_ms: Sequence[float], sent: int) -> SparseDelays:
        """Those of measured delays of `sent` packets."""
        ordered = sorted(delays_ms)
        known = max(sent, len(ordered))
        rank, arrived = _rank(known), _rank(len(ordered))
        return cls(
            known,
            known - len(ordered),
            ordered[rank - 1] if 0 < rank <= len(ordered) else None,
            ordered[arrived - 1] if ordered else None,
        )

    @property
    def lost_share(self) -> float:
        """Lost packets as a share of the sent ones; 1 without any."""
        return self.lost / self.sent if self.sent else 1.0


def sparse_every_s(bps: float | None, duration_s: float) -> float:
    """The spacing of the sparse packets in s over a path of a rate in b/s (None: without one):
    little of the rate, and `MIN_SPARSE` packets at least in a run of a duration in s.
    """
    spaced_s = 8 * PROBE_BYTES / (PROBE_SHARE * (bps or UNKNOWN_BPS))
    return min(max(SPARSE_EVERY_S, spaced_s), duration_s / MIN_SPARSE)


def sparse_tables(every_s: Mapping[str, float]) -> list[dict[str, Any]]:
    """The [[flow]] tables of small UDP packets that show the delay of others, by direction one
    every so many seconds.
    """
    return [
        {
            "name": f"{SPARSE}{direction}",
            "direction": direction,
            "workload": {
                "kind": "cbr",
                "rate": f"{max(round(8 * PROBE_BYTES / spacing), 1)} b/s",
                "packet": f"{PROBE_BYTES} B",
            },
        }
        for direction, spacing in every_s.items()
    ]


def path_lost_share(sides: Sequence[SparseDelays]) -> float:
    """The share of the packets that are lost in one of the directions of `sides`: of one direction
    its own, of both the round trips that lose a packet.
    """
    return 1.0 - math.prod(1.0 - side.lost_share for side in sides)


def path_p95_ms(sides: Sequence[SparseDelays]) -> float:
    """The p95 delay over the directions of `sides`, one or both (an RTT): the sum of the p95
    one-way delays, and the timeouts of a sender that sends a packet again until at most 5 % are
    lost. Each attempt is lost with the same probability.
    """
    lost, timeouts = path_lost_share(sides), 0
    while lost ** (timeouts + 1) > 1.0 - QUANTILE + 1e-9 and timeouts < MAX_TIMEOUTS:
        timeouts += 1
    waited_ms = 1e3 * TIMEOUT_S * (2.0**timeouts - 1.0)
    delays = [side.arrived_p95_ms if timeouts or side.p95_ms is None else side.p95_ms for side in sides]
    return waited_ms + math.fsum(delay or 0.0 for delay in delays)


def _rank(count: int) -> int:
    """The nearest rank of the p95 among `count` values, 1 for the smallest; 0 without values."""
    return math.ceil(QUANTILE * count - 1e-9)
