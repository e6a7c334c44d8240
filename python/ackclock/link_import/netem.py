"""netem's arguments as tc-netem(8) has them and as `tc qdisc show` prints them, and as parts of a
link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.export import qdisc_syntax
from ackclock.input.units import PS_PER_S, show_time
from ackclock.link_import.path_setup import FULL_PACKET

LIMIT = 1000
"""netem's limit in packets where none is given (tc-netem(8))."""
NORMAL_TABLE = 4
"""Standard deviations at which netem's tables end."""
NUMBER = re.compile(r"[.\d].*")
LABELS = ("p", "r", "1-h", "1-k", "p13", "p31", "p32", "p23", "p14")


def delay_ps(text: str) -> int:
    """A delay in ps; a number without a unit is of microseconds (tc(8), TIMES)."""
    if match := re.fullmatch(rf"({qdisc_syntax.DECIMAL})(?:ns|nsecs?)", text):
        return round(float(match[1]) * 1e3)
    return round(qdisc_syntax.time(text) * 1e6)


def percent(text: str) -> float:
    """A share: tc's numbers are of percent, with the sign or without."""
    match = re.fullmatch(rf"({qdisc_syntax.DECIMAL})%?", text)
    if not match or float(match[1]) > 100:
        raise ValueError(f"no percentage from 0 to 100: {text}")
    return float(match[1]) / 100


@dataclass
class Netem:
    """The parameters of a netem qdisc; times in ps, shares from 0 to 1, `rate` in bits/s.

    `loss` is the model's name and its shares: ("random", (share, correlation)), ("gemodel", ..) or
    ("state", ..).
    """

    limit: int = LIMIT
    delay: int = 0
    jitter: int = 0
    distribution: str = ""
    loss: tuple[str, tuple[float, ...]] = ("random", ())
    duplicate: float = 0.0
    reorder: float = 0.0
    gap: int = 0
    rate: int | None = None
    packet_overhead: int = 0
    cell: int = 0
    lost: list[str] = field(default_factory=list)
    """What a link file does not express, a sentence each."""
    refused: list[str] = field(default_factory=list)
    """What was not understood, a sentence each."""
    pitfalls: list[str] = field(default_factory=list)
    """Numbers that mean something else than they seem to."""


def read_netem(words: Sequence[str]) -> Netem:
    """The parameters that words set; what is not understood is `refused`."""
    reader = _Reader(list(words), Netem())
    while reader.left:
        word = reader.left.pop(0)
        try:
            read = READERS.get(word)
            if read is None:
                raise ValueError(f"no argument of netem: {word}")
            read(reader)
        except ValueError as error:
            reader.netem.refused.append(str(error))
    return reader.netem


