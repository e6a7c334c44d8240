"""Downloads drawn at random, by seed: any host and variant, links of 256 kb/s to 100 Mb/s and round
trips of 1 to 600 ms, queues of all kinds, every trouble, other flows beside it or none."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from studies.analyzer.captures import Case, Tap

Keys = dict[str, Any]
MAX_PACKETS = 12_000
"""A run ends when the link could have carried this many, but never before so many round trips:"""
ROUNDS = 30
SENDERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("linux-6", ("cubic", "reno", "bbr", "bbr3", "vegas", "westwood+", "illinois", "htcp")),
    ("linux-2.6.20", ("reno", "bic", "cubic-2.0", "veno", "westwood+", "hybla")),
    ("linux-2.6.15", ("bic", "reno", "scalable", "highspeed")),
    ("linux-2.6.8", ("bic-2.6.8", "reno", "vegas")),
    ("windows-xp", ("newreno",)),
    ("bsd-1997", ("reno",)),
    ("ns2", ("reno", "newreno", "cubic", "vegas")),
)


@dataclass(frozen=True)
class Wide:
    """So many draws of one seed."""

    title: str
    size: int
    seed: int

    def cases(self) -> Iterator[tuple[str, Case]]:
        """A name, and what to run."""
        draw = random.Random(f"wide {self.seed}")
        for number in range(self.size):
            yield drawn_case(draw, self.seed * 10_000 + number + 1)

    @property
    def described(self) -> str:
        """What it is made of."""
        return (
            f"{self.size} downloads drawn at random with seed {self.seed}: senders of "
            f"{', '.join(host for host, _ in SENDERS)}, each with any of several variants, SACK and "
            "timestamps on or off; 256 kb/s to 100 Mb/s, round trips of 1 to 600 ms, droptail "
            "queues of 0.1 to 3 bandwidth-delay products or a managed one; none or several of: "
            "random loss, bursts, outages, ACKs lost, reordering, doubled packets, jitter; delayed "
            "ACKs or one for each segment; alone, beside other downloads, or beside uploads."
        )


def drawn_case(
    draw: random.Random, seed: int, senders: Sequence[tuple[str, tuple[str, ...]]] = SENDERS
) -> tuple[str, Case]:
    """A name, and a download by one of the senders."""
    megabits, trip = round(10 ** draw.uniform(-0.592, 2), 3), round(10 ** draw.uniform(0, 2.778), 2)
    troubles = _troubles(draw, trip)
    hop: Keys = {
        "name": "air",
        "rate": f"{megabits} Mb/s",
        "delay": f"{trip / 2:.3f} ms",
        "queue": _queue(draw, megabits, trip),
    }
    for _, keys in troubles:
        hop |= keys
    tcp = _sender(draw, senders)
    beside, cross = _cross(draw, tcp)
    seconds = min(20.0, max(MAX_PACKETS * 0.012 / megabits, ROUNDS * trip / 1000, 2.0))
    tap = Tap(draw.choice(("behind", "before", "both")), draw.choice((0.25, 0.5, 0.75)))
    text = " ".join(f"{key} {value}" if isinstance(value, bool | dict) else value for key, value in tcp.items())
    queue = " ".join(str(value) for value in hop["queue"].values())
    named = [name for name, _ in troubles] or ["overflow only"]
    name = f"{text}, {hop['rate']}, {trip} ms, {queue}, {' and '.join(named)}{beside}, seed {seed}"
    return name, Case(hop, tcp, f"{seconds:.2f} s", seed, cross=cross, tap=tap)


def _sender(draw: random.Random, senders: Sequence[tuple[str, tuple[str, ...]]]) -> Keys:
    host, variants = draw.choice(senders)
    tcp: Keys = {"host": host, "variant": draw.choice(variants)}
    if draw.random() < 0.2 and host.startswith("linux"):
        tcp["recovery"] = "newreno"
    if draw.random() < 0.2 and host != "ns2":
        tcp["timestamps"] = host == "windows-xp"
    if draw.random() < 0.2:
        tcp["delayed_ack"] = host == "ns2"
    return tcp


def _queue(draw: random.Random, megabits: float, trip: float) -> Keys:
    product = megabits * 1e6 / 8 * trip / 1000
    size = int(max(6 * 1500, 10 ** draw.uniform(-1, 0.48) * product))
    return draw.choice(
        (
            {"kind": "droptail", "packets": max(6, size // 1500)},
            {"kind": "droptail", "bytes": f"{size} B"},
            {"kind": "droptail", "packets": max(6, size // 1500), "drop": "front"},
            {"kind": draw.choice(("codel", "pie", "fq-codel", "red")), "ecn": False},
        )
    )


def _troubles(draw: random.Random, trip: float) -> list[tuple[str, Keys]]:
    """None, one or two, which do not say the same key."""
    mean = round(10 ** draw.uniform(-3, -1.15), 5)
    sojourn = f"{10 ** draw.uniform(0, 1) * max(4.0, trip / 4):.1f} ms"
    burst = {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": sojourn}
    held = f"{draw.uniform(0.05, 1.2) * max(trip, 4.0):.2f} ms"
    losses: tuple[tuple[str, Keys], ...] = (
        ("none lost", {}),
        (f"{mean:.2%} lost", {"loss": {"down": mean}}),
        (f"bursts of {sojourn}, {mean:.2%}", {"loss": {"down": burst}}),
        ("ACKs lost", {"loss": {"down": mean / 2, "up": round(draw.uniform(0.02, 0.3), 3)}}),
    )
    others: tuple[tuple[str, Keys], ...] = (
        (f"{mean:.2%} overtaken by {held}", {"reorder": {"down": {"mean": mean, "delay": held}}}),
        (f"{mean / 2:.2%} doubled", {"duplicate": {"down": mean / 2}}),
        ("jitter", {"jitter": {"down": {"kind": "exponential", "mean": f"{draw.uniform(0.02, 0.3) * trip:.2f} ms"}}}),
    )
    found = [draw.choice(losses)] + ([draw.choice(others)] if draw.random() < 0.4 else [])
    return [trouble for trouble in found if trouble[1]]


def _cross(draw: random.Random, tcp: Keys) -> tuple[str, tuple[Keys, ...]]:
    """What else there is."""
    bulk: Keys = {"workload": {"kind": "bulk"}, "start": f"{draw.uniform(0, 2):.2f} s"}
    kind = draw.choice(("", "", "", ", beside downloads", ", beside an upload"))
    if not kind:
        return "", ()
    if kind.endswith("upload"):
        return kind, ({**bulk, "direction": "up"},)
    return kind, tuple(bulk for _ in range(draw.randint(1, 3)))
