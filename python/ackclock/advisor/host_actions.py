"""The actions that change a host: congestion control, buffers, window scaling, ECN, ACKs, the
initial window and pacing, each with the commands of the host's own system, and none where that has
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ackclock.advisor.action import Action, Change
from ackclock.advisor.host_system import ENDS, SYSTEMS, HostSystem, Setting
from ackclock.advisor.situation import UNSCALED, Situation
from ackclock.comparison.configuration import UP_TO, maximum
from ackclock.comparison.socket_buffers import WMEM_DEFAULT, HostBuffers
from ackclock.format import joined
from ackclock.input.link.bottleneck import bdp_bytes
from ackclock.input.scenario.hosts import Tcp
from ackclock.input.units import show_size, size_bytes

VARIANTS = ("cubic", "reno", "bbr", "westwood+", "vegas", "illinois", "hybla", "htcp")
"""Congestion controls of mainline Linux that are tried."""
INITIAL_WINDOW = 32
"""The larger initial window that is tried, in segments."""
RECEIVE_BDPS = (1.5, 1.0)
"""Receive windows that bound a queue, in BDP: a full path and a queue of half a BDP, and none."""
SIZE_BDPS = (2, 1)
"""Sizes of a buffer that is not tuned, in BDP: with a queue of a BDP, and without one."""
LARGER = 1.1
"""A buffer that is larger by less is not tried."""
Buffers = tuple[tuple[str, str], ...]
"""Ends, each with its buffer: "auto", "auto:SIZE" or a size."""


@dataclass(frozen=True)
class _Host:
    """The host at one end of a situation's flows.

    Attributes:
        who: "sender" or "receiver".
        side: "server" or "client".
        names: the host stacks that the flows have there.
        by_flow: the resolved TCP keys of each flow there.
        prefix: of the paths of its keys: "tcp." where both ends have common ones.
    """

    who: str
    side: str
    names: tuple[str, ...]
    by_flow: Mapping[str, Tcp]
    prefix: str

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def system(self) -> HostSystem:
        return SYSTEMS[self.name]

    @property
    def tcp(self) -> Tcp:
        """The keys of the first flow."""
        return next(iter(self.by_flow.values()))

    @property
    def buffers(self) -> HostBuffers:
        return HostBuffers.of(self.name)


def _hosts(of: Situation) -> tuple[_Host, _Host]:
    """The sender and the receiver."""
    scenario = of.base
    parted = any(table.server or table.client for table in (scenario.tcp, *of.own_flows.values()))
    first = of.flow.sending_end
    found = []
    for who in ENDS.values():
        tcp = {}
        for name, flow in of.own_flows.items():
            other = "client" if flow.sending_end == "server" else "server"
            tcp[name] = scenario.tcp_of(flow, flow.sending_end if who == "sender" else other)
        side = first if who == "sender" else "client" if first == "server" else "server"
        names = tuple(dict.fromkeys(one.host for one in tcp.values()))
        found.append(_Host(who, side, names, tcp, f"tcp.{side}." if parted else "tcp."))
    return found[0], found[1]


def host_actions(of: Situation) -> Iterator[Action]:
    """All actions at the hosts; none where the flows have several host stacks at one end, whose
    commands would be of several systems.
    """
    sender, receiver = _hosts(of)
    if len(sender.names) > 1 or len(receiver.names) > 1:
        return
    yield from _variants(sender)
    yield from _HostBuffers(of, sender, receiver).actions()
    yield from _others(sender, receiver)
    yield from _mtu_probing(of, sender)


def unsettable(of: Situation, may: Sequence[str]) -> list[str]:
    """Sentences about what is not tried, of those who may act: what the system of a host cannot
    set.
    """
    if of.is_quic:
        return []
    if not of.is_tcp:
        return ["Some of the flows are over TCP and some over QUIC: no host is changed."]
    hosts = [host for host in _hosts(of) if host.who in may]
    several = [host for host in hosts if len(host.names) > 1]
    if several:
        return [f"The flows have host stacks of several systems ({joined(several[0].names)}): no host is changed."]
    words: dict[HostSystem, list[str]] = {}
    for host in hosts:
        words.setdefault(host.system, []).extend(host.system.unsettable(host.who))
    return [
        f"{system.name}: {joined(list(dict.fromkeys(parts)))} cannot be set here{system.reason}."
        for system, parts in words.items()
        if parts
    ]


def _variants(sender: _Host) -> Iterator[Action]:
    before = {flow: str(tcp.keys["variant"]) for flow, tcp in sender.by_flow.items()}
    for variant in VARIANTS:
        found = [was for was in before.values() if was != variant]
        if found and (setting := sender.system.congestion_control(variant, before)):
            change = Change(f"{sender.prefix}variant", " and ".join(dict.fromkeys(found)), variant)
            yield _action("variant", f"congestion control {variant}", [change], setting)


def _action(kind: str, label: str, changes: Sequence[Change], setting: Setting) -> Action:
    return Action(kind, label, tuple(changes), setting.steps, setting.preconditions)


@dataclass(frozen=True)
class _HostBuffers:
    """The buffers of a situation's hosts, and what they can be."""

    of: Situation
    sender: _Host
    receiver: _Host

    def actions(self) -> Iterator[Action]:
        """Larger buffers where the host's do not fill the path, window scaling where it is off, and
        a receive window that bounds the queue.
        """
        off = [host for host in (self.sender, self.receiver) if not host.tcp.keys["window_scaling"]]
        for group in self._groups(scaled=not off):
            yield from self._action(group)
        if not off or self.of.strips_scaling:
            return
        settings = [host.system.window_scaling(host.who, timestamps=bool(host.tcp.keys["timestamps"])) for host in off]
        scaling = Setting.together(settings)
        if scaling is None:
            return
        # Keys of both ends in common are one change.
        paths = dict.fromkeys(f"{host.prefix}window_scaling" for host in off)
        changes = [Change(path, False, True) for path in paths]
        if self._exceeds_unscaled():
            yield _action("window scaling", "window scaling", changes, scaling)
        for group in self._groups(scaled=True):
            if "receive" in dict(group) or self._exceeds_unscaled():
                yield from self._action(group, (changes, scaling))

    def _host(self, end: str) -> _Host:
        return self.sender if end == "send" else self.receiver

    def _now(self, end: str) -> Any:
        """The buffer as it is: a size in bytes, or a word."""
        return self._host(end).tcp.keys[f"{end}_buffer"]

    def _tuned(self, end: str) -> bool:
        """Whether the host tunes the buffer by itself."""
        return self._host(end).buffers.tuned(end)

    def _exceeds_unscaled(self) -> bool:
        """Whether the receive buffer, as it is, is worth a window above `UNSCALED`."""
        now = self._now("receive")
        return now == "tuned" or (isinstance(now, int) and now > UNSCALED)

    def _groups(self, *, scaled: bool) -> list[Buffers]:
        """What the buffers can be, with or without window scaling."""
        found: list[Buffers] = []
        larger = self._larger() if scaled else "auto"
        ends = [(end, larger) for end in ENDS if larger.startswith(UP_TO)]
        fixed = [end for end in ENDS if isinstance(self._now(end), int) and self._tuned(end)]
        fixed = [end for end in fixed if scaled or end == "send" or self._now(end) < UNSCALED]
        if fixed:
            found.append(tuple((end, "auto") for end in fixed))
            if ends:
                found.append(tuple((end, larger) for end in fixed))
        if ends:
            found += [tuple(ends), tuple(ends[:1]), tuple(ends[1:])]
        found += self._sizes(scaled=scaled)
        return list(dict.fromkeys([*found, *self._bounds(scaled=scaled)]))

    def _larger(self) -> str:
        """The buffer of both ends that the path needs, if both tune theirs not so far."""
        if self.sender.name != self.receiver.name:
            return "auto"
        found = next(iter(self.sender.buffers.for_path(["path"], self.of.hops, self.of.direction)), "auto")
        assert isinstance(found, str)
        return found

    def _bounds(self, *, scaled: bool) -> list[Buffers]:
        """A receive window that bounds the queue."""
        bdp = bdp_bytes(self.of.hops, self.of.direction)
        if self._now("receive") != "tuned" or not bdp:
            return []
        share = self.receiver.buffers.memory("receive")
        memories = (max(2**16, ceil(bdps * bdp * share / 4096) * 4096) for bdps in RECEIVE_BDPS)
        limit = int(self.receiver.tcp.keys["receive_limit"])
        return [
            (("receive", UP_TO + show_size(memory)),)
            for memory in memories
            if memory < limit and (scaled or memory / share < UNSCALED)
        ]

    def _sizes(self, *, scaled: bool) -> list[Buffers]:
        """Sizes for the ends whose buffer the host does not tune."""
        bdp = bdp_bytes(self.of.hops, self.of.direction)
        ends = [end for end in ENDS if isinstance(self._now(end), int) and not self._tuned(end)]
        found: list[Buffers] = []
        for bdps in SIZE_BDPS if bdp else ():
            # An even multiple of the segment, as Microsoft's page of TcpWindowSize asks for.
            pair = 2 * int(self.sender.tcp.keys["segment"])
            size = ceil(bdps * (bdp or 0.0) / pair) * pair
            size = size if scaled else min(size, 2**16)
            short = [end for end in ends if self._now(end) * LARGER < size]
            if short:
                found.append(tuple((end, show_size(size)) for end in short))
            if len(short) > 1 and bdps == max(SIZE_BDPS):
                found += [((end, show_size(size)),) for end in short]
        return found

    def _action(self, group: Buffers, scaling: tuple[list[Change], Setting] | None = None) -> Iterator[Action]:
        changes = list(scaling[0]) if scaling else []
        settings: list[Setting | None] = [scaling[1]] if scaling else []
        words = []
        for end, buffer in group:
            changes += self._changes(end, buffer)
            settings += self._settings(end, buffer)
            words.append(f"{end} buffer {'up to ' if buffer.startswith(UP_TO) else ''}{maximum(buffer)}")
        setting = Setting.together(settings)
        if setting and changes:
            label = " and ".join(words) + (" with window scaling" if scaling else "")
            yield _action("buffers", label, changes, setting)

    def _changes(self, end: str, buffer: str) -> Iterator[Change]:
        host, was = self._host(end), self._now(end)
        if isinstance(was, int) and was != size_of(buffer):
            to = "auto" if size_of(buffer) is None else buffer
            yield Change(f"{host.prefix}{end}_buffer", show_size(was), to)
        if buffer.startswith(UP_TO):
            limit = int(host.tcp.keys.get(f"{end}_limit", host.buffers.tcp.keys[f"{end}_limit"]))
            yield Change(f"{host.prefix}{end}_limit", show_size(limit), maximum(buffer))

    def _settings(self, end: str, buffer: str) -> Iterator[Setting | None]:
        host, buffers = self._host(end), self._host(end).buffers
        had = {flow: tcp.keys[f"{end}_buffer"] for flow, tcp in host.by_flow.items()}
        size = size_of(buffer)
        if size is not None:
            own = buffers.tcp.keys[f"{end}_buffer"]
            yield host.system.fixed_buffer(end, size, {flow: None if was == own else was for flow, was in had.items()})
            return
        if isinstance(self._now(end), int):
            sizes = {flow: buffers.option_value(end, was) for flow, was in had.items() if isinstance(was, int)}
            yield host.system.automatic_buffer(end, sizes)
        if buffer.startswith(UP_TO):
            first = WMEM_DEFAULT if end == "send" else int(buffers.tcp.keys["receive_start"])
            yield host.system.tuned_up_to(end, first, size_bytes(maximum(buffer)))