@dataclass
class _Reader:
    left: list[str]
    netem: Netem

    def value(self, name: str) -> str:
        if not self.left:
            raise ValueError(f"{name} without a value")
        return self.left.pop(0)

    def has_number(self) -> bool:
        return bool(self.left) and NUMBER.fullmatch(self.left[0]) is not None

    def shares(self, limit: int) -> tuple[float, ...]:
        """Percentages, with the names that `tc qdisc show` prints before them."""
        found: list[float] = []
        while self.left and len(found) < limit:
            is_name = self.left[0] in LABELS and len(self.left) > 1
            if not (is_name or self.has_number()):
                break
            if is_name:
                self.left.pop(0)
            found.append(percent(self.left.pop(0)))
        return tuple(found)

    def delay(self) -> None:
        text = self.value("delay")
        self.netem.delay = delay_ps(text)
        if re.fullmatch(qdisc_syntax.DECIMAL, text) and self.netem.delay:
            self.netem.pitfalls.append(f"delay {text} without a unit is microseconds; milliseconds are {text}ms")
        if self.has_number():
            self.netem.jitter = delay_ps(self.left.pop(0))
            if self.has_number() and percent(self.left.pop(0)):
                self.netem.lost.append("the correlation of delays: each is drawn independently")

    def loss(self) -> None:
        model = "random"
        if self.left and self.left[0] in ("random", "state", "gemodel"):
            model = self.left.pop(0)
        if model == "random":
            text = self.left[0] if self.left else ""
            shares = self.shares(2)
            if not shares:
                raise ValueError("loss without a percentage")
            if 0 < shares[0] < 0.01 and not text.endswith("%"):
                self.netem.pitfalls.append(f"loss {text} is {text} %: tc's numbers are percent")
            if shares[1:] and shares[1]:
                self.netem.lost.append("the correlation of losses: each is drawn independently")
        else:
            shares = self.shares(5 if model == "state" else 4)
            if not shares:
                raise ValueError(f"loss {model} without a percentage")
        self.netem.loss = (model, shares)

    def share_of(self, name: str) -> float:
        shares = self.shares(2)
        if not shares:
            raise ValueError(f"{name} without a percentage")
        if shares[1:] and shares[1]:
            self.netem.lost.append(f"the correlation of {name}")
        return shares[0]

    def duplicate(self) -> None:
        self.netem.duplicate = self.share_of("duplicate")

    def corrupt(self) -> None:
        share = self.share_of("corrupt")
        if share:
            self.netem.lost.append(
                f"corrupt {100 * share:g} %: a receiver drops packets with a wrong checksum; add it to loss"
            )

    def reorder(self) -> None:
        self.netem.reorder = self.share_of("reorder")
        self.netem.gap = self.netem.gap or 1

    def gap(self) -> None:
        self.netem.gap = int(qdisc_syntax.integer(self.value("gap")))

    def limit(self) -> None:
        self.netem.limit = max(0, int(qdisc_syntax.integer(self.value("limit").removesuffix("p"))))

    def distribution(self) -> None:
        self.netem.distribution = self.value("distribution")

    def rate(self) -> None:
        self.netem.rate = round(qdisc_syntax.rate(self.value("rate"))) or None
        labels = ("packetoverhead", "cellsize", "celloverhead")
        numbers: list[int] = []
        while self.left and len(numbers) < 3:
            if self.left[0] in labels and len(self.left) > 1:
                self.left.pop(0)
            elif not re.fullmatch(r"-?\d{1,6}", self.left[0]):
                break
            numbers.append(int(qdisc_syntax.integer(self.left.pop(0))))
        self.netem.packet_overhead = numbers[0] if numbers else 0
        self.netem.cell = numbers[1] if numbers[1:] else 0
        if numbers[1:] and (numbers[1], *numbers[2:]) not in ((0, 0), (48, 5), (0,)):
            self.netem.lost.append(f"cells of {numbers[1]} B")

    def slot(self) -> None:
        if self.left[:1] == ["distribution"]:
            self.left = self.left[2:]
        while self.left and (self.has_number() or self.left[0] in ("packets", "bytes")):
            self.left.pop(0)
        self.netem.lost.append("slot: packets that leave in bursts")

    def ecn(self) -> None:
        self.netem.lost.append("ecn: marks in place of losses")

    def seed(self) -> None:
        self.value("seed")


READERS: Mapping[str, Callable[[_Reader], None]] = {
    "delay": _Reader.delay,
    "latency": _Reader.delay,
    "loss": _Reader.loss,
    "drop": _Reader.loss,
    "duplicate": _Reader.duplicate,
    "corrupt": _Reader.corrupt,
    "reorder": _Reader.reorder,
    "gap": _Reader.gap,
    "limit": _Reader.limit,
    "distribution": _Reader.distribution,
    "rate": _Reader.rate,
    "slot": _Reader.slot,
    "ecn": _Reader.ecn,
    "seed": _Reader.seed,
}


