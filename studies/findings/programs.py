"""The programs behind the situations of `situations.py`: what a socket has to do so that a finding
is true, or nearly.

`python -m studies.findings.programs server|client ADDRESS JSON`, where JSON is a list of
`{"kind": .., "port": ..}` with the keys of the function of that kind; all run at once. A server
runs until it is ended; a client ends when all its parts have ended. Only the standard library is
used: the programs run in network namespaces.
"""

from __future__ import annotations

import fcntl
import json
import random
import select
import socket
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from studies.analyzer.host_applications import drain, serve

PIECE = 16384
_DELIVERY_S = 5.0
"""The kernel's account is read when all is acknowledged, or after so long."""
_BUSY_TIME = 168
"""Offset of tcpi_busy_time in tcp_info, before tcpi_rwnd_limited and tcpi_sndbuf_limited (us)."""
PATIENCE_S = 25.0
"""Longest wait of a client for bytes."""


def main(role: str, address: str, parts: str) -> None:
    """Run all parts of one end."""
    kinds: dict[str, Callable[..., None]] = SERVERS if role == "server" else CLIENTS
    threads = [
        threading.Thread(target=_run, args=(kinds[part.pop("kind")], address, part), daemon=role == "server")
        for part in json.loads(parts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(part: Callable[..., None], address: str, keys: dict[str, Any]) -> None:
    # A peer that vanishes or resets is what some situations are about.
    try:
        part(address, **keys)
    except OSError as error:
        print(f"{keys.get('port')}: {error}", file=sys.stderr)


# Servers


def responses(
    address: str, port: int, sizes: Sequence[int], gap_s: float = 0.0, think_s: float = 0.0, nodelay: bool = False
) -> None:
    """Answer each line with one write of each size, `gap_s` apart, after `think_s`."""

    def answer(connection: socket.socket) -> None:
        if nodelay:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(64):
            time.sleep(think_s)
            for number, size in enumerate(sizes):
                if number:
                    time.sleep(gap_s)
                connection.sendall(bytes(size))

    serve(address, port, answer)


def download(
    address: str,
    port: int,
    size: int | None = None,
    seconds: float | None = None,
    abort_after_s: float | None = None,
    pauses: Sequence[tuple[float, float]] = (),
    account: str = "",
) -> None:
    """Send `size` bytes, or for so many seconds, then close.

    `pauses`: nothing is written from .. to (s); `abort_after_s`: close with a linger time of zero;
    `account`: a file for the kernel's account of what limited it (tcp_info), in seconds.
    """

    def send(connection: socket.socket) -> None:
        began, left = time.monotonic(), size if size is not None else sys.maxsize
        while left > 0:
            since = time.monotonic() - began
            if abort_after_s is not None and since > abort_after_s:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if seconds is not None and since > seconds:
                break
            for begin, end in pauses:
                if begin <= since < end:
                    time.sleep(end - since)
            left -= connection.send(bytes(min(left, PIECE)))
        if account:
            until = time.monotonic() + _DELIVERY_S
            while _unacknowledged(connection) and time.monotonic() < until:
                time.sleep(0.001)
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            busy, window, buffer = (us / 1e6 for us in struct.unpack_from("QQQ", info, _BUSY_TIME))
            figures = {"busy_s": busy, "receive_window_s": window, "send_buffer_s": buffer}
            Path(account).write_text(json.dumps({**figures, "elapsed_s": time.monotonic() - began}), encoding="utf-8")

    serve(address, port, send)


def chunks(address: str, port: int, size: int, every_s: float, count: int, nodelay: bool = True) -> None:
    """Write `size` bytes each `every_s`."""

    def send(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))
        for _ in range(count):
            connection.sendall(bytes(size))
            time.sleep(every_s)

    serve(address, port, send)


def stop_and_wait(address: str, port: int, size: int, count: int) -> None:
    """Write a block when the one before has been acknowledged: one segment in flight."""

    def send(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            connection.sendall(bytes(size))
            while _unacknowledged(connection):
                time.sleep(0.0002)

    serve(address, port, send)


def _unacknowledged(connection: socket.socket) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))
    return int(count)


def not_accepting(address: str, port: int, backlog: int, after_s: float) -> None:
    """Listen, and accept no connection before `after_s`."""
    with socket.create_server((address, port), backlog=backlog) as listener:
        time.sleep(after_s)
        while True:
            connection, _ = listener.accept()
            connection.sendall(b"hello")
            connection.close()


def kept_alive(address: str, port: int, size: int, idle_s: int, interval_s: int, count: int) -> None:
    """Send some bytes, then nothing, with SO_KEEPALIVE."""

    def hold(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, interval_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, count)
        connection.sendall(bytes(size))
        connection.recv(1)

    serve(address, port, hold)


def answers(address: str, port: int, size: int, answer: int) -> None:
    """Answer each `size` bytes of a request with a write."""

    def respond(connection: socket.socket) -> None:
        while True:
            received = 0
            while received < size:
                part = connection.recv(size - received)
                if not part:
                    return
                received += len(part)
            connection.sendall(bytes(answer))

    serve(address, port, respond)


