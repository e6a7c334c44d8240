"""Situations drawn from a seed, by what limits them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Data = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A situation: its kind, its number, and the scenario as a dict."""

    kind: str
    number: int
    data: Data


@dataclass
class _Path:
    """A path in numbers: rates in bits/s, the RTT in s, queues and window in bytes."""

    down: float
    up: float
    rtt: float
    queue: float
    uplink: float
    loss: float = 0.0
    window: float | None = None
    kind: str = "droptail"
    variant: str = "cubic"
    upload: bool = False
    burst: float | None = None
    """Bytes that pass above the rate, of a token bucket; None: a plain line."""

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product of the downlink in bytes."""
        return self.down * self.rtt / 8

    def scenario(self) -> Data:
        """A download over a server's network and an access line, for 60 RTTs, 10 s at least."""
        tcp: Data = {"variant": self.variant}
        if self.window is not None:
            tcp["receive_buffer"] = f"{round(self.window)} B"
        queues = {
            direction: {"kind": self.kind, "bytes": f"{max(3028, round(size))} B"}
            for direction, size in (("down", self.queue), ("up", self.uplink))
        }
        line: Data = {
            "name": "line",
            "rate": {"down": f"{round(self.down)} b/s", "up": f"{round(self.up)} b/s"},
            "delay": f"{round(1e6 * self.rtt / 2)} us",
            "queue": queues,
            "loss": {"down": round(self.loss, 5)},
        }
        if self.burst is not None:
            rates = {name: line["rate"][name] for name in ("down", "up")}
            channel = {"down": f"{round(10 * self.down)} b/s", "up": f"{round(10 * self.up)} b/s"}
            line["medium"] = {"kind": "grants", "standard": "docsis-3.1", "rate": channel, "cap": rates}
            line["medium"]["burst"] = f"{round(self.burst)} B"
            del line["rate"]
        flows: list[Data] = [{"name": "download", "workload": {"kind": "bulk"}}]
        if self.upload:
            flows.append({"name": "upload", "direction": "up", "workload": {"kind": "bulk"}})
        duration = f"{round(1e3 * min(max(60 * self.rtt, 10.0), 30.0))} ms"
        return {"duration": duration, "tcp": tcp, "hop": [{"name": "net", "delay": "1 ms"}, line], "flow": flows}


def _path(rng: random.Random) -> _Path:
    """An ordinary access line: 2 to 20 Mb/s down, a sixth to all of it up, 15 to 80 ms, a queue of
    a BDP.
    """
    down = _log(rng, 2e6, 20e6)
    rtt = _log(rng, 0.015, 0.08)
    return _Path(down, down / rng.uniform(1.0, 6.0), rtt, max(down * rtt / 8, 15_000), 64_000)


def _log(rng: random.Random, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())


def _window(rng: random.Random) -> _Path:
    path = _path(rng)
    path.rtt = _log(rng, 0.06, 0.2)
    path.queue = path.bdp
    path.window = max(8000, rng.uniform(0.2, 0.5) * path.bdp)
    return path


def _bloated(rng: random.Random) -> _Path:
    path = _path(rng)
    path.queue = path.down * _log(rng, 0.3, 2.0) / 8
    return path


def _starved(rng: random.Random) -> _Path:
    path = _path(rng)
    path.up = path.down / rng.uniform(60, 120)
    path.uplink = rng.uniform(2000, 8000)
    return path


def _random_loss(rng: random.Random) -> _Path:
    path = _path(rng)
    path.loss = _log(rng, 0.003, 0.02)
    return path


def _shaped(rng: random.Random) -> _Path:
    """A token bucket of 50 to 500 ms, half of them with a long queue, half with 10 packets, as a
    policer.
    """
    path = _path(rng)
    path.burst = max(16_000, path.down * _log(rng, 0.05, 0.5) / 8)
    path.queue = path.down * _log(rng, 0.2, 1.0) / 8 if rng.random() < 0.5 else 15_140
    return path


def _shallow(rng: random.Random) -> _Path:
    path = _path(rng)
    path.queue = max(4500, rng.uniform(0.05, 0.2) * path.bdp)
    return path


def _long_fat(rng: random.Random) -> _Path:
    path = _path(rng)
    path.down, path.rtt = _log(rng, 6e6, 12e6), _log(rng, 0.25, 0.4)
    path.up, path.queue = path.down / 5, path.bdp
    return path


def _beside_upload(rng: random.Random) -> _Path:
    path = _path(rng)
    path.up = max(path.down / 16, 3e5)
    path.uplink = path.up * _log(rng, 0.2, 1.0) / 8
    path.upload = True
    return path


def _good(rng: random.Random) -> _Path:
    path = _path(rng)
    path.kind, path.variant = "fq-codel", "bbr"
    path.queue = path.uplink = 1e6
    return path


KINDS: dict[str, Callable[[random.Random], _Path]] = {
    "window-limited": _window,
    "bufferbloated": _bloated,
    "good": _good,
    "ACK-starved": _starved,
    "random loss": _random_loss,
    "shaped": _shaped,
    "shallow buffer": _shallow,
    "good, too": _good,
    "long fat": _long_fat,
    "upload beside it": _beside_upload,
    "good, again": _good,
}
"""Each kind's path, from random numbers. Of 40 situations 10 are drawn to be good, since few of the
others are.
"""


def situations(seed: int) -> Iterator[Drawn]:
    """Situations without end, the kinds in rotation; each number has random numbers of its own."""
    number = 0
    while True:
        for kind, draw in KINDS.items():
            number += 1
            yield Drawn(kind.partition(",")[0], number, draw(random.Random(f"{seed} {number}")).scenario())
