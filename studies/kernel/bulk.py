"""A bulk transfer of real TCP: `bulk.py serve VARIANT FILE` sends all it can to who connects, `bulk.py fetch SECONDS FILE` reads.

Each writes what it saw as lines of JSON. Times are CLOCK_MONOTONIC seconds, which both ends share on one machine. Nothing but the
standard library: it runs as a script inside the emulated network.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import time
from typing import TextIO

PORT = 5001
SAMPLE_S = 0.02
READ = 1 << 18
NAMES = ("rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets")
MORE = ("data_sent", "ack_sent", "data_recv", "ack_recv", "pmtu", "rcv_ssthresh", "rtt", "rttvar", "ssthresh", "cwnd")
LAST = ("advmss", "reordering", "rcv_rtt", "rcv_space", "total_retrans")
FIELDS = NAMES + MORE + LAST
"""The 32-bit fields of `struct tcp_info` after its eight octets (linux/tcp.h); times in microseconds, the window in segments."""


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """What the kernel says of a connection; `ca_state` is 0 while nothing is wrong."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8 + 4 * len(FIELDS))
    octets, words = raw[:8], struct.unpack_from(f"={len(FIELDS)}I", raw, 8)
    return {"ca_state": octets[1], **dict(zip(FIELDS, words, strict=True))}


def write(file: TextIO, line: dict[str, object]) -> None:
    file.write(json.dumps(line) + "\n")
    file.flush()


def serve(variant: str, file: TextIO) -> None:
    """Send until the peer has gone, a sample of TCP_INFO every 20 ms."""
    with socket.create_server(("", PORT)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, variant.encode())
        connection, _ = listener.accept()
    connection.setblocking(False)
    data, due = bytes(READ), time.monotonic()
    while True:
        now = time.monotonic()
        if now >= due:
            write(file, {"at": now, **tcp_info(connection)})
            due = max(due + SAMPLE_S, now)
        try:
            if select.select([], [connection], [], max(0.0, due - now))[1]:
                connection.send(data)
        except BlockingIOError:
            continue
        except OSError:
            return


def connect() -> tuple[float, socket.socket]:
    """The server may not listen yet: when the attempt that succeeded began, and the connection."""
    while True:
        began = time.monotonic()
        try:
            return began, socket.create_connection((os.environ["ACKCLOCK_SERVER"], PORT))
        except ConnectionRefusedError:
            time.sleep(0.1)


def fetch(seconds: float, file: TextIO) -> None:
    """Read for so long from the beginning of the handshake; the bytes that came, and when reading began."""
    began, connection = connect()
    got, buffer = 0, bytearray(READ)
    while (left := began + seconds - time.monotonic()) > 0:
        if not select.select([connection], [], [], left)[0]:
            break
        count = connection.recv_into(buffer)
        if not count:
            break
        got += count
    write(file, {"began": began, "clock": time.time() - time.monotonic() + began, "seconds": seconds, "bytes": got})


def come_first() -> None:
    """Other work must not hold an end up: a sender that wakes late has an empty buffer, and then sends a burst. Where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def main() -> None:
    verb, value, path = sys.argv[1:]
    come_first()
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
        if verb == "serve":
            serve(value, file)
        else:
            fetch(float(value), file)


if __name__ == "__main__":
    main()
