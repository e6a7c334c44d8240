"""Links for `make coverage`: of the forms that a fit has and, a third of them, with structure that
it may lack; what is true of each, and what no fit may say of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from studies.fit.links import KINDS, PACKET, Keys, TrueLink, drawn_link

STRUCTURED_EVERY = 3
MEDIA = ("grants", "wimax")
FORMLESS = ("rate.", "delay", "jitter.", "medium")
"""What a medium has otherwise than a rate and a delay."""
CODEL_TARGET_MS, PIE_TARGET_MS = 5.0, 15.0


def structured_links(count: int, seed: int) -> Iterator[TrueLink]:
    """`count` links, every third with one of `STRUCTURES`: each of these before one comes twice."""
    draw = random.Random(f"coverage {seed}")
    order = draw.sample(list(STRUCTURES), len(STRUCTURES))
    modelled = [kind for kind in KINDS if kind != "other"]
    for number in range(1, count + 1):
        if number % STRUCTURED_EVERY:
            yield _of_a_form(drawn_link(draw, number, draw.choice(modelled)))
        else:
            kind = order[(number // STRUCTURED_EVERY - 1) % len(order)]
            plain = _of_a_form(drawn_link(draw, number, "plain"))
            yield STRUCTURES[kind](replace(plain, kind=kind), draw)


def _of_a_form(link: TrueLink) -> TrueLink:
    """The link with all that is true of it."""
    hop = link.hops[0]
    truth = dict(link.truth)
    for direction in ("down", "up"):
        queue = hop["queue"][direction]
        if queue["kind"] == "droptail":
            truth[f"queue.{direction}.bytes"] = float(queue["bytes"].split()[0])
        else:
            truth[f"queue.{direction}.target"] = CODEL_TARGET_MS
    if link.kind in MEDIA:
        return replace(link, truth=truth, undefined=FORMLESS)
    return replace(link, truth=truth)


def _with_hop(link: TrueLink, keys: Keys, truth: dict[str, float]) -> TrueLink:
    return replace(link, hops=[{**link.hops[0], **keys}], truth={**link.truth, **truth})


def _cross_traffic(link: TrueLink, draw: random.Random) -> TrueLink:
    rate = round(link.truth["rate.down"] * draw.uniform(0.2, 0.5))
    workload = {"kind": "onoff", "rate": f"{rate} b/s", "on": "700 ms", "off": "900 ms", "packet": "1000 B"}
    return replace(link, cross=({"name": "cross", "workload": workload, "direction": "down"},))


def _handover(link: TrueLink, draw: random.Random) -> TrueLink:
    every, gap = draw.randrange(3000, 6000), draw.randrange(150, 500)
    keys = {"handover": {"down": {"every": f"{every} ms", "gap": f"{gap} ms"}}}
    return _with_hop(link, keys, {"handover.down.every": every, "handover.down.gap": gap})


def _reorder(link: TrueLink, draw: random.Random) -> TrueLink:
    mean, delay = round(draw.uniform(0.002, 0.03), 4), round(draw.uniform(1, 8), 1)
    keys = {"reorder": {"down": {"mean": mean, "delay": f"{delay} ms"}}}
    return _with_hop(link, keys, {"reorder.down.mean": mean, "reorder.down.delay": delay})


def _token_bucket(link: TrueLink, draw: random.Random) -> TrueLink:
    rate, burst = link.truth["rate.down"], draw.randrange(50, 400) * 1000
    line = round(rate * draw.uniform(2, 6))
    bucket = {"rate": f"{rate:.0f} b/s", "burst": f"{burst} B", "queue": link.hops[0]["queue"]["down"]}
    keys = {"shaper": {"down": bucket}, "rate": {"down": f"{line} b/s", "up": f"{link.truth['rate.up']:.0f} b/s"}}
    truth = {"shaper.down.rate": rate, "shaper.down.burst": float(burst), "rate.down": float(line)}
    truth["shaper.down.queue.bytes"] = link.truth["queue.down.bytes"]
    # The bucket by its other names, and the rate that lasts.
    other = {f"{name}.burst": float(burst) for name in ("policer.down", "medium")}
    other |= {"policer.down.rate": rate, "medium.cap.down": rate, "rate.down": rate}
    return replace(_with_hop(link, keys, truth), also_true=other)


def _policer(link: TrueLink, draw: random.Random) -> TrueLink:
    rate = round(link.truth["rate.down"] / draw.uniform(1.5, 5))
    burst = max(10 * PACKET, round(rate / 8 * draw.uniform(0.01, 0.2)))
    keys = {"policer": {"down": {"rate": f"{rate} b/s", "burst": f"{burst} B"}}}
    return _with_hop(link, keys, {"policer.down.rate": float(rate), "policer.down.burst": float(burst)})


def _two_hops(link: TrueLink, draw: random.Random) -> TrueLink:
    """A second store-and-forward hop, not slower in either direction."""
    faster, delay = draw.uniform(1, 3), round(draw.uniform(0.5, 20), 2)
    rates = {name: f"{round(link.truth[f'rate.{name}'] * faster)} b/s" for name in ("down", "up")}
    queue = {"kind": "droptail", "bytes": "4 MB"}
    core = {"name": "core", "rate": rates, "delay": f"{delay} ms", "queue": queue}
    return replace(link, hops=[core, *link.hops], truth={**link.truth, "delay": link.truth["delay"] + delay})


def _pie(link: TrueLink, _: random.Random) -> TrueLink:
    queue = {**link.hops[0]["queue"], "down": {"kind": "pie"}}
    found = _with_hop(link, {"queue": queue}, {"queue.down.target": PIE_TARGET_MS})
    del found.truth["queue.down.bytes"]
    return found


def _lossy_uplink(link: TrueLink, draw: random.Random) -> TrueLink:
    mean = round(10 ** draw.uniform(-2.5, -1.5), 5)
    return _with_hop(link, {"loss": {"up": mean}}, {"loss.up.mean": mean})


def _receive_window(link: TrueLink, draw: random.Random) -> TrueLink:
    """The receiver's window is a part of what the path holds: no input shows the rate."""
    holds = link.truth["rate.down"] / 8 * 2 * link.truth["delay"] / 1000
    window = max(4 * PACKET, round(holds * draw.uniform(0.2, 0.6)))
    return replace(link, tcp={"receive_buffer": f"{2 * window} B"})


def _rate_steps(link: TrueLink, draw: random.Random) -> TrueLink:
    rate, at = link.truth["rate.down"], round(draw.uniform(4, 20), 1)
    later = round(rate * draw.choice((0.4, 0.6, 0.8)))
    steps = {"schedule": [["0 s", f"{rate:.0f} b/s"], [f"{at} s", f"{later} b/s"]]}
    keys = {"rate": {"down": steps, "up": f"{link.truth['rate.up']:.0f} b/s"}}
    return replace(_with_hop(link, keys, {}), also_true={"rate.down": float(later)})


STRUCTURES: dict[str, Callable[[TrueLink, random.Random], TrueLink]] = {
    "cross traffic": _cross_traffic,
    "handover": _handover,
    "reorder": _reorder,
    "token bucket": _token_bucket,
    "policer": _policer,
    "two hops": _two_hops,
    "pie": _pie,
    "lossy uplink": _lossy_uplink,
    "receive window": _receive_window,
    "rate steps": _rate_steps,
}