def size_of(buffer: str) -> int | None:
    """The size of a buffer in bytes; None where the host tunes it."""
    return None if buffer == "auto" or buffer.startswith(UP_TO) else size_bytes(buffer)


def _mtu_probing(of: Situation, sender: _Host) -> Iterator[Action]:
    """A search for the path MTU where a hop drops longer packets and does not say so."""
    silent = any(side.mtu and not side.mtu.icmp for _, _, side in of.sides())
    off = sender.tcp.keys.get("mtu_probing", "off") == "off"
    if silent and off and (setting := sender.system.mtu_probing()):
        change = Change(f"{sender.prefix}mtu_probing", "off", "black-hole")
        yield _action("MTU probing", "a sender that searches the path MTU", [change], setting)


def _others(sender: _Host, receiver: _Host) -> Iterator[Action]:
    if receiver.tcp.keys["delayed_ack"] and (setting := receiver.system.undelayed_acks()):
        change = Change(f"{receiver.prefix}delayed_ack", True, False)
        yield _action("delayed ACK", "an ACK for each segment", [change], setting)
    before = int(sender.tcp.keys["initial_window"])
    if before < INITIAL_WINDOW and (setting := sender.system.initial_window(INITIAL_WINDOW)):
        words = f"initial window of {INITIAL_WINDOW} segments"
        change = Change(f"{sender.prefix}initial_window", before, INITIAL_WINDOW)
        yield _action("initial window", words, [change], setting)
    if sender.tcp.keys["pacing"] is False and (setting := sender.system.pacing()):
        change = Change(f"{sender.prefix}pacing", False, True)
        yield _action("pacing", "pacing by the fq qdisc", [change], setting)
    off = [host for host in (sender, receiver) if host.tcp.keys["ecn"] is False]
    asked = Setting.together([host.system.ecn(host.who, opens=host.side == "client") for host in off])
    if off and asked and asked.steps:
        paths = dict.fromkeys(f"{host.prefix}ecn" for host in off)
        yield _action("ECN", "ECN", [Change(path, False, True) for path in paths], asked)
