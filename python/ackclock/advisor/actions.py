"""All actions of an advice: those of the hosts, and those of the link's queues, shapers, media and
proxies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Literal

from ackclock.advisor.action import WHO as WHO
from ackclock.advisor.action import Action as Action
from ackclock.advisor.action import Change as Change
from ackclock.advisor.commands import (
    DEVICE,
    SHAPED,
    AcksFirst,
    Ingress,
    Interface,
    LinkKey,
    Qdisc,
    Redirect,
)
from ackclock.advisor.host_actions import host_actions
from ackclock.advisor.host_system import UNCLASSED
from ackclock.advisor.openwrt import SqmQueue
from ackclock.advisor.quic_actions import quic_actions
from ackclock.advisor.recipe import Step, restored_root
from ackclock.advisor.situation import Situation
from ackclock.errors import InvalidValue, format_value
from ackclock.export.line import Line, cake_words
from ackclock.export.tc_queue import queue_arguments
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.bottleneck import bdp_bytes, slowest_bps
from ackclock.input.link.hop import DIRECTIONS, Direction, Hop
from ackclock.input.link.queue import read_queue
from ackclock.input.objects import Hop as AddedHop
from ackclock.input.units import show_rate, show_size

SHAPED_SHARE = 0.95
"""The rate of SQM's shaper as a share of the line rate: below it the queue moves to the router."""
AQMS: Mapping[str, Mapping[str, str]] = {
    "fq-codel": {"kind": "fq-codel"},
    "fq-codel with a target of 20 ms": {"kind": "fq-codel", "target": "20 ms", "interval": "200 ms"},
    "codel": {"kind": "codel"},
    "cake": {"kind": "cake"},
    "pie": {"kind": "pie"},
}
"""AQMs that are tried. The interval is to be the RTT of most flows (RFC 8289, section 4.3), the
target above the time of a packet (RFC 8290, section 5.2.2): 5 ms in 100 ms are neither on a path
across an ocean nor below 2.4 Mb/s. Each has the limits of its qdisc: those of the FIFO before it
would drop the bursts that an AQM is to pass."""
ACK_FILTERS = {"cake with its ACK filter": "cake", "cake with its aggressive ACK filter": "cake-aggressive"}
"""CAKE's ACK filters that are tried."""
CAKE_VALUES = ("bandwidth", "rtt", "overhead", "mpu", "memlimit")
"""The keywords of cake with a value (tc-cake(8))."""
POLICER_BURSTS = {"one BDP": 1.0, "four BDP": 4.0}
"""Bursts of a policer that are tried: without a queue, its bucket is what a window may exceed the
path by, as a droptail buffer is (one BDP for a sender that halves its window)."""
ALIKE_BURST = 1.1
"""A burst is tried if it is larger by more than this factor."""
SENDER_SHAPER = "sender"
"""The hop of a shaper at the sender."""
MIN_QUEUE = 3 * 1514
"""Minimum size of a queue that is tried, in bytes."""
PEP_DELAY_S = 0.02
"""A proxy is tried before a hop with at least this one-way delay."""
ACK_FILTER = "the device has an ACK filter (DOCSIS: ACK suppression)"
STRICT = "ACKs alone do not fill this direction: strict priority lets nothing else pass then"
ROUTER_DEVICE = "DEV is the router's interface to the link"
DROP_IN = "its interface is the bottleneck: a queue in front of a slower device remains empty"


def candidates(situation: Situation, may: Sequence[str]) -> list[Action]:
    """All actions of those who may act that change something, in a fixed order."""
    hosts = [host_actions] if situation.is_tcp else [quic_actions] if situation.is_quic else []
    # No router sees QUIC's ACKs or its packets' limit, and a proxy splits TCP alone.
    blind = {*((_ack_queues, _mtu) if situation.is_quic else ()), *(() if situation.is_tcp else (_proxy,))}
    of_link = (_queues, _ack_queues, _shaper, _policer_bursts, _sender_shaper, _mtu, _medium, _proxy)
    makers = [*hosts, *(maker for maker in of_link if maker not in blind)]
    found = (action for maker in makers for action in maker(situation))
    return [action for action in found if set(action.who) <= set(may) and action.changes]


