"""Bulk flows of real TCP, one end of each: what a found case is emulated with.

`live_flows.py serve CONFIG` runs at the server's end, which sends, `live_flows.py fetch CONFIG` at
the client's. Each writes its figures as JSON to the file of its name in the folder `results`. It
runs inside an emulated network by its path and imports the standard library only. CONFIG is JSON:
`results`, `seconds` of the run, and `flows`, each with `name`, `variant`, `start_s`, `stop_s`.
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
from typing import TypedDict

PORT = 5101
"""Of the first flow; the others have the next ones."""
CHUNK = 1 << 17
TCP_INFO_S = 232
RETRANSMITTED_AT, SEGMENTS_AT = 100, 136
"""Places of tcpi_total_retrans and tcpi_segs_out in `struct tcp_info`."""


class LiveFlow(TypedDict):
    """A flow; times in seconds from the start of the run."""

    name: str
    variant: str
    start_s: float
    stop_s: float


class Config(TypedDict):
    """What both ends do; CONFIG of the command line."""

    results: str
    seconds: float
    flows: list[LiveFlow]


class Received(TypedDict):
    """What an end saw of a flow: at the receiver the times in s and the bytes in order until then,
    at the sender its counters.
    """

    times_s: list[float]
    bytes: list[int]
    segments: int
    retransmitted: int


def _serve_flow(flow: LiveFlow, port: int, seen: Received, ready: threading.Barrier) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["variant"].encode())
        listener.bind(("", port))
        listener.listen()
        ready.wait()
        connection, _ = listener.accept()
    with connection:
        until = time.monotonic() + flow["stop_s"] - flow["start_s"]
        data = bytes(CHUNK)
        connection.setblocking(False)
        while (left := until - time.monotonic()) > 0.0:
            if select.select([], [connection], [], left)[1]:
                try:
                    connection.send(data)
                except BlockingIOError:
                    continue
                except OSError:
                    break
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_S)
        (seen["retransmitted"],) = struct.unpack_from("@I", info, RETRANSMITTED_AT)
        (seen["segments"],) = struct.unpack_from("@I", info, SEGMENTS_AT)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _fetch_flow(flow: LiveFlow, port: int, seen: Received, began: float) -> None:
    time.sleep(max(0.0, began + flow["start_s"] - time.monotonic()))
    total, buffer = 0, bytearray(CHUNK)
    with contextlib.suppress(OSError), socket.socket() as connection:
        connection.connect((os.environ["ACKCLOCK_SERVER"], port))
        until = began + flow["stop_s"]
        while (left := until - time.monotonic()) > 0.0:
            if not select.select([connection], [], [], left)[0]:
                break
            count = connection.recv_into(buffer)
            if not count:
                break
            total += count
            seen["times_s"].append(round(time.monotonic() - began, 6))
            seen["bytes"].append(total)


def _run(verb: str, config: Config) -> list[Received]:
    flows = config["flows"]
    seen: list[Received] = [{"times_s": [], "bytes": [], "segments": 0, "retransmitted": 0} for _ in flows]
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    began = time.monotonic()
    # The first flow's port is the one that shows that the server is ready: it listens last.
    ready = threading.Barrier(len(flows))
    threads = [
        threading.Thread(
            target=_serve_flow if verb == "serve" else _fetch_flow,
            args=(flow, PORT + number, seen[number], ready if verb == "serve" else began),
            daemon=True,
        )
        for number, flow in enumerate(flows)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(config["seconds"] + 5.0)
    return seen


def main() -> None:
    verb, text = sys.argv[1:]
    config = json.loads(text)
    folder = Path(config["results"])
    written = folder / f"{verb}.partial"
    written.write_text(json.dumps(_run(verb, config)), "ascii")
    written.rename(folder / f"{verb}.json")
    # The emulation ends with the client.
    while verb == "fetch" and not (folder / "serve.json").is_file():
        time.sleep(0.05)


if __name__ == "__main__":
    main()
