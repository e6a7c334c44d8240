"""AQMs of ackclock and ns-3 under the same packet arrivals.

Both programs get the packets of `aqm_arrivals` from a file, at a queue before a link of a fixed
rate: there is no TCP, and no stack. Random AQMs have `RUNS` runs on either side.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from studies.oracles.agreement import Check, Figure
from studies.oracles.aqm_arrivals import Arrivals, Packet, arrivals_text

SOURCE = Path(__file__).with_name("ns3_queue.cc")
HEADER = Path("/usr/include/ns3/cobalt-queue-disc.h")
LIBRARIES = ("traffic-control", "network", "core")
ROOT = Path(__file__).parents[2]
BINARY = ROOT / "target/release/ackclock-bench"
SCRATCH = ROOT / "target/aqm"

RUNS = 8
MS = 10**9
"""Picoseconds."""


@dataclass(frozen=True)
class Queue:
    """A queue in the words of both programs: the keys of a plan, and ns-3's type and attributes."""

    plan: Mapping[str, Any]
    kind: str
    attributes: Mapping[str, Any]
    random: bool = False


def limits(packets: int) -> dict[str, Any]:
    return {"packets": packets, "bytes": None}


def ns3_time(ps: int) -> str:
    return f"{ps / 1e6:g}us"


def codel(packets: int = 1000, target: int = 5 * MS, interval: int = 100 * MS, ecn: bool = True) -> Queue:
    control = {"target_ps": target, "interval_ps": interval, "mtu": 1514, "signal": "mark" if ecn else "drop"}
    attributes = {
        "MaxSize": f"{packets}p",
        "MinBytes": 1514,
        "Target": ns3_time(target),
        "Interval": ns3_time(interval),
        "UseEcn": ecn,
    }
    return Queue({"kind": "codel", **limits(packets), **control}, "CoDelQueueDisc", attributes)


def fq_codel(packets: int = 10_240, ecn: bool = True) -> Queue:
    control = {"target_ps": 5 * MS, "interval_ps": 100 * MS, "mtu": 1514, "signal": "mark" if ecn else "drop"}
    # As many queues as a plan may have, so that no two flows collide; ns-3 has one per flow.
    ours = {"kind": "fq-codel", "packets": packets, "bytes": 32 * 2**20, "flows": 65_536, "quantum": 1514, **control}
    return Queue(ours, "FqCoDelQueueDisc", {"MaxSize": f"{packets}p", "UseEcn": ecn})


def pie(packets: int = 1000, target: int = 15 * MS, ecn: bool = True) -> Queue:
    ours = {
        "kind": "pie",
        **limits(packets),
        "target_ps": target,
        "update_ps": 15 * MS,
        "alpha": 0.125,
        "beta": 1.25,
        "burst_ps": 150 * MS,
        "signal": "mark" if ecn else "drop",
        "mark_up_to": 0.1,
        "mean_packet": 1500,
    }
    attributes = {
        "MaxSize": f"{packets}p",
        "QueueDelayReference": ns3_time(target),
        "MeanPktSize": 1500,
        "UseDerandomization": True,
        "UseEcn": ecn,
    }
    return Queue(ours, "PieQueueDisc", attributes, random=True)


def red(
    low: int,
    high: int,
    packets: int,
    rate_bps: int,
    weight: float = 0.002,
    max_p: float = 0.1,
    ecn: bool = True,
    gentle: bool = False,
) -> Queue:
    ours = {
        "kind": "red",
        **limits(packets),
        "amount": "packets",
        "min": low,
        "max": high,
        "weight": weight,
        "max_p": max_p,
        "gentle": gentle,
        "signal": "mark" if ecn else "drop",
        "only": "all",
        "mean_packet": 1000,
    }
    attributes = {
        "MaxSize": f"{packets}p",
        "MinTh": low,
        "MaxTh": high,
        "QW": weight,
        "LInterm": 1 / max_p,
        "Gentle": gentle,
        "Wait": False,
        "MeanPktSize": 1000,
        "LinkBandwidth": f"{rate_bps}bps",
        "UseEcn": ecn,
        "UseHardDrop": False,
    }
    return Queue(ours, "RedQueueDisc", attributes, random=True)


