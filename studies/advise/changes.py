"""A grid of changes of a situation that does not come from `advise`: congestion controls, socket
buffers, window scaling, ECN, windows at the start, queues and their sizes, shapers that count the
bytes of the line. Only what the host's system, its programs, the router or the operator can set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock.advisor.situation import Situation
from ackclock.comparison.socket_buffers import HostBuffers
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.link.rate import mean_bps
from ackclock.input.scenario.model import Scenario

VARIANTS = ("cubic", "reno", "bbr", "vegas", "westwood+", "illinois", "htcp", "hybla", "scalable", "yeah", "veno")
"""Congestion controls that Linux has as modules."""
LINUX = "linux"
BDPS = (1.0, 1.5, 2.0, 4.0)
"""Buffers in BDP."""
QUEUE_BDPS = (0.25, 0.5, 1.0, 2.0)
"""Lengths of a FIFO in BDP."""
AQMS: Mapping[str, Mapping[str, Any]] = {
    "fq-codel": {"kind": "fq-codel"},
    "fq-codel of 20 ms": {"kind": "fq-codel", "target": "20 ms", "interval": "200 ms"},
    "codel": {"kind": "codel"},
    "cake": {"kind": "cake"},
    "pie": {"kind": "pie"},
}
ACK_QUEUES: Mapping[str, Mapping[str, Any]] = {
    "cake with its ACK filter": {"kind": "cake", "ack": {"filter": "cake"}},
    "cake with its aggressive ACK filter": {"kind": "cake", "ack": {"filter": "cake-aggressive"}},
}
SHARES = (0.98, 0.95, 0.9)
"""Rates of a shaper as shares of the line's."""
MIN_QUEUE = 3028


@dataclass(frozen=True)
class GridChange:
    """One change: its kind (changes of a kind exclude each other), what it is, the values by dotted
    path (`tcp.KEY` of each own flow), and hops behind the line.
    """

    kind: str
    label: str
    keys: Mapping[str, Any] = field(default_factory=dict, hash=False)
    hops: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)


Changes = tuple[GridChange, ...]


def label_of(changes: Changes) -> str:
    """Changes in a few words."""
    return " and ".join(one.label for one in changes) or "as it is"


def applied(situation: Situation, changes: Changes) -> Scenario:
    """The scenario with changes."""
    keys: dict[str, Any] = {}
    hops: list[Any] = list(situation.draft.document.data["hop"])
    for one in changes:
        for key, value in one.keys.items():
            own = [f"flow.{name}.{key.removeprefix('tcp.')}" for name in situation.own]
            keys |= dict.fromkeys(own, value) if key.startswith("tcp.") else {key: value}
        hops += one.hops
    return replace(situation, draft=situation.draft.replaced({"hop": hops})).scenario((), keys)


def grid(situation: Situation) -> list[GridChange]:
    """All single changes."""
    makers = (_host, _buffers, _queues, _shapers)
    return [change for maker in makers for change in maker(situation)]


def _bdp(situation: Situation) -> float | None:
    slowest = [bps for bps in (mean_bps(hop, situation.direction) for hop in situation.hops) if bps]
    sides = [side for hop in situation.hops for side in (hop.down, hop.up) if side]
    return min(slowest) * sum(side.delay for side in sides) / 8e12 if slowest else None


def _host(of: Situation) -> Iterator[GridChange]:
    tcp = of.tcp.keys
    is_linux = of.host.startswith(LINUX)
    for variant in VARIANTS if is_linux else ():
        if variant != tcp["variant"]:
            yield GridChange("variant", variant, {"tcp.variant": variant})
    if not tcp["ecn"] and is_linux:
        yield GridChange("ecn", "ECN", {"tcp.ecn": True})
    if int(tcp["initial_window"]) < 32 and is_linux:
        yield GridChange("initial window", "initial window of 32", {"tcp.initial_window": 32})
    if is_linux and tcp["delayed_ack"]:
        yield GridChange("delayed ACK", "an ACK for each segment", {"tcp.delayed_ack": False})
    if is_linux and tcp["pacing"] is False:
        yield GridChange("pacing", "pacing", {"tcp.pacing": True})