def sink(address: str, port: int) -> None:
    """Read all that comes."""
    serve(address, port, drain)


# Clients


def requests(address: str, port: int, size: int, count: int, think_s: float = 0.0) -> None:
    """`count` lines, each `think_s` after `size` bytes, the answer before, have arrived."""
    with socket.create_connection((address, port), PATIENCE_S) as connection:
        for _ in range(count):
            connection.sendall(b"next\n")
            received = 0
            while received < size:
                part = connection.recv(65536)
                if not part:
                    return
                received += len(part)
            time.sleep(think_s)


def posts(address: str, port: int, sizes: Sequence[int], answer: int, count: int) -> None:
    """`count` requests, each in one write of each size, after the answer before."""
    with socket.create_connection((address, port), PATIENCE_S) as connection:
        for _ in range(count):
            for size in sizes:
                connection.sendall(bytes(size))
            received = 0
            while received < answer:
                part = connection.recv(65536)
                if not part:
                    return
                received += len(part)


def read(
    address: str,
    port: int,
    start_s: float = 0.0,
    receive_buffer: int | None = None,
    pauses: Sequence[tuple[int, float]] = (),
    at_most_s: float = PATIENCE_S,
    delayed_acks: bool = False,
) -> None:
    """Read to the end, but `at_most_s`.

    `pauses`: after so many bytes nothing is read for so many seconds; `delayed_acks`: no ACK
    leaves before its timer because the program has read (TCP_QUICKACK of 0).
    """
    time.sleep(start_s)
    with socket.socket() as connection:
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(at_most_s)
        connection.connect((address, port))
        received, left, end = 0, list(pauses), time.monotonic() + at_most_s
        while time.monotonic() < end:
            if delayed_acks:
                select.select([connection], [], [], at_most_s)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            part = connection.recv(65536 if receive_buffer is None else 4096)
            if not part:
                return
            received += len(part)
            if left and received >= left[0][0]:
                time.sleep(left.pop(0)[1])


def upload(address: str, port: int, seconds: float, start_s: float = 0.0, rate_bps: float | None = None) -> None:
    """Send for so many seconds, as fast as TCP takes it or at a rate."""
    time.sleep(start_s)
    with socket.create_connection((address, port), PATIENCE_S) as connection:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(bytes(PIECE))
            if rate_bps is not None:
                time.sleep(8 * PIECE / rate_bps)


def connect_many(address: str, port: int, count: int, every_s: float, timeout_s: float) -> None:
    """`count` connections, begun `every_s` apart; each waits for bytes until `timeout_s`."""

    def one() -> None:
        with suppress(OSError), socket.create_connection((address, port), timeout_s) as connection:
            connection.recv(64)

    threads = []
    for _ in range(count):
        threads.append(threading.Thread(target=one))
        threads[-1].start()
        time.sleep(every_s)
    for thread in threads:
        thread.join()


def idle(address: str, port: int, seconds: float) -> None:
    """Read what comes at first, then stay connected."""
    with socket.create_connection((address, port), PATIENCE_S) as connection:
        connection.recv(65536)
        time.sleep(seconds)


# In the path


def inject_reset(address: str, port: int, after_segments: int) -> None:
    """Watch an interface (`address` is its name) until the server on `port` has sent so many
    segments, then send its client a reset in the server's name, with another TTL and IP ID."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as tap:
        tap.bind((address, 0))
        seen = 0
        while True:
            frame = tap.recv(65536)
            if frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            ip = frame[14:]
            tcp = ip[20:]
            source, length = struct.unpack_from("!H", tcp)[0], struct.unpack_from("!H", ip, 2)[0]
            payload = length - 20 - 4 * (tcp[12] >> 4)
            if source != port or payload <= 0:
                continue
            seen += 1
            if seen >= after_segments:
                break
    sequence = (struct.unpack_from("!I", tcp, 4)[0] + payload) & 0xFFFFFFFF
    header = struct.pack("!HHIIBBHHH", source, struct.unpack_from("!H", tcp, 2)[0], sequence, 0, 5 << 4, 4, 0, 0, 0)
    pseudo = ip[12:20] + struct.pack("!BBH", 0, 6, len(header))
    header = header[:16] + struct.pack("!H", _checksum(pseudo + header)) + header[18:]
    identification = random.randrange(1, 65536)
    begin = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(header), identification, 0, 200, 6, 0) + ip[12:20]
    begin = begin[:10] + struct.pack("!H", _checksum(begin)) + begin[12:]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as out:
        out.sendto(begin + header, (socket.inet_ntoa(ip[16:20]), 0))


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


SERVERS: dict[str, Callable[..., None]] = {
    "responses": responses,
    "download": download,
    "chunks": chunks,
    "stop_and_wait": stop_and_wait,
    "not_accepting": not_accepting,
    "kept_alive": kept_alive,
    "answers": answers,
    "sink": sink,
    "inject_reset": inject_reset,
}
CLIENTS: dict[str, Callable[..., None]] = {
    "requests": requests,
    "posts": posts,
    "read": read,
    "upload": upload,
    "connect_many": connect_many,
    "idle": idle,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