def cobalt(rate_bps: int, packets: int = 1000, ecn: bool = True) -> Queue:
    """CAKE with one flow: one queue with COBALT, whose target is 1.5 packets' time or more."""
    target = max(5 * MS, 1514 * 8 * 10**12 * 3 // (2 * rate_bps))
    interval = max(100 * MS, 2 * target)
    # ns-3's COBALT signals with any backlog.
    control = {"target_ps": target, "interval_ps": interval, "mtu": 0, "signal": "mark" if ecn else "drop"}
    ours = {"kind": "cake", "packets": packets, "bytes": 32 * 2**20, "flows": 8, "quantum": 1514, "hosts": False}
    attributes = {
        "MaxSize": f"{packets}p",
        "Target": ns3_time(target),
        "Interval": ns3_time(interval),
        "UseEcn": ecn,
        "BlueThreshold": "10000s",
    }
    return Queue({**ours, **control}, "CobaltQueueDisc", attributes, random=True)


@dataclass(frozen=True)
class Replay:
    """What happened to the packets of one run."""

    queue: float
    """Mean number of packets that wait, over time."""
    drops: int
    marks: int
    signals: np.ndarray
    """Times of marks and drops, s."""


def summarize(events: pl.DataFrame) -> Replay:
    """The figures of one run's events."""
    ended = events.filter(pl.col("kind") != "marked")
    signals = events.filter(pl.col("kind") != "departed")
    return Replay(
        queue=float(ended["wait_ms"].sum()) * 1e6 / float(events["arrived"].to_numpy().max()),
        drops=ended.filter(pl.col("kind") != "departed").height,
        marks=events.height - ended.height,
        signals=signals["ns"].sort().to_numpy() / 1e9,
    )


def replay_ours(queue: Mapping[str, Any], rate_bps: int, seed: int, packets: Sequence[Packet]) -> pl.DataFrame:
    """The events of `ackclock-bench replay` (see `_table`)."""
    file = _arrivals_file(packets)
    return _table(_output([BINARY, "replay", json.dumps(queue), rate_bps, seed, file]), packets, rate_bps)


def replay_ns3(queue: Queue, rate_bps: int, run: int, packets: Sequence[Packet]) -> pl.DataFrame:
    """The events of `ns3_queue` (see `_table`)."""
    program = ns3_program()
    assert program is not None
    words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in queue.attributes.items()}
    settings = [f"{name}={value}" for name, value in words.items()]
    text = _arrivals_file(packets).read_text()
    return _table(_output([program, queue.kind, rate_bps, run, *settings], text), packets, rate_bps)


def _arrivals_file(packets: Sequence[Packet]) -> Path:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    file = SCRATCH / f"arrivals-{os.getpid()}.txt"
    file.write_text(arrivals_text(packets))
    return file


def _output(command: Sequence[object], text: str | None = None) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout


def _table(events: str, packets: Sequence[Packet], rate_bps: int) -> pl.DataFrame:
    """A row per event: `ns`, `kind` (departed, marked, early, full), and of its packet `line`,
    `arrived` (ns), `flow`, `bytes`, and `wait_ms`, the time in the queue until then.
    """
    table = pl.read_csv(
        events.encode(),
        separator=" ",
        has_header=False,
        new_columns=["ns", "kind", "line"],
        schema_overrides=[pl.Int64, pl.String, pl.Int64],
    )
    arrived, flow, size, _ = zip(*packets, strict=True)
    of_packet = pl.DataFrame({"line": range(len(packets)), "arrived": arrived, "flow": flow, "bytes": size})
    sending = pl.when(pl.col("kind") == "departed").then(pl.col("bytes") * 8e9 / rate_bps).otherwise(0.0)
    wait_ms = (pl.col("ns") - pl.col("arrived") - sending) / 1e6
    return table.join(of_packet, on="line").with_columns(wait_ms=wait_ms)


