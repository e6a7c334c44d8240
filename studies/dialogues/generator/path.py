"""A link between the host and the peer: when packets arrive, if at all. Times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from studies.dialogues.generator.packets import Packet


@dataclass(frozen=True)
class PathConfig:
    """A link and its impairments.

    Attributes:
        forward_ms, back_ms: delay from the host to the peer, and back.
        service_ms: time of the bottleneck for a segment with payload.
        loss: probability that a segment with payload is lost; `lost_again`: a retransmission.
        lost: ordinals of first transmissions that are lost, from 0.
        ack_loss: probability that an ACK of the peer is lost.
        blackouts: from and to, when nothing from the host arrives.
        stalls: from and to, during which packets from the host are held.
        ack_stalls: the same for packets from the peer.
        overtaken: probability that a segment is late by `places` service times, and 1 to how many.
        twice: probability that a segment arrives twice.
        marks: ordinals of first transmissions that are marked CE; `mark`: probability of others.
        growth_ms: how much the delay grows with each first transmission.
    """

    forward_ms: float
    back_ms: float
    service_ms: float = 2.0
    loss: float = 0.0
    lost_again: float = 0.0
    lost: frozenset[int] = frozenset()
    ack_loss: float = 0.0
    blackouts: tuple[tuple[float, float], ...] = ()
    stalls: tuple[tuple[float, float], ...] = ()
    ack_stalls: tuple[tuple[float, float], ...] = ()
    overtaken: float = 0.0
    places: int = 0
    twice: float = 0.0
    marks: frozenset[int] = frozenset()
    mark: float = 0.0
    growth_ms: float = 0.0


@dataclass(frozen=True)
class Arrival:
    """When a packet arrives at the peer, and whether it is marked CE."""

    at_ms: float
    marked: bool = False


@dataclass
class LinkPath:
    """The link's state in one dialogue."""

    config: PathConfig
    rng: Random
    _free: float = 0.0
    _ordinal: int = 0
    highest: int = 0
    """The sequence number after the last byte that the host has sent."""

    def forward(self, now: float, packet: Packet, segments: int = 1) -> list[Arrival]:
        """Arrivals of a packet from the host; `segments`: how many of the MSS it has."""
        config, rng = self.config, self.rng
        first = packet.end > self.highest
        ordinal = self._ordinal
        lost = marked = False
        extra = 0.0
        if packet.payload:
            self._free = max(self._free, now) + config.service_ms * segments
            leaves = self._free
            if first:
                self._ordinal += segments
                self.highest = packet.end
                lost = any(number in config.lost for number in range(ordinal, ordinal + segments))
                marked = ordinal in config.marks
                lost |= rng.random() < config.loss
            else:
                lost = rng.random() < config.lost_again
            marked |= packet.ecn == "ect0" and rng.random() < config.mark
            if rng.random() < config.overtaken:
                extra = config.service_ms * (rng.randint(1, config.places) + 0.5)
        else:
            leaves = max(self._free, now)
        arrives = leaves + config.forward_ms + extra + config.growth_ms * ordinal
        if lost or _within(now, config.blackouts) is not None:
            return []
        arrives = max(arrives, _within(arrives, config.stalls) or 0.0)
        found = [Arrival(arrives, marked and packet.ecn == "ect0")]
        if packet.payload and rng.random() < config.twice:
            found.append(Arrival(arrives + config.service_ms, marked and packet.ecn == "ect0"))
        return found

    def back(self, now: float) -> float | None:
        """When a packet of the peer arrives at the host; None if it is lost."""
        if self.rng.random() < self.config.ack_loss:
            return None
        arrives = now + self.config.back_ms
        return max(arrives, _within(arrives, self.config.ack_stalls) or 0.0)


def _within(at: float, intervals: tuple[tuple[float, float], ...]) -> float | None:
    """The end of the interval that holds this time."""
    return next((end for start, end in intervals if start <= at < end), None)
