"""A path as the tables of a link file, and what such a file does not express."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.errors import InvalidValue
from ackclock.format import three
from ackclock.input.checked_table import ReadBy
from ackclock.input.units import show_rate, show_size, show_time
from ackclock.link_import.cake_framing import CAKE_FRAMINGS
from ackclock.link_import.path_setup import (
    ETHERNET_HEADER,
    FULL_PACKET,
    SIDES,
    Bucket,
    Framing,
    PathSetup,
    Side,
    Stage,
    merged,
)

AAL5_TRAILER = 8
BURST_TIME = 1000
"""A bucket that holds at most 1/1000 s of its rate is a line of this rate."""
Keys = dict[str, Any]
TraceName = Callable[[Path], str]


def hops(setup: PathSetup, trace_name: TraceName, rtt: int | None = None) -> list[Keys]:
    """The hops of a link file, server first. `rtt` in ps is that of the rest of the path.

    What the link file does not express is added to `setup`.
    """
    for line, mtu in setup.mtu.values():
        if not reads("mtu"):
            setup.differ(line, f"an MTU of {mtu} B: packets of any size pass here")
    sides = {side: [_keys(stage, side, setup, trace_name) for stage in merged(setup.stages[side])] for side in SIDES}
    found: list[Keys] = [{"name": "internet", "delay": show_time(rtt // 2)}] if rtt else []
    if all(len(stages) <= 1 for stages in sides.values()):
        down, up = (stages[0] if stages else {} for stages in sides.values())
        if down or up:
            found.append(_both(down, up))
        return found
    if not sides["down"] or not sides["up"]:  # packets of the other direction pass the same hops
        return found + _unique(
            [_both(keys, {}) for keys in sides["down"]] + [_both({}, keys) for keys in reversed(sides["up"])]
        )
    down_hops = [{"name": keys.pop("name"), "only": "down", **keys} for keys in sides["down"]]
    up_hops = [{"name": keys.pop("name"), "only": "up", **keys} for keys in reversed(sides["up"])]
    return found + _unique([*down_hops, *up_hops])


def _both(down: Keys, up: Keys) -> Keys:
    """One hop of both directions."""
    names = list(dict.fromkeys(one.pop("name") for one in (down, up) if one))
    hop: Keys = {"name": names[0] if len(names) == 1 else "line"}
    for key in dict.fromkeys([*down, *up]):
        if key in down and key in up and down[key] == up[key]:
            hop[key] = down[key]
        else:
            hop[key] = {side: keys[key] for side, keys in (("down", down), ("up", up)) if key in keys}
    return hop


def _unique(found: Sequence[Keys]) -> list[Keys]:
    names: set[str] = set()
    for hop in found:
        name, number = hop["name"], 2
        if name in names and "only" in hop:
            name = f"{name}-{hop['only']}"
        while name in names:
            name, number = f"{hop['name']}-{number}", number + 1
        names.add(name)
        hop["name"] = name
    return list(found)


def _keys(stage: Stage, side: Side, setup: PathSetup, trace_name: TraceName) -> Keys:
    """A stage as the keys of one direction of a hop, in path order."""
    keys: Keys = {"name": re.sub(r"[./\s]+", "-", stage.name).strip("-") or stage.kind}
    if stage.device in setup.mtu and reads("mtu"):
        keys["mtu"] = mtu_table(setup.mtu[stage.device][1])
    if stage.policer is not None:
        keys |= _policer(stage, stage.policer, side, setup)
    if stage.bucket is not None and stage.bucket.burst is not None and not _is_line(stage, stage.bucket):
        table = shaper_table(stage.bucket, stage.queue)
        if reads("shaper"):
            keys["shaper"] = table
        else:
            setup.differ(
                stage.line,
                f"{side}: a burst of {show_size(stage.bucket.burst)}, which passes at once after idle time"
                + (f", and a peak of {show_rate(stage.bucket.peak)}" if stage.bucket.peak else ""),
            )
    if "shaper" not in keys:
        if stage.queue is not None:
            keys["queue"] = dict(stage.queue)
        if isinstance(stage.rate, int):
            keys["rate"] = show_rate(stage.rate)
        elif stage.rate is not None:
            keys["rate"] = {"trace": trace_name(stage.rate), "start": "0 s"}
    if stage.rate is not None or stage.policer is not None:
        keys |= _framing(stage, side, setup)
    further = {"loss": stage.loss, "duplicate": stage.duplicate, "jitter": stage.jitter, "reorder": stage.reorder}
    keys |= {key: dict(value) if isinstance(value, Mapping) else value for key, value in further.items() if value}
    if stage.delay:
        keys["delay"] = show_time(stage.delay)
    return keys


def _is_line(stage: Stage, bucket: Bucket) -> bool:
    """Whether a bucket holds no more than two packets, or a thousandth of a second."""
    return (bucket.burst or 0) <= max(2 * stage.framing.counted(FULL_PACKET), bucket.rate // 8 // BURST_TIME)


def _policer(stage: Stage, policer: Bucket, side: Side, setup: PathSetup) -> Keys:
    if reads("policer"):
        return {"policer": policer_table(policer)}
    burst = max(1, (policer.burst or FULL_PACKET) * FULL_PACKET // stage.framing.counted(FULL_PACKET))
    setup.differ(
        stage.line,
        f"{side}: a policer of {show_rate(policer.rate)} with a burst of {show_size(burst)}: a queue of that size at that "
        "rate drops the same packets to within one in its place, and delays the others, which the policer does not",
    )
    return {"queue": {"kind": "droptail", "bytes": show_size(burst)}, "rate": show_rate(policer.rate)}


def _framing(stage: Stage, side: Side, setup: PathSetup) -> Keys:
    """What is counted for a packet: ATM cells as link files have them, any other framing where they
    read it.
    """
    framing = stage.framing
    if framing == Framing():
        return {}
    if framing.cells == "atm" and framing.overhead >= AAL5_TRAILER and not framing.mpu:
        return {"framing": {"kind": "atm", "overhead": show_size(framing.overhead - AAL5_TRAILER)}}
    table = framing_table(framing)
    if accepts("framing", table):
        return {"framing": table}
    small, full = (framing.counted(size) for size in (40, FULL_PACKET))
    what = (
        f"the Ethernet header ({ETHERNET_HEADER} B), which tc counts in each packet"
        if framing == Framing("none", ETHERNET_HEADER) and not stage.is_framing_typed
        else f"a framing of {framing.overhead} B{f' in {framing.cells} cells' if framing.cells != 'none' else ''}"
        + (f", at least {framing.mpu} B" if framing.mpu else "")
    )
    setup.differ(
        stage.line,
        f"{side}: {what}: a packet of {FULL_PACKET} B takes {full} B there, one of 40 B {small} B; here the rate is that "
        f"of IP packets, {three(100 * (full / FULL_PACKET - 1))} % more for full ones",
    )
    return {}


# The keys of policers, shapers and other framings are written as soon as link files read them.


def framing_table(framing: Framing) -> Keys:
    """A framing as a link file has it: by its kind where one has these figures.

    >>> framing_table(Framing("ptm", 30)), framing_table(Framing("none", 14))
    ({'kind': 'pppoe-ptm'}, {'cells': 'none', 'overhead': '14 B'})
    """
    for kind, known in CAKE_FRAMINGS.items():
        if known == framing:
            return {"kind": kind}
    table: Keys = {"cells": framing.cells, "overhead": f"{framing.overhead} B"}
    return {**table, **({"mpu": f"{framing.mpu} B"} if framing.mpu else {})}


def policer_table(policer: Bucket) -> Keys:
    """A policer as a link file has it."""
    return {"rate": show_rate(policer.rate), "burst": show_size(policer.burst or FULL_PACKET), "exceed": policer.exceed}


def shaper_table(bucket: Bucket, queue: Mapping[str, Any] | None) -> Keys:
    """A token bucket with its queue as a link file has it."""
    table: Keys = {"rate": show_rate(bucket.rate), "burst": show_size(bucket.burst) if bucket.burst else "1 packet"}
    if bucket.peak:
        table["peak"] = show_rate(bucket.peak)
    return {**table, **({"queue": dict(queue)} if queue is not None else {})}


def mtu_table(mtu: int) -> Keys:
    """An MTU as a link file has it."""
    return {"ip": f"{mtu} B"}


EXAMPLES: Mapping[str, Keys] = {
    "mtu": mtu_table(1400),
    "policer": policer_table(Bucket(10**7, 20_000)),
    "shaper": shaper_table(Bucket(10**7, 20_000), {"kind": "droptail", "packets": 10}),
}
"""A value of each key that link files may not read yet."""


def reads(key: str) -> bool:
    """Whether a link file has this key."""
    return accepts(key, EXAMPLES[key])


def accepts(key: str, value: Any) -> bool:
    """Whether a hop may have this value of a key."""
    try:
        ReadBy("Hop")({"name": "a", key: value})
    except InvalidValue:
        return False
    return True
