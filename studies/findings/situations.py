"""Situations of hosts in which a finding of `analyze` is true, and the nearest ones in which it is
not, each over a drawn path.

What is true follows from what the kernel's sockets are made to do and from what the path does,
never from the capture. A flow of the situation has a server's port of `PORT` or above; a flow on
`BESIDE`, where there is one, is an ordinary download, of which no finding of a defect is true.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from studies.analyzer.host_namespaces import CLIENT, SERVER, UNANSWERED, PathConfig, TokenBucket

PORT, OTHER, BESIDE, CLOSED = 7000, 7001, 7100, 9
Part = dict[str, Any]


@dataclass(frozen=True)
class Conditions:
    """A drawn path: round trip (ms), rate (Mb/s), captured bytes of a packet, offloads of the
    hosts, a download beside it, and the seed of the link's random numbers.
    """

    rtt_ms: float
    rate_mbps: float
    snap_bytes: int
    offloads: bool
    beside: bool
    seed: int

    @property
    def path(self) -> PathConfig:
        """The plain path: a token bucket with 2 BDP or more of queue behind a link that delays."""
        return self.with_link()

    def with_link(
        self, keys: Mapping[str, str] | None = None, buffer_bdp: float = 2.0, down: bool = True
    ) -> PathConfig:
        """The path with more keys of the emulated hop, TOML each; `down`: with the token bucket."""
        link = {"rate": '"1 Gb/s"', "delay": f'"{self.rtt_ms / 2:g} ms"', **(keys or {})}
        bucket = TokenBucket(
            round(self.rate_mbps * 1e6),
            max(16_000, round(self.rate_mbps * 1e6 / 8 * 0.002)),
            max(24_000, round(buffer_bdp * self.bdp_bytes)),
        )
        return PathConfig(link, bucket if down else None, seed=self.seed, offloads=self.offloads)

    @property
    def bdp_bytes(self) -> float:
        return self.rate_mbps * 1e6 / 8 * self.rtt_ms / 1e3


def drawn_conditions(finding: str, holds: bool, number: int, seed: int) -> Conditions:
    """The first half has one path and one flow, the other half drawn ones, every second of these
    with a download beside."""
    draw = random.Random(f"{seed} {finding} {holds} {number}")
    if number % 2 == 0:
        return Conditions(20.0, 20.0, 128, True, False, draw.randrange(1, 1 << 30))
    return Conditions(
        rtt_ms=round(10 ** draw.uniform(0.9, 2.1), 1),
        rate_mbps=round(10 ** draw.uniform(0.7, 1.7), 1),
        snap_bytes=draw.choice((96, 128, 256, 65535)),
        offloads=draw.random() < 0.5,
        beside=number % 4 == 3,
        seed=draw.randrange(1, 1 << 30),
    )


@dataclass(frozen=True)
class Scene:
    """What is run: the path, the parts of both programs, and what is captured.

    `ends`: whose captures are analyzed, in this order; `expression`: tcpdump's; `actions`: after so
    many seconds, a command in a namespace (`EDGE` stands for the client's edge); `before`: the same
    before anything else runs; `injector`: a part of `programs.py` at the server's edge; `edit`: the
    name of an edit of the captures (`edits.py`); `at_most_s`: longest time of the client.
    """

    path: PathConfig
    server: Sequence[Part]
    client: Sequence[Part]
    ends: tuple[str, ...] = ("server",)
    expression: str = "tcp"
    before: Sequence[tuple[str, str]] = ()
    actions: Sequence[tuple[float, str, str]] = ()
    injector: Part | None = None
    edit: str = ""
    at_most_s: float = 12.0
    address: str = SERVER[0]


EDGE = "EDGE"
PATH_DOWN, PATH_UP = "ip rule add from all priority 1 blackhole", "ip rule del priority 1"
"""The path carries nothing in either direction, and does again."""


@dataclass(frozen=True)
class Situation:
    """What happens, and its scene over a path."""

    title: str
    make: Callable[[Conditions], Scene]


def _bulk(c: Conditions, seconds: float = 3.0, path: PathConfig | None = None, **keys: Any) -> Scene:
    """A download over the path."""
    return Scene(
        path or c.path,
        [part("download", seconds=seconds, **keys.pop("server", {}))],
        [part("read", **keys.pop("client", {}))],
        **keys,
    )


def part(kind: str, port: int = PORT, **keys: Any) -> Part:
    """A part of `programs.py` with its keys."""
    return {"kind": kind, "port": port, **keys}


def _answers(c: Conditions, sizes: Sequence[int], count: int = 25, pause_s: float = 0.0, **server: Any) -> Scene:
    """Requests, `pause_s` after the answer before, each with an answer of these writes."""
    answer = part("responses", sizes=list(sizes), **server)
    return Scene(c.path, [answer], [part("requests", size=sum(sizes), count=count, think_s=pause_s)])


def _at(c: Conditions, rtt_ms: float) -> Conditions:
    return replace(c, rtt_ms=rtt_ms)


# fmt: off
def _situations() -> Mapping[str, tuple[Sequence[Situation], Sequence[Situation]]]:
    true: dict[str, list[Situation]] = {}
    false: dict[str, list[Situation]] = {}

    def add(finding: str, holds: bool, title: str, make: Callable[[Conditions], Scene]) -> None:
        true.setdefault(finding, [])
        false.setdefault(finding, [])
        (true if holds else false)[finding].append(Situation(title, make))

    # Nagle and delayed ACKs
    add("nagle_delayed_ack", True, "each answer is two small writes", lambda c: _answers(c, (200, 300)))
    add("nagle_delayed_ack", True, "each answer is three small writes", lambda c: _answers(c, (120, 900, 80), count=50))
    add("nagle_delayed_ack", False, "two writes with TCP_NODELAY, the second 40 ms later",
        lambda c: _answers(c, (200, 300), gap_s=0.04, nodelay=True))
    add("nagle_delayed_ack", False, "one write, a path of 40 ms", lambda c: _answers(_at(c, 40.0), (500,)))
    add("nagle_delayed_ack", False, "one write after 40 ms of thought", lambda c: _answers(c, (500,), think_s=0.04))
    add("delayed_ack_stall", True, "one block at a time, sent when the one before is acknowledged",
        lambda c: Scene(c.path, [part("stop_and_wait", size=1448, count=60)], [part("read", delayed_acks=True)]))
    add("delayed_ack_stall", False, "the same, to a receiver that acknowledges at once",
        lambda c: Scene(_at(c, 40.0).path, [part("stop_and_wait", size=1448, count=60)], [part("read")],
                        before=[("client", "ip route change default via 10.9.1.1 src 100.64.0.2 quickack 1")]))
    add("delayed_ack_stall", False, "a block each 40 ms", lambda c: Scene(c.path, [part("chunks", size=1000, every_s=0.04, count=60)], [part("read")]))

    # Who does not answer
    add("accept_queue", True, "a program that does not accept, backlog 1",
        lambda c: Scene(c.path, [part("not_accepting", backlog=1, after_s=3.0)],
                        [part("connect_many", count=7, every_s=0.1, timeout_s=6.0)], at_most_s=9.0))
    add("accept_queue", False, "SYN-ACKs are lost",
        lambda c: Scene(c.with_link({"loss.down": "0.5"}), [part("download", size=3000)],
                        [part("connect_many", count=7, every_s=0.1, timeout_s=6.0)]))
    add("accept_queue", False, "a filter between the capture and the program: no client is answered",
        lambda c: Scene(c.path, [part("download", size=3000)], [part("connect_many", count=5, every_s=0.1, timeout_s=4.0)],
                        before=[("server", f"ip route add blackhole {CLIENT[0]}/32")]))
    add("accept_queue", False, "no program listens",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", port=CLOSED, count=5, every_s=0.1, timeout_s=3.0)]))
    add("peer_gone", True, "the client vanishes while it downloads",
        lambda c: _bulk(c, 30.0, actions=[(1.3, EDGE, PATH_DOWN)], at_most_s=7.0))
    add("peer_gone", True, "the client vanishes before the FIN",
        lambda c: Scene(c.path, [part("chunks", size=5000, every_s=1.5, count=1)], [part("read")],
                        actions=[(1.2, EDGE, PATH_DOWN)], at_most_s=8.0))
    add("peer_gone", False, "the path is gone for a second, then goes on",
        lambda c: _bulk(c, 5.0, actions=[(1.3, EDGE, PATH_DOWN), (2.3, EDGE, PATH_UP)]))
    add("peer_gone", False, "the client stops reading for two seconds",
        lambda c: _bulk(c, 4.0, client={"receive_buffer": 16384, "pauses": [[150_000, 2.0]]}))
    add(
        "peer_gone",
        False,
        "the server pauses for two seconds",
        lambda c: _bulk(c, 4.0, server={"pauses": [[1.0, 3.0]]}),
    )
    add("keepalive_unanswered", True, "an idle connection whose path is gone",
        lambda c: Scene(c.path, [part("kept_alive", size=900, idle_s=1, interval_s=1, count=3)], [part("idle", seconds=7.0)],
                        actions=[(0.9, EDGE, PATH_DOWN)], at_most_s=8.0))
    add("keepalive_unanswered", False, "an idle connection whose probes are answered",
        lambda c: Scene(c.path, [part("kept_alive", size=900, idle_s=1, interval_s=1, count=3)], [part("idle", seconds=4.5)]))
    add("keepalive_unanswered", False, "the client vanishes while it downloads",
        lambda c: _bulk(c, 30.0, actions=[(1.0, EDGE, PATH_DOWN)], at_most_s=6.0))

    # Resets
    add("reset_injected", True, "a middlebox resets the client in the server's name",
        lambda c: _bulk(c, 2.5, ends=("client",), injector={"kind": "inject_reset", "port": PORT, "after_segments": 30}))
    add("reset_injected", False, "the server aborts with a linger time of zero",
        lambda c: _bulk(c, 2.5, ends=("client",), server={"abort_after_s": 1.0}))
    add("reset_injected", False, "no program listens",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", port=CLOSED, count=3, every_s=0.1, timeout_s=3.0)],
                        ends=("client",)))
    add("reset_abort", True, "the server aborts with a linger time of zero",
        lambda c: _bulk(c, 2.5, server={"abort_after_s": 1.0}))
    add("reset_abort", False, "the server closes in order", lambda c: _bulk(c, 1.5))
    add("connection_refused", True, "no program listens",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", port=CLOSED, count=3, every_s=0.1, timeout_s=3.0)],
                        ends=("client",)))
    add("connection_refused", False, "no answer at all",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", count=3, every_s=0.1, timeout_s=3.5)],
                        ends=("client",), address=UNANSWERED))
    add("connection_unanswered", True, "no answer at all",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", count=3, every_s=0.1, timeout_s=3.5)],
                        ends=("client",), address=UNANSWERED))
    add("connection_unanswered", False, "no program listens",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", port=CLOSED, count=3, every_s=0.1, timeout_s=3.0)],
                        ends=("client",)))
    add("connection_unanswered", False, "the first SYN is lost",
        lambda c: _bulk(c, 1.0, ends=("client",), before=[(EDGE, PATH_DOWN)], actions=[(0.6, EDGE, PATH_UP)]))

    # The capture itself
    add("one_direction", True, "the server's packets alone are captured", lambda c: _bulk(c, 1.5, expression=f"tcp and src host {SERVER[0]}"))
    add("one_direction", True, "the client's packets alone are captured", lambda c: _bulk(c, 1.5, ends=("client",), expression=f"tcp and src host {CLIENT[0]}"))
    add("one_direction", False, "no answer to the SYN",
        lambda c: Scene(c.path, [part("sink")], [part("connect_many", count=3, every_s=0.1, timeout_s=3.5)],
                        ends=("client",), address=UNANSWERED))
    add("one_direction", False, "a download", lambda c: _bulk(c, 1.5))
    add("clock_steps", True, "the capture's clock steps back now and then", lambda c: _bulk(c, 1.5, edit="clock_steps"))
    add("clock_steps", False, "the path reorders",
        lambda c: _bulk(c, 2.0, ends=("client",), path=c.with_link({"reorder.down": '{ mean = 0.02, delay = "4 ms" }'})))
    add(
        "clock_steps",
        False,
        "neighbours within 10 us are recorded in swapped order",
        lambda c: _bulk(c, 1.5, edit="swapped"),
    )
    add("nat_both_sides", True, "a translator's both interfaces", lambda c: _bulk(c, 1.5, edit="translated"))
    add("nat_both_sides", False, "two downloads of the same bytes at once",
        lambda c: Scene(c.path, [part("download", size=400_000), part("download", port=OTHER, size=400_000)],
                        [part("read"), part("read", port=OTHER)]))
    add("capture_drops", True, "2 % of the records are missing", lambda c: _bulk(c, 2.0, edit="missing_records"))
    add(
        "capture_drops",
        False,
        "2 % of the packets are lost",
        lambda c: _bulk(c, 3.0, path=c.with_link({"loss.down": "0.02"})),
    )
    add("handshake_loss", True, "the first SYN is lost",
        lambda c: _bulk(c, 1.0, ends=("client",), before=[(EDGE, PATH_DOWN)], actions=[(0.6, EDGE, PATH_UP)]))
    add("handshake_loss", False, "the SYN-ACK is recorded before the SYN", lambda c: _bulk(c, 1.0, edit="synack_first"))
    add("handshake_loss", False, "a handshake", lambda c: _bulk(c, 1.0, ends=("client",)))

    # What a middlebox does
    add("window_scaling_stripped", True, "the server's capture has no window scale of the client's SYN",
        lambda c: _bulk(c, 2.0, ends=("server", "client"), edit="scale_stripped",
                        before=[("server", "sysctl -qw net.ipv4.tcp_window_scaling=0")]))
    add("window_scaling_stripped", False, "the server does not scale",
        lambda c: _bulk(c, 2.0, ends=("server", "client"), before=[("server", "sysctl -qw net.ipv4.tcp_window_scaling=0")]))
    add("path_mtu", True, "a link of 1300 bytes that reports nothing, the server's capture", lambda c: _hole(c, ("server",)))
    add("path_mtu", True, "a link of 1300 bytes that reports nothing, both captures", lambda c: _hole(c, ("server", "client")))
    add("path_mtu", False, "the client vanishes", lambda c: _bulk(c, 30.0, actions=[(0.8, EDGE, PATH_DOWN)], at_most_s=6.0))
    add("path_mtu", False, "5 % random loss", lambda c: _bulk(c, 3.0, ends=("server", "client"), path=c.with_link({"loss.down": "0.05"})))
    add("path_mtu", False, "a link of 1300 bytes that reports it", lambda c: _bulk(c, 2.0, path=c.with_link({"mtu": '{ ip = "1300 B" }'})))

    # Links
    add("policer", True, "a policer, both captures",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=_policed(c, 40_000)))
    add("policer", False, "a token bucket with a short queue",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=c.with_link(buffer_bdp=0.5)))
    add("policer", False, "1 % random loss",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=c.with_link({"loss.down": "0.01"}, down=False)))
    add("loss_radio", True, "1 % random loss below the rate",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=c.with_link({"loss.down": "0.01"}, down=False)))
    add("loss_radio", False, "a policer", lambda c: _bulk(c, 5.0, ends=("server", "client"), path=_policed(c, 40_000)))
    add("loss_radio", False, "a queue that overflows", lambda c: _bulk(c, 5.0, ends=("server", "client")))
    add("loss_congestion", True, "a queue that overflows", lambda c: _bulk(_at(c, min(c.rtt_ms, 40.0)), 5.0, ends=("server", "client")))
    add(
        "loss_congestion",
        False,
        "a policer",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=_policed(c, 40_000)),
    )
    add("loss_congestion", False, "1 % random loss",
        lambda c: _bulk(c, 5.0, ends=("server", "client"), path=c.with_link({"loss.down": "0.01"}, down=False)))
    add("reordering", True, "1 % of the packets take 8 ms longer",
        lambda c: _bulk(c, 3.0, ends=("client",), path=c.with_link({"reorder.down": '{ mean = 0.02, delay = "8 ms" }'})))
    add("reordering", False, "1 % random loss", lambda c: _bulk(c, 3.0, ends=("client",), path=c.with_link({"loss.down": "0.01"})))
    add(
        "upload_slows_download",
        True,
        "an upload fills a deep queue towards the server",
        lambda c: _both(c, 120_000, True),
    )
    add("upload_slows_download", False, "a slow upload that fills nothing", lambda c: _both(c, 120_000, False))
    add("upload_slows_download", False, "two downloads",
        lambda c: Scene(c.path, [part("download", seconds=4.0), part("download", port=OTHER, seconds=4.0)],
                        [part("read"), part("read", port=OTHER)], ends=("client",)))

    # Limits. Of a send buffer only simulated ones: Linux 6.18 was seen to have 70 kB queued with an
    # SO_SNDBUF of 4 kB, and by its own account no time limited by it.
    add(
        "receive_window", True, "SO_RCVBUF of 16 kB", lambda c: _bulk(_narrow(c), 3.0, client={"receive_buffer": 16384})
    )
    add("receive_window", False, "a program that writes 16 kB each 50 ms",
        lambda c: Scene(c.path, [part("chunks", size=16384, every_s=0.05, count=50)], [part("read")]))
    add("receive_window", False, "1 % random loss", lambda c: _bulk(c, 3.0, path=c.with_link({"loss.down": "0.01"})))
    add("zero_window_stall", True, "a client that stops reading",
        lambda c: _bulk(c, 4.0, client={"receive_buffer": 16384, "pauses": [[60_000, 1.0], [160_000, 1.5]]}))
    add("zero_window_stall", False, "a server that stops writing", lambda c: _bulk(c, 4.0, server={"pauses": [[0.8, 1.8], [2.2, 3.7]]}))
    add("server_think_time", True, "0.3 s before each answer", lambda c: _answers(c, (3000,), count=8, think_s=0.3))
    add("server_think_time", False, "a client that thinks", lambda c: _answers(c, (3000,), count=8, pause_s=0.3))
    add("client_think_time", True, "0.3 s before each request", lambda c: _answers(c, (3000,), count=8, pause_s=0.3))
    add("client_think_time", False, "a server that thinks", lambda c: _answers(c, (3000,), count=8, think_s=0.3))
    return {finding: (true[finding], false[finding]) for finding in true}
# fmt: on


def _narrow(c: Conditions) -> Conditions:
    """A path on which the small buffers are small."""
    return replace(c, rtt_ms=max(c.rtt_ms, 20.0), rate_mbps=max(c.rate_mbps, 15.0))


def _hole(c: Conditions, ends: tuple[str, ...]) -> Scene:
    return _bulk(c, 30.0, ends=ends, path=c.with_link({"mtu": '{ ip = "1300 B", icmp = false }'}), at_most_s=6.0)


def _policed(c: Conditions, burst: int) -> PathConfig:
    policer = f'{{ rate = "{c.rate_mbps:g} Mb/s", burst = "{burst} B" }}'
    return c.with_link({"policer.down": policer}, down=False)


def _both(c: Conditions, queue: int, full: bool) -> Scene:
    """A download, and an upload over a tenth of its rate that fills the uplink's queue or not."""
    up = max(0.5, c.rate_mbps / 10)
    path = PathConfig(
        {"rate": '"1 Gb/s"', "delay": f'"{c.rtt_ms / 2:g} ms"'},
        c.path.down,
        TokenBucket(round(up * 1e6), 8_000, queue),
        seed=c.seed,
        offloads=c.offloads,
    )
    rate = {} if full else {"rate_bps": up * 1e6 * 0.3}
    return Scene(
        path,
        [part("download", seconds=5.0), part("sink", port=OTHER)],
        [part("read"), part("upload", port=OTHER, seconds=4.0, start_s=0.5, **rate)],
        ends=("client",),
    )


SITUATIONS = _situations()
"""By finding: the situations in which it is true, and those in which it is not."""