@cache
def ns3_program() -> Path | None:
    """The compiled ns3_queue.cc; None where ns-3 or a compiler is missing."""
    compiler = shutil.which("g++")
    if compiler is None or not HEADER.exists():
        return None
    program = SCRATCH / "ns3_queue"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        SCRATCH.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        command = [compiler, "-O2", "-std=c++17", str(SOURCE), "-o", str(program), "-Wl,--no-as-needed", *libraries]
        subprocess.run(command, check=True, capture_output=True)
    return program


def overlap(ours: Sequence[Replay], theirs: Sequence[Replay]) -> float:
    """1 less the greatest difference between the cumulative distributions of the signals' times."""
    a, b = (np.sort(np.concatenate([run.signals for run in runs])) for runs in (ours, theirs))
    if not len(a) or not len(b):
        return 1.0 if len(a) == len(b) else 0.0
    times = np.concatenate([a, b])
    shares = [np.searchsorted(of, times, side="right") / len(of) for of in (a, b)]
    return 1 - float(np.abs(shares[0] - shares[1]).max())


WITHIN = 0.1
"""How far a figure may lie from ns-3's, and the times of the signals from its times."""

MARKED_FROM_NOW = (
    "ns-3's CoDel counts the time to the next mark from now, so that marks are whole packets' times apart; "
    "RFC 8289, section 5.5, counts from the time that was due: `drop_next_ = control_law(drop_next_, count_)`. "
    "From the departures of the constant ECT traffic at 10 Mb/s, the RFC's rule gives 19,066 marks (ours: "
    "19,064) and ns-3's 14,585 (ns-3: 14,638)."
)
ONE_WAITS = (
    "ns-3's RED signals nothing while at most one packet waits, as ns-2's does; Floyd and Jacobson (1993) have no such "
    "condition. At 10 Mb/s, 764 of our 10,095 marks are on packets that found none or one waiting, and none of "
    "ns-3's."
)
ACCUMULATED = (
    "ns-3's PIE sets the accumulated probability (RFC 8033, section 5.4) to 0 when it drops, but not when it marks "
    "in place of a drop (section 5.1). From 8.5 on it marks every packet."
)
LAST_PACKET = (
    "CAKE does not drop the last packet of a queue, ns-3's COBALT alone does: 239 of its 10,116 early drops in the "
    "bursts of ECT at 10 Mb/s and 138 of 27,946 in those at 100 Mb/s, ours none. Its queue is empty more often, which "
    "lowers BLUE's probability."
)


@dataclass(frozen=True)
class Case:
    """A queue under some arrivals; `known` has the figures that miss, and why."""

    name: str
    queue: Queue
    arrivals: Arrivals
    known: tuple[tuple[str, str], ...] = ()


def replays(case: Case) -> tuple[list[Replay], list[Replay]]:
    """Ours and ns-3's."""
    packets, rate = case.arrivals.packets(), case.arrivals.rate_bps
    runs = range(1, RUNS + 1 if case.queue.random else 2)
    ours = [summarize(replay_ours(case.queue.plan, rate, run, packets)) for run in runs]
    return ours, [summarize(replay_ns3(case.queue, rate, run, packets)) for run in runs]


def figures(case: Case) -> list[Figure]:
    """Mean queue, drops, marks, and the share of the signals whose times agree."""
    ours, theirs = replays(case)

    def row(name: str, field: str, unit: str = "") -> Figure:
        mean = [fmean(getattr(run, field) for run in runs) for runs in (ours, theirs)]
        return Figure(case.name, name, mean[0], mean[1], WITHIN, unit=unit)

    rows = [row("mean queue", "queue", "packets"), row("drops", "drops"), row("marks", "marks")]
    rows = [figure for figure in rows if figure.ours or figure.oracle]
    return [*rows, Figure(case.name, "times of signals", overlap(ours, theirs), None, 1 - WITHIN, "at least", "%")]


MBPS = 10**6
MIXED = (100, 576, 1500)


def cases() -> list[Case]:
    """Every row of the table. The arrivals of a row are drawn from its `seed`."""
    return [case for mbps, seconds in ((1, 60), (10, 60), (100, 12)) for case in _cases(mbps, seconds)]


