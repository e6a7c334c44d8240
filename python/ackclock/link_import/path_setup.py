"""What a set-up does to packets, in path order: the model between the formats that people have and
a link file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ackclock import _native
from ackclock.export import qdisc_syntax
from ackclock.input.units import show_rate, time_ps

Side = Literal["down", "up"]
SIDES: tuple[Side, Side] = ("down", "up")
FULL_PACKET = 1500
"""Bytes of a full IP packet on Ethernet."""
ETHERNET_HEADER = 14


@dataclass(frozen=True)
class Note:
    """A sentence about a line of the input; None: about the whole."""

    line: int | None
    text: str


@dataclass(frozen=True)
class Misread:
    """A line that was not understood, or a part of one."""

    line: int | None
    text: str
    why: str


@dataclass(frozen=True)
class Lint:
    """Something in a set-up that hurts, or does not do what it seems to: a row of `lints.LINTS`."""

    code: str
    line: int | None
    text: str


@dataclass(frozen=True)
class Framing:
    """What a shaper counts for a packet, as tc-cake(8): `overhead` bytes are added to the IP packet
    (AAL5's trailer included), `mpu` is the minimum, and the sum is carried in cells.
    """

    cells: Literal["none", "atm", "ptm"] = "none"
    overhead: int = 0
    mpu: int = 0

    def counted(self, ip_bytes: int) -> int:
        """The bytes of an IP packet on the line.

        >>> pppoe = Framing("atm", 40), Framing("ptm", 30)
        >>> pppoe[0].counted(1492), pppoe[1].counted(1500), Framing(mpu=84).counted(40)
        (1696, 1554, 84)
        """
        framing = {"linklayer": {"cells": self.cells, "overhead": self.overhead, "mpu": self.mpu}}
        return _native.on_wire(json.dumps(framing), ip_bytes)


@dataclass(frozen=True)
class Bucket:
    """A token bucket: `rate` and `peak` in bits/s, `burst` in bytes."""

    rate: int
    burst: int | None = None
    peak: int | None = None


@dataclass(frozen=True)
class Stage:
    """One hop in one direction, in path order: policer, queue, rate, loss, duplicates, delay,
    jitter, reordering.

    Attributes:
        kind: what it was: "netem", "tbf", "htb", "cake", "police", "sqm", "mm-link", "pipe", ..
        rate: in bits/s, or the file of a recorded rate; None: unlimited.
        bucket: rate and burst of a shaper.
        queue, loss, jitter, reorder: as a link file has them.
        delay: in ps.
        limit: netem's limit in packets, which also counts packets that are delayed.
        typed: the arguments of the queue that the input gives, without defaults.
        device: the interface.
    """

    kind: str
    name: str
    line: int | None = None
    device: str = ""
    policer: Bucket | None = None
    bucket: Bucket | None = None
    rate: int | Path | None = None
    framing: Framing = Framing()
    is_framing_typed: bool = False
    queue: Mapping[str, Any] | None = None
    loss: Mapping[str, Any] | None = None
    duplicate: float = 0.0
    delay: int = 0
    jitter: Mapping[str, Any] | None = None
    reorder: Mapping[str, Any] | None = None
    limit: int | None = None
    typed: Mapping[str, Any] = field(default_factory=dict)
    queue_kind: str = ""

    @property
    def bps(self) -> int | None:
        """The fixed rate."""
        return self.rate if isinstance(self.rate, int) else None

    @property
    def has_effect(self) -> bool:
        """Whether a packet notices it."""
        parts = (self.policer, self.rate, self.queue, self.loss, self.duplicate, self.delay, self.jitter, self.reorder)
        return any(part is not None and part != 0 for part in parts)

    @property
    def delays_only(self) -> bool:
        """Whether it has a constant delay and nothing else."""
        return self == Stage(
            self.kind,
            self.name,
            self.line,
            self.device,
            delay=self.delay,
            limit=self.limit,
            typed=self.typed,
            queue_kind=self.queue_kind,
            framing=self.framing,
        )

    def mean_delay(self) -> int:
        """The delay with the mean of the jitter, in ps."""
        return self.delay + (0 if self.jitter is None else jitter_mean(self.jitter))


def jitter_mean(jitter: Mapping[str, Any]) -> int:
    """The mean of a jitter in ps."""
    if jitter["kind"] == "uniform":
        return (time_ps(jitter.get("low", "0 s")) + time_ps(jitter["high"])) // 2
    return time_ps(jitter["mean"])


@dataclass
class PathSetup:
    """The stages of each direction in path order, and what their reader found.

    Attributes:
        differs: what a link file replaces, or does not express.
        misread: what was not understood.
        assumed: what the input does not say.
        lints: what the reader of the input found; `lints.lint` adds those of the stages.
        line_kind: what the input calls the line ("pppoe", "vdsl", ..); empty: nothing.
        translates_addresses: whether the input has a rule for NAT; `outer_interfaces`: on which
            interfaces, which are those towards the servers.
    """

    format: str
    stages: dict[Side, list[Stage]] = field(default_factory=lambda: {"down": [], "up": []})
    differs: list[Note] = field(default_factory=list)
    misread: list[Misread] = field(default_factory=list)
    assumed: list[Note] = field(default_factory=list)
    lints: list[Lint] = field(default_factory=list)
    line_kind: str = ""
    translates_addresses: bool = False
    outer_interfaces: set[str] = field(default_factory=set)
    txqueuelen: dict[str, int] = field(default_factory=dict)
    """Packets of the default queue of an interface, where the input sets it."""
    mtu: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The line and the IP bytes of an interface's MTU, where the input sets one below 1500."""

    def differ(self, line: int | None, text: str) -> None:
        """Say once what is lost."""
        note = Note(line, text)
        if note not in self.differs:
            self.differs.append(note)

    def assume(self, line: int | None, text: str) -> None:
        note = Note(line, text)
        if note not in self.assumed:
            self.assumed.append(note)

    def lint(self, code: str, line: int | None, text: str) -> None:
        lint = Lint(code, line, text)
        if lint not in self.lints:
            self.lints.append(lint)

    def take(self, notes: PathSetup) -> None:
        """Add the notes of a part."""
        for name in ("differs", "misread", "assumed", "lints"):
            own = getattr(self, name)
            own += [note for note in getattr(notes, name) if note not in own]

    def rate_in_bytes(self, line: int | None, key: str, text: str) -> None:
        """A lint of tc's units: `mbps` are megabytes per second."""
        match = re.fullmatch(r"([\d.]+)([kmgt]?i?bps)", text, re.IGNORECASE)
        if match:
            try:
                bps = qdisc_syntax.rate(text)
            except ValueError:
                return
            bit = match[2].lower().replace("bps", "bit")
            meant = f"{match[1]}{bit}"
            self.lint(
                "unit",
                line,
                f"{key} {text} is {show_rate(round(bps))}: tc's {match[2].lower()} is bytes per second; {meant} is bits",
            )

    def misunderstand(self, line: int | None, text: str, why: str) -> None:
        misread = Misread(line, text.strip()[:200], why)
        if misread not in self.misread:
            self.misread.append(misread)


def merged(stages: list[Stage]) -> list[Stage]:
    """Stages with constant delays joined to the next rate: the sum of delay and queue is the same
    in either order.
    """
    done: list[Stage] = []
    for stage in stages:
        last = done[-1] if done else None
        if last is not None and last.delays_only and not stage.jitter and not stage.reorder:
            stage = replace(stage, delay=stage.delay + last.delay, limit=stage.limit or last.limit)
            done[-1] = stage
        elif last is not None and stage.delays_only and not last.jitter and not last.reorder:
            done[-1] = replace(last, delay=last.delay + stage.delay, limit=last.limit or stage.limit)
        else:
            done.append(stage)
    return done
