"""RFC 8867's cases 5.1 to 5.8 as scenarios, each with what we read out of it and how it
is judged.

The readings were committed before the first run; changes stand in the history of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

QUEUE_S = 0.3
"""The RFC's bottleneck queue: 300 ms at the reference capacity, droptail."""
SETTLING_S = 10.0
"""A phase counts from this time after its change of capacity or of flows on."""
UTILIZATION = 0.8
"""Minimum share of the capacity that arrives."""
QUEUE_P95_MS = 100.0
"""Maximum of the 95th percentile of the bottleneck's queueing delay."""
JAIN = 0.9
"""Minimum of Jain's index, in 5.4."""
STARVED = 0.2
"""A flow below this part of its fair share starves, in 5.6."""

COMMON = """- **Path**: one bottleneck with a one-way delay of 50 ms in each direction; the reverse direction has 10 Mb/s
  unless the case names a capacity. A scheduled rate changes at once; a packet in service goes on at the new one.
- **Queue**: droptail, 300 ms at the reference capacity in bytes, whatever the capacity is at the moment.
- **Jitter**: the RFC's maximum of 30 ms, as a normal distribution with a mean of 15 ms and a standard deviation of
  5 ms, cut off at zero, in order, behind the bottleneck. Each case also runs without jitter.
- **Media**: `conference` in one direction, 30 frames a second, no sound; from 150 kb/s, the RFC's minimum, to 5 Mb/s, so
  that the encoder is never the limit (the RFC's 1.5 Mb/s are less than most capacities); start at 300 kb/s, the
  default of libwebrtc.
- **Rate**: IP bytes of media and of TCP that arrive, retransmissions included.
- **Phases**: each change of the capacity or of the number of flows begins one. Its figures are those from 10 s after
  its begin to its end; a phase of 10 s or less has none.
- **Targets**: at least 80 % of the capacity arrives, all flows together; the 95th percentile of the wait in the
  bottleneck's queue is at most 100 ms. Beside a TCP flow (5.6, 5.7) TCP fills the queue, and the target of the queue
  is none of the media's.
- **Seeds**: 1, 2, 3; a figure is the mean over them.
"""


@dataclass(frozen=True)
class Phase:
    """A time in which capacity and flows are constant; times in s, the capacity in b/s."""

    begin: float
    end: float
    capacity: float

    @property
    def window(self) -> tuple[float, float]:
        return (self.begin + SETTLING_S, self.end)


@dataclass(frozen=True)
class Case:
    """A case of the RFC.

    Attributes:
        number: its section.
        title: the section's title.
        reading: what we read out of it.
        reference: reference capacity in b/s.
        seconds: length of the run.
        down, up: capacity by its begin in s; `up` empty: 10 Mb/s.
        flows: flows of the scenario.
        phases: the phases of the direction that is judged.
        fair: the target of Jain's index applies to these flows in the last phase.
        judges_queue: the target of the queue applies.
        starved: the target of starvation applies to the last phase.
        hops: hops before the bottleneck, for flows with different delays.
        delay: one-way delay of the bottleneck.
    """

    number: str
    title: str
    reading: str
    reference: float
    seconds: float
    down: Mapping[float, float]
    flows: Sequence[Mapping[str, Any]]
    phases: Sequence[Phase]
    up: Mapping[float, float] = field(default_factory=dict)
    up_phases: Sequence[Phase] = ()
    fair: Sequence[str] = ()
    judges_queue: bool = True
    starved: bool = False
    hops: Sequence[Mapping[str, Any]] = ()
    delay: str = "50 ms"


MBPS = 1e6


def media(name: str, start: float = 0.0, stop: float | None = None, **keys: Any) -> dict[str, Any]:
    """A flow of media."""
    rates = {"min_rate": "150 kb/s", "start_rate": "300 kb/s", "max_rate": "5 Mb/s"}
    workload = {"kind": "conference", "both_directions": False, **rates}
    times = {"start": f"{start:g} s", **({"stop": f"{stop:g} s"} if stop else {})}
    return {"name": name, "workload": workload, **times, **keys}


def phases(capacity: Mapping[float, float], end: float, also: Sequence[float] = ()) -> list[Phase]:
    """The phases of a capacity by its begin, divided also at other times."""
    begins = sorted({*capacity, *also})
    known = sorted(capacity)
    return [
        Phase(begin, stop, capacity[max(time for time in known if time <= begin)])
        for begin, stop in zip(begins, [*begins[1:], end], strict=True)
    ]


ONE = {0.0: MBPS, 40.0: 2.5 * MBPS, 60.0: 0.6 * MBPS, 80.0: MBPS}
TWO = {0.0: 4 * MBPS, 25.0: 2 * MBPS, 50.0: 3.5 * MBPS, 75.0: MBPS, 100.0: 2 * MBPS}
FORWARD = {0.0: 2 * MBPS, 20.0: MBPS, 40.0: 0.5 * MBPS, 60.0: 2 * MBPS}
BACKWARD = {0.0: 2 * MBPS, 35.0: 0.8 * MBPS, 70.0: 2 * MBPS}
DELAYS_MS = (10, 25, 50, 100, 150)

