"""The bound of an emulation's error beside its true error, under CPU load.

`python -m studies.emulator.bound [--runs 50] [--kept FILE]` writes the section of
docs/evidence/emulator-measured.md to standard output; `python -m studies.emulator.page PAGE bound`
writes it into the page. A run takes 5 s of real time. --kept stores runs, of which those by the
present emulator are not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy.stats import t as student_t

from ackclock.emulation.tries import GRADES
from ackclock.format import date_of
from ackclock.statistics.summary_stats import summary_stats
from studies.emulator.code_digest import emulator_digest
from studies.emulator.traffic import link

RUNS, SECONDS, REFERENCES = 50, 5.0, 10
AT_ONCE, BUSY = 2, 3
"""Emulations at once, and processes that only calculate, in the loaded runs."""
BUSY_LOOP = "while True: pass"
SEGMENT_BITS = 1448 * 8


@dataclass(frozen=True)
class Workload:
    """A link, and the ends' verbs."""

    rate: str
    delay: str
    queue: str
    is_window_limited: bool | None
    """Whether the receiver's window limits the transfer; None for echo requests."""
    by_kernels: bool = False
    """The kernels alone send and receive: a process that waits for a CPU would take a percent of a
    short RTT."""


WORKLOADS = {
    "echo requests": Workload("10 Mb/s", "15 ms", "50 kB", None),
    "window-limited TCP": Workload("20 Mb/s", "30 ms", "100 kB", True),
    "saturating TCP": Workload("10 Mb/s", "15 ms", "40 kB", False),
    "window-limited TCP, short link": Workload("200 Mb/s", "2 ms", "100 kB", True, by_kernels=True),
}


@dataclass(frozen=True)
class Run:
    """One run: figures of the hosts, and the emulator's audit. ``goodput_bps`` is 0 for echoes."""

    workload: str
    loaded: bool
    code: str
    started: float
    grade: str
    goodput_bound: float | None
    rtt_bound: float | None
    late_share: float
    p99_us: float
    load: float
    steal_percent: float
    goodput_bps: float
    rtt_p95_s: float


