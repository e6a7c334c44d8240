"""A path as the tables of a link file, and what such a file does not express."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.input.units import show_rate, show_size, show_time
from ackclock.link_import.cake_framing import CAKE_FRAMINGS
from ackclock.link_import.path_setup import FULL_PACKET, SIDES, Bucket, Framing, PathSetup, Stage, merged

BURST_TIME = 1000
"""A bucket that holds at most 1/1000 s of its rate is a line of this rate."""
Keys = dict[str, Any]
TraceName = Callable[[Path], str]


def hops(setup: PathSetup, trace_name: TraceName, rtt: int | None = None) -> list[Keys]:
    """The hops of a link file, server first. `rtt` in ps is that of the rest of the path."""
    sides = {side: [_keys(stage, setup, trace_name) for stage in merged(setup.stages[side])] for side in SIDES}
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


def _keys(stage: Stage, setup: PathSetup, trace_name: TraceName) -> Keys:
    """A stage as the keys of one direction of a hop, in path order."""
    keys: Keys = {"name": re.sub(r"[./\s]+", "-", stage.name).strip("-") or stage.kind}
    if stage.device in setup.mtu:
        keys["mtu"] = mtu_table(setup.mtu[stage.device][1])
    if stage.policer is not None:
        keys["policer"] = policer_table(stage.policer)
    if stage.bucket is not None and stage.bucket.burst is not None and not _is_line(stage, stage.bucket):
        keys["shaper"] = shaper_table(stage.bucket, stage.queue)
    else:
        if stage.queue is not None:
            keys["queue"] = dict(stage.queue)
        if isinstance(stage.rate, int):
            keys["rate"] = show_rate(stage.rate)
        elif stage.rate is not None:
            keys["rate"] = {"trace": trace_name(stage.rate), "start": "0 s"}
    if (stage.rate is not None or stage.policer is not None) and stage.framing != Framing():
        keys["framing"] = framing_table(stage.framing)
    further = {"loss": stage.loss, "duplicate": stage.duplicate, "jitter": stage.jitter, "reorder": stage.reorder}
    keys |= {key: dict(value) if isinstance(value, Mapping) else value for key, value in further.items() if value}
    if stage.delay:
        keys["delay"] = show_time(stage.delay)
    return keys


def _is_line(stage: Stage, bucket: Bucket) -> bool:
    """Whether a bucket holds no more than two packets, or a thousandth of a second."""
    return (bucket.burst or 0) <= max(2 * stage.framing.counted(FULL_PACKET), bucket.rate // 8 // BURST_TIME)


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
    return {"rate": show_rate(policer.rate), "burst": show_size(policer.burst or FULL_PACKET)}


def shaper_table(bucket: Bucket, queue: Mapping[str, Any] | None) -> Keys:
    """A token bucket with its queue as a link file has it."""
    table: Keys = {"rate": show_rate(bucket.rate), "burst": show_size(bucket.burst) if bucket.burst else "1 packet"}
    if bucket.peak:
        table["peak"] = show_rate(bucket.peak)
    return {**table, **({"queue": dict(queue)} if queue is not None else {})}


def mtu_table(mtu: int) -> Keys:
    """An MTU as a link file has it."""
    return {"ip": f"{mtu} B"}
