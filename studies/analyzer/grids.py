"""Simulated downloads for the accuracy of retransmission kinds: the grid used for the rules'
development, and two later ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from studies.analyzer.captures import Case, Tap

Keys = Mapping[str, Any]
WHERE = ("behind", "before", "both")
SHARES = (0.25, 0.5, 0.75)
"""Where the capture in the middle stands changes from run to run: what goes wrong behind it, before
it or on both sides, and its share of the delay.
"""


@dataclass(frozen=True)
class Grid:
    """Every sender over every link with every trouble, by every seed.

    Links are rate, one-way delay and packets of queue.
    """

    title: str
    senders: tuple[Mapping[str, str], ...]
    links: tuple[tuple[str, str, int], ...]
    troubles: Mapping[str, Keys]
    seeds: tuple[int, ...]

    def cases(self) -> Iterator[tuple[str, Case]]:
        """A name, and what to run."""
        for (s, tcp), (w, (rate, delay, packets)), (t, (trouble, keys)), (k, seed) in product(
            enumerate(self.senders), enumerate(self.links), enumerate(self.troubles.items()), enumerate(self.seeds)
        ):
            hop = {
                "name": "air",
                "rate": rate,
                "delay": delay,
                "queue": {"kind": "droptail", "packets": packets},
                **keys,
            }
            tap = Tap(WHERE[(s + w + t + k) % 3], SHARES[(s + 2 * w + t) % 3])
            yield f"{' '.join(tcp.values())}, {rate}, {trouble}, seed {seed}", Case(hop, tcp, seed=seed, tap=tap)

    @property
    def described(self) -> str:
        """What it is made of."""
        return (
            f"{self.size} downloads of 20 s: senders "
            f"{', '.join(' '.join(tcp.values()) for tcp in self.senders)}; links "
            f"{'; '.join(f'{speed}, {delay}, {packets} packets' for speed, delay, packets in self.links)}; "
            f"{', '.join(self.troubles)}; seeds {', '.join(map(str, self.seeds))}."
        )

    @property
    def size(self) -> int:
        return len(self.senders) * len(self.links) * len(self.troubles) * len(self.seeds)


def _bursts(mean: float, sojourn: str) -> Keys:
    return {"loss": {"down": {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": sojourn}}}


TUNED = Grid(
    "tuned",
    (
        {"host": "linux-6", "variant": "cubic"},
        {"host": "linux-6", "variant": "bbr"},
        {"host": "linux-6", "variant": "reno"},
        {"host": "linux-2.6.20", "variant": "reno"},
        {"host": "linux-2.6.8", "variant": "bic"},
        {"host": "windows-xp"},
        {"host": "bsd-1997"},
    ),
    (("1 Mb/s", "20 ms", 20), ("4 Mb/s", "60 ms", 40), ("256 kb/s", "100 ms", 10), ("8 Mb/s", "120 ms", 80)),
    {
        "overflow only": {},
        "0.5 % lost": {"loss": {"down": 0.005}},
        "3 % lost": {"loss": {"down": 0.03}},
        "bursts": _bursts(0.01, "40 ms"),
        "outages": _bursts(0.05, "300 ms"),
        "ACKs lost": {"loss": {"down": 0.005, "up": 0.1}},
        "reordering": {"reorder": {"down": {"mean": 0.01, "delay": "4 ms"}}},
        "doubled": {"duplicate": {"down": 0.005}, "loss": {"down": 0.005}},
        "jitter": {"jitter": {"down": {"kind": "exponential", "mean": "5 ms"}}, "loss": {"down": 0.005}},
    },
    (1, 2),
)

HELD_OUT = Grid(
    "held out",
    (
        {"host": "linux-6", "variant": "reno"},
        {"host": "linux-6", "variant": "cubic"},
        {"host": "linux-6", "variant": "bbr3"},
        {"host": "linux-2.6.15", "variant": "bic"},
        {"host": "windows-xp"},
        {"host": "bsd-1997"},
    ),
    (("512 kb/s", "80 ms", 12), ("2 Mb/s", "150 ms", 60), ("10 Mb/s", "15 ms", 30)),
    {
        "overflow only": {},
        "1 % lost": {"loss": {"down": 0.01}},
        "5 % lost": {"loss": {"down": 0.05}},
        "bursts": _bursts(0.02, "80 ms"),
        "outages": _bursts(0.05, "600 ms"),
        "ACKs lost": {"loss": {"down": 0.01, "up": 0.2}},
        "reordering": {"reorder": {"down": {"mean": 0.02, "delay": "10 ms"}}},
        "doubled": {"duplicate": {"down": 0.01}, "loss": {"down": 0.01}},
        "jitter": {"jitter": {"down": {"kind": "exponential", "mean": "10 ms"}}, "loss": {"down": 0.01}},
    },
    (101,),
)

THIRD = Grid(
    "third",
    (
        {"host": "linux-6", "variant": "cubic"},
        {"host": "linux-6", "variant": "bbr"},
        {"host": "linux-6", "variant": "bbr3"},
        {"host": "linux-2.6.20", "variant": "bic"},
        {"host": "linux-2.6.8", "variant": "reno"},
        {"host": "windows-xp"},
        {"host": "bsd-1997"},
    ),
    (("3 Mb/s", "35 ms", 25), ("384 kb/s", "45 ms", 16), ("6 Mb/s", "90 ms", 150), ("20 Mb/s", "10 ms", 60)),
    {
        "overflow only": {},
        "2 % lost": {"loss": {"down": 0.02}},
        "4 % lost": {"loss": {"down": 0.04}},
        "bursts": _bursts(0.015, "60 ms"),
        "outages": _bursts(0.04, "450 ms"),
        "ACKs lost": {"loss": {"down": 0.0075, "up": 0.15}},
        "reordering": {"reorder": {"down": {"mean": 0.015, "delay": "7 ms"}}},
        "doubled": {"duplicate": {"down": 0.0075}, "loss": {"down": 0.0075}},
        "jitter": {"jitter": {"down": {"kind": "exponential", "mean": "8 ms"}}, "loss": {"down": 0.0075}},
    },
    (211,),
)
