"""`python -m studies.rmcat.page [FILE]`: conferences with Google Congestion Control in
RFC 8867's cases 5.1 to 5.8, as Markdown: the readings, then what came out.

`make rmcat` writes it to docs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import ackclock
from ackclock.statistics import jain_index
from studies.rmcat.cases import (
    CASES,
    COMMON,
    JAIN,
    QUEUE_P95_MS,
    QUEUE_S,
    STARVED,
    UTILIZATION,
    Case,
    Phase,
)

SEEDS = (1, 2, 3)
WIDTH = 118
JITTER = {"kind": "normal", "mean": "15 ms", "sd": "5 ms"}
TITLE = """# A conference in the cases of RFC 8867

The workload [conference](../models/applications.md#conference) in the cases 5.1 to 5.8 of RFC 8867, "Test Cases for
Evaluating Congestion Control for Interactive Real-Time Media". The RFC has no numeric targets: the readings and
the targets below are ours, and were committed before the first run. `make rmcat` renews this page.

## Readings

"""


MISSES = """
### Why phases miss

The first was seen in the controller's state over time; the last two are what its rules suggest, and no experiment
isolates them. Before senders probed, first phases missed the capacity, too: of 26 phases 17 met their targets, and 21
were predicted to.

- **Behind a fall to a quarter** (5.1 at 0.6 Mb/s, 5.2 at 1 Mb/s): the rate in the last half second, of which
  over-use takes 0.85, still has the old capacity, so that the queue fills before three decreases have worked. Its
  losses are above 10 %, and the loss-based controller lowers the rate again each second while they are reported: to
  about 0.2 Mb/s in 5.1. From there it is 5 % and 8 % a second again.
- **Jain's index in 5.4**: over-use takes 15 % of each flow, and near the last maximum each adds half a packet in each
  response time, so that shares converge over minutes. The first flow has all of the capacity when the others begin
  and their probes find a part of it; 80 s are too short. Flows that begin together (5.2) are at 0.98.
- **5.6**: CUBIC fills the queue of 300 ms. Each of its cycles is over-use for the media, which decrease, and
  the threshold, which adapts up slowly (0.0087), does not keep them above their minimum of 150 kb/s. It is the known
  weakness of delay-based control beside loss-based TCP with a deep buffer.
"""


@dataclass(frozen=True)
class Outcome:
    """Means over the seeds in a phase: rate of each flow in b/s, p95 wait in the queue in ms."""

    rates: Mapping[str, float]
    queue_p95_ms: float

    @property
    def total(self) -> float:
        return math.fsum(self.rates.values())


def rate(capacity: Mapping[float, float]) -> dict[str, Any] | str:
    steps = [[f"{begin:g} s", f"{bps / 1e3:g} kb/s"] for begin, bps in capacity.items()]
    return {"schedule": steps} if len(steps) > 1 else steps[0][1]


def link(case: Case, jitter: bool) -> dict[str, Any]:
    size = round(QUEUE_S * case.reference / 8)
    bottleneck = {
        "name": "bottleneck",
        "rate": {"down": rate(case.down), "up": rate(case.up or {0.0: 10e6})},
        "delay": case.delay,
        "queue": {"kind": "droptail", "bytes": f"{size} B"},
        **({"jitter": JITTER} if jitter else {}),
    }
    return {"hop": [*case.hops, bottleneck]}


def active(flow: Mapping[str, Any], window: tuple[float, float]) -> float:
    """The share of a window in which a flow runs: a rate of the engine is that of this time."""
    start, stop = (float(flow.get(key, default).split()[0]) for key, default in (("start", "0 s"), ("stop", "inf s")))
    begin, end = window
    return max(0.0, min(end, stop) - max(begin, start)) / (end - begin)


def measured(case: Case, phase: Phase, direction: str, jitter: bool) -> Outcome:
    """A phase of a case in one direction."""
    begin, end = phase.window
    run = ackclock.simulate(
        link(case, jitter),
        [dict(flow) for flow in case.flows],
        duration=f"{case.seconds:g} s",
        measure={"window": [f"{begin:g} s", f"{end:g} s"]},
        seeds=list(SEEDS),
    )
    flows = run.flows.filter(run.flows["direction"] == direction)
    shares = {str(flow["name"]): active(flow, phase.window) for flow in case.flows if "name" in flow}
    rates: dict[str, float] = {}
    for name, bps in zip(flows["flow"], flows["throughput_bps"], strict=True):
        rates[name] = rates.get(name, 0.0) + (bps or 0.0) * shares.get(name, 1.0) / len(SEEDS)
    waits = [
        hop["queue_delay_ms"]["p95"] or 0.0
        for summary in run.summaries
        for hop in summary["hops"]
        if (hop["hop"], hop["direction"]) == ("bottleneck", direction)
    ]
    return Outcome(rates, math.fsum(waits) / len(waits))


@dataclass(frozen=True)
class Row:
    """A phase in the table: what is missed is named."""

    case: str
    phase: str
    capacity: float
    outcomes: tuple[Outcome, Outcome]
    missed: tuple[str, ...]
    note: str = ""

    def __str__(self) -> str:
        used = " / ".join(f"{100 * outcome.total / self.capacity:.0f}" for outcome in self.outcomes)
        waits = " / ".join(f"{outcome.queue_p95_ms:.0f}" for outcome in self.outcomes)
        missed = ", ".join(self.missed) or "none"
        capacity = f"{self.capacity / 1e6:g}"
        return f"| {self.case} | {self.phase} | {capacity} | {used} | {waits} | {self.note} | {missed} |"


def missed(case: Case, phase: Phase, outcome: Outcome, is_last: bool) -> Iterator[str]:
    if outcome.total < UTILIZATION * phase.capacity:
        yield "capacity"
    if case.judges_queue and outcome.queue_p95_ms > QUEUE_P95_MS:
        yield "queue"
    if is_last and case.fair and jain(case, outcome) < JAIN:
        yield "Jain"
    fair = phase.capacity / len(outcome.rates)
    if is_last and case.starved and min(outcome.rates.values()) < STARVED * fair:
        yield "starvation"


def jain(case: Case, outcome: Outcome) -> float:
    return jain_index([outcome.rates[name] for name in case.fair or outcome.rates])


def note(case: Case, outcome: Outcome) -> str:
    """Rates of several flows."""
    if len(outcome.rates) < 2:
        return ""
    if len(outcome.rates) > 6:
        media = math.fsum(bps for name, bps in outcome.rates.items() if name.startswith("media"))
        return f"media {media / 1e6:.2f} Mb/s"
    shares = ", ".join(f"{bps / 1e6:.2f}" for bps in outcome.rates.values())
    return f"{shares} Mb/s; Jain {jain(case, outcome):.2f}"


def rows(case: Case) -> Iterator[Row]:
    sides: Sequence[tuple[str, Sequence[Phase]]] = [("down", case.phases), ("up", case.up_phases)]
    for direction, all_phases in sides:
        long = [phase for phase in all_phases if phase.window[0] < phase.window[1]]
        for phase in long:
            outcomes = tuple(measured(case, phase, direction, jitter) for jitter in (False, True))
            assert len(outcomes) == 2
            found = [name for outcome in outcomes for name in missed(case, phase, outcome, phase is long[-1])]
            title = f"{phase.window[0]:g} to {phase.window[1]:g} s"
            title = f"{direction}, {title}" if case.up_phases else title
            shown = note(case, outcomes[1])
            yield Row(case.number, title, phase.capacity, outcomes, tuple(dict.fromkeys(found)), shown)


def readings() -> str:
    texts = (fill(f"**{case.number}, {case.title}.** {case.reading}", WIDTH, break_on_hyphens=False) for case in CASES)
    return COMMON + "".join(f"\n{text}\n" for text in texts)


def results() -> str:
    found = [row for case in CASES for row in rows(case)]
    met = sum(not row.missed for row in found)
    head = [
        f"{met} of {len(found)} phases meet their targets. Of two figures the first is without jitter, the second with it.",
        "",
        "| case | phase | capacity, Mb/s | arrives, % of it | p95 of the queue, ms | flows (with jitter) | missed |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    return "\n".join([*head, *map(str, found)]) + "\n" + MISSES


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--readings", action="store_true", help="the readings alone")
    args = parser.parse_args()
    text = TITLE + readings()
    if not args.readings:
        text += "\n## What came out\n\n" + results()
    if args.file:
        args.file.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
