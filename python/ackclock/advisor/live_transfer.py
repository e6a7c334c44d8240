"""A bulk transfer of real TCP with a sparse UDP flow in each direction beside it, one end of each.

`live_transfer.py serve CONFIG` runs at the server's end, `live_transfer.py fetch CONFIG` at the
client's. Each writes what it has sent and received as JSON to the file of its name in the folder
`results`. It runs inside an emulated network by its path and imports the standard library only.
Both ends have one clock. CONFIG is JSON: `results`, `seconds`, `sender` ("server" or "client"),
`variant`, `sysctls`, `every_s` (between sparse packets, by direction), and, in bytes and where they
are set, `SO_SNDBUF` and `window`, the largest that the receiver advertises.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

PORT = 5001
CHUNK = 1 << 17
FIRST_BYTES = 1 << 18
"""Until so many bytes are received, the size of the segments may still change."""
SPARSE = 36
"""Payload of a sparse packet: 64 B with the headers of UDP and IPv4."""
DRAIN_S = 3.0
"""Sparse packets that arrive until so long after the transfer are not lost."""
SO_TIMESTAMPNS = 35
"""Linux: the time of arrival at the host's stack, which no late program delays."""
TCP_INFO_S = 232
NUMBER_AND_TIME = struct.Struct("!IQ")
TIMESPEC = struct.Struct("@ll")


class Config(TypedDict):
    """What both ends of a transfer do; CONFIG of the command line."""

    results: str
    seconds: float
    sender: Literal["server", "client"]
    variant: str
    sysctls: dict[str, str]
    every_s: dict[str, float]
    SO_SNDBUF: NotRequired[int]
    window: NotRequired[int]


class SparseResult(TypedDict):
    """The sparse packets that an end sent, and the delays of those that it received."""

    sent: int
    delays_ms: list[float]


class Transferred(TypedDict):
    """The figures of one end: bytes at the receiver, retransmissions at the sender."""

    received: NotRequired[int]
    retransmitted_segments: NotRequired[int]


class EndResult(Transferred):
    """The results of one end."""

    sparse: SparseResult


def _prepare(config: Config) -> None:
    """Write the sysctls of this end's network namespace, and ask for the processor: a host with a
    processor of its own does not wait for the programs of this machine.
    """
    for key, value in config["sysctls"].items():
        Path("/proc/sys", *key.split(".")).write_text(value, "ascii")
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _set_options(connection: socket.socket, config: Config, *, sends: bool) -> None:
    """The sender's congestion control, and this end's socket buffers; before the handshake."""
    if sends:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, config["variant"].encode())
        if size := config.get("SO_SNDBUF"):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
    else:
        _clamp_window(connection, config)


def _clamp_window(connection: socket.socket, config: Config) -> None:
    """Bound the advertised window, where the transfer has a bound. Linux forgets it when the first
    segment shows how much memory a byte takes up (`tcp_measure_rcv_mss`).
    """
    if window := config.get("window"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, window)


def _send(connection: socket.socket, until: float) -> None:
    data = bytes(CHUNK)
    connection.setblocking(False)
    while (left := until - time.monotonic()) > 0.0:
        if select.select([], [connection], [], left)[1]:
            try:
                connection.send(data)
            except BlockingIOError:
                continue
            except OSError:
                return


def _receive(connection: socket.socket, until: float, config: Config) -> int:
    received, buffer = 0, bytearray(CHUNK)
    while (left := until - time.monotonic()) > 0.0:
        if not select.select([connection], [], [], left)[0]:
            break
        count = connection.recv_into(buffer)
        if not count:
            break
        if received < FIRST_BYTES:
            _clamp_window(connection, config)
        received += count
    return received


class SparseFlow:
    """One end of the sparse flows: it sends until `until`, and receives `DRAIN_S` longer."""

    def __init__(self, port: socket.socket, peer: str, until: float, every_s: float) -> None:
        self.port, self.peer, self.until, self.every_s = port, peer, until, every_s
        self.sent = 0
        self.delays_ms: dict[int, float] = {}
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        due = time.monotonic()
        while due < self.until:
            time.sleep(max(0.0, due - time.monotonic()))
            self.port.sendto(
                NUMBER_AND_TIME.pack(self.sent, time.time_ns()) + bytes(SPARSE - NUMBER_AND_TIME.size),
                (self.peer, PORT),
            )
            self.sent, due = self.sent + 1, due + self.every_s

    def _receive(self) -> None:
        end = self.until + DRAIN_S
        while (left := end - time.monotonic()) > 0.0:
            if not select.select([self.port], [], [], left)[0]:
                return
            packet, control, _, _ = self.port.recvmsg(SPARSE, 64)
            arrived = time.time_ns()
            for level, kind, data in control:
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    seconds, ns = TIMESPEC.unpack_from(data)
                    arrived = 10**9 * seconds + ns
            number, sent = NUMBER_AND_TIME.unpack_from(packet)
            self.delays_ms[number] = (arrived - sent) / 1e6

    def result(self) -> SparseResult:
        """The packets sent and the delays of those received, after the end."""
        for thread in self.threads:
            thread.join()
        return {"sent": self.sent, "delays_ms": list(self.delays_ms.values())}


def _port() -> socket.socket:
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port.bind(("", PORT))
    port.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    return port


def _info(connection: socket.socket) -> Transferred:
    """Counters of the sender (`struct tcp_info` of Linux)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_S)
    (retransmitted,) = struct.unpack_from("@I", info, 100)
    return {"retransmitted_segments": retransmitted}


def serve(config: Config) -> EndResult:
    """One transfer with the next client."""
    _prepare(config)
    sends = config["sender"] == "server"
    with _port() as port, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _set_options(listener, config, sends=sends)
        listener.bind(("", PORT))
        listener.listen()
        connection, (peer, _) = listener.accept()
        with connection:
            until = time.monotonic() + config["seconds"]
            sparse = SparseFlow(port, peer, until, config["every_s"]["down"])
            return {**_transfer(connection, until, config, sends=sends), "sparse": sparse.result()}


def fetch(config: Config) -> EndResult:
    """One transfer with the server."""
    _prepare(config)
    server = os.environ["ACKCLOCK_SERVER"]
    sends = config["sender"] == "client"
    with _port() as port, socket.socket() as connection:
        _set_options(connection, config, sends=sends)
        began = time.monotonic()
        connection.connect((server, PORT))
        until = began + config["seconds"]
        sparse = SparseFlow(port, server, until, config["every_s"]["up"])
        return {**_transfer(connection, until, config, sends=sends), "sparse": sparse.result()}


def _transfer(connection: socket.socket, until: float, config: Config, *, sends: bool) -> Transferred:
    """The transfer from this end until a time; the sender closes it by a reset."""
    if not sends:
        return {"received": _receive(connection, until, config)}
    _send(connection, until)
    info = _info(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    return info


def main() -> None:
    verb, text = sys.argv[1:]
    config = json.loads(text)
    ends = {"serve": serve, "fetch": fetch}
    folder = Path(config["results"])
    written = folder / f"{verb}.partial"
    written.write_text(json.dumps(ends[verb](config)), "ascii")
    written.rename(folder / f"{verb}.json")
    # The emulation ends with the client.
    while verb == "fetch" and not (folder / "serve.json").is_file():
        time.sleep(0.05)


if __name__ == "__main__":
    main()
