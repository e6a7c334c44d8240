"""`python -m studies.quic.aioquic_path`: sign and order of effects with another stack.

aioquic (needs `pip install aioquic`) at both ends of a path in virtual time, beside noq 1.4 in the
simulator over the same link: what fewer ACKs, losses and the control do to a download's goodput.
Both stacks take time as an argument, so that no real time passes.
"""

from __future__ import annotations

import datetime
import heapq
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

import ackclock

QuicConfiguration: Any = import_module("aioquic.quic.configuration").QuicConfiguration
QuicConnection: Any = import_module("aioquic.quic.connection").QuicConnection
StreamDataReceived: Any = import_module("aioquic.quic.events").StreamDataReceived
SECONDS = 20
SEEDS = (1, 2, 3)
IP_UDP_BYTES = 28
WINDOW = 12_500_000
CHUNK = 1 << 16
AHEAD = 4 << 20
"""Bytes that the application keeps written ahead."""
STEP_S = 1e-6
ADDRESSES = (("10.0.0.1", 443), ("10.0.0.2", 50_000))


@dataclass(frozen=True)
class Path:
    """Rates in b/s, one-way delay in s, queues in packets, loss of data packets as a share."""

    down_bps: float = 10e6
    up_bps: float = 10e6
    delay_s: float = 0.02
    down_packets: int = 60
    up_packets: int = 10
    loss: float = 0.0


@dataclass(frozen=True)
class Setting:
    """A download: the control, and packets or seconds for which the receiver withholds ACKs."""

    name: str
    path: Path
    control: str = "cubic"
    noq_ack_frequency: int | None = None
    noq_max_ack_delay: str | None = None
    aioquic_ack_delay_s: float = 0.001


SLOW = Path(up_bps=15e3)
SETTINGS = (
    Setting("plain", Path()),
    Setting("1 % loss", Path(loss=0.01)),
    Setting("1 % loss, reno", Path(loss=0.01), control="reno"),
    Setting("fewer ACKs", Path(), noq_ack_frequency=9, aioquic_ack_delay_s=0.008),
    Setting("slow return", SLOW),
    Setting("slow return, fewer ACKs", SLOW, noq_ack_frequency=24, noq_max_ack_delay="60 ms", aioquic_ack_delay_s=0.06),
)


def configurations(control: str) -> tuple[Any, Any]:
    """Of the server, with a certificate of its own, and of the client."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + datetime.timedelta(days=9999))
    ).sign(key, hashes.SHA256())
    server = QuicConfiguration(is_client=False, congestion_control_algorithm=control, max_datagram_size=1452)
    server.certificate, server.private_key = certificate, key
    client = QuicConfiguration(max_data=WINDOW, max_stream_data=WINDOW, max_datagram_size=1452, server_name="server")
    client.verify_mode = 0
    return server, client


def downloaded(setting: Setting, seed: int) -> tuple[float, float]:
    """Goodput of aioquic in b/s, and ACK packets that arrived for each data packet."""
    path, rng = setting.path, random.Random(seed)
    of_server, of_client = configurations(setting.control)
    client = QuicConnection(configuration=of_client)
    client._ack_delay = setting.aioquic_ack_delay_s
    client.connect(ADDRESSES[0], now=0.0)
    server: Any = None
    arrivals: list[tuple[float, int, int, bytes]] = []
    waiting: list[list[float]] = [[], []]
    order, free = itertools.count(), [0.0, 0.0]
    counts, received, written = [0, 0], 0, 0

    def send(end: int, now: float) -> None:
        """The datagrams of the server (0) or the client (1) enter their queue."""
        connection = (server, client)[end]
        rate, room = ((path.down_bps, path.down_packets), (path.up_bps, path.up_packets))[end]
        for data, _ in connection.datagrams_to_send(now=now) if connection else []:
            queue = waiting[end]
            while queue and queue[0] <= now:
                queue.pop(0)
            if len(queue) >= room or (end == 0 and rng.random() < path.loss):
                continue
            free[end] = max(free[end], now) + 8 * (len(data) + IP_UDP_BYTES) / rate
            queue.append(free[end])
            heapq.heappush(arrivals, (free[end] + path.delay_s, next(order), 1 - end, data))

    send(1, 0.0)
    now = 0.0
    while now < SECONDS:
        timers = [(connection.get_timer() if connection else None) or 1e9 for connection in (server, client)]
        due = min(timers[0], timers[1], arrivals[0][0] if arrivals else 1e9)
        # A timer that stays due, as by a rounding, is tried again later.
        now = due if due > now else now + STEP_S
        for connection, timer in zip((server, client), timers, strict=True):
            if connection and timer <= now:
                connection.handle_timer(now=now)
        while arrivals and arrivals[0][0] <= now:
            _, _, end, data = heapq.heappop(arrivals)
            if server is None:
                server = QuicConnection(
                    configuration=of_server,
                    original_destination_connection_id=client.original_destination_connection_id,
                )
            (server, client)[end].receive_datagram(data, ADDRESSES[1 - end], now=now)
            counts[end] += 1
            received += sum(len(event.data) for event in events(client) if isinstance(event, StreamDataReceived))
        for _ in events(server):
            pass
        if server and server._handshake_confirmed:
            while written < received + AHEAD:
                server.send_stream_data(1, bytes(CHUNK))
                written += CHUNK
        send(0, now)
        send(1, now)
    return 8 * received / SECONDS, counts[0] / max(counts[1], 1)


def events(connection: Any) -> Iterator[Any]:
    while connection and (event := connection.next_event()) is not None:
        yield event


def simulated(setting: Setting, seed: int) -> tuple[float, float]:
    """The same of noq 1.4."""
    path = setting.path
    hop: dict[str, Any] = {
        "name": "line",
        "delay": f"{path.delay_s} s",
        "rate": {"down": f"{path.down_bps:.0f} b/s", "up": f"{path.up_bps:.0f} b/s"},
        "queue": {
            "down": {"kind": "droptail", "packets": path.down_packets},
            "up": {"kind": "droptail", "packets": path.up_packets},
        },
    }
    if path.loss:
        hop["loss"] = {"down": {"kind": "bernoulli", "mean": path.loss}}
    asked = {"ack_frequency": setting.noq_ack_frequency, "max_ack_delay": setting.noq_max_ack_delay}
    quic = {key: value for key, value in asked.items() if value is not None}
    flow = {"workload": {"kind": "bulk"}, "transport": "quic", "variant": setting.control, "quic": quic}
    done = ackclock.simulate({"hop": [hop]}, [flow], duration=f"{SECONDS} s", seeds=[seed], sample=0)
    row = done.summaries[0]["flows"][0]
    return row["goodput_bps"] or 0.0, row["quic"]["back_packets"] / max(row["segments_sent"], 1)


def main() -> None:
    print(f"{'':24} {'aioquic':>18} {'noq 1.4':>18}")
    for setting in SETTINGS:
        cells = []
        for run in (downloaded, simulated):
            found = [run(setting, seed) for seed in SEEDS]
            goodput, acks = (sum(values) / len(found) for values in zip(*found, strict=True))
            cells.append(f"{goodput / 1e6:8.2f} {acks:9.3f}")
        print(f"{setting.name:24} {cells[0]:>18} {cells[1]:>18}", flush=True)


if __name__ == "__main__":
    main()