CASES = (
    Case(
        "5.1",
        "Variable Available Capacity with a Single Flow",
        "One flow for 100 s. The capacity is 1 Mb/s, from 40 s on 2.5, from 60 s on 0.6, from 80 s on 1 Mb/s.",
        MBPS,
        100,
        ONE,
        [media("media")],
        phases(ONE, 100),
    ),
    Case(
        "5.2",
        "Variable Available Capacity with Multiple Flows",
        "Two flows for 125 s. The capacity is 4 Mb/s, from 25 s on 2, from 50 s on 3.5, from 75 s on 1, from 100 s on "
        "2 Mb/s (the reference).",
        2 * MBPS,
        125,
        TWO,
        [media("media-1"), media("media-2")],
        phases(TWO, 125),
    ),
    Case(
        "5.3",
        "Congested Feedback Link with Bi-directional Media Flows",
        "A flow in each direction for 100 s, so that the feedback of each crosses the other's queue. Forward: 2 Mb/s, "
        "from 20 s on 1, from 40 s on 0.5, from 60 s on 2 Mb/s. Backward: 2 Mb/s, from 35 s on 0.8, from 70 s on 2 Mb/s. "
        "Each direction has its phases.",
        MBPS,
        100,
        FORWARD,
        [media("forward"), media("backward", direction="up")],
        phases(FORWARD, 100),
        up=BACKWARD,
        up_phases=phases(BACKWARD, 100),
    ),
    Case(
        "5.4",
        "Competing Media Flows with the Same Congestion Control Algorithm",
        "Three flows, from 0, 20 and 40 s on, to 120 s, over 3.5 Mb/s. Jain's index of their rates from 50 s to the end "
        "is at least 0.9.",
        3.5 * MBPS,
        120,
        {0.0: 3.5 * MBPS},
        [media("media-1"), media("media-2", 20), media("media-3", 40)],
        phases({0.0: 3.5 * MBPS}, 120, [20, 40]),
        fair=("media-1", "media-2", "media-3"),
    ),
    Case(
        "5.5",
        "Round Trip Time Fairness",
        "Five flows, from 0, 10, 20, 30 and 40 s on, to 300 s, over 4 Mb/s; their one-way delays are 10, 25, 50, 100 and "
        "150 ms. The RFC wants no flow to be left without a share: Jain's index is shown, without a target.",
        4 * MBPS,
        300,
        {0.0: 4 * MBPS},
        [
            media(
                f"media-{n + 1}", 10 * n, over=[*(f"delay-{ms}" for ms in reversed(DELAYS_MS[: n + 1])), "bottleneck"]
            )
            for n in range(5)
        ],
        phases({0.0: 4 * MBPS}, 300, [40]),
        hops=[
            {"name": f"delay-{ms}", "delay": f"{ms - before} ms"}
            for ms, before in reversed(list(zip(DELAYS_MS, (0, *DELAYS_MS), strict=False)))
        ],
        delay="0 ms",
    ),
    Case(
        "5.6",
        "Media Flow Competing with a Long TCP Flow",
        "A download (CUBIC, host `linux-6`) for 120 s, and media from 5 s on, over 2 Mb/s. Neither starves: from 15 s on "
        "each has at least a fifth of its fair share of 1 Mb/s.",
        2 * MBPS,
        120,
        {0.0: 2 * MBPS},
        [media("media", 5), {"name": "download", "workload": {"kind": "bulk"}, "host": "linux-6"}],
        phases({0.0: 2 * MBPS}, 120, [5]),
        judges_queue=False,
        starved=True,
    ),
    Case(
        "5.7",
        "Media Flow Competing with Short TCP Flows",
        "Two media flows from 5 s on, and ten clients that download for 300 s, over 2 Mb/s. The RFC's downloads have 100 kB "
        "to 1 MB and pauses with a mean of 10 s: here each has the mean of 550 kB, and its pauses are uniform from 0 to "
        "20 s, over one connection for each client (CUBIC, host `linux-6`). TCP offers 2.2 Mb/s and more, so that the "
        "capacity is used whatever media do; the media's rate is shown, without a target.",
        2 * MBPS,
        300,
        {0.0: 2 * MBPS},
        [
            media("media-1", 5),
            media("media-2", 5),
            {
                "name": "short",
                "count": 10,
                "host": "linux-6",
                "workload": {
                    "kind": "web",
                    "persistent": True,
                    "answers": 1,
                    "size": "550 kB",
                    "jobs": 1000,
                    "think": "uniform(0 s, 20 s)",
                },
            },
        ],
        phases({0.0: 2 * MBPS}, 300, [5]),
        judges_queue=False,
    ),
    Case(
        "5.8",
        "Media Pause and Resume",
        "As 5.4 with all flows from 0 s on; the first one pauses from 40 to 60 s. It resumes as a new flow, "
        "at 300 kb/s: a sender of libwebrtc would keep its estimate.",
        3.5 * MBPS,
        120,
        {0.0: 3.5 * MBPS},
        [media("media-1", 0, 40), media("media-1-resumed", 60), media("media-2"), media("media-3")],
        phases({0.0: 3.5 * MBPS}, 120, [40, 60]),
    ),
)
