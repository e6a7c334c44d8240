"""The two ends of a run of `studies.emulator.bound`, inside the emulation.

`send KERNEL FILE` sends to a client by TCP, with samples of TCP_INFO; `fetch SECONDS LIMITED KERNEL
FILE` receives, if LIMITED is 1 with a window of 64 kB. If KERNEL is 1, the kernels alone send and
receive: a process that waits for a CPU while it holds the socket's lock delays ACKs, which is no
error of the link. The sender fills its buffer at once, and the receiver reads nothing. `ping
SECONDS FILE` sends ICMP echo requests every 4 ms, which the other end's kernel answers. The files
have lines of JSON.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import sys
import termios
import time
from pathlib import Path

from studies.kernel.bulk import PORT, READ, SAMPLE_S, request_realtime, serve, tcp_info, write

INTERVAL_S = 0.004
ECHO_REQUEST, ECHO_REPLY = 8, 0
SO_TIMESTAMPNS = 35
VARIANT = "reno"
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
AMOUNT, WHOLE_BUFFER = 100 << 20, 400 << 20
"""Bytes that a sending kernel has at once, and the size of a buffer that holds all of them."""
BUFFER, WINDOW = 1 << 20, 1 << 15
"""The window does not exceed 64 kB: a clamp below that disables window scaling (RFC 7323)."""


def fetch(seconds: float, *, is_window_limited: bool, by_kernel: bool, path: Path) -> None:
    """Receive for ``seconds`` from the start of the handshake."""
    while True:
        connection = socket.socket()
        if is_window_limited:
            option, size = (SO_RCVBUFFORCE, WHOLE_BUFFER) if by_kernel else (socket.SO_RCVBUF, BUFFER)
            connection.setsockopt(socket.SOL_SOCKET, option, size)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, WINDOW)
        began = time.monotonic()
        try:
            connection.connect((os.environ["ACKCLOCK_SERVER"], PORT))
            break
        except ConnectionRefusedError:
            connection.close()
            time.sleep(0.1)
    if by_kernel:
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        unread = fcntl.ioctl(connection, termios.FIONREAD, bytes(4))
        path.write_text(json.dumps({"bytes": struct.unpack("i", unread)[0], "seconds": seconds}), "ascii")
        return
    received, buffer = 0, bytearray(READ)
    while (left := began + seconds - time.monotonic()) > 0:
        if not select.select([connection], [], [], left)[0]:
            break
        if not (count := connection.recv_into(buffer)):
            break
        received += count
    path.write_text(json.dumps({"bytes": received, "seconds": seconds}), "ascii")


def send_from_buffer(path: Path) -> None:
    """Fill the send buffer, and sample TCP_INFO until the peer closes."""
    with socket.create_server(("", PORT)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, VARIANT.encode())
        listener.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, WHOLE_BUFFER)
        connection, _ = listener.accept()
    with path.open("w", encoding="ascii") as file, contextlib.suppress(OSError):
        for _ in range(AMOUNT // READ):
            connection.send(bytes(READ))
        while not select.select([connection], [], [], SAMPLE_S)[0]:
            write(file, {"at": time.monotonic(), **tcp_info(connection)})


def ping(seconds: float, path: Path) -> None:
    """RTTs by the clock before the request, and the kernel's RX timestamp of the reply."""
    echo = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    echo.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    echo.connect((os.environ["ACKCLOCK_SERVER"], 0))
    echo.setblocking(False)
    start, number, sent, rtts = time.monotonic(), 0, {}, []
    while (now := time.monotonic()) < start + seconds:
        if now >= start + number * INTERVAL_S:
            sent[number % 65536] = time.time_ns()
            echo.send(_request(number % 65536))
            number += 1
        due = start + number * INTERVAL_S
        if not select.select([echo], [], [], max(0.0, due - time.monotonic()))[0]:
            continue
        with contextlib.suppress(BlockingIOError):
            data, extra, _, _ = echo.recvmsg(256, 256)
            kind, _, _, _, answered = struct.unpack_from("!BBHHH", data, 4 * (data[0] & 15))
            at_s, at_ns = struct.unpack("ll", extra[0][2][:16])
            if kind == ECHO_REPLY and answered in sent:
                rtts.append((at_s * 10**9 + at_ns - sent.pop(answered)) * 1e-9)
    path.write_text(json.dumps({"rtts": rtts}), "ascii")


def _request(number: int) -> bytes:
    """An echo request with 56 bytes of data (RFC 792)."""
    packet = struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, 1, number) + bytes(56)
    total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total >> 16) + (total & 0xFFFF)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    return packet[:2] + struct.pack("!H", checksum) + packet[4:]


def main() -> None:
    """Run one end."""
    verb, *words = sys.argv[1:]
    request_realtime()
    path = Path(words[-1])
    if verb == "send" and words[0] == "1":
        send_from_buffer(path)
    elif verb == "send":
        with path.open("w", encoding="ascii") as file:
            serve(VARIANT, file)
    elif verb == "fetch":
        fetch(float(words[0]), is_window_limited=words[1] == "1", by_kernel=words[2] == "1", path=path)
    else:
        ping(float(words[0]), path)


if __name__ == "__main__":
    main()
