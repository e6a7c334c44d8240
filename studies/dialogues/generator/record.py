"""A dialogue in real time, closed loop: a peer and a link answer what the kernel sends."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from studies.dialogues.generator.host import Host, kernel
from studies.dialogues.generator.packets import Expected, Options, Packet
from studies.dialogues.generator.path import LinkPath, PathConfig
from studies.dialogues.generator.peer import PeerConfig, Receiver, timestamp
from studies.dialogues.generator.replay import HOST_TIMESTAMP, Connection, Run
from studies.dialogues.generator.script import MARGINS, Call, Dialogue, Inbound, Info, Outbound, Setup, Step
from studies.dialogues.generator.timer_slack import TimerSlack

START_MS = 20
"""When the connection begins: a SYN arrives, or connect() is called."""
APART_MS = 2
"""Inbound packets and calls are at whole milliseconds, this far apart at least."""
ACKS_APART_MS = 3
"""The peer's ACKs are this far apart: HyStart's ACK train ends at 2 ms (hystart_update())."""
CAUSE_MS = 0.45
"""What the host sends this soon after a packet or a call is its answer; later, a timer's."""
QUIET_MS = 450.0
"""A dialogue ends when nothing is due and the host has been silent for so long."""
NEAR_MS = 5.0
"""A dialogue with a packet or a call this near to what a timer sent is given up."""


class GivenUp(Exception):
    """Which came first, an event or a timer, cannot be repeated; the text says which."""


@dataclass(frozen=True)
class Send:
    """Data, FIN or RST of the peer, after the connection is established; `seq` from 1."""

    after_ms: float
    seq: int
    payload: int = 0
    flags: str = "."


@dataclass(frozen=True)
class Open:
    """How a connection begins that the host opens.

    Attributes:
        simultaneous: the peer's own SYN arrives before it answers.
        syns_lost: how many SYNs of the host are lost.
        refused: the peer answers with RST.
    """

    simultaneous: bool = False
    syns_lost: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything that a seed decides.

    Attributes:
        calls: the application's calls, their times from when the connection is established.
        sends: the peer's packets beside its ACKs.
        inbound: most packets from the peer.
        duration_ms: latest end.
        tail_ms: how long after the last packet from the peer the host is listened to.
        info: fields of assertions: all, only cwnd and the state, or none.
        window: outbound segments are compared with their windows.
        paced: what the host sends by itself has its time, not a range.
        patient: the dialogue lasts until its end, however long nothing happens.
    """

    category: str
    seed: int
    setup: Setup
    peer: PeerConfig
    path: PathConfig
    calls: Sequence[Call] = ()
    sends: Sequence[Send] = ()
    opening: Open = Open()
    inbound: int = 30
    duration_ms: float = 2500.0
    tail_ms: float = 25.0
    info: Literal["all", "cwnd", "none"] = "all"
    window: bool = False
    paced: bool = False
    patient: bool = False

    @property
    def name(self) -> str:
        """The script's."""
        return f"{self.category}-{self.seed}"

    @property
    def rtt_ms(self) -> float:
        """Of the handshake."""
        return self.path.forward_ms + self.path.back_ms


Kind = Literal["inject", "call", "info", "arrive", "delayed", "read", "send"]