def _queues(of: Situation) -> Iterator[Action]:
    """AQMs and sizes at each queue of the path that data or ACKs meet."""
    bdp = bdp_bytes(of.hops, of.direction)
    for hop, direction, side in _sides(of):
        for words, aqm in AQMS.items():
            if not side.queue or not _is_queue(side.queue, aqm):
                yield _queue_action(of, hop, direction, aqm, words)
        if bdp and direction == of.direction and of.is_bottleneck(hop, direction):
            for share, words in ((1.0, "one BDP"), (0.25, "a quarter of a BDP"), (4.0, "four BDP")):
                size = max(MIN_QUEUE, ceil(share * bdp))
                if _size(side.queue) != size:
                    value = {"kind": "droptail", "bytes": f"{size} B"}
                    yield _queue_action(of, hop, direction, value, f"droptail of {words}")


def _ack_queues(of: Situation) -> Iterator[Action]:
    """ACK policies where ACKs share a queue: a filter, and ACKs before data."""
    for hop, direction, side in _sides(of):
        if direction != of.opposite or not of.is_bottleneck(hop, direction):
            continue
        who = _owner(of, hop, direction)
        path = f"hop.{hop.name}.queue.{direction}"
        kind = f"queue {hop.name} {direction}"
        if not side.queue or side.queue.ack is None:
            for words, preset in ACK_FILTERS.items():
                yield _queue_action(of, hop, direction, {"kind": "cake", "ack": {"filter": preset}}, words)
            for key, value, words in (("filter", "safe", "ACK filter"), ("first", True, "ACKs first")):
                steps: tuple[Step, ...]
                if key == "first":
                    device = _device(who, hop, direction)
                    prio = Qdisc(device, "prio", ("bands", "3"), ("root", "handle", "1:"))
                    steps = (Step(who, prio, restored_root(device)), Step(who, AcksFirst(device)))
                else:
                    steps = (
                        Step(who, LinkKey(f"{path}.ack.filter", "safe"), (LinkKey(f"{path}.ack.filter", "none"),)),
                    )
                yield Action(
                    kind,
                    f"{words} at {hop.name} {direction}",
                    (Change(f"{path}.ack.{key}", None, value),),
                    steps,
                    (*_interface(who, hop, direction), DROP_IN, STRICT) if key == "first" else (ACK_FILTER,),
                    drop_in=key == "first",
                )
            if side.reconstruct is None:
                yield _reconstruction(of, hop, direction)


def _reconstruction(of: Situation, hop: Hop, direction: str) -> Action:
    """An ACK filter, and reconstruction of its ACKs at the end of the hop (RFC 3449, 5.3.1)."""
    every = f"{2 * int(of.tcp.keys['segment'])} B"
    keys = (f"hop.{hop.name}.queue.{direction}.ack.filter", f"hop.{hop.name}.reconstruct.{direction}")
    steps = (
        Step(_owner(of, hop, direction), LinkKey(keys[0], "safe"), (LinkKey(keys[0], "none"),)),
        Step("operator", LinkKey(keys[1], f'{{ every = "{every}" }}'), (LinkKey(keys[1], "none"),)),
    )
    return Action(
        f"queue {hop.name} {direction}",
        f"ACK filter and reconstruction at {hop.name} {direction}",
        (Change(keys[0], None, "safe"), Change(keys[1], None, {"every": every})),
        steps,
        (ACK_FILTER, "the device at the other end regenerates filtered ACKs (RFC 3449, section 5.3.1)"),
    )


