"""Links on which congestion controls are known to break, to be found by `hunt`: one table of ranges
for all of them, and for each a scenario, an objective, and what must be taken away so that nothing
breaks.

The ranges, the budget and the settings of the search are the same for all cases. A case differs in
its flows and its objective, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.hunting.space import Setting

Settings = dict[str, Setting]
Without = Callable[[Settings], Settings | None]
"""The case without what is known to break it; None where the case does not have it."""

RATE = "hop.path.rate.down"
DELAY = "hop.path.delay"
LOSSES = "hop.path.loss.down"
POLICER = "hop.path.policer.down"
MARK = "hop.path.queue.down.mark"
JITTER = "hop.access.jitter.down"
ACKS = "hop.access.handover.up"
DELAYED_ACK = "tcp.client.delayed_ack"

VARY: Mapping[str, Any] = {
    RATE: {"from": "1 Mb/s", "to": "50 Mb/s", "scale": "log"},
    DELAY: [
        {"from": "2 ms", "to": "150 ms", "scale": "log"},
        {
            "schedule": [
                ["0 s", {"from": "2 ms", "to": "150 ms", "scale": "log"}],
                ["4 s", {"from": "2 ms", "to": "150 ms", "scale": "log"}],
            ]
        },
    ],
    "hop.path.queue.down.bytes": {"from": "6 kB", "to": "2 MB", "scale": "log"},
    LOSSES: {"losses": 3, "within": 3000},
    POLICER: [
        "absent",
        {
            "rate": {"from": "500 kb/s", "to": "20 Mb/s", "scale": "log"},
            "burst": {"from": "5 kB", "to": "500 kB", "scale": "log"},
        },
    ],
    MARK: ["absent", {"from": "5 kB", "to": "300 kB", "scale": "log"}],
    JITTER: ["absent", {"kind": "uniform", "high": {"from": "500 us", "to": "50 ms", "scale": "log"}}],
    ACKS: [
        "absent",
        {"every": "20 ms", "gap": {"from": "2 ms", "to": "19 ms"}},
        {"every": "200 ms", "gap": {"from": "20 ms", "to": "190 ms"}},
    ],
    DELAYED_ACK: [
        False,
        {"segments": 2, "timer": {"from": "10 ms", "to": "500 ms", "scale": "log"}},
    ],
    "tcp.receive_buffer": ["auto", {"from": "1500 B", "to": "1 MB", "scale": "log"}],
    "flow.noise.start": {"from": "0 s", "to": "8 s"},
    "flow.noise.workload.rate": {"from": "20 kb/s", "to": "2 Mb/s", "scale": "log"},
}
"""The ranges of all cases: 28 coordinates."""
RUNS = 400
"""Searched cases, at most."""
RECOVERS = 1.5
"""Without what breaks it the figure must be better by this factor, and not break."""
DURATION = "15 s"


def absent(*names: str) -> Without:
    """Without parts of the link: their first choice, which leaves them out."""

    def without(settings: Settings) -> Settings | None:
        return None if not any(settings[name] for name in names) else {**settings, **dict.fromkeys(names, 0)}

    return without


def one_loss(settings: Settings) -> Settings | None:
    """Only the first of several lost packets is lost: no retransmission is."""
    packets = settings[LOSSES]
    assert isinstance(packets, tuple)
    return {**settings, LOSSES: packets[:1]} if len(packets) > 1 else None


def steady_delay(settings: Settings) -> Settings | None:
    """The delay stays what it was at the start."""
    first = settings[f"{DELAY}[2].schedule.1.2"]
    return {**settings, DELAY: 0, f"{DELAY}[1]": first} if settings[DELAY] == 1 else None


def short_path(settings: Settings) -> Settings | None:
    """The RTT is that of a path of 2 ms, with the rate as it is."""
    return {**settings, DELAY: 0, f"{DELAY}[1]": 2_000_000_000}


@dataclass(frozen=True)
class Known:
    """A congestion control that is known to break.

    Attributes:
        prediction: where it is expected to break.
        source: who found it.
        flows: the TCP flows; the first one is `victim`.
        without: the case without what breaks it, in which nothing must break.
    """

    name: str
    prediction: str
    source: str
    objective: Mapping[str, Any] | str
    breaks: float
    without: Without
    tcp: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] | None = None

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with its [hunt]."""
        flows: list[dict[str, Any]] = [{"name": "victim", "workload": {"kind": "bulk"}}]
        if self.other is not None:
            flows.append({"name": "other", "workload": {"kind": "bulk"}, "over": ["path"], **self.other})
        flows.append(
            {"name": "noise", "over": ["path"], "start": "1 s", "workload": {"kind": "cbr", "rate": "20 kb/s"}}
        )
        return {
            "title": self.name,
            "duration": DURATION,
            "tcp": dict(self.tcp),
            "hop": [
                {
                    "name": "path",
                    "rate": {"down": "20 Mb/s", "up": "20 Mb/s"},
                    "delay": "20 ms",
                    "queue": {"down": {"kind": "droptail", "bytes": "128 kB"}},
                },
                {"name": "access", "delay": "1 ms"},
            ],
            "flow": flows,
            "hunt": {"objective": self.objective, "breaks": self.breaks, "runs": RUNS, "vary": dict(VARY)},
        }


