"""What a long list of runs will take, from some of its runs.

The static cost of a run (`RunList.point_cpu_s`) is good within a factor of some. Some
blocks of consecutive runs are therefore made first. A block begins with a probability in proportion
to the static cost x, and the total is X times the mean of y/x, with X the sum of all x and y the
measured cost of a block. Runs with and without time series are separate strata. The draw follows
from the list alone.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

from ackclock.format import three
from ackclock.simulation.dataset import ChunkTables
from ackclock.simulation.metrics import metrics_of
from ackclock.simulation.run_list import ChunkWork, RunList
from ackclock.storage import atomic_files
from ackclock.storage.dataset_files import TABLES

LONG_S = 60.0
"""Estimated CPU seconds of a list of runs of which some are made before it starts."""
BLOCK_S = 0.1
"""Estimated CPU seconds of a block: long beside the cost of starting it. Runs of a point resemble
each other, and compress well only beside each other.
"""
MAX_BLOCK = 250
"""Maximum runs of a block."""
MAX_SHARE = 0.03
"""Maximum share of the CPU time that the sample may take, beyond `MIN_BLOCKS` blocks."""
SAMPLE_S = 1.5
"""CPU seconds that a stratum's sample may take, whatever its share."""
MIN_BLOCKS = 16
MAX_BLOCKS = 64
"""Bounds of the number of blocks of a stratum."""
PRECISION = 0.06
"""A sample is large enough if the standard error of its mean is below this share of the mean."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
BUSY = 1.1
"""Time over CPU time of a thread from which other processes have a share of its CPU."""
EFFICIENCY = 0.9
"""CPU seconds for each second and worker while chunks run."""
START_S = 0.7
"""CPU seconds of the start of the command and of its documents."""


@dataclass(frozen=True)
class RunEstimate:
    """What runs will take.

    Attributes:
        runs: number of runs.
        cpu_s: CPU seconds, with tables and metrics.
        size_bytes: size of the tables.
        wall_s: seconds on `workers` workers.
        workers: number of workers.
    """

    runs: int
    cpu_s: float
    size_bytes: float
    wall_s: float
    workers: int

    def after(self, cpu_s: float) -> RunEstimate:
        """The estimate with so many CPU seconds on one thread before the runs."""
        return replace(self, cpu_s=self.cpu_s + cpu_s, wall_s=self.wall_s + cpu_s)

    def with_runs(self, more: int) -> RunEstimate:
        """The estimate with so many more runs like these on average."""
        factor = 1.0 + more / self.runs
        return replace(
            self,
            runs=self.runs + more,
            cpu_s=factor * self.cpu_s,
            size_bytes=factor * self.size_bytes,
            wall_s=factor * self.wall_s,
        )

    @property
    def work(self) -> str:
        """CPU time and bytes, for people."""
        return f"about {duration_text(self.cpu_s)} of CPU time, {size_text(self.size_bytes)}"

    @property
    def time(self) -> str:
        """The time on so many workers, for people."""
        return f"{duration_text(self.wall_s)} on {self.workers} worker{'s' * (self.workers != 1)}"

    @property
    def document(self) -> dict[str, Any]:
        """The document that `ackclock sweep --estimate --json` prints."""
        return {
            "runs": self.runs,
            "cpu_s": self.cpu_s,
            "bytes": round(self.size_bytes),
            "wall_s": self.wall_s,
            "workers": self.workers,
        }


@dataclass(frozen=True)
class _Sample:
    """The measured blocks of a stratum.

    Attributes:
        runs: number of runs of the stratum.
        total: their static cost.
        sizes: the number of runs of each block.
        static: the static cost of each block.
        cpu_s: the measured cost of each block.
        wall_s: the time that each block took.
        tables: the tables of each block.
    """

    runs: int
    total: float
    sizes: list[int] = field(default_factory=list)
    static: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    tables: list[ChunkTables] = field(default_factory=list)

    def is_enough(self) -> bool:
        """Whether the mean is known well enough, or the sample has taken enough time."""
        n = len(self.cpu_s)
        if sum(self.sizes) >= self.runs:
            return True
        if n < MIN_BLOCKS:
            return False
        ratios = [value / static for value, static in zip(self.cpu_s, self.static, strict=True)]
        mean = math.fsum(ratios) / n
        error = math.sqrt(math.fsum((ratio - mean) ** 2 for ratio in ratios) / (n - 1) / n)
        return (
            error < PRECISION * mean
            or n == MAX_BLOCKS
            or math.fsum(self.cpu_s) > max(MAX_SHARE * self.total * mean, SAMPLE_S)
        )

    def all_cpu_s(self) -> float:
        """CPU seconds of the whole stratum."""
        ratios = [value / static for value, static in zip(self.cpu_s, self.static, strict=True)]
        return self.total * math.fsum(ratios) / len(ratios)

    def stored(self, points: int) -> StoredSize:
        """The size of the stratum's tables, which has runs of so many points.

        A file's own bytes do not grow with its runs: blocks add the difference of the whole sample
        and of its first half. Runs of a point resemble each other: beyond the runs of a block, a
        run adds the difference of the blocks and of their first halves. With time series the size
        follows their rows, else the runs.
        """
        rows = [tables.tables["series"].height + tables.tables["hops"].height for tables in self.tables]
        units = rows if sum(rows) else self.sizes
        began = time.process_time()
        whole = _bytes(self.tables)
        store_s = 2.0 * (time.process_time() - began) / sum(self.sizes)  # in a chunk, and joined
        half = len(self.tables) // 2
        grown = (whole - _bytes(self.tables[:half])) / sum(units[half:]) if half else whole / sum(units)
        block, of_point = sum(self.sizes) / len(self.sizes), self.runs / points
        if of_point > block >= 2:
            halves = [_first_runs(tables, size // 2) for tables, size in zip(self.tables, self.sizes, strict=True)]
            beyond = (whole - _bytes(halves)) / (sum(units) * (1.0 - (block // 2) / block))
            grown = (grown * block + min(beyond, grown) * (of_point - block)) / of_point
        # The inverse of the probabilities of the blocks as weights.
        weights = [size / static for static, size in zip(self.static, self.sizes, strict=True)]
        of_run = math.fsum(w * unit / size for w, unit, size in zip(weights, units, self.sizes, strict=True))
        own = max(whole - grown * sum(units), 0.0)
        return StoredSize(grown * of_run / math.fsum(weights) * self.runs, own, store_s * self.runs)


@dataclass(frozen=True)
class StoredSize:
    """The size of tables.

    Attributes:
        runs_bytes: the bytes of the runs.
        own_bytes: the bytes of the files without runs.
        cpu_s: CPU seconds to store and to join the tables.
    """

    runs_bytes: float
    own_bytes: float
    cpu_s: float


def estimated(
    runs: RunList,
    chunks: Iterable[int],
    run: Callable[[ChunkWork], ChunkTables],
    workers: int | None = None,
) -> RunEstimate:
    """Estimate what chunks will take, from runs of them made by `run` on this thread."""
    workers = workers or os.cpu_count() or 1
    numbers = [number for index in chunks for number in runs.chunks[index]]
    points = {runs.point(number) for number in numbers}
    kept = [runs.keeps_series(number) for number in numbers]
    cpu_s, size, own, rows, shared = 0.0, 0.0, 0.0, [], 1.0
    for with_series in (True, False):
        stratum = [number for number, keeps in zip(numbers, kept, strict=True) if keeps == with_series]
        if not stratum:
            continue
        sample = _sampled(runs, stratum, run)
        stored = sample.stored(len({runs.point(number) for number in stratum}))
        cpu_s += sample.all_cpu_s() + stored.cpu_s
        size += stored.runs_bytes
        own = max(own, stored.own_bytes)
        shared = max(shared, math.fsum(sample.wall_s) / math.fsum(sample.cpu_s))
        rows += [row for tables in sample.tables for row in tables.tables["runs"].iter_rows(named=True)]
    finish_s = len(points) * _metrics_s(runs, rows) + START_S
    cpus = os.cpu_count() or 1
    busy = min(workers, cpus)
    wall_s = cpu_s / busy / EFFICIENCY * _slowdown(shared, busy, cpus) + finish_s * shared
    return RunEstimate(len(numbers), cpu_s + finish_s, size + own, wall_s, workers)


def _slowdown(alone: float, threads: int, cpus: int) -> float:
    """The factor by which other processes of this machine slow `threads` threads, from that of one
    thread.

    One thread beside n others on c CPUs has a share of c / (n + 1).
    """
    if alone < BUSY:
        return alone
    return max(alone, (alone * cpus - 1.0 + threads) / cpus)


def _sampled(runs: RunList, numbers: Sequence[int], run: Callable[[ChunkWork], ChunkTables]) -> _Sample:
    """Make blocks of a stratum until their mean cost is known well enough."""
    of_point = {point: runs.point_cpu_s(point) for point in {runs.point(number) for number in numbers}}
    costs = [of_point[runs.point(number)] for number in numbers]
    sample = _Sample(len(numbers), math.fsum(costs))
    n = len(numbers)
    of_seeds = min(len(runs.seeds), round(n * MAX_SHARE / MIN_BLOCKS))
    block = max(min(max(round(BLOCK_S * n / sample.total), of_seeds), MAX_BLOCK, n // MIN_BLOCKS), 1)
    for place in _places(costs, block):
        mine = range(place, min(place + block, len(numbers)))
        began, began_at = time.process_time(), time.monotonic()
        sample.tables.append(run(runs.work_of([numbers[one] for one in mine])))
        sample.cpu_s.append(time.process_time() - began)
        sample.wall_s.append(time.monotonic() - began_at)
        sample.static.append(math.fsum(costs[one] for one in mine))
        sample.sizes.append(len(mine))
        if sample.is_enough():
            break
    return sample


def _places(costs: Sequence[float], block: int) -> Iterator[int]:
    """The first runs of blocks, drawn with a probability in proportion to the costs, each once.

    Multiples of the golden ratio spread evenly, and agree with no period of a sweep.
    """
    blocks = [math.fsum(costs[first : first + block]) for first in range(0, len(costs), block)]
    sums = list(accumulate(blocks))
    drawn: set[int] = set()
    for number in range(100 * MAX_BLOCKS):
        place = min(bisect(sums, (0.5 + number * GOLDEN) % 1.0 * sums[-1]), len(blocks) - 1)
        if place not in drawn:
            drawn.add(place)
            yield place * block
    yield from (place * block for place in range(len(blocks)) if place not in drawn)


def _first_runs(chunk: ChunkTables, count: int) -> ChunkTables:
    """The tables of the first runs of a block."""
    import polars as pl

    first = chunk.tables["runs"]["run"][0]
    kept = {name: table.filter(pl.col("run") < first + count) for name, table in chunk.tables.items()}
    return ChunkTables(kept, chunk.digest)


def _bytes(chunks: Sequence[ChunkTables]) -> int:
    """The bytes of the joined tables of blocks."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            frame = pl.concat([chunk.tables[name] for chunk in chunks], how="diagonal_relaxed")
            atomic_files.write_parquet(Path(folder) / name, frame)
        return sum(path.stat().st_size for path in Path(folder).iterdir())


