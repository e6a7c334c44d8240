"""How early or late beside its recorded time a timer of the host may expire elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from studies.dialogues.generator.packets import Packet

SLOTS_MS = ((250.0, 10.0), (2000.0, 38.0))
"""Up to a timer's time, how much later it expires at 250 ticks a second: slots of the timer wheel
are 1 tick wide below 64 ticks, 8 below 512, then 64 (kernel/time/timer.c), and probe and reordering
timers are set two ticks later. packetdrill's margin of 4 ms comes on top."""
LONGEST_MS = 264.0


@dataclass
class TimerSlack:
    """What is known of when the host's timers were set.

    Retransmission, probe and keep-alive timers count from the last acknowledgment of new data, from
    data that is sent when nothing is outstanding, or from the timer before, whose lateness they
    inherit. The timer of a delayed ACK counts from the last event.
    """

    _set: float = 0.0
    _event: float = 0.0
    _inherited: float = 0.0
    _acked: int = 0
    _highest: int = 0

    def event(self, at: float, packet: Packet | None = None) -> None:
        """A packet from the peer, or a call."""
        self._event = at
        if packet and packet.ack is not None and packet.ack > self._acked:
            self._acked = packet.ack
            self._restart(at)

    def answer(self, at: float, packet: Packet) -> None:
        """A packet that the host sent in answer to an event."""
        if packet.end > packet.seq and self._highest <= self._acked:
            self._restart(at)
        self._highest = max(self._highest, packet.end)

    def _restart(self, at: float) -> None:
        self._set, self._inherited = at, 0.0

    def timer(self, at: float, packet: Packet) -> float:
        """A packet that a timer sent. Returns its slack in milliseconds."""
        acknowledges = packet.end == packet.seq and packet.seq >= self._highest
        since = at - (self._event if acknowledges else self._set)
        slack = next((late for limit, late in SLOTS_MS if since < limit), LONGEST_MS)
        if acknowledges:
            return slack
        slack += self._inherited
        self._set, self._inherited = at, slack
        self._highest = max(self._highest, packet.end)
        return slack