def _shaper(of: Situation) -> Iterator[Action]:
    """SQM: the router shapes both directions a little below the line rate, with cake."""
    rates = {direction: _lowest_bps(of, direction) for direction in DIRECTIONS}
    last = of.hops[-1]
    if any(hop.name == "sqm" for hop in of.hops):
        return
    if any(rate is None or not _is_fixed(of, direction) for direction, rate in rates.items()):
        return
    for directions, words in ((DIRECTIONS, "both directions"), (("up",), "the uplink"), (("down",), "the downlink")):
        shaped = {direction: round(SHAPED_SHARE * (rates[direction] or 0.0) / 1000) * 1000 for direction in directions}
        if min(shaped.values()) <= 0:
            continue
        queues = {
            direction: {"kind": "cake", **({"ack": {"filter": "cake"}} if direction != of.direction else {})}
            for direction in directions
        }
        texts = {d: show_rate(bps) for d, bps in shaped.items()}
        cells = {d: framing for d in directions if (framing := _cells(of, d))}
        framings = {d: one.written() for d, one in cells.items()}
        only: Literal["down", "up"] | None = None if len(directions) > 1 else "up" if "up" in directions else "down"
        hop = AddedHop(name="sqm", only=only, rate=texts, queue=queues, framing=framings or None)
        changes = [Change(f"hop.sqm.rate.{d}", None, text) for d, text in texts.items()]
        changes += [Change(f"hop.sqm.framing.{d}", None, framing) for d, framing in framings.items()]
        changes += [Change(f"hop.sqm.queue.{d}", None, queue) for d, queue in queues.items()]
        steps: list[Step] = []
        for direction, bps in shaped.items():
            arguments = ["bandwidth", f"{bps // 1000}kbit", "besteffort", "triple-isolate"]
            arguments += ["ack-filter"] if direction != of.direction else []
            if direction in cells:
                arguments += cake_words(cells[direction])
            if direction == "up":
                steps.append(Step("router", Qdisc(DEVICE, "cake", tuple(arguments)), restored_root(DEVICE)))
            else:
                steps += [
                    Step("router", Interface("add", SHAPED), (Interface("del", SHAPED),)),
                    Step("router", Interface("up", SHAPED)),
                    Step("router", Ingress(DEVICE), (Ingress(DEVICE, remove=True),)),
                    Step("router", Redirect(DEVICE, SHAPED)),
                    Step("router", Qdisc(SHAPED, "cake", (*arguments, "ingress"))),
                ]
        yield Action(
            "shaper",
            f"SQM with cake at {100 * SHAPED_SHARE:.0f} % of the line rate, {words}",
            tuple(changes),
            tuple(steps),
            (ROUTER_DEVICE, UNCLASSED, "no SQM runs on it", "the line rate is constant"),
            (last.name, hop),
            _sqm(shaped, of.direction, cells),
        )


def _policers(of: Situation) -> Iterator[tuple[Hop, str, CheckedTable]]:
    """The policers that are the slowest part of the path in their direction."""
    for hop, direction, side in of.sides():
        if side.policer and of.is_bottleneck(hop, direction) and side.policer.rate == slowest_bps([hop], direction):
            yield hop, direction, side.policer


def _policer_bursts(of: Situation) -> Iterator[Action]:
    """A larger burst of a policer, whose bucket a window finds empty."""
    for hop, direction, policer in _policers(of):
        bdp = bdp_bytes(of.hops, direction) or 0.0
        for words, share in POLICER_BURSTS.items():
            size = ceil(share * bdp / 1000) * 1000
            if size > ALIKE_BURST * policer.burst:
                path, before, to = f"hop.{hop.name}.policer.{direction}.burst", policer.burst, show_size(size)
                step = Step("operator", LinkKey(path, to), (LinkKey(path, show_size(before)),))
                label = f"a burst of {words} at the policer of {hop.name} {direction}"
                kind = f"policer {hop.name} {direction}"
                yield Action(kind, label, (Change(path, show_size(before), to),), (step,))