def emulated(name: str, *, loaded: bool) -> Run:
    """Run one workload."""
    workload = WORKLOADS[name]
    queue = f'{{ kind = "droptail", bytes = "{workload.queue}" }}'
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "link.toml").write_text(link(f'"{workload.rate}"', workload.delay, queue=queue), "utf-8")
        ends = [sys.executable, "-m", "studies.emulator.bound_ends"]
        argv = [sys.executable, "-m", "ackclock", "emulate", str(folder / "link.toml"), "--json", "--no-log"]
        argv += ["--seed", "1", "--seconds", str(SECONDS + 10), "--out", str(folder / "run")]
        if workload.is_window_limited is None:
            command = [*ends, "ping", str(SECONDS), str(folder / "client")]
        else:
            limited, unread = str(int(workload.is_window_limited)), str(int(workload.by_kernels))
            argv += ["--server", shlex.join([*ends, "send", unread, str(folder / "server")])]
            command = [*ends, "fetch", str(SECONDS), limited, unread, str(folder / "client")]
        done = subprocess.run([*argv, "--", *command], capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        measured = json.loads((folder / "client").read_text("ascii"))
        if workload.is_window_limited is None:
            goodput, rtts = 0.0, measured["rtts"]
        else:
            goodput = 8 * measured["bytes"] / measured["seconds"]
            lines = (folder / "server").read_text("ascii").splitlines()
            rtts = [json.loads(line)["rtt"] * 1e-6 for line in lines if line.endswith("}")]
    rtt = summary_stats(rtts)
    assert rtt is not None
    assert rtt["p95"] is not None
    bound = document["bound"]
    return Run(
        *(name, loaded, emulator_digest(), document["started"], document["grade"]),
        *(bound["goodput"], bound["rtt_p95"]),
        document["deadline_misses"] / max(1, document["packets_out"]),
        document["release_error_us"]["p99"] or 0.0,
        *(document["load"], document["steal_percent"], goodput, rtt["p95"]),
    )


class RunStore:
    """The runs by the present emulator in a file, or without a file those of this process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path is not None and path.exists() else []
        runs = [Run(**json.loads(line)) for line in lines]
        self.runs = [run for run in runs if run.code == emulator_digest()]

    def add(self, run: Run) -> None:
        """Store a run."""
        self.runs.append(run)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")

    def of(self, name: str, *, loaded: bool) -> list[Run]:
        """The runs of a workload."""
        return [run for run in self.runs if (run.workload, run.loaded) == (name, loaded)]


def measure(store: RunStore, count: int, until: float) -> None:
    """Make the missing runs: references one at a time, loaded ones ``AT_ONCE``."""
    for name in WORKLOADS:
        while len(store.of(name, loaded=False)) < REFERENCES and time.monotonic() < until:
            store.add(emulated(name, loaded=False))
    made = Counter(run.workload for run in store.runs if run.loaded)
    names = []
    for number in range(count):
        name = list(WORKLOADS)[number % len(WORKLOADS)]
        if number // len(WORKLOADS) >= made[name]:
            names.append(name)
    busy = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(BUSY)]

    def one(name: str) -> None:
        if time.monotonic() < until:
            store.add(emulated(name, loaded=True))

    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(one, names))
    finally:
        for process in busy:
            process.kill()
            process.wait()


def error(measured: float, reference: Sequence[float]) -> float:
    """The relative distance from what one more run without load would show, 0 within it: the 99 %
    prediction interval of a normal variable by the references, or their range where that is wider.

    The range alone of n references does not cover 2 in n + 1 runs of their kind.

    >>> error(10.3, [10.0, 10.1, 10.2])
    0.0
    >>> round(error(20.0, [10.0, 10.0, 10.0]), 3)
    1.0
    """
    if measured == 0.0:
        return 0.0
    n, mean = len(reference), statistics.fmean(reference)
    spread = statistics.stdev(reference) if n > 1 else 0.0
    half = float(student_t.ppf(0.995, max(1, n - 1))) * spread * math.sqrt(1 + 1 / n)
    low, high = min(mean - half, *reference), max(mean + half, *reference)
    return max(0.0, low / measured - 1, measured / high - 1)


def is_within(run: Run, reference: Sequence[Run]) -> bool:
    """Whether the true errors are at most the bounds. Goodput is counted in whole segments, which
    differ by one at both ends of the comparison."""
    goodput = error(run.goodput_bps, [each.goodput_bps for each in reference])
    goodput -= 2 * SEGMENT_BITS / SECONDS / run.goodput_bps if run.goodput_bps else 0.0
    rtt = error(run.rtt_p95_s, [each.rtt_p95_s for each in reference])
    return _at_most(goodput, run.goodput_bound) and _at_most(rtt, run.rtt_bound)


def _at_most(value: float, bound: float | None) -> bool:
    return bound is None or value <= bound


HEADINGS = (
    *("workload", "runs", "exact, usable, invalid", "late, p99 us"),
    *("goodput: true error", "bound", "p95 RTT: true error", "bound", "within", "date", "load", "steal, %"),
)


def table(store: RunStore) -> Iterator[str]:
    """The lines of the section."""
    within, total = 0, 0
    unloaded = [run for run in store.runs if not run.loaded]
    rows = []
    for name in WORKLOADS:
        reference, runs = store.of(name, loaded=False), store.of(name, loaded=True)
        if not reference or not runs:
            continue
        covered = sum(is_within(run, reference) for run in runs)
        within, total = within + covered, total + len(runs)
        rows.append((name, *_cells(runs, reference), f"{covered} of {len(runs)}", *_machine(runs)))
    yield f"True errors and bounds of {total} runs of {SECONDS:.0f} s, {AT_ONCE} at once beside {BUSY} processes that"
    yield f"only calculate: {within} within the bounds (target: 48 of 50). The true error is the distance from what"
    yield f"{REFERENCES} runs without those processes, one at a time ({_grades(unloaded)}), predict of one more (99 %"
    yield "interval): the spread of the hosts, and of the lateness that was left. Median and maximum."
    yield ""
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _cells(runs: Sequence[Run], reference: Sequence[Run]) -> tuple[str, ...]:
    return (
        str(len(runs)),
        _counts(runs),
        _both([run.p99_us for run in runs], "{:.0f}"),
        _both([100 * error(run.goodput_bps, [each.goodput_bps for each in reference]) for run in runs], "{:.2f} %"),
        _both([100 * (run.goodput_bound or 0.0) for run in runs], "{:.2f} %"),
        _both([100 * error(run.rtt_p95_s, [each.rtt_p95_s for each in reference]) for run in runs], "{:.2f} %"),
        _both([100 * (run.rtt_bound or 0.0) for run in runs], "{:.2f} %"),
    )


def _counts(runs: Sequence[Run]) -> str:
    return ", ".join(str(sum(run.grade == grade for run in runs)) for grade in reversed(GRADES))


def _grades(runs: Sequence[Run]) -> str:
    counts = {grade: sum(run.grade == grade for run in runs) for grade in reversed(GRADES)}
    return ", ".join(f"{count} {grade}" for grade, count in counts.items() if count)


def _machine(runs: Sequence[Run]) -> tuple[str, ...]:
    return (
        date_of(max(run.started for run in runs)),
        _both([run.load for run in runs], "{:.1f}"),
        _both([run.steal_percent for run in runs], "{:.1f}"),
    )


def _both(values: Sequence[float], form: str) -> str:
    return f"{form.format(statistics.median(values))}, {form.format(max(values))}"


def main() -> int:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kept", type=Path, metavar="FILE", help="file of runs")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after this time")
    options = parser.parse_args()
    store = RunStore(options.kept)
    measure(store, options.runs, time.monotonic() + 60 * options.minutes)
    print("\n".join(table(store)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