def _buffers(of: Situation) -> Iterator[GridChange]:
    """Buffers of both ends and of either, with window scaling where it is off: a window above 64 KB
    needs it.
    """
    host, tcp, bdp = HostBuffers.of(of.host), of.tcp.keys, _bdp(of)
    scaled: dict[str, Any] = {} if tcp["window_scaling"] else {"tcp.window_scaling": True}
    if scaled:
        yield GridChange("buffers", "window scaling", scaled)
    fixed = [end for end in ("send", "receive") if isinstance(tcp[f"{end}_buffer"], int)]
    auto = {f"tcp.{end}_buffer": "auto" for end in fixed if host.tuned(end)}
    if auto:
        yield GridChange("buffers", "automatic buffers", auto)
        if scaled:
            yield GridChange("buffers", "automatic buffers, window scaling", {**auto, **scaled})
    for share in BDPS if bdp else ():
        assert bdp
        size = max(8192, round(share * bdp))
        for ends in (("send", "receive"), ("send",), ("receive",)):
            keys: dict[str, Any] = {}
            for end in ends:
                if tcp[f"{end}_buffer"] == "tuned":
                    keys[f"tcp.{end}_limit"] = f"{round(size * host.memory(end))} B"
                elif isinstance(tcp[f"{end}_buffer"], int):
                    keys[f"tcp.{end}_buffer"] = f"{size} B"
            label = f"{' and '.join(ends)} buffer of {share:g} BDP"
            if keys and (size < 65_536 or not scaled or ends == ("send",)):
                yield GridChange("buffers", label, keys)
            if keys and scaled:
                yield GridChange("buffers", f"{label}, window scaling", {**keys, **scaled})


def _bottleneck(of: Situation, direction: str) -> Hop | None:
    rates = [(bps, hop) for hop in of.hops if (bps := mean_bps(hop, direction))]
    return min(rates, key=lambda one: one[0])[1] if rates else None


def _queues(of: Situation) -> Iterator[GridChange]:
    bdp = _bdp(of)
    loaded = {flow.direction for flow in of.base.flow if not flow.is_udp}
    for direction in DIRECTIONS:
        hop = _bottleneck(of, direction)
        if hop is None:
            continue
        path, kind = f"hop.{hop.name}.queue.{direction}", f"queue {direction}"
        for name, queue in AQMS.items():
            yield GridChange(kind, f"{name} {direction}", {path: dict(queue)})
        if direction != of.direction or len(loaded) > 1:
            for name, queue in ACK_QUEUES.items():
                yield GridChange(kind, f"{name} {direction}", {path: dict(queue)})
        bps = mean_bps(hop, direction)
        for share in QUEUE_BDPS if bdp and bps and direction in loaded else ():
            rtt_s = 8 * (bdp or 0.0) / (mean_bps(_bottleneck(of, of.direction) or hop, of.direction) or bps or 1.0)
            size = max(MIN_QUEUE, round(share * (bps or 0.0) * rtt_s / 8))
            yield GridChange(
                kind, f"FIFO of {share:g} BDP {direction}", {path: {"kind": "droptail", "bytes": f"{size} B"}}
            )


def _shapers(of: Situation) -> Iterator[GridChange]:
    """cake behind the line, of a share of its rate, with its framing."""
    rates: dict[str, float] = {}
    framing: dict[str, Any] = {}
    for direction in DIRECTIONS:
        hop = _bottleneck(of, direction)
        side = getattr(hop, direction) if hop else None
        cap = getattr(getattr(hop.medium, "cap", None), direction, None) if hop and hop.medium else None
        bps = cap if hop and hop.medium else side.rate if side and isinstance(side.rate, int) else None
        if not bps or any(not isinstance(s.rate, int | None) for h in of.hops if (s := getattr(h, direction))):
            return
        rates[direction] = float(bps)
        if side and not isinstance(side.framing, str):
            framing[direction] = side.framing.written()
    for share in SHARES:
        for directions in (DIRECTIONS, ("down",), ("up",)):
            hops = []
            for direction in directions:
                filtered = {"ack": {"filter": "cake"}} if direction != of.direction else {}
                shaper: dict[str, Any] = {"name": f"shaper-{direction}", "only": direction}
                shaper |= {"rate": f"{share * rates[direction]:.0f} b/s", "queue": {"kind": "cake", **filtered}}
                hops.append({**shaper, **({"framing": framing[direction]} if direction in framing else {})})
            label = f"cake at {100 * share:.0f} % {' and '.join(directions)}"
            yield GridChange("shaper", label, hops=tuple(hops))
