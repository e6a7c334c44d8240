"""Campaigns in which `hunt` searches for faults of ackclock itself: each is a scenario whose
objective compares two ways to the same result.

The objectives are functions of a case's run, in a file of their own each (`against_*.py`): a
campaign is kept, continued, made simple and replayed as any other hunt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BULK = {"kind": "bulk"}
VARIANTS = (
    "reno", "cubic", "bbr", "bbr3", "vegas", "dctcp", "prague", "westwood+", "bic", "htcp", "hybla", "illinois",
    "scalable", "highspeed", "lp", "ledbat++", "veno", "yeah", "newreno", "cubic-2.0",
)  # fmt: skip
HOSTS = ("linux-6", "linux-2.6.20", "windows-xp", "windows-vista", "ns2", "bsd-1997")


def log(low: str, high: str) -> dict[str, str]:
    """A range on a log scale."""
    return {"from": low, "to": high, "scale": "log"}


def directed(value: Any, direction: str) -> Any:
    """What a written hop has in one direction: a value that both have in common is written once."""
    return value[direction] if isinstance(value, Mapping) and direction in value else value


QUEUES = [
    {"kind": "droptail", "bytes": log("4 kB", "1 MB")},
    {"kind": "droptail", "bytes": "200 kB", "mark": log("5 kB", "150 kB")},
    {"kind": "fq-codel"},
    {"kind": "codel"},
    {"kind": "pie"},
    {"kind": "cake"},
    {"kind": "dualpi2"},
    {"kind": "red", "bytes": "200 kB", "min": "15 kB", "max": "45 kB", "max_p": 0.1},
]
WIDE: Mapping[str, Any] = {
    "hop.path.rate.down": log("300 kb/s", "40 Mb/s"),
    "hop.path.rate.up": log("100 kb/s", "20 Mb/s"),
    "hop.path.delay": [
        log("500 us", "150 ms"),
        {"schedule": [["0 s", log("1 ms", "80 ms")], ["2 s", log("1 ms", "80 ms")]]},
    ],
    "hop.path.queue.down": QUEUES,
    "hop.path.queue.up": QUEUES[:3],
    "hop.path.loss.down": [
        "absent",
        {"kind": "bernoulli", "mean": {"from": 1e-4, "to": 0.05, "scale": "log"}},
        {"kind": "gilbert-elliott", "mean": {"from": 1e-3, "to": 0.05, "scale": "log"}, "bad_sojourn": "20 ms"},
    ],
    "hop.path.policer.down": ["absent", {"rate": log("500 kb/s", "20 Mb/s"), "burst": log("5 kB", "300 kB")}],
    "hop.path.jitter.down": ["absent", {"kind": "uniform", "high": log("100 us", "30 ms")}],
    "hop.path.reorder.down": ["absent", {"mean": {"from": 1e-3, "to": 0.1, "scale": "log"}, "delay": log("1 ms", "30 ms")}],
    "hop.path.duplicate.down": ["absent", {"from": 1e-3, "to": 0.05, "scale": "log"}],
    "hop.core.rate.down": log("500 kb/s", "100 Mb/s"),
    "hop.core.delay": log("10 us", "20 ms"),
    "hop.core.queue.down.bytes": log("3 kB", "300 kB"),
    "hop.access.rate.up": ["absent", log("100 kb/s", "10 Mb/s")],
    "hop.access.delay": log("10 us", "20 ms"),
    "hop.access.handover.up": ["absent", {"every": "200 ms", "gap": {"from": "5 ms", "to": "150 ms"}}],
    "tcp.host": list(HOSTS),
    "flow.a.variant": list(VARIANTS),
    "flow.b.variant": list(VARIANTS),
    "flow.b.direction": ["down", "up"],
    "flow.b.start": {"from": "0 s", "to": "2 s"},
    "flow.b.workload": [
        BULK,
        {"kind": "transfer", "size": log("3 kB", "1 MB")},
        {"kind": "web", "answers": 3, "size": log("2 kB", "100 kB"), "jobs": 10, "think": "100 ms"},
        {"kind": "video"},
        {"kind": "page"},
    ],
    "flow.c.workload": [
        {"kind": "cbr", "rate": log("10 kb/s", "5 Mb/s")},
        {"kind": "onoff", "rate": log("100 kb/s", "5 Mb/s"), "on": "100 ms", "off": "150 ms"},
        {"kind": "call"},
        {"kind": "conference"},
        {"kind": "game"},
    ],
}  # fmt: skip
"""What both ways through the engine must agree on: elements, hosts, controls and applications."""
WIDE_SCENARIO: Mapping[str, Any] = {
    "duration": "4 s",
    "hop": [
        {
            "name": "path",
            "rate": {"down": "10 Mb/s", "up": "5 Mb/s"},
            "delay": "10 ms",
            "queue": {"down": {"kind": "droptail", "bytes": "100 kB"}, "up": {"kind": "droptail", "bytes": "50 kB"}},
        },
        {"name": "core", "rate": "50 Mb/s", "delay": "1 ms", "queue": {"down": {"bytes": "100 kB"}}},
        {"name": "access", "delay": "1 ms"},
    ],
    "flow": [
        {"name": "a", "variant": "cubic", "workload": BULK},
        {"name": "b", "variant": "reno", "workload": BULK},
        {"name": "c", "workload": {"kind": "cbr", "rate": "100 kb/s"}},
    ],
}
KERNEL_VARIANTS = ("reno", "cubic", "bbr", "vegas", "veno", "westwood+", "bic", "htcp", "hybla", "illinois", "yeah")
"""Controls of the kernel in virtual time."""


@dataclass(frozen=True)
class Campaign:
    """A search for a difference.

    Attributes:
        what: the two that are compared.
        figure: what the objective's figure counts.
        breaks: from which figure on the two differ.
        search: "random" where the figure says nothing until the two differ.
        cases: the most cases that are made simple.
    """

    name: str
    what: str
    figure: str
    breaks: float
    scenario: Mapping[str, Any]
    vary: Mapping[str, Any]
    search: str = "random"
    cases: int = 3

    @property
    def hunted(self) -> dict[str, Any]:
        """The scenario with its [hunt]."""
        return {
            "title": self.what,
            **self.scenario,
            "hunt": {
                "objective": f"python:studies.hunt.against_{self.name}.difference",
                "breaks": self.breaks,
                "search": self.search,
                "cases": self.cases,
                "vary": dict(self.vary),
            },
        }


CAMPAIGNS = (
    Campaign(
        "kernel",
        "the simulator and Linux in virtual time",
        "the largest difference of goodput, median and p95 RTT and retransmissions, in tolerances of "
        "[virtual-kernel.md](virtual-kernel.md); 0 where the intervals of both sides' seeds meet",
        3.0,
        {
            "duration": "15 s",
            "phase_jitter": False,
            "hop": [
                {
                    "name": "line",
                    "rate": {"down": "10 Mb/s", "up": "10 Mb/s"},
                    "delay": "20 ms",
                    "queue": {"down": {"kind": "droptail", "bytes": "100 kB"}},
                }
            ],
            "flow": [{"name": "a", "variant": "cubic", "workload": BULK}],
        },
        {
            "hop.line.rate.down": log("500 kb/s", "30 Mb/s"),
            "hop.line.rate.up": log("100 kb/s", "10 Mb/s"),
            "hop.line.delay": log("2 ms", "150 ms"),
            "hop.line.queue.down": [
                {"kind": "droptail", "bytes": log("8 kB", "500 kB")},
                {"kind": "fq-codel"},
                {"kind": "codel"},
            ],
            "hop.line.policer.down": ["absent", {"rate": log("500 kb/s", "20 Mb/s"), "burst": log("8 KiB", "200 KiB")}],
            "flow.a.variant": list(KERNEL_VARIANTS),
        },
        "cmaes",
        2,
    ),
    Campaign(
        "slow_path",
        "the fast and the slow path of the engine",
        "how many of four forms of a run differ from the usual one in a packet that is sent: without the engine's "
        "shortcuts, with links that are not fused, with both; or, watched by a probe, in the summary",
        1.0,
        WIDE_SCENARIO,
        WIDE,
    ),
    Campaign(
        "one_worker",
        "two workers and one",
        "how many results differ in a byte: the files of a run folder of three seeds with captures, and the tables of a "
        "batch of six runs",
        1.0,
        WIDE_SCENARIO,
        WIDE,
    ),
    Campaign(
        "truth",
        "the intervals of a fit and the truth",
        "the largest distance of a true value outside of an identified interval, in widths of the interval, at "
        "least 1 % of the truth",
        0.5,
        {
            "duration": "20 s",
            "hop": [
                {
                    "name": "access",
                    "rate": {"down": "10 Mb/s", "up": "5 Mb/s"},
                    "delay": "20 ms",
                    "queue": {"down": {"kind": "droptail", "bytes": "100 kB"}, "up": {"kind": "droptail", "bytes": "100 kB"}},
                }
            ],
            "flow": [{"name": "download", "workload": BULK}],
        },
        {
            "hop.access.rate.down": log("500 kb/s", "50 Mb/s"),
            "hop.access.rate.up": log("200 kb/s", "20 Mb/s"),
            "hop.access.delay": log("2500 us", "150 ms"),
            "hop.access.queue.down": [{"kind": "droptail", "bytes": log("8 kB", "1 MB")}, {"kind": "fq-codel"}],
            "hop.access.loss.down": [
                "absent",
                {"kind": "bernoulli", "mean": {"from": 3e-4, "to": 0.02, "scale": "log"}},
                {
                    "kind": "gilbert-elliott",
                    "mean": {"from": 1e-3, "to": 0.02, "scale": "log"},
                    "bad_sojourn": log("3 ms", "40 ms"),
                },
            ],
            "hop.access.jitter.down": ["absent", {"kind": "exponential", "mean": log("200 us", "4 ms")}],
            "hop.access.jitter.up": ["absent", {"kind": "uniform", "high": log("500 us", "8 ms")}],
            "flow.download.variant": ["cubic", "reno", "bbr", "vegas"],
        },
        "cmaes",
    ),
)  # fmt: skip
