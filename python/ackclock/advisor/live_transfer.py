"""A bulk transfer of real TCP with a sparse UDP echo beside it, one end of each.

`live_transfer.py serve CONFIG` runs at the server's end, `live_transfer.py fetch CONFIG` at the
client's, which prints the figures as JSON. It runs inside an emulated network by its path and
imports the standard library only. CONFIG is JSON: `seconds`, `sender` ("server" or "client"),
`variant`, `sysctls`, `every_s` (between sparse packets), and `SO_SNDBUF` and `SO_RCVBUF` in bytes
where they are set.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

PORT = 5001
CHUNK = 1 << 17
ECHO = 36
"""Payload of a sparse packet: 64 B with the headers of UDP and IPv4."""
SAMPLES_FROM = 5


def _prepare(config: dict[str, Any]) -> None:
    """Write the sysctls of this end's network namespace."""
    for key, value in config["sysctls"].items():
        Path("/proc/sys", *key.split(".")).write_text(value, "ascii")


def _set_options(connection: socket.socket, config: dict[str, Any], *, sends: bool) -> None:
    """The sender's congestion control, and this end's socket buffers; before the handshake."""
    if sends:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, config["variant"].encode())
    name = "SO_SNDBUF" if sends else "SO_RCVBUF"
    if config.get(name):
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), int(config[name]))


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


def _receive(connection: socket.socket, until: float) -> int:
    received, buffer = 0, bytearray(CHUNK)
    while (left := until - time.monotonic()) > 0.0:
        if not select.select([connection], [], [], left)[0]:
            break
        count = connection.recv_into(buffer)
        if not count:
            break
        received += count
    return received


def _echo(port: socket.socket) -> None:
    while True:
        packet, peer = port.recvfrom(256)
        port.sendto(packet, peer)


def _ping(server: str, until: float, every_s: float, trips: list[float]) -> None:
    """RTTs of sparse packets in seconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.connect((server, PORT))
        number, due = 0, time.monotonic()
        sent: dict[int, float] = {}
        while (now := time.monotonic()) < until:
            if now >= due:
                sent[number] = now
                port.send(number.to_bytes(4, "big") + bytes(ECHO - 4))
                number, due = number + 1, due + every_s
            if select.select([port], [], [], max(0.0, min(due, until) - time.monotonic()))[0]:
                back = int.from_bytes(port.recv(256)[:4], "big")
                trips.append(time.monotonic() - sent.pop(back))


def serve(config: dict[str, Any]) -> None:
    """One transfer with the next client."""
    _prepare(config)
    sends = config["sender"] == "server"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind(("", PORT))
        threading.Thread(target=_echo, args=(port,), daemon=True).start()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _set_options(listener, config, sends=sends)
            listener.bind(("", PORT))
            listener.listen()
            connection, _ = listener.accept()
        with connection:
            until = time.monotonic() + config["seconds"]
            if sends:
                _send(connection, until + 5.0)
            else:
                received = _receive(connection, until)
                connection.sendall(received.to_bytes(8, "big"))


def fetch(config: dict[str, Any]) -> dict[str, Any]:
    """One transfer with the server; goodput in bits/s and the p95 RTT of the sparse flow in ms."""
    _prepare(config)
    server = os.environ["ACKCLOCK_SERVER"]
    sends = config["sender"] == "client"
    trips: list[float] = []
    with socket.socket() as connection:
        _set_options(connection, config, sends=sends)
        began = time.monotonic()
        connection.connect((server, PORT))
        until = began + config["seconds"]
        pings = threading.Thread(target=_ping, args=(server, until, config["every_s"], trips))
        pings.start()
        if sends:
            _send(connection, until)
            connection.setblocking(True)
            received = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
        else:
            received = _receive(connection, until)
    pings.join()
    ordered = sorted(trips)
    p95 = ordered[-(-95 * len(ordered) // 100) - 1] if len(ordered) >= SAMPLES_FROM else None
    return {
        "goodput_bps": 8 * received / config["seconds"],
        "sparse_rtt_p95_ms": None if p95 is None else 1e3 * p95,
        "sparse_samples": len(ordered),
    }


def main() -> None:
    verb, text = sys.argv[1:]
    config = json.loads(text)
    if verb == "serve":
        serve(config)
    else:
        Path(config["result"]).write_text(json.dumps(fetch(config)), "ascii")


if __name__ == "__main__":
    main()