def _cases(mbps: int, seconds: int) -> list[Case]:
    rate = mbps * MBPS
    marks_from_now = (("marks", MARKED_FROM_NOW),)
    one_waits = (("marks", ONE_WAITS), *([("times of signals", ONE_WAITS)] if mbps == 1 else []))
    accumulated = (("marks", ACCUMULATED), *([("times of signals", ACCUMULATED)] if mbps == 100 else []))
    last_packet = ("mean queue", LAST_PACKET)

    def constant(load: float, **more: Any) -> Arrivals:
        return Arrivals("constant", rate, load, seconds / 2, **more)

    def bursts(**more: Any) -> Arrivals:
        return Arrivals("bursts", rate, 1.5, seconds, **more)

    return [
        Case(f"codel, constant 1.2, {mbps} Mb/s", codel(), constant(1.2, seed=1)),
        Case(
            f"codel, constant 1.2, ECT, {mbps} Mb/s",
            codel(),
            constant(1.2, seed=2, ect=1.0),
            marks_from_now if mbps == 10 else (),
        ),
        Case(f"codel, bursts, {mbps} Mb/s", codel(), bursts(seed=3)),
        Case(
            f"codel 20 ms/200 ms, 100 packets, mixed sizes, {mbps} Mb/s",
            codel(100, 20 * MS, 200 * MS, ecn=False),
            constant(1.1, seed=11, sizes=MIXED),
        ),
        Case(
            f"fq-codel, 8 + 4 sparse flows, {mbps} Mb/s",
            fq_codel(ecn=False),
            constant(1.5, seed=4, flows=8, sparse=4, sizes=MIXED),
        ),
        Case(
            f"fq-codel, 8 + 4 sparse flows, half ECT, {mbps} Mb/s",
            fq_codel(),
            constant(1.5, seed=4, flows=8, sparse=4, sizes=MIXED, ect=0.5),
            marks_from_now,
        ),
        Case(
            f"fq-codel, 200 packets, 8 + 4 sparse flows, {mbps} Mb/s",
            fq_codel(200, ecn=False),
            constant(1.5, seed=12, flows=8, sparse=4, sizes=MIXED),
        ),
        Case(f"pie, constant 1.2, {mbps} Mb/s", pie(), constant(1.2, seed=5)),
        Case(f"pie 30 ms, bursts, {mbps} Mb/s", pie(target=30 * MS), bursts(seed=13)),
        Case(f"pie, bursts, ECT, {mbps} Mb/s", pie(), bursts(seed=6, ect=1.0), accumulated),
        Case(f"red, constant 1.05, {mbps} Mb/s", red(5, 15, 60, rate), constant(1.05, seed=7, sizes=(1000,))),
        Case(
            f"red 10 to 30, gentle, 4 flows, half ECT, {mbps} Mb/s",
            red(10, 30, 200, rate, max_p=0.05, gentle=True),
            constant(1.1, seed=14, flows=4, sizes=(1000,), ect=0.5),
        ),
        Case(
            f"red, Poisson 0.95, ECT, {mbps} Mb/s",
            red(5, 15, 60, rate),
            Arrivals("poisson", rate, 0.95, seconds, seed=8, sizes=(1000,), ect=1.0),
            one_waits,
        ),
        Case(f"cobalt, constant 1.2, {mbps} Mb/s", cobalt(rate), constant(1.2, seed=9)),
        Case(f"cobalt, bursts, {mbps} Mb/s", cobalt(rate), bursts(seed=10), (last_packet,) if mbps == 100 else ()),
        Case(
            f"cobalt, bursts, ECT, {mbps} Mb/s",
            cobalt(rate),
            bursts(seed=15, ect=1.0),
            (last_packet, ("drops", LAST_PACKET), ("marks", LAST_PACKET)) if mbps == 10 else (),
        ),
    ]


def checks() -> list[Check]:
    """One for each case. They need ns-3, g++ and `ackclock-bench`."""
    return [Check(case.name, partial(figures, case), case.known) for case in cases()]