def _sender_shaper(of: Situation) -> Iterator[Action]:
    """A shaper at the sender below the rate of a policer: packets wait and are not dropped."""
    if any(hop.name == SENDER_SHAPER for hop in of.hops):
        return
    for hop, direction, _ in _policers(of):
        bps = round(SHAPED_SHARE * (_safe_bps(of, hop, direction) or 0.0) / 1000)
        if direction != of.direction or bps <= 0:
            continue
        queue, rate = {"kind": "cake"}, show_rate(bps * 1000)
        added = AddedHop(name=SENDER_SHAPER, only="down" if direction == "down" else "up", rate=rate, queue=queue)
        arguments = ("bandwidth", f"{bps}kbit", "besteffort", "triple-isolate")
        step = Step("sender", Qdisc(DEVICE, "cake", arguments), restored_root(DEVICE))
        path = f"hop.{SENDER_SHAPER}"
        yield Action(
            "shaper",
            f"cake at the sender at {100 * SHAPED_SHARE:.0f} % of the rate of the policer of {hop.name} {direction}",
            (Change(f"{path}.rate.{direction}", None, rate), Change(f"{path}.queue.{direction}", None, queue)),
            (step,),
            ("DEV is the sender's interface", UNCLASSED, "all that it sends passes the policer"),
            ("" if direction == "down" else of.hops[-1].name, added),
        )


def _mtu(of: Situation) -> Iterator[Action]:
    """Where a hop drops longer packets of the data without a word: reports of its router, and SYNs
    that ask for shorter segments (RFC 2923, section 2.1; RFC 4459, section 3.2).
    """
    for hop, direction, side in of.sides():
        if direction != of.direction or not side.mtu or side.mtu.icmp or side.mtu.clamp_mss:
            continue
        who = _owner(of, hop, direction)
        for key, words in (("clamp_mss", "MSS clamped to the MTU"), ("icmp", "reports of packets that are too long")):
            path = f"hop.{hop.name}.mtu.{direction}.{key}"
            step = Step(who, LinkKey(path, "true"), (LinkKey(path, "false"),))
            yield Action(
                f"mtu {hop.name} {direction}",
                f"{words} at {hop.name} {direction}",
                (Change(path, False, True),),
                (step,),
            )


def _lowest_bps(of: Situation, direction: str) -> float | None:
    """The rate of a direction that a shaper has to stay below."""
    return min((rate for hop in of.hops if (rate := _safe_bps(of, hop, direction)) is not None), default=None)


def _safe_bps(of: Situation, hop: Hop, direction: str) -> float | None:
    """The rate of a hop that a shaper has to stay below."""
    keys = (f"rate.{direction}", f"medium.cap.{direction}", f"policer.{direction}.rate", f"shaper.{direction}.rate")
    return _lower_end(of, hop, slowest_bps([hop], direction), keys)


def _lower_end(of: Situation, hop: Hop, rate: float | None, keys: Sequence[str]) -> float | None:
    """Of a fitted rate the lower end of its interval: a shaper above the line has no queue."""
    paths = {f"hop.{hop.name}.{key}" for key in keys}
    rows = of.fit.get("parameters", ()) if of.fit else ()
    ends = [float(lo) for row in rows if row["path"] in paths and (lo := row.get("lo"))]
    return None if rate is None else min([rate, *ends])


def _cells(of: Situation, direction: str) -> CheckedTable | None:
    """The framing of the bottleneck, whose rate includes what the line adds to packets, as that of
    cake with an overhead does: a shaper that counts packets alone lets the modem's queue grow.
    """
    sides = (getattr(hop, direction) for hop in of.hops if of.is_bottleneck(hop, direction))
    return _framing(next((side for side in sides if side), None))


def _framing(side: Direction | None) -> CheckedTable | None:
    return side.framing if side and not isinstance(side.framing, str) else None


def _is_known_to_sqm(framing: CheckedTable | None) -> bool:
    """Whether the lines of `uci` have the framing: ATM cells without a minimum, or none."""
    return framing is None or (framing.cake_cells == "atm" and not framing.cake_mpu)


