"""Simulated flows in which a finding is true, and the nearest ones in which it is not, with both
ends' captures.

What is true is what the link file says. The links are drawn: rate, round trip, buffer, host and
congestion control.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ackclock import analyze
from studies.analyzer.captures import Case, run

Keys = dict[str, Any]
_SENDERS = ("cubic", "reno", "bbr", "westwood+")
_SERVER, _BOTH = ("server",), ("server", "client")


@dataclass(frozen=True)
class Link:
    """A drawn link: rate (Mb/s), round trip (ms), and the sender's congestion control."""

    rate_mbps: float
    rtt_ms: float
    variant: str
    seed: int

    @property
    def bdp_bytes(self) -> float:
        return self.rate_mbps * self.rtt_ms * 125

    def case(self, buffer_bdp: float = 2.0, tcp: Keys | None = None, **keys: Any) -> Case:
        """A download over the link; `keys` of the hop and of `Case`."""
        beyond: Keys = {
            name: keys.pop(name) for name in ("flow", "cross", "duration", "offloads", "whole") if name in keys
        }
        hop: Keys = {"name": "line", "rate": f"{self.rate_mbps} Mb/s", "delay": f"{self.rtt_ms / 2:.3f} ms"}
        hop["queue"] = {"bytes": f"{max(9000, round(buffer_bdp * self.bdp_bytes))} B"}
        hop |= keys
        sender: Keys = {"host": "linux-6", "variant": self.variant}
        sender |= tcp or {}
        beyond.setdefault("duration", "12 s")
        return Case(hop, sender, seed=self.seed, **beyond)


@dataclass(frozen=True)
class Simulated:
    """A simulated situation: what it is, the ends whose captures are analyzed, and its case."""

    title: str
    ends: tuple[str, ...]
    make: Callable[[Link, random.Random], Case]


def drawn_link(draw: random.Random) -> Link:
    """2 to 100 Mb/s, round trips of 6 to 120 ms."""
    return Link(
        round(10 ** draw.uniform(0.3, 2.0), 2),
        round(10 ** draw.uniform(0.8, 2.08), 1),
        draw.choice(_SENDERS),
        draw.randrange(1, 1 << 30),
    )


def _random_loss(link: Link, draw: random.Random) -> Case:
    """Losses that are the link's alone: its queue holds all that slow start sends before a loss."""
    return link.case(
        tcp={"variant": draw.choice(("cubic", "reno"))},
        queue={"bytes": "8 MB"},
        loss={"down": round(draw.uniform(0.006, 0.02), 4)},
    )


def _overflow(link: Link, draw: random.Random) -> Case:
    """Hosts whose buffers hold more than the line and its queue."""
    buffers = {"send_buffer": "16 MB", "receive_buffer": "16 MB"}
    return link.case(draw.uniform(0.7, 2.0), {"variant": draw.choice(("cubic", "reno")), **buffers})


def _policer(link: Link, draw: random.Random) -> Case:
    burst = max(12_000, round(draw.uniform(0.3, 1.5) * link.bdp_bytes))
    policer = {"down": {"rate": f"{link.rate_mbps} Mb/s", "burst": f"{burst} B"}}
    return link.case(
        1.0, {"variant": draw.choice(("cubic", "reno"))}, rate="1 Gb/s", queue={"bytes": "4 MB"}, policer=policer
    )


def _shallow(link: Link, draw: random.Random) -> Case:
    return link.case(draw.uniform(0.25, 0.6), {"variant": draw.choice(("cubic", "reno"))})


def _black_hole(link: Link, draw: random.Random) -> Case:
    return link.case(mtu={"ip": f"{draw.randrange(900, 1460)} B", "icmp": False})


def _reported(link: Link, draw: random.Random) -> Case:
    return link.case(mtu={"ip": f"{draw.randrange(900, 1460)} B"})


def _long(link: Link) -> Link:
    """The link with a round trip that holds 16 full segments or more: a part is a buffer."""
    return replace(link, rtt_ms=max(link.rtt_ms, round(24_000 / (link.rate_mbps * 125), 1)))


def _window(link: Link, draw: random.Random) -> Case:
    """A receive buffer whose window holds a quarter to half of the bandwidth-delay product."""
    link = _long(link)
    size = round(link.bdp_bytes * draw.uniform(0.3, 0.6))
    return link.case(tcp={"receive_buffer": f"{size} B", "variant": "cubic"})


def _small_send_buffer(link: Link, draw: random.Random) -> Case:
    link = _long(link)
    size = round(link.bdp_bytes * draw.uniform(0.4, 0.8))
    return link.case(tcp={"send_buffer": f"{size} B", "variant": "cubic"})


def _pages(link: Link, think_s: float) -> Case:
    """A client that asks for page after page on one connection, after so much thought."""
    pages = {"kind": "web", "persistent": True, "answers": 1, "size": "40 kB", "jobs": 10, "think": f"{think_s:.3f} s"}
    return link.case(flow={"workload": pages})