def _metrics_s(runs: RunList, rows: Sequence[dict[str, Any]]) -> float:
    """CPU seconds for the metrics of a point, and their text in the document."""
    keys = {"run", "seed", *runs.param_types}
    metrics = [{name: value for name, value in row.items() if name not in keys and value is not None} for row in rows]
    of_point = list(islice(cycle(metrics), len(runs.seeds)))
    metrics_of(of_point)
    began = time.process_time()
    json.dumps(metrics_of(of_point), indent=2)
    return time.process_time() - began


class TimeLeft:
    """The time that the rest of a list of runs will take, from an estimate and the chunks done.

    The estimate counts as much as the chunks that are in progress at a time.
    """

    def __init__(self, costs: Sequence[float], estimate_s: float, in_progress: int) -> None:
        self._left = math.fsum(costs)
        self._prior_cost = min(self._left, in_progress * self._left / max(len(costs), 1))
        self._prior_s = estimate_s * self._prior_cost / self._left if self._left else 0.0
        self._flight = 0.5 * self._prior_cost
        self._done = 0.0
        self._began = time.monotonic()

    def done(self, cost: float) -> float:
        """A chunk of this static cost is done; returns the seconds left."""
        self._done += cost
        self._left -= cost
        flight = min(self._flight, max(self._left, 0.0) / 2.0)
        elapsed = time.monotonic() - self._began
        rate = (self._prior_s + elapsed) / (self._prior_cost + self._done + flight)
        return max(self._left - flight, 0.0) * rate


def duration_text(seconds: float) -> str:
    """A duration for people: `50 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size_text(size: float) -> str:
    """A size for people: `120 kB`, `12 MB`."""
    unit = next((unit for unit in ("kB", "MB") if size < 999.5 * {"kB": 1e3, "MB": 1e6}[unit]), "GB")
    return f"{three(size / {'kB': 1e3, 'MB': 1e6, 'GB': 1e9}[unit])} {unit}"