class Recording:
    """One dialogue, from its SYN to its end."""

    def __init__(self, plan: Plan, host: Host, phase_ms: float) -> None:
        self._plan, self._host = plan, host
        self._rng = Random(f"{plan.name} path")
        self._path = LinkPath(plan.path, self._rng)
        self._peer = Receiver(plan.peer)
        self._connection = Connection(plan.setup)
        self._run = Run(host, self._connection, phase_ms)
        self._events: list[tuple[float, int, Kind, Any]] = []
        self._order = itertools.count()
        self._taken: set[int] = set()
        self._last_back = -math.inf
        self._cause = self._caused_until = -math.inf
        self._steps: list[Step] = []
        self._timers: list[float] = []
        self._slack = TimerSlack()
        self._infos: list[tuple[int, float, dict[str, int]]] = []
        self._established = self._over = False
        self._syns = self._injected = 0
        self._first_timestamp: int | None = None
        self._stopped_at: float | None = None

    def dialogue(self) -> Dialogue:
        """Record it.

        Raises:
            Late: the process was not scheduled in time.
            GivenUp: a timer and an event are too near.
        """
        plan = self._plan
        try:
            if plan.setup.opens == "connect":
                self._at(START_MS, "call", Call(0, "connect"))
            else:
                flags = "SEW" if plan.peer.ecn else "S"
                self._at(START_MS, "inject", Packet(flags, 0, 0, None, 65535, Options(mss=0)))
            self._loop()
        finally:
            self._connection.end(self._host)
        self._add_infos()
        self._check()
        title = f"{plan.name}: what Linux {kernel()}, did, written down as it ran"
        return Dialogue(title, plan.setup, self._steps)

    def _at(self, at: float, kind: Kind, data: Any = None) -> None:
        heapq.heappush(self._events, (at, next(self._order), kind, data))

    def _slot(self, at: float, apart: int = APART_MS) -> int:
        """The first whole millisecond from `at` on that is as far from all others."""
        at = max(at, self._run.clock.now() + 1.5)
        slot = math.ceil(at - 1e-6)
        while any(slot + shift in self._taken for shift in range(1 - apart, apart)):
            slot += 1
        self._taken.add(slot)
        return slot

    def _loop(self) -> None:
        while True:
            end = self._plan.duration_ms if self._stopped_at is None else self._stopped_at
            end = end if self._events else min(end, self._last_activity() + self._quiet())
            self._run.wait(min(end, self._events[0][0]) if self._events else end, for_packet=True)
            self._take()
            while self._events and self._events[0][0] <= self._run.clock.now():
                at, _, kind, data = heapq.heappop(self._events)
                if at < end:
                    self._do(at, kind, data)
            if self._run.clock.now() >= end and not self._run.sent:
                return

    def _quiet(self) -> float:
        """How long nothing happens at the end: longer where the host has something to repeat."""
        if self._plan.patient or self._plan.paced:
            return math.inf
        if self._established and self._peer.expected >= self._path.highest:
            return max(self._plan.tail_ms, QUIET_MS)
        return 4 * QUIET_MS

    def _last_activity(self) -> float:
        return self._steps[-1].at_ms if self._steps else 0.0

    def _do(self, at: float, kind: Kind, data: Any) -> None:
        match kind:
            case "inject":
                self._inject(at, data)
            case "call":
                self._call(at, data)
            case "info":
                self._run.on_time(at)
                info = self._connection.info()
                self._run.collect()
                self._take(before=at)
                self._caused_until = -math.inf
                # A connection that is closed or was reset has no values any more.
                if info and info["state"] != 7:
                    self._infos.append((len(self._steps), at, info))
            case "arrive":
                packet, marked = data
                if self._peer.receive(at, packet, marked):
                    self._acknowledge(at)
                else:
                    self._delay()
            case "delayed":
                due = self._peer.delayed_until()
                if due is not None and due <= at + 1e-6:
                    self._acknowledge(at)
            case "read":
                if self._peer.read():
                    self._acknowledge(at)
                self._at(at + self._plan.peer.read_ms, "read")
            case "send":
                self._send(data)

    def _delay(self) -> None:
        due = self._peer.delayed_until()
        if due is not None:
            self._at(due, "delayed")

    def _acknowledge(self, now: float) -> None:
        """An ACK of the peer is sent."""
        packet = self._peer.acknowledges()
        arrives = self._path.back(now)
        if arrives is not None and not self._over:
            self._back(arrives, packet)

    def _back(self, arrives: float, packet: Packet) -> None:
        """A packet of the peer in order behind the others."""
        slot = self._slot(max(arrives, self._last_back + ACKS_APART_MS))
        self._last_back = slot
        self._at(slot, "inject", packet)

    def _send(self, send: Send) -> None:
        peer = self._peer
        ack = None if send.flags == "R" else peer.expected
        self._at_slot(self._run.clock.now() + 1.6, Packet(send.flags, send.seq, send.payload, ack, peer.field()))

    def _at_slot(self, at: float, packet: Packet) -> None:
        self._at(self._slot(at), "inject", packet)

    def _inject(self, at: float, packet: Packet) -> None:
        plan, peer = self._plan, self._peer
        if self._stopped_at is not None:
            return
        self._run.on_time(at)
        if packet.has("S"):
            options = plan.peer.syn_options(peer.echo if packet.has(".") else None, at)
        else:
            if packet.end == packet.seq and not packet.has("R"):
                packet = replace(packet, seq=peer.sent)
            times = (timestamp(at), peer.echo) if plan.peer.timestamps and not packet.has("R") else None
            options = replace(packet.options, timestamps=times)
        packet = replace(packet, options=options)
        self._take(before=at)
        self._steps.append(Inbound(at, self._echo_in_script(packet)))
        data = self._connection.codec.encode(packet)
        self._host.inject(data)
        self._slack.event(at, packet)
        self._answers(at)
        peer.sent = max(peer.sent, packet.end)
        self._injected += 1
        self._opened(at, packet)
        if packet.has("R"):
            self._over = True
        elif self._established and plan.info != "none":
            self._at(at + 0.5, "info")
        if self._injected >= plan.inbound and self._stopped_at is None:
            self._stopped_at = at + plan.tail_ms

    def _opened(self, at: float, packet: Packet) -> None:
        """The packet may have completed the handshake: the application begins."""
        plan = self._plan
        if self._established or packet.has("R"):
            return
        listens = plan.setup.opens == "listen"
        if (packet.has("S") and listens) or not packet.has("."):
            return
        self._established = True
        if listens:
            self._call(at, Call(at, "accept"))
        for call in plan.calls:
            self._at(self._slot(at + call.at_ms, 1), "call", call)
        for send in plan.sends:
            self._at(at + send.after_ms - 1.6, "send", send)
        if plan.peer.buffer is not None:
            self._at(at + plan.peer.read_ms, "read")

    def _echo_in_script(self, packet: Packet) -> Packet:
        times = packet.options.timestamps
        if times is None or times[1] == 0 or self._first_timestamp is None:
            return packet
        echo = (times[1] - self._first_timestamp + HOST_TIMESTAMP) & 0xFFFF_FFFF
        return replace(packet, options=replace(packet.options, timestamps=(times[0], echo)))

    def _call(self, at: float, call: Call) -> None:
        if self._stopped_at is not None:
            return
        self._run.on_time(at)
        self._take(before=at)
        done = self._connection.call(replace(call, at_ms=at))
        self._steps.append(done)
        self._slack.event(at)
        self._answers(at)

    def _answers(self, at: float) -> None:
        """Take what the host sent in the call that gave it this event."""
        self._cause = at
        self._run.collect()
        self._take(answers=True)
        self._caused_until = self._run.clock.now() + CAUSE_MS

    def _take(self, *, answers: bool = False, before: float = math.inf) -> None:
        """What the host has sent: steps of the script, and packets for the peer.

        `answers`: to the last event; `before`: the time of the event that follows.
        """
        plan = self._plan
        while self._run.sent:
            seen, live = self._run.sent.popleft()
            times = live.options.timestamps
            if times and self._first_timestamp is None:
                self._first_timestamp = times[0]
            packet = self._connection.in_script(live)
            answer = answers or seen < self._caused_until
            syn = packet.has("S")
            expected = Expected(
                packet,
                window=plan.window and not packet.has("R"),
                ecn=plan.peer.ecn and not syn and not packet.has("R"),
                # The order and padding of a SYN's options are the kernel's own.
                options=not syn or plan.peer.timestamps,
            )
            at = self._cause if answer else max(min(math.floor(seen * 10) / 10, before), self._latest())
            to = None
            if not answer and not plan.paced:
                self._timers.append(seen)
                slack = self._slack.timer(seen, packet)
                at, to = math.floor(seen - slack), math.ceil(seen + slack)
                at = max(at, math.ceil(self._latest()))
            else:
                self._slack.answer(seen, packet)
            self._steps.append(Outbound(at, expected, to))
            self._to_peer(seen, live)

    def _latest(self) -> float:
        """The time of the last step, assertions included."""
        return max(self._last_activity(), self._infos[-1][1] if self._infos else 0.0)

    def _to_peer(self, now: float, packet: Packet) -> None:
        plan, peer = self._plan, self._peer
        if packet.has("R"):
            self._over = True
            return
        if packet.has("S"):
            peer.echo = packet.options.timestamps[0] if packet.options.timestamps else 0
            self._answer_syn(now, packet)
            return
        segments = max(1, math.ceil(packet.payload / plan.peer.payload))
        for arrival in self._path.forward(now, packet, segments):
            self._at(arrival.at_ms, "arrive", (packet, arrival.marked))

    def _answer_syn(self, now: float, packet: Packet) -> None:
        plan = self._plan
        arrives = now + plan.rtt_ms
        if packet.has("."):
            if plan.setup.opens == "listen" and not self._established and self._syns == 0:
                self._back(START_MS + plan.rtt_ms, Packet(".", 1, 0, 1, self._peer.field()))
            self._syns += 1
            return
        self._syns += 1
        if self._syns <= plan.opening.syns_lost:
            return
        if plan.opening.refused:
            self._back(arrives, Packet("R.", 0, 0, 1, 0))
            return
        if plan.opening.simultaneous and self._syns == plan.opening.syns_lost + 1:
            self._back(now + plan.path.back_ms / 2, Packet("S", 0, 0, None, 65535))
        self._back(arrives, Packet("S.", 0, 0, 1, 65535))

    def _add_infos(self) -> None:
        """Assertions between the steps: in state Open one of four, unless something is new."""
        shown_reordering, before, skipped = 3, None, 3
        found: list[tuple[int, Info]] = []
        for index, (position, at, info) in enumerate(self._infos):
            last = index == len(self._infos) - 1
            fields = self._fields(info, last, info["reordering"] != shown_reordering)
            changed = before is None or (info["ca_state"], info["snd_ssthresh"]) != before or info["ca_state"] != 0
            before = (info["ca_state"], info["snd_ssthresh"])
            if not last and not changed and "reordering" not in fields and skipped < 3:
                skipped += 1
                continue
            skipped = 0
            shown_reordering = info["reordering"] if "reordering" in fields else shown_reordering
            found.append((position, Info(at, fields)))
        for position, step in reversed(found):
            self._steps.insert(position, step)

    def _fields(self, info: dict[str, int], last: bool, reordering: bool) -> dict[str, tuple[int, int]]:
        names = ["snd_cwnd", "ca_state"]
        if self._plan.info == "all":
            names = ["snd_cwnd", "snd_ssthresh", "ca_state", "unacked"]
            names += ["reordering"] if reordering or last else []
            names += ["sacked", "lost", "retrans"]
            names += ["total_retrans", "rtt", "rttvar", "rto", "backoff"] if last else []
        return {name: (max(0, info[name] - MARGINS.get(name, 0)), info[name] + MARGINS.get(name, 0)) for name in names}

    def _check(self) -> None:
        """Raises GivenUp."""
        events = [step.at_ms for step in self._steps if isinstance(step, Inbound | Call)]
        for seen in self._timers:
            near = [at for at in events if abs(at - seen) < NEAR_MS]
            if near:
                raise GivenUp(f"an event at {near[0]} ms, a timer at {seen:.1f} ms")