def _uplink(link: Link, draw: random.Random, upload: Keys | None, queue: Keys | None = None) -> Case:
    """A download, and an upload over a thirtieth of its rate, whose queue holds 0.4 to 0.9 s, or is
    another one. The capture has both."""
    up = max(0.25, link.rate_mbps / 30)
    deep = {"bytes": f"{round(up * 125 * draw.uniform(400, 900))} B"}
    return link.case(
        rate={"down": f"{link.rate_mbps} Mb/s", "up": f"{up:.3f} Mb/s"},
        queue={"down": {"bytes": f"{max(9000, round(2 * link.bdp_bytes))} B"}, "up": queue or deep},
        cross=({"direction": "up", **upload},) if upload else (),
        whole=True,
    )


_BULK: Keys = {"workload": {"kind": "bulk"}}


def _full(link: Link, draw: random.Random) -> Case:
    return link.case(draw.uniform(1.5, 4.0))


def _reordered(link: Link, draw: random.Random) -> Case:
    # Longer than three full packets take, so that others overtake.
    delay = f"{max(2.0, 0.2 * link.rtt_ms, 36.0 / link.rate_mbps):.2f} ms"
    return link.case(reorder={"down": {"mean": round(draw.uniform(0.01, 0.03), 4), "delay": delay}})


SITUATIONS: Mapping[str, tuple[Sequence[Simulated], Sequence[Simulated]]] = {
    "loss_radio": (
        [Simulated("random loss before a queue that never overflows", _BOTH, _random_loss)],
        [Simulated("overflows", _BOTH, _overflow), Simulated("a policer", _BOTH, _policer), Simulated("a short queue", _BOTH, _shallow)],
    ),
    "loss_congestion": (
        [Simulated("overflows", _BOTH, _overflow)],
        [Simulated("random loss", _BOTH, _random_loss), Simulated("a policer", _BOTH, _policer)],
    ),
    "policer": (
        [Simulated("a policer", _BOTH, _policer)],
        [Simulated("a short queue", _BOTH, _shallow), Simulated("random loss", _BOTH, _random_loss), Simulated("overflows", _BOTH, _overflow)],
    ),
    "path_mtu": (
        [Simulated("a link that drops long packets", _SERVER, _black_hole), Simulated("the same, both captures", _BOTH, _black_hole)],
        [Simulated("a link that reports long packets", _SERVER, _reported), Simulated("random loss", _BOTH, _random_loss)],
    ),
    "receive_window": (
        [Simulated("a receive buffer below the bandwidth-delay product", _SERVER, _window)],
        [
            Simulated("a send buffer below it", _SERVER, _small_send_buffer),
            Simulated("overflows", _SERVER, _overflow),
            Simulated("a client that thinks", _SERVER, lambda link, draw: _pages(link, draw.uniform(0.2, 0.6))),
        ],
    ),
    "application": (
        [Simulated("a client that thinks", _SERVER, lambda link, draw: _pages(link, draw.uniform(0.2, 0.6)))],
        [
            Simulated("a full line with a queue", _SERVER, _full),
            Simulated("a link that reports long packets", _SERVER, _reported),
            Simulated("a receive buffer below the bandwidth-delay product", _SERVER, _window),
        ],
    ),
    "client_think_time": (
        [Simulated("0.2 to 0.6 s before each request", _SERVER, lambda link, draw: _pages(link, draw.uniform(0.2, 0.6)))],
        [Simulated("pages without a pause", _SERVER, lambda link, _: _pages(link, 0.0)), Simulated("a full line with a queue", _SERVER, _full)],
    ),
    "upload_slows_download": (
        [Simulated("an upload fills a deep queue", ("client",), lambda link, draw: _uplink(link, draw, _BULK))],
        [
            Simulated("an upload beside a queue per flow", ("client",), lambda link, draw: _uplink(link, draw, _BULK, {"kind": "fq-codel"})),
            Simulated("no upload", ("client",), lambda link, draw: _uplink(link, draw, None)),
        ],
    ),
    "send_buffer": (
        [Simulated("a send buffer below the bandwidth-delay product", _SERVER, _small_send_buffer)],
        [Simulated("a receive buffer below it", _SERVER, _window), Simulated("random loss", _SERVER, _random_loss)],
    ),
    "bottleneck": (
        [Simulated("a full line with a queue", _SERVER, _full)],
        [Simulated("a receive buffer below the bandwidth-delay product", _SERVER, _window)],
    ),
    "reordering": (
        [Simulated("1 to 3 % of the packets take longer", ("client",), _reordered)],
        [Simulated("random loss", ("client",), _random_loss), Simulated("overflows", ("client",), _overflow)],
    ),
}  # fmt: skip


def observe(situation: Simulated, seed: str) -> frozenset[str]:
    """Simulate a situation once. Return the findings of its captures."""
    draw = random.Random(seed)
    case = situation.make(drawn_link(draw), draw)
    with tempfile.TemporaryDirectory() as scratch:
        run(case, Path(scratch))
        document = analyze(*(Path(scratch) / f"{end}.pcap" for end in situation.ends)).document
    found = {finding["finding"] for finding in document["summary"]["findings"]}
    return frozenset(found | {finding["finding"] for flow in document["flows"] for finding in flow["diagnosis"]})