WITHOUT_LONG_TERM = [
    "rtt-deviation", "timer-wheel", "idle-restart-validates", "delayed-acks", "tso-packets", "persist-timer",
    "one-lost-syn", "receive-memory", "integer-controls", "bbr-flight-at-departure", "cubic-reno-rate", "path-mtu",
]  # fmt: skip
"""Linux's rules but `bbr-long-term-bandwidth`, which detects policers."""

KNOWN = (
    Known(
        "bbr v1 stalled by a lost retransmission",
        "a few lost packets, of which a later one is the retransmission of an earlier one, on a path of a short RTT: "
        "nothing is delivered for 1 s or more, and with the first loss alone for less",
        "Ray and Seshan, CC-Fuzz, HotNets 2022",
        {"name": "repair", "flow": "victim"},
        1.0,
        one_loss,
        {"variant": "bbr"},
    ),
    Known(
        "bbr v1 starved under ACK aggregation",
        "gaps of 100 ms or more in the path of one flow's ACKs at an RTT of less than 100 ms: less than a fifth of an "
        "equal share, beside the same control without gaps",
        "Arun, Alizadeh and Balakrishnan, Starvation in end-to-end congestion control, SIGCOMM 2022",
        {"name": "share", "flow": "victim"},
        0.2,
        absent(ACKS),
        {"variant": "bbr"},
        {},
    ),
    Known(
        "bbr v1 behind a policer without and with lt_bw",
        "a policer of less than half of the line's rate with a burst of less than 100 kB: without lt_bw three times "
        "the retransmissions, or more",
        "Flach et al., An Internet-wide analysis of traffic policing, SIGCOMM 2016",
        {
            "name": "difference",
            "of": "retransmissions",
            "flow": "victim",
            "key": "tcp.linux_rules",
            "values": [WITHOUT_LONG_TERM, True],
        },
        3.0,
        absent(POLICER),
        {"variant": "bbr"},
    ),
    Known(
        "HyStart leaving slow start early on jitter",
        "jitter, or gaps in the path of the ACKs, of 8 ms or more at a BDP of 500 kB or more: half of the goodput of a "
        "slow start until a loss, or less",
        "Ha and Rhee, Taming the elephants, Computer Networks 55(9), 2011",
        {
            "name": "difference",
            "of": "goodput",
            "flow": "victim",
            "key": "tcp.slow_start",
            "values": ["hystart", "inclusive"],
        },
        0.5,
        absent(JITTER, ACKS),
        {"variant": "cubic"},
    ),
    Known(
        "Vegas with a wrong base RTT",
        "a delay that rises by 20 ms or more while it runs: a fifth of the goodput of CUBIC on the same link, or less",
        "Mo, La, Anantharam and Walrand, Analysis and comparison of TCP Reno and Vegas, INFOCOM 1999",
        {"name": "difference", "of": "goodput", "flow": "victim", "key": "tcp.variant", "values": ["vegas", "cubic"]},
        0.2,
        steady_delay,
        {"variant": "vegas"},
    ),
    Known(
        "CUBIC beside Reno at a large BDP",
        "10 Mb/s or more at an RTT of 100 ms or more: Reno has less than a fifth of an equal share",
        "Ha, Rhee and Xu, CUBIC, SIGOPS Operating Systems Review 42(5), 2008",
        {"name": "share", "flow": "victim"},
        0.2,
        short_path,
        {"variant": "reno"},
        {"variant": "cubic"},
    ),
    Known(
        "a window of one segment with delayed ACKs",
        "a receive window of less than two segments at an RTT of less than 50 ms: with an ACK that is delayed by 200 ms a "
        "fifth of the goodput without, or less",
        "RFC 1122, section 4.2.3.2; RFC 813",
        {
            "name": "difference",
            "of": "goodput",
            "flow": "victim",
            "key": DELAYED_ACK,
            "values": [{"segments": 2, "timer": "200 ms"}, False],
        },
        0.2,
        absent("tcp.receive_buffer"),
        {"variant": "reno"},
    ),
    Known(
        "dctcp beside CUBIC in a FIFO",
        "a FIFO that marks at less than the BDP: CUBIC with ECN has less than a fifth of an equal share",
        "RFC 8257, section 5",
        {"name": "share", "flow": "victim"},
        0.2,
        absent(MARK),
        {"variant": "cubic", "ecn": True},
        {"variant": "dctcp"},
    ),
)
