"""A script against the running kernel, open loop: its inbound packets at their times."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import socket
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from studies.dialogues.generator.clock import LATE_MS, Clock, Late
from studies.dialogues.generator.host import HOST_V4, HOST_V6, PEER_V4, PEER_V6, Host, open_socket, tcp_info, ticks
from studies.dialogues.generator.packets import Address, Codec, Packet, show
from studies.dialogues.generator.script import Call, Dialogue, Inbound, Info, Outbound, Setup

TOLERANCE_MS = 4.0
"""packetdrill's own."""
HOST_TIMESTAMP = 2000
"""What scripts write for the host's first timestamp."""
_OPTIONS = {
    "TCP_NODELAY": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    "TCP_KEEPIDLE": (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    "TCP_KEEPINTVL": (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    "TCP_KEEPCNT": (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
    "SO_KEEPALIVE": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
}
_SHUTDOWN = {"SHUT_RD": socket.SHUT_RD, "SHUT_WR": socket.SHUT_WR, "SHUT_RDWR": socket.SHUT_RDWR}
_ports = itertools.count(20_000)


class Differs(Exception):
    """The kernel did something else than the script says; the text is what."""


class Connection:
    """A socket of the host, the codec of its packets, and the relation of timestamps.

    The script's timestamps of the host count from `HOST_TIMESTAMP`.
    """

    def __init__(self, setup: Setup) -> None:
        ip_host, ip_peer = (HOST_V6, PEER_V6) if setup.ipv6 else (HOST_V4, PEER_V4)
        port = next(_ports)
        self.setup = setup
        self.codec = Codec(Address(ip_host, port), Address(ip_peer, 40_000), int.from_bytes(os.urandom(3)) << 8)
        self._listener: socket.socket | None = None
        self.socket: socket.socket | None = None
        self._first_timestamp: int | None = None
        self._live: dict[int, int] = {}
        made = open_socket(setup.congestion_control, ipv6=setup.ipv6)
        for option, value in setup.options:
            made.setsockopt(*_OPTIONS[option], value)
        made.bind((ip_host, port))
        if setup.opens == "listen":
            made.listen(1)
            self._listener = made
        else:
            self.socket = made

    def call(self, call: Call) -> Call:
        """Do a call. Returns it with what it returned."""
        try:
            return replace(call, result=self._call(call), error="")
        except OSError as error:
            return replace(call, result=-1, error=errno.errorcode.get(error.errno or 0, "?"))

    def _call(self, call: Call) -> int:
        if call.name == "accept":
            assert self._listener
            self.socket = self._listener.accept()[0]
            self.socket.setblocking(False)
            return self.setup.descriptor
        if self.socket is None:
            raise Differs(f"{call.name}() on a socket that is closed or not accepted")
        match call.name, call.argument:
            case "connect", _:
                peer = self.codec.peer
                self.socket.connect((peer.ip, peer.port))
            case "write", int(size):
                return self.socket.send(bytes(size))
            case "recv", int(size):
                return len(self.socket.recv(size))
            case "shutdown", str(direction):
                self.socket.shutdown(_SHUTDOWN[direction])
            case "close", _:
                self.socket.close()
                self.socket = None
            case option, int(value):
                self.socket.setsockopt(*_OPTIONS[option], value)
        return 0

    def info(self) -> dict[str, int] | None:
        """`struct tcp_info`; None without a connection."""
        return tcp_info(self.socket) if self.socket else None

    def in_script(self, packet: Packet) -> Packet:
        """A packet from the host with the script's timestamps."""
        times = packet.options.timestamps
        if times is None:
            return packet
        if self._first_timestamp is None:
            self._first_timestamp = times[0]
        value = (times[0] - self._first_timestamp + HOST_TIMESTAMP) & 0xFFFF_FFFF
        return replace(packet, options=replace(packet.options, timestamps=(value, times[1])))

    def met(self, expected: Packet, sent: Packet) -> None:
        """The host sent what the script has as `expected`: its echoes mean this timestamp."""
        if expected.options.timestamps and sent.options.timestamps:
            self._live[expected.options.timestamps[0]] = sent.options.timestamps[0]

    def on_wire(self, packet: Packet) -> Packet:
        """A packet of the script with the host's own timestamps as echoes."""
        times = packet.options.timestamps
        if times is None or times[1] == 0:
            return packet
        counted = times[1] - HOST_TIMESTAMP + (self._first_timestamp or 0)
        echo = self._live.get(times[1], counted) & 0xFFFF_FFFF
        return replace(packet, options=replace(packet.options, timestamps=(times[0], echo)))

    def end(self, host: Host) -> None:
        """Close the sockets and reset the connection, so that nothing of it is sent later."""
        for of in filter(None, (self.socket, self._listener)):
            with contextlib.suppress(OSError):
                of.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            of.close()
        host.packets()


class Run:
    """Time, and the packets that the host has sent and no step has taken."""

    def __init__(self, host: Host, connection: Connection, phase_ms: float) -> None:
        self.host, self.connection = host, connection
        host.packets()
        self.clock = Clock(phase_ms, ticks())
        self.sent: deque[tuple[float, Packet]] = deque()
        self.met = 0.0
        """When the last expected packet was there."""

    def collect(self) -> None:
        """Take what the host has sent so far."""
        now = self.clock.now()
        for data in self.host.packets():
            packet = self.connection.codec.decode(data)
            if packet:
                self.sent.append((now, packet))

    def wait(self, until_ms: float, *, for_packet: bool = False) -> None:
        """Wait for a time or, if asked, until a packet is there."""
        while not (for_packet and self.sent) and self.clock.now() < until_ms:
            if self.clock.wait(until_ms, self.host.fileno()):
                self.collect()

    def on_time(self, at_ms: float, *, not_before: float = 0.0) -> None:
        """Wait for a step's time, which is `not_before` where the host was waited for so long.

        Raises:
            Late: the process runs later.
        """
        self.wait(at_ms)
        if self.clock.now() > max(at_ms, not_before) + LATE_MS:
            raise Late(f"{self.clock.now() - at_ms:.2f} ms after {at_ms} ms")


def replay(dialogue: Dialogue, host: Host, phase_ms: float) -> None:
    """Play a script against the kernel, from this phase of its tick.

    Raises:
        Differs: the kernel did something else.
        Late: the process was not scheduled in time.
    """
    connection = Connection(dialogue.setup)
    run = Run(host, connection, phase_ms)
    try:
        for step in dialogue.steps:
            _play(run, step)
        run.wait(dialogue.steps[-1].at_ms)
        if run.sent and run.sent[0][0] < dialogue.steps[-1].at_ms - 1:
            raise Differs(f"a packet more: {show(connection.in_script(run.sent[0][1]))}")
    finally:
        connection.end(host)


def _play(run: Run, step: Inbound | Outbound | Call | Info) -> None:
    connection = run.connection
    match step:
        case Inbound(at_ms=at, packet=packet):
            run.on_time(at, not_before=run.met)
            run.host.inject(connection.codec.encode(connection.on_wire(packet)))
            run.collect()
        case Call(at_ms=at):
            run.on_time(at, not_before=run.met)
            done = connection.call(step)
            run.collect()
            if done != step:
                raise Differs(f"at {at} ms {step.name}() = {done.result} {done.error}, not {step.result} {step.error}")
        case Info(at_ms=at, fields=fields):
            run.on_time(at, not_before=run.met)
            info = connection.info()
            if info is None:
                raise Differs(f"at {at} ms no connection")
            wrong = {name: info[name] for name, (low, high) in fields.items() if not low <= info[name] <= high}
            if wrong:
                raise Differs(f"at {at} ms {wrong}, not { ({name: fields[name] for name in wrong}) }")
        case Outbound():
            _expect(run, step)


def _expect(run: Run, step: Outbound) -> None:
    latest = (step.to_ms or step.at_ms) + TOLERANCE_MS
    run.wait(latest, for_packet=True)
    run.met = run.clock.now()
    if not run.sent:
        raise Differs(f"nothing until {latest:.1f} ms: {show(step.expected.packet)}")
    at, live = run.sent.popleft()
    expected, packet = step.expected, run.connection.in_script(live)
    run.connection.met(expected.packet, live)
    wrong = list(_differences(step, packet))
    if wrong:
        raise Differs(f"at {at:.2f} ms {show(packet)}, not {show(expected.packet)}: {', '.join(wrong)}")
    if not step.at_ms - TOLERANCE_MS <= at <= latest:
        raise Differs(f"{show(packet)} at {at:.2f} ms, not {step.at_ms} to {step.to_ms} ms")


def _differences(step: Outbound, packet: Packet) -> Iterator[str]:
    expected = step.expected
    for name in ("flags", "seq", "payload", "ack"):
        if getattr(packet, name) != getattr(expected.packet, name):
            yield name
    if expected.window and packet.window != expected.packet.window:
        yield "window"
    if expected.ecn and packet.ecn != expected.packet.ecn:
        yield "ecn"
    if expected.options:
        want, have = expected.packet.options, packet.options
        same = (want.mss, want.wscale, want.sack_ok, want.sack) == (have.mss, have.wscale, have.sack_ok, have.sack)
        echoes = (want.timestamps or (0, None))[1] == (have.timestamps or (0, None))[1]
        if not same or not echoes:
            yield "options"
