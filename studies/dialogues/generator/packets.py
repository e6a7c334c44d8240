"""TCP packets as a script writes them and as bytes of a TUN device."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

FLAGS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, ".": 0x10, "E": 0x40, "W": 0x80}
"""The flags in packetdrill's letters (RFC 9293, section 3.1; RFC 3168, section 6.1)."""
_ORDER = "SFREWP."
ECN = ("noecn", "ect1", "ect0", "ce")
"""The codepoints of the IP header's ECN field, by value (RFC 3168, section 5)."""
_M32 = 0xFFFF_FFFF


@dataclass(frozen=True)
class Options:
    """TCP options (RFC 9293, RFC 7323, RFC 2018). None or empty: absent."""

    mss: int | None = None
    wscale: int | None = None
    sack_ok: bool = False
    timestamps: tuple[int, int] | None = None
    sack: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Packet:
    """A TCP packet. Numbers count from 0 at the SYN of their direction, as in a script.

    Attributes:
        flags: letters of `FLAGS`.
        seq, ack: sequence and acknowledgment number; no ack without the flag `.`.
        payload: bytes of payload.
        window: the header's window field, not scaled.
        ecn: the codepoint, one of `ECN`.
    """

    flags: str
    seq: int
    payload: int = 0
    ack: int | None = None
    window: int = 0
    options: Options = field(default_factory=Options)
    ecn: str = "noecn"

    def has(self, flag: str) -> bool:
        """Whether the flag is set."""
        return flag in self.flags

    @property
    def end(self) -> int:
        """The sequence number after the last byte; SYN and FIN count as one."""
        return self.seq + self.payload + ("S" in self.flags) + ("F" in self.flags)


@dataclass(frozen=True)
class Address:
    """An end's address and port."""

    ip: str
    port: int