def _sqm(shaped: Mapping[str, int], data: str, cells: Mapping[str, CheckedTable]) -> SqmQueue | None:
    """The shaper by OpenWrt's SQM, which has one link layer for both directions; ACKs are filtered
    in the direction opposite to `data`.
    """
    overheads = {cells[direction].cake_overhead if direction in cells else None for direction in shaped}
    if len(overheads) > 1 or not all(map(_is_known_to_sqm, cells.values())):
        return None
    kbits = {direction: shaped.get(direction, 0) // 1000 for direction in DIRECTIONS}
    filtered = {direction: " ack-filter" if direction != data and kbits[direction] else "" for direction in DIRECTIONS}
    words = {
        direction: ("triple-isolate" + filtered[direction]) if kbits[direction] else "" for direction in DIRECTIONS
    }
    down = f"ingress {words['down']}" if words["down"] else ""
    return SqmQueue(kbits["down"], kbits["up"], down, words["up"], overheads.pop())


def _medium(of: Situation) -> Iterator[Action]:
    """The DL:UL split of a TDD channel."""
    for hop in of.hops:
        split = getattr(hop.medium, "dl_ul", None)
        for other in ("1:1", "2:1", "3:1", "5:1"):
            if split and other != split:
                path = f"hop.{hop.name}.medium.dl_ul"
                step = Step("operator", LinkKey(path, other), (LinkKey(path, split),))
                yield Action("split", f"DL:UL split {other} at {hop.name}", (Change(path, split, other),), (step,))


def _proxy(of: Situation) -> Iterator[Action]:
    """A split-TCP proxy before the hop with the largest delay."""
    if any(hop.pep for hop in of.hops):
        return
    slow = max(of.hops[1:], key=_delay_s, default=None)
    if slow is None or _delay_s(slow) < PEP_DELAY_S:
        return
    path = f"hop.{slow.name}.pep"
    bdp = bdp_bytes(of.hops, of.direction) or 0
    value = {"buffer": show_size(max(4 * 2**20, ceil(2 * bdp / 2**20) * 2**20))}
    text = f'{{ buffer = "{value["buffer"]}" }}'
    step = Step("operator", LinkKey(path, text), (LinkKey(path, "none"),))
    yield Action("proxy", f"split-TCP proxy before {slow.name}", (Change(path, None, value),), (step,))


def _delay_s(hop: Hop) -> float:
    return max(hop.mean_delay.values(), default=0) / 1e12


def _sides(of: Situation) -> Iterator[tuple[Hop, str, Direction]]:
    """The bottlenecks, and every other hop and direction whose queue delays or drops packets."""
    for hop, direction, side in of.sides():
        if not (hop.medium or side.rate is not None):
            continue
        if of.is_bottleneck(hop, direction) or of.has_queue(hop.name, direction):
            yield hop, direction, side


def _is_fixed(of: Situation, direction: str) -> bool:
    """Whether the lowest rate of a direction is a constant: no recorded rate, and of shared
    media only a subscription's rate.
    """
    for hop in of.hops:
        side = getattr(hop, direction)
        if side is not None and hop.medium and not _cap(hop, direction):
            return False
        if side is not None and side.rate is not None and not isinstance(side.rate, int):
            return False
    return True


def _cap(hop: Hop, direction: str) -> int | None:
    """The rate to which a medium limits a station in a direction, in bits/s; None without one."""
    return getattr(getattr(hop.medium, "cap", None), direction, None)


def _owner(of: Situation, hop: Hop, direction: str) -> str:
    """Who configures a queue: the clients' router sends up over the last hop."""
    return "router" if direction == "up" and hop.name == of.hops[-1].name else "operator"


def _is_queue(queue: CheckedTable, aqm: Mapping[str, str]) -> bool:
    """Whether a queue is an AQM with its target."""
    if queue.kind != aqm["kind"]:
        return False
    return getattr(queue, "target", None) == getattr(read_queue(aqm), "target", None)


def _size(queue: CheckedTable | None) -> int | None:
    return queue.bytes if queue else None


def _queue_action(
    of: Situation, hop: Hop, direction: str, value: Mapping[str, str | Mapping[str, str]], words: str
) -> Action:
    side: Direction = getattr(hop, direction)
    before = side.queue.written(given=True) if side.queue else None
    wanted = {**value, "ack": before["ack"]} if before and side.queue.ack and "ack" not in value else {**value}
    queue = read_queue(wanted)
    # The queue of the line: a policer has none.
    safe = _lower_end(of, hop, side.rate, (f"rate.{direction}",)) if isinstance(side.rate, int) else None
    rate = int(safe) if safe else None
    who = _owner(of, hop, direction)
    cells = _framing(side)
    line = Line(direction, queue=queue, rate=rate, framing=cells)
    qdisc = _qdisc_of(line, rate, _device(who, hop, direction))
    change = Change(f"hop.{hop.name}.queue.{direction}", before, wanted)
    kind = f"queue {hop.name} {direction}"
    step = Step(who, qdisc, restored_root(qdisc.device))
    sqm = None
    if who == "router" and qdisc.kind == "cake" and rate and rate >= 1000 and _is_known_to_sqm(cells):
        sqm = SqmQueue(0, rate // 1000, egress=" ".join(_keywords(qdisc.arguments)))
        sqm = replace(sqm, atm_overhead=cells.cake_overhead if cells else None)
    place, drop_in = DROP_IN, True
    if rate and queue.kind == "cake":
        drop_in = False
        place = f"the line carries {show_rate(rate)}: the queue of a slower one is in the device before it"
    conditions = (*_interface(who, hop, direction), place)
    return Action(kind, f"{words} at {hop.name} {direction}", (change,), (step,), conditions, sqm=sqm, drop_in=drop_in)


def _device(who: str, hop: Hop, direction: str) -> str:
    """The variable with a queue's interface. An operator may change several queues at once, a
    router only that of its interface to the link.
    """
    if who == "router":
        return DEVICE
    return f"{DEVICE}_{re.sub('[^A-Z0-9]', '_', hop.name.upper())}_{direction.upper()}"


def _interface(who: str, hop: Hop, direction: str) -> tuple[str, ...]:
    """The preconditions of a root qdisc at a queue."""
    name = _device(who, hop, direction).removeprefix("$")
    return (f"{name} is the interface that sends {direction} over {hop.name}", UNCLASSED)


def _keywords(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments of cake that SQM does not give it itself."""
    left = list(arguments)
    while left:
        word = left.pop(0)
        value = [left.pop(0)] if word in CAKE_VALUES else []
        if word not in ("bandwidth", "besteffort", "overhead", "mpu", "atm", "noatm", "ptm"):
            yield from (word, *value)


def _qdisc_of(line: Line, rate: int | None, device: str) -> Qdisc:
    """The qdisc of a queue."""
    words = queue_arguments(line, rate).split()
    if line.queue and line.queue.kind == "cake":
        words = ["cake", *(["bandwidth", f"{rate}bit"] if rate else ["unlimited"]), *words]
    return Qdisc(device, words[0], tuple(words[1:]))


def needs_bottleneck(action: Action) -> bool:
    """Whether it is a queue of the router that does nothing before a slower device, a modem."""
    return "router" in action.who and action.drop_in


def check_may(may: Sequence[str]) -> tuple[str, ...]:
    """Those who may act. Raises InvalidValue for an unknown one, and without one."""
    for who in may:
        if who not in WHO:
            raise InvalidValue(format_value(who), f"{', '.join(WHO)}, with commas between")
    if not may:
        raise InvalidValue("no one", f"{', '.join(WHO)}, with commas between")
    return tuple(who for who in WHO if who in may)
