"""The figures of the packaged link `leo` from public measurements (docs/models/leo.md).

    python -m studies.leo.slot_figures IPERF.csv PING.csv PINGS.txt

IPERF.csv and PING.csv are data/iperf.csv and data/ping.csv of Laniewski et al., Starlink on the
road (sys-uos/Starlink-on-the-Road, CC BY-SA 4.0); PINGS.txt is latency/ping-example-isl.txt of
Zhao and Pan's LEONetEM (clarkzjw/LEONetEM), an example of LENS. No congestion control has part in
them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

EVERY_S, FIRST_S = 15, 12
FRAME_S = 1 / 750
Array = NDArray[np.float64]


def _at_rest(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, try_parse_dates=True, infer_schema_length=None)
    return table.filter(pl.col("average_speed") == 0)


def rates(path: Path) -> None:
    """Slot means of 1-second rates, their correlation, and what a change costs."""
    table = _at_rest(path)
    second = table["timestamp_start"].dt.epoch("s").to_numpy()
    begins = np.r_[True, np.diff(second) != 1]
    run = np.cumsum(begins)
    age = np.arange(len(second)) - np.flatnonzero(begins)[run - 1]
    phase = (second - FIRST_S) % EVERY_S
    slot = (second - FIRST_S) // EVERY_S
    for name in ("download_mbps", "upload_mbps"):
        rate = table[name].to_numpy().astype(float)
        known = (age >= 2) & np.isfinite(rate)
        inside = known & (rate > 0) & (phase != 0) & (phase != EVERY_S - 1)
        means: dict[tuple[int, int], float] = {}
        for key in sorted(set(zip(run[inside].tolist(), slot[inside].tolist(), strict=True))):
            seconds = rate[inside & (run == key[0]) & (slot == key[1])]
            if len(seconds) >= 4:
                means[key] = float(seconds.mean())
        values = np.array(list(means.values()))
        scores = dict(zip(means, norm.ppf((rankdata(values) - 0.5) / len(values)), strict=True))
        pairs = np.array([(score, scores[r, s + 1]) for (r, s), score in scores.items() if (r, s + 1) in scores])
        ordinary = np.mean([rate[known & (phase == p)].mean() for p in range(2, 13)])
        change = rate[known & (phase == EVERY_S - 1)].mean()
        print(f"{name}: {len(values)} slots, deciles {np.quantile(values, np.linspace(0, 1, 11)).round(1).tolist()}")
        print(f"  mean {values.mean():.1f}; {len(pairs)} pairs of slots correlate by {np.corrcoef(pairs.T)[0, 1]:.2f}")
        print(f"  the second of a change has {100 * (1 - change / ordinary):.1f} % fewer bits")


def round_trips(path: Path) -> None:
    """Minimum RTTs of runs, and the outage at each change that loses none of their pings."""
    table = _at_rest(path)
    best = np.sort(table["ping_best"].to_numpy())
    above = np.quantile(best - best[0], [0.25, 0.5, 0.75, 1]).round(1).tolist()
    none_lost = float((table["packet_loss"].to_numpy() == 0).mean())
    outage_ms = 100 * (1 - none_lost ** (EVERY_S / 25))
    print(f"{len(best)} runs: minimum RTT {best[0]:.1f} ms, quartiles and maximum of a run {above} ms above it")
    print(f"  {100 * none_lost:.0f} % lose none of 250 pings: an outage of {outage_ms:.0f} ms at each change")


def grants(path: Path) -> None:
    """Losses, and the wait for a grant by the time of sending."""
    line = re.compile(r"\[([\d.]+)\].*icmp_seq=(\d+) .*time=([\d.]+)")
    rows = np.array([[float(x) for x in m.groups()] for text in path.open() if (m := line.match(text))])
    received, number, rtt = rows.T
    sent = received - rtt / 1e3
    phase, slot = (sent - FIRST_S) % EVERY_S, (sent - FIRST_S) // EVERY_S
    lost = np.setdiff1d(np.arange(1, int(number.max()) + 1), number.astype(int))
    when = (np.interp(lost, number, sent) - FIRST_S) % EVERY_S
    at_change = (when > EVERY_S - 0.5) | (when < 1)
    gap_s = (sent[-1] - sent[0]) / (number[-1] - number[0])
    longest = [len(part) for part in np.split(lost[at_change], np.flatnonzero(np.diff(lost[at_change]) != 1) + 1)]
    print(f"{len(rows)} pings, one in {1e3 * gap_s:.1f} ms: {int((~at_change).sum())} lost outside of changes")
    print(f"  lost at changes, in ms: {[round(1e3 * gap_s * n) for n in longest]}")
    quiet = (phase > 1) & (phase < EVERY_S - 0.3)
    print(f"  successive RTTs differ by {np.abs(np.diff(rtt[quiet])).mean():.1f} ms")
    for one in np.unique(slot)[1:-1]:
        inside = quiet & (slot == one)
        wait = rtt[inside] - np.quantile(rtt[inside], 0.02)
        inside[inside] = wait < 60
        wait = wait[wait < 60]
        explained = {frames: _explained(sent[inside] % (frames * FRAME_S), wait) for frames in range(30, 61)}
        frames = max(explained, key=lambda cycle: explained[cycle])
        print(f"  slot {int(one - slot[0])}: a cycle of {frames} frames explains {explained[frames]:.2f} of the wait")


def _explained(time_s: Array, wait_ms: Array) -> float:
    """The share of the variance that the frame of the cycle explains."""
    frame = (time_s / FRAME_S).astype(int)
    parts = [wait_ms[frame == number] for number in np.unique(frame)]
    return float(1 - sum(((part - part.mean()) ** 2).sum() for part in parts) / ((wait_ms - wait_ms.mean()) ** 2).sum())


if __name__ == "__main__":
    iperf, ping, pings = map(Path, sys.argv[1:])
    rates(iperf)
    round_trips(ping)
    grants(pings)