@dataclass
class Codec:
    """Packets of one connection to and from bytes.

    Attributes:
        host, peer: the ends.
        peer_start: the peer's initial sequence number.
        host_start: the host's, known from its first SYN.
    """

    host: Address
    peer: Address
    peer_start: int
    host_start: int | None = None

    def encode(self, packet: Packet) -> bytes:
        """A packet from the peer, with valid checksums."""
        options = self._options(packet.options)
        start = self.host_start or 0
        ack = 0 if packet.ack is None else (packet.ack + start) & _M32
        flags = sum(FLAGS[letter] for letter in packet.flags)
        offset = (20 + len(options)) // 4
        header = struct.pack(
            "!HHIIBBHHH",
            self.peer.port,
            self.host.port,
            (packet.seq + self.peer_start) & _M32,
            ack,
            offset << 4,
            flags,
            packet.window,
            0,
            0,
        )
        body = header + options + bytes(packet.payload)
        source, target = ip_address(self.peer.ip), ip_address(self.host.ip)
        ecn = ECN.index(packet.ecn)
        pseudo = source.packed + target.packed + struct.pack("!II", len(body), 6)
        total = checksum(pseudo + body)
        body = body[:16] + struct.pack("!H", total) + body[18:]
        if source.version == 6:
            return struct.pack("!IHBB", 6 << 28 | ecn << 20, len(body), 6, 64) + source.packed + target.packed + body
        ip = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(body), 0, 0x4000, 64, 6, 0) + source.packed + target.packed
        return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + body

    def _options(self, options: Options) -> bytes:
        """Options in the order and with the padding of common stacks."""
        out = b""
        if options.mss is not None:
            out += struct.pack("!BBH", 2, 4, options.mss)
        if options.sack_ok:
            out += b"\x04\x02"
        if options.timestamps:
            padding = b"" if options.sack_ok else b"\x01\x01"
            out += padding + struct.pack("!BBII", 8, 10, *options.timestamps)
        elif options.sack_ok:
            out += b"\x01\x01"
        if options.wscale is not None:
            out += struct.pack("!BBBB", 1, 3, 3, options.wscale)
        if options.sack:
            start = self.host_start or 0
            edges = [(edge + start) & _M32 for block in options.sack for edge in block]
            out += b"\x01\x01" + struct.pack(f"!BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
        return out + b"\x00" * (-len(out) % 4)

    def decode(self, data: bytes) -> Packet | None:
        """A packet from the host to this peer; None for any other. The first SYN gives
        `host_start`.
        """
        if len(data) < 40:
            return None
        version = data[0] >> 4
        start = 40 if version == 6 else (data[0] & 15) * 4
        protocol = data[6] if version == 6 else data[9]
        if protocol != 6 or len(data) < start + 20:
            return None
        ecn = (data[1] >> 4) & 3 if version == 6 else data[1] & 3
        total = 40 + struct.unpack("!H", data[4:6])[0] if version == 6 else struct.unpack("!H", data[2:4])[0]
        source, target, seq, ack, offset, bits, window = struct.unpack("!HHIIBBH", data[start : start + 16])
        if (source, target) != (self.host.port, self.peer.port):
            return None
        header = (offset >> 4) * 4
        flags = "".join(letter for letter in _ORDER if bits & FLAGS[letter])
        if "S" in flags and self.host_start is None:
            self.host_start = seq
        options = self._read_options(data[start + 20 : start + header])
        # A reset of no connection has the number that the peer acknowledges, or zero.
        known = self.host_start if self.host_start is not None else seq
        relative = (seq - known) & _M32
        if "R" in flags and "." in flags and self.host_start is None:
            relative = seq
        return Packet(
            flags,
            relative,
            total - start - header,
            (ack - self.peer_start) & _M32 if "." in flags else None,
            window,
            options,
            ECN[ecn],
        )

    def _read_options(self, data: bytes) -> Options:
        options, at = Options(), 0
        while at < len(data):
            kind = data[at]
            if kind == 0:
                break
            if kind == 1:
                at += 1
                continue
            length = data[at + 1]
            value = data[at + 2 : at + length]
            if kind == 2:
                options = replace(options, mss=struct.unpack("!H", value)[0])
            elif kind == 3:
                options = replace(options, wscale=value[0])
            elif kind == 4:
                options = replace(options, sack_ok=True)
            elif kind == 5:
                edges = [(edge - self.peer_start) & _M32 for edge in struct.unpack(f"!{len(value) // 4}I", value)]
                options = replace(options, sack=tuple(zip(edges[::2], edges[1::2], strict=True)))
            elif kind == 8:
                options = replace(options, timestamps=struct.unpack("!II", value))
            at += length
        return options


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def show(packet: Packet, *, window: bool = True, ecn: bool = False, any_options: bool = False) -> str:
    """A packet in packetdrill's notation."""
    text = f"[{packet.ecn}] " if ecn else ""
    text += f"{packet.flags} {packet.seq}:{packet.seq + packet.payload}({packet.payload})"
    if packet.ack is not None:
        text += f" ack {packet.ack}"
    if window:
        text += f" win {packet.window}"
    options = "..." if any_options else show_options(packet.options)
    return text + (f" <{options}>" if options else "")


def show_options(options: Options) -> str:
    """Options in packetdrill's notation, with their padding."""
    parts = [] if options.mss is None else [f"mss {options.mss}"]
    if options.sack_ok:
        parts.append("sackOK")
    if options.timestamps:
        parts += [] if options.sack_ok else ["nop,nop"]
        parts.append("TS val {} ecr {}".format(*options.timestamps))
    elif options.sack_ok:
        parts.append("nop,nop")
    if options.wscale is not None:
        parts.append(f"nop,wscale {options.wscale}")
    if options.sack:
        parts.append("nop,nop,sack " + " ".join(f"{start}:{end}" for start, end in options.sack))
    return ",".join(parts)


_PACKET = re.compile(
    r"(?:\[(?P<ecn>\w+)\] )?(?P<flags>[SFRPEW.]+) (?P<seq>\d+):\d+\((?P<payload>\d+)\)"
    r"(?: ack (?P<ack>\d+))?(?: win (?P<win>\d+))?(?: <(?P<options>[^>]*)>)?"
)


@dataclass(frozen=True)
class Expected:
    """A packet of a script, and what of it the script leaves open."""

    packet: Packet
    window: bool
    ecn: bool
    options: bool


def parse(text: str) -> Expected:
    """A packet in packetdrill's notation, of the forms that `show` writes.

    Raises:
        ValueError: another form.
    """
    found = _PACKET.fullmatch(text.strip())
    if not found:
        raise ValueError(f"a packet of another form: {text!r}")
    options = found["options"] or ""
    return Expected(
        Packet(
            found["flags"],
            int(found["seq"]),
            int(found["payload"]),
            None if found["ack"] is None else int(found["ack"]),
            int(found["win"] or 0),
            Options() if options == "..." else parse_options(options),
            found["ecn"] or "noecn",
        ),
        found["win"] is not None,
        found["ecn"] is not None,
        options != "...",
    )


def parse_options(text: str) -> Options:
    """Options in packetdrill's notation.

    Raises:
        ValueError: one that `show_options` does not write.
    """
    options = Options()
    for part in filter(None, (part.strip() for part in text.split(","))):
        words = part.split()
        match words[0]:
            case "nop" | "eol":
                pass
            case "mss":
                options = replace(options, mss=int(words[1]))
            case "wscale":
                options = replace(options, wscale=int(words[1]))
            case "sackOK":
                options = replace(options, sack_ok=True)
            case "TS":
                options = replace(options, timestamps=(int(words[2]), int(words[4])))
            case "sack":
                blocks = tuple(tuple(map(int, word.split(":"))) for word in words[1:])
                options = replace(options, sack=tuple((start, end) for start, end in blocks))
            case _:
                raise ValueError(f"an option of another kind: {part!r}")
    return options
