"""Links drawn by seed for `make fit-accuracy`, with the parameters that a fit should find."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Keys = dict[str, Any]
KINDS = ("plain", "bursts", "jitter", "random loss", "fq-codel", "grants", "wimax", "other")
"""What a link has beside rates, delays and queues; `other` is something that no fit has."""
OTHERS = ("cross traffic", "handover", "reorder", "token bucket")
PACKET = 1500


@dataclass(frozen=True)
class TrueLink:
    """A link and its parameters by path after ``hop.access.``, in the units of a fit."""

    number: int
    kind: str
    hops: list[Keys]
    truth: dict[str, float]
    cross: tuple[Keys, ...] = ()
    tcp: Keys = field(default_factory=dict)
    also_true: dict[str, float] = field(default_factory=dict)
    """Values that are as true as those of `truth`: a rate that changes has two."""
    undefined: tuple[str, ...] = ()
    """How paths begin of which this form of a link has no one true value."""

    @property
    def name(self) -> str:
        return f"{self.number} ({self.kind})"


def links(count: int, seed: int) -> Iterator[TrueLink]:
    """`count` links; a fifth has something that the fitter does not model."""
    draw = random.Random(f"fit links {seed}")
    for number in range(1, count + 1):
        modelled = [kind for kind in KINDS if kind != "other"]
        yield drawn_link(draw, number, "other" if number % 5 == 0 else draw.choice(modelled))


def drawn_link(draw: random.Random, number: int, kind: str) -> TrueLink:
    """One link: 0.25 to 50 Mb/s, RTTs of 5 to 300 ms, queues of 10 ms to 2 s."""
    down = round(10 ** draw.uniform(math.log10(0.25e6), math.log10(50e6)))
    up = max(100_000, round(down * draw.choice((1.0, 0.3, 0.1))))
    delay_ms = round(10 ** draw.uniform(math.log10(2.5), math.log10(150)), 2)
    queue_s = 10 ** draw.uniform(-2, math.log10(2))
    size = {name: max(3 * PACKET, round(rate / 8 * queue_s)) for name, rate in (("down", down), ("up", up))}
    hop: Keys = {
        "name": "access",
        "rate": {"down": f"{down} b/s", "up": f"{up} b/s"},
        "delay": f"{delay_ms} ms",
        "queue": {name: {"kind": "droptail", "bytes": f"{size[name]} B"} for name in size},
    }
    truth = {"rate.down": float(down), "rate.up": float(up), "delay": delay_ms, "queue.down.bytes": float(size["down"])}
    hops: list[Keys] = [hop]
    cross: tuple[Keys, ...] = ()
    if kind == "random loss":
        truth["loss.down.mean"] = mean = round(10 ** draw.uniform(-3.5, -2), 5)
        hop["loss"] = {"down": mean}
    elif kind == "bursts":
        mean, sojourn = round(10 ** draw.uniform(-3, math.log10(0.02)), 5), round(draw.uniform(3, 40), 1)
        hop["loss"] = {"down": {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": f"{sojourn} ms"}}
        truth |= {"loss.down.mean": mean, "loss.down.bad_sojourn": sojourn}
    elif kind == "jitter":
        mean, high = round(draw.uniform(0.5, 4), 2), round(draw.uniform(1, 8), 2)
        hop["jitter"] = {
            "down": {"kind": "exponential", "mean": f"{mean} ms"},
            "up": {"kind": "uniform", "high": f"{high} ms"},
        }
        truth |= {"jitter.down.mean": mean, "jitter.up.high": high}
    elif kind == "fq-codel":
        hop["queue"]["down"] = {"kind": "fq-codel"}
        del truth["queue.down.bytes"]
    elif kind in ("grants", "wimax"):
        hops, truth = [_medium(draw, kind, delay_ms, size)], {}
    elif kind == "other":
        hops, cross = _other(draw, hop, down)
    return TrueLink(number, kind, hops, truth, cross)


def _medium(draw: random.Random, kind: str, delay_ms: float, size: Keys) -> Keys:
    media: dict[str, Keys] = {
        "grants": {
            "kind": "grants",
            "standard": "lte",
            "rate": {"down": f"{draw.uniform(8, 30):.1f} Mb/s", "up": "8 Mb/s"},
        },
        "wimax": {"kind": "wimax", "channel": "7 MHz", "frame": "5 ms", "modulation": "64qam-3/4", "dl_ul": "3:1"},
    }
    queue = {name: {"kind": "droptail", "bytes": f"{bytes_} B"} for name, bytes_ in size.items()}
    return {"name": "access", "medium": media[kind], "delay": f"{delay_ms} ms", "queue": queue}


def _other(draw: random.Random, hop: Keys, rate: int) -> tuple[list[Keys], tuple[Keys, ...]]:
    """Something that no fit has."""
    kind = draw.choice(OTHERS)
    if kind == "cross traffic":
        workload = {"kind": "onoff", "rate": f"{rate // 3} b/s", "on": "700 ms", "off": "900 ms", "packet": "1000 B"}
        return [hop], ({"name": "cross", "workload": workload, "direction": "down"},)
    if kind == "handover":
        return [{**hop, "handover": {"down": {"every": "4 s", "gap": "350 ms"}}}], ()
    if kind == "reorder":
        return [{**hop, "reorder": {"down": {"mean": 0.01, "delay": "4 ms"}}}], ()
    cap = {"down": f"{rate} b/s", "up": "10 Mb/s"}
    medium = {
        "kind": "grants",
        "standard": "docsis-3.1",
        "rate": {"down": "200 Mb/s", "up": "40 Mb/s"},
        "cap": cap,
        "burst": f"{draw.randrange(50, 400)} kB",
    }
    return [{"name": "access", "medium": medium, "delay": hop["delay"], "queue": hop["queue"]}], ()