def loss_of(netem: Netem, bps: int | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The loss as a link file has it, and what that does not express. netem's states change with
    packets: they become times of full packets at `bps`, as `export` has them.
    """
    model, shares = netem.loss
    if not shares or not any(shares[:1]):
        return None, []
    if model == "random":
        return {"kind": "bernoulli", "mean": shares[0]}, []
    if model == "gemodel":
        leave_good = shares[0]
        leave_bad = shares[1] if shares[1:] else 1 - leave_good
        loss_bad = shares[2] if shares[2:] else 1.0
        loss_good = shares[3] if shares[3:] else 0.0
    else:
        leave_good = shares[0]
        leave_bad = shares[1] if shares[1:] else 1 - leave_good
        loss_bad, loss_good = 1.0, 0.0
    text = [] if model == "gemodel" else ["loss state: bursts and gaps as two states (p13, p31)"]
    if model == "state" and any(shares[2:]):
        text.append("loss state: p32, p23 and p14 (losses within gaps, gaps within bursts)")
    if leave_bad <= 0:
        return {"kind": "bernoulli", "mean": loss_bad}, [*text, "a bad state that never ends: it holds from the start"]
    mean = (leave_good * loss_bad + leave_bad * loss_good) / (leave_good + leave_bad)
    if bps is None:
        mean_text = f"loss in bursts of {1 / leave_bad:.3g} packets: without a rate they have no length in time; "
        return {"kind": "bernoulli", "mean": mean}, [*text, f"{mean_text}independent losses of {100 * mean:.3g} %"]
    packet = 8 * FULL_PACKET * PS_PER_S / bps
    good, bad = (max(1, round(packet / share)) for share in (leave_good, leave_bad))
    text.append(f"loss by states in packets: here in time, which is the same for a link full of {FULL_PACKET} B")
    loss = {"kind": "gilbert-elliott", "good_sojourn": show_time(good), "bad_sojourn": show_time(bad)}
    return {**loss, "loss_good": loss_good, "loss_bad": loss_bad}, text


def jitter_of(netem: Netem) -> tuple[int, dict[str, Any] | None, list[str]]:
    """The constant delay, the jitter as a link file has it, and what that does not express. With a
    rate netem keeps the order of packets.
    """
    mean, spread, kind = netem.delay, netem.jitter, netem.distribution
    order = {"in_order": netem.rate is not None}
    if not spread:
        return mean, None, []
    if kind in ("", "uniform"):
        low, high = mean - spread, mean + spread
        if low >= 0:
            return low, {"kind": "uniform", "high": show_time(2 * spread), **order}, []
        negative = [f"{100 * -low / (2 * spread):.3g} % of the packets leave at once (the jitter exceeds the delay)"]
        return 0, {"kind": "uniform", "high": show_time(high), **order}, negative
    if kind == "normal":
        cut = min(mean, NORMAL_TABLE * spread)
        normal = {"kind": "normal", "mean": show_time(cut), "sd": show_time(spread), **order}
        return mean - cut, normal, []
    text = [f"distribution {kind}: its mean and spread as a normal distribution"]
    if kind == "pareto" and mean >= 2 * spread:
        # iproute2's netem/pareto.c: (x - 1.5) * 4/3 for x of shape 3 and minimum 1, so the table
        # begins at -2/3, and as 16 bits in units of 1/8192 it ends at 4.
        pareto = {"kind": "pareto", "mean": show_time(2 * spread), "shape": 3.0, **order}
        return mean - 2 * spread, pareto, ["distribution pareto: netem's table ends at 4 times the jitter"]
    cut = min(mean, NORMAL_TABLE * spread)
    return mean - cut, {"kind": "normal", "mean": show_time(cut), "sd": show_time(spread), **order}, text


def reorder_of(netem: Netem, delay: int) -> tuple[int, dict[str, Any] | None, list[str]]:
    """The constant delay and the reordering of a link file: netem sends a share of the packets at
    once, and all others after the delay.
    """
    if not netem.reorder or not netem.gap:
        return delay, None, []
    if not delay:
        return delay, None, ["reorder without a delay: netem needs one to reorder"]
    share = 1 / (netem.gap - 1 + 1 / netem.reorder)
    text = ["reorder gap: which packets overtake is drawn for each"] if netem.gap > 1 else []
    if share >= 1:
        return 0, None, [*text, "reorder 100 %: every packet leaves at once"]
    return 0, {"mean": 1 - share, "delay": show_time(delay)}, text
