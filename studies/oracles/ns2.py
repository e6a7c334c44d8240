"""ns-2's TCP scenarios and results, and metrics calculated on both sides in the same way.

Three of ns-2's ways are translated, each found in a trace of its own scripts
(docs/models/rate-halving.md and docs/models/wire.md say how):

- its DropTail of limit B drops an arrival that finds B - 1 packets waiting, so our limit is B - 1;
- it has no handshake, so times count from each sender's first ACK of data;
- `window_` W bounds what is in flight: `receive_buffer` is W segments, with the host's
  `window_rule`.
"""

from __future__ import annotations

import bisect
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import ackclock

SEGMENT = 1024
"""Payload, bytes."""

FIRST_DATA_ACK_S = 0.100925
"""When ns-2's sender gets its first ACK of data: segment 0 is the SYN's size, segment 1 is data and
goes out with it at 0.
"""


@dataclass(frozen=True)
class Sender:
    """One of ns-2's senders: its name in the result files, and in our words."""

    name: str
    variant: str
    recovery: str

    def tcp(self, **more: Any) -> dict[str, Any]:
        return {
            "host": "ns2",
            "variant": self.variant,
            "recovery": self.recovery,
            "segment": f"{SEGMENT} B",
            "delayed_ack": False,
            **more,
        }


LINUX_RENO = Sender("reno", "reno", "rate-halving")
LINUX_BIC = Sender("bic", "bic", "rate-halving")
LINUX_CUBIC = Sender("cubic", "cubic-2.0", "rate-halving")
LINUX_VEGAS = Sender("vegas", "vegas", "rate-halving")
LINUX_VENO = Sender("veno", "veno", "rate-halving")
LINUX_WESTWOOD = Sender("westwood", "westwood-ns2", "rate-halving")
LINUX_OTHERS = (LINUX_BIC, LINUX_CUBIC, LINUX_VEGAS, LINUX_VENO, LINUX_WESTWOOD)
NATIVE_NEWRENO = Sender("nativeNewreno", "newreno", "newreno")


def dumbbell(sender: Sender, buffer: int, duration: str, sample: str, loss: Any = None, **tcp: Any) -> dict[str, Any]:
    """S --1 Gb/s, 1 ms-- R1 --10 Mb/s, 48 ms, `buffer` packets-- R2 --1 Gb/s, 1 ms-- D; losses
    after the bottleneck.
    """
    bottleneck: dict[str, Any] = {
        "name": "bottleneck",
        "rate": "10 Mb/s",
        "delay": "48 ms",
        "queue": {"kind": "droptail", "packets": buffer - 1},
    }
    if loss is not None:
        bottleneck["loss"] = {"down": loss}
    edge = {"rate": "1 Gb/s", "delay": "1 ms"}
    return {
        "duration": duration,
        "sample": sample,
        "phase_jitter": False,
        "hop": [{"name": "near", **edge}, bottleneck, {"name": "far", **edge}],
        "tcp": sender.tcp(**tcp),
        "flow": [{"name": "download", "workload": {"kind": "bulk"}}],
    }


@dataclass(frozen=True)
class Series:
    """What changed over time: windows in segments, `acked` segments at the sender, `queue` packets
    that wait.
    """

    time: Sequence[float]
    cwnd: Sequence[float]
    acked: Sequence[float]
    queue: Sequence[float]

    def at(self, t: float) -> int:
        """Index of the last sample at or before `t`."""
        return max(bisect.bisect_right(self.time, t + 1e-9) - 1, 0)

    def goodput_bps(self, start: float, end: float) -> float:
        """Payload acknowledged between two times."""
        return (self.acked[self.at(end)] - self.acked[self.at(start)]) * SEGMENT * 8 / (end - start)

    def mean_queue(self, start: float, end: float) -> float:
        return fmean(q for t, q in zip(self.time, self.queue, strict=True) if start <= t <= end)

    def cuts(self) -> list[float]:
        """When the window fell by a fifth or more within 0.3 s."""
        times = []
        for i, (t, cwnd) in enumerate(zip(self.time, self.cwnd, strict=True)):
            if cwnd < 0.8 * max(self.cwnd[self.at(t - 0.3) : i + 1]):
                times.append(t)
        return times

    def first_ack(self) -> float:
        """When the first data was acknowledged."""
        return next(t for t, acked in zip(self.time, self.acked, strict=True) if acked > 0)


def our_run(scenario: Mapping[str, Any], seeds: int | Sequence[int] = 1) -> ackclock.simulation.run.Simulation:
    """The scenario over one or several seeds."""
    return ackclock.simulate(scenario, seeds=seeds)


def our_series(run: ackclock.simulation.run.Simulation) -> Series:
    """The series of a run of one seed and one flow."""
    flow, queue = run.series, run.hops.filter(hop="bottleneck", direction="down")
    return Series(
        time=flow["time_s"].to_list(),
        cwnd=(flow["cwnd_bytes"] / SEGMENT).to_list(),
        acked=(flow["delivered_bytes"] / SEGMENT).to_list(),
        queue=queue["queue_packets"].to_list(),
    )


def ns2_series(oracles: Path, name: str) -> Series:
    """One of ns-2's series.

    It counts the SYN-sized segment 0, so `acked` is its number of data segments.
    """
    with (oracles / "ns2" / "series" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    def column(key: str) -> list[float]:
        return [float(row[key]) for row in rows]

    return Series(column("t"), column("cwnd"), [max(a, 0.0) for a in column("acked_segs")], column("queue_pkts"))


def ns2_run(oracles: Path, series: str) -> dict[str, float]:
    """The numbers of the raw line of the run that wrote `series`."""
    for line in (oracles / "ns2" / "e_raw.txt").read_text().splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if Path(words.get("series", "")).stem == series:
            return {key: float(words[key]) for key in ("segs", "goodput_mbps", "rtx", "tmo", "cuts")}
    raise LookupError(f"no raw line wrote {series}")


@cache
def ns2_rows(path: Path) -> tuple[dict[str, str], ...]:
    """The rows of one of ns-2's tables."""
    with path.open(newline="") as file:
        return tuple(csv.DictReader(file))


def ns2_row(oracles: Path, table: str, **keys: str) -> dict[str, str]:
    """The one row of a table whose columns have these values."""
    found = [row for row in ns2_rows(oracles / "ns2" / table) if all(row[key] == value for key, value in keys.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of {table} have {keys}")
    return found[0]
