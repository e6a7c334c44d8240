"""The peer: a TCP receiver of its own, as far as a dialogue needs one."""

from __future__ import annotations

from dataclasses import dataclass, field

from studies.dialogues.generator.packets import Options, Packet


@dataclass(frozen=True)
class PeerConfig:
    """The peer's options and habits.

    Attributes:
        mss, wscale, sack, timestamps, ecn: what its SYN offers.
        dsack: reports segments that arrive twice (RFC 2883).
        ack_every: segments in order for one ACK, 1 or 2.
        ack_delay_ms: how long an ACK for a single segment waits, with `ack_every` of 2.
        window: bytes that it advertises after the SYN, if its buffer is not modelled.
        buffer: bytes of a receive buffer whose free part is the window (None: `window` for ever).
        read_ms, read_bytes: how often its application reads, and how much.
    """

    mss: int = 1000
    wscale: int | None = 7
    sack: bool = True
    timestamps: bool = False
    ecn: bool = False
    dsack: bool = True
    ack_every: int = 1
    ack_delay_ms: float = 40.0
    window: int = 262_016
    buffer: int | None = None
    read_ms: float = 50.0
    read_bytes: int = 2000

    @property
    def payload(self) -> int:
        """Bytes of payload in a full segment: the MSS less the timestamps of each segment."""
        return self.mss - (12 if self.timestamps else 0)

    def syn_options(self, echo: int | None, now: float) -> Options:
        """Options of its SYN; `echo`: the host's timestamp, None if there is none yet."""
        times = (timestamp(now), echo or 0) if self.timestamps else None
        return Options(self.mss, self.wscale, self.sack, times)


def timestamp(now: float) -> int:
    """The peer's clock: a millisecond a tick, 1000 at the start."""
    return 1000 + int(now)


@dataclass
class Receiver:
    """What the peer has received.

    `reply` and `window_update` say whether a packet to the host is due; `packet` makes it.
    """

    config: PeerConfig
    expected: int = 1
    sent: int = 1
    """The next sequence number that the peer sends."""
    fin: bool = False
    echo: int = 0
    """The host's timestamp that the next packet echoes."""
    _blocks: list[tuple[int, int]] = field(default_factory=list)
    _duplicate: tuple[int, int] | None = None
    _waiting: int = 0
    _since: float = 0.0
    _buffered: int = 0
    _advertised: int = 0
    _echo_ce: bool = False

    def receive(self, now: float, packet: Packet, marked: bool) -> bool:
        """A packet from the host arrives. Returns whether an ACK leaves at once."""
        config = self.config
        if self.config.ecn:
            if "W" in packet.flags:
                self._echo_ce = False
            if marked:
                self._echo_ce = True
        times = packet.options.timestamps
        if times and packet.seq <= self.expected:
            self.echo = times[0]
        if not packet.payload and "F" not in packet.flags:
            # A probe, or an ACK of the peer's data.
            return packet.seq < self.expected
        if packet.end <= self.expected:
            self._duplicate = (packet.seq, packet.end) if config.dsack else None
            return True
        if config.buffer is not None and packet.end > self.expected + self._free():
            return True
        if packet.seq > self.expected:
            self._add(packet.seq, packet.end)
            return True
        before = self.expected
        filled = bool(self._blocks)
        self.expected = packet.end
        self._merge()
        self._buffered += self.expected - before
        self.fin |= "F" in packet.flags
        self._waiting += 1
        self._since = now if self._waiting == 1 else self._since
        return filled or marked or "F" in packet.flags or self._waiting >= config.ack_every

    def _add(self, start: int, end: int) -> None:
        """A block above a gap; the newest is first (RFC 2018, section 4)."""
        if any(low <= start and end <= high for low, high in self._blocks):
            self._duplicate = (start, end) if self.config.dsack else None
        touching = [block for block in self._blocks if block[0] <= end and start <= block[1]]
        self._blocks = [block for block in self._blocks if block not in touching]
        low, high = min([start, *(b[0] for b in touching)]), max([end, *(b[1] for b in touching)])
        self._blocks.insert(0, (low, high))

    def _merge(self) -> None:
        for low, high in sorted(self._blocks):
            if low <= self.expected:
                self.expected = max(self.expected, high)
                self._blocks.remove((low, high))

    def _free(self) -> int:
        return self.config.window if self.config.buffer is None else max(0, self.config.buffer - self._buffered)

    def delayed_until(self) -> float | None:
        """When an ACK that waits leaves."""
        return self._since + self.config.ack_delay_ms if self._waiting else None

    def read(self) -> bool:
        """The application reads. Returns whether a window update leaves (RFC 9293, section
        3.8.6.2.2).
        """
        if self.config.buffer is None:
            return False
        self._buffered -= min(self._buffered, self.config.read_bytes)
        return self._free() - self._advertised >= min(self.config.payload, self.config.buffer // 2)

    def acknowledges(self) -> Packet:
        """The ACK that leaves now."""
        sack: tuple[tuple[int, int], ...] = ()
        if self.config.sack:
            first = (self._duplicate,) if self._duplicate else ()
            blocks = [block for block in self._blocks if block not in first]
            sack = (*first, *blocks)[: 3 if self.config.timestamps else 4]
        self._duplicate = None
        self._waiting = 0
        self._advertised = self._free()
        flags = "E." if self._echo_ce else "."
        return Packet(flags, self.sent, 0, self.expected, self.field(), Options(sack=sack))

    def field(self) -> int:
        """The window field."""
        return min(0xFFFF, self._free() >> (self.config.wscale or 0))
