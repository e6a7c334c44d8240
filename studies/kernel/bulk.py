"""A bulk transfer of real TCP.

`bulk.py serve VARIANT FILE` sends to a client, `bulk.py fetch SECONDS FILE` receives.

Both write their measurements as lines of JSON. Times are CLOCK_MONOTONIC seconds of the same
machine. The script runs inside the emulated network and uses only the standard library.
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
FIRST_FIELDS = ("rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets")
MIDDLE_FIELDS = (
    "data_sent",
    "ack_sent",
    "data_recv",
    "ack_recv",
    "pmtu",
    "rcv_ssthresh",
    "rtt",
    "rttvar",
    "ssthresh",
    "cwnd",
)
LAST_FIELDS = ("advmss", "reordering", "rcv_rtt", "rcv_space", "total_retrans")
FIELDS = FIRST_FIELDS + MIDDLE_FIELDS + LAST_FIELDS
"""The 32-bit fields of `struct tcp_info` after its eight octets (linux/tcp.h); times in
microseconds, the window in segments."""


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """TCP_INFO of a connection; `ca_state` is 0 in the open state."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8 + 4 * len(FIELDS))
    octets, words = raw[:8], struct.unpack_from(f"={len(FIELDS)}I", raw, 8)
    return {"ca_state": octets[1], **dict(zip(FIELDS, words, strict=True))}


def write(file: TextIO, line: dict[str, object]) -> None:
    file.write(json.dumps(line) + "\n")
    file.flush()


def serve(variant: str, file: TextIO) -> None:
    """Send until the peer closes, with a sample of TCP_INFO every 20 ms.

    The first write follows the handshake at once: 0.7 ms later another frame of a radio takes it.
    """
    data = bytes(READ)
    with socket.create_server(("", PORT)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, variant.encode())
        connection, _ = listener.accept()
        connection.setblocking(False)
        connection.send(data)
    due = time.monotonic()
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
    """Connect, with retries until the server listens.

    Return the start of the successful attempt and the connection.
    """
    while True:
        began = time.monotonic()
        try:
            return began, socket.create_connection((os.environ["ACKCLOCK_SERVER"], PORT))
        except ConnectionRefusedError:
            time.sleep(0.1)


def fetch(seconds: float, file: TextIO) -> None:
    """Receive for ``seconds`` from the start of the handshake; write the bytes received and the
    start."""
    began, connection = connect()
    received, buffer = 0, bytearray(READ)
    while (left := began + seconds - time.monotonic()) > 0:
        if not select.select([connection], [], [], left)[0]:
            break
        count = connection.recv_into(buffer)
        if not count:
            break
        received += count
    write(
        file, {"began": began, "clock": time.time() - time.monotonic() + began, "seconds": seconds, "bytes": received}
    )


def request_realtime() -> None:
    """Request SCHED_FIFO, if permitted: a sender that wakes late has an empty send buffer, and then
    sends a burst."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def main() -> None:
    verb, value, path = sys.argv[1:]
    request_realtime()
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
        if verb == "serve":
            serve(value, file)
        else:
            fetch(float(value), file)


if __name__ == "__main__":
    main()
