"""Chunks of runs in parallel, on the threads of this process or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from ackclock import congestion_control
from ackclock.errors import RunFailed
from ackclock.notebook import notebook_progress
from ackclock.simulation import engine, worker_process
from ackclock.simulation.dask_cluster import on_cluster
from ackclock.simulation.dataset import ChunkTables, Dataset
from ackclock.simulation.run_estimate import LONG_S, RunEstimate, TimeLeft, duration_text, estimated
from ackclock.simulation.run_list import ChunkWork, RunList

if TYPE_CHECKING:
    from ackclock.notebook import Progress

Result = Callable[[], ChunkTables]
"""Returns the result of a chunk that has ended, or raises RunFailed."""


def run_missing(
    data: Dataset,
    *,
    chunks: Sequence[int] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    dask: str | None = None,
    before: int = 0,
    later: int = 0,
) -> None:
    """Run the chunks of a dataset that have no results, or those of `chunks` among them.

    The progress and the estimate also count runs of other datasets of the same work: `before` are
    done, and `later` are still to come, each like a run of this dataset.

    Each chunk is stored when it ends. An interrupted call loses only the chunks in progress: one
    for each worker, and two more. Before long work some runs are made to estimate its time.

    Raises:
        RunFailed: a run failed.
        KeyboardInterrupt: Ctrl-C; finished chunks are stored.
    """
    runs = data.runs
    data.open()
    wanted = set(range(len(runs.chunks)) if chunks is None else chunks)
    missing = [index for index in data.missing() if index in wanted]
    total = before + sum(len(runs.chunks[index]) for index in wanted) + later
    done = total - later - sum(len(runs.chunks[index]) for index in missing)
    progress = progress or notebook_progress()
    if progress:
        progress(done, total, "from an earlier run" if done > before else "")
    if not missing:
        return
    costs = {index: runs.chunk_cpu_s(index) for index in missing}
    left = None
    if progress and sum(costs.values()) > LONG_S:
        made = sum(len(runs.chunks[index]) for index in missing)
        expected = estimate(runs, missing, workers).with_runs(later)
        of_later = later * sum(costs.values()) / made
        left = TimeLeft([*costs.values(), of_later], expected.wall_s, expected.workers + 2)
        progress(done, total, expected.work if dask else f"{expected.work}, {expected.time}")
    results = on_cluster(execute, runs, missing, dask) if dask else _on_threads(runs, missing, workers)
    with closing(results):
        for index, result in results:
            data.put(index, _taken(result, runs, index))
            done += len(runs.chunks[index])
            if progress:
                label = runs.spec(runs.chunks[index][-1]).label()
                progress(done, total, f"{label}; {duration_text(left.done(costs[index]))} left" if left else label)


def estimate(runs: RunList, chunks: Sequence[int] | None = None, workers: int | None = None) -> RunEstimate:
    """What chunks of a list of runs will take, all of them without `chunks`. Makes some of the
    runs on one thread.

    Raises:
        RunFailed: a run failed.
    """
    batches = engine.Batches(1)
    return estimated(
        runs, range(len(runs.chunks)) if chunks is None else chunks, lambda work: execute(work, batches), workers
    )


def _taken(result: Result, runs: RunList, index: int) -> ChunkTables:
    try:
        return result()
    except RunFailed as error:
        number = runs.chunks[index].start + (error.run or 0)
        raise error.within(runs.spec(number).label()) from error


def execute(work: ChunkWork, batches: engine.Batches | None = None) -> ChunkTables:
    """Run a chunk, on one thread without `batches`. Raises RunFailed, whose `run` is the index in
    the chunk.
    """
    plans = [part.plan for part in work.points]
    runs = [(point, *run) for point, part in enumerate(work.points) for run in part.runs]
    names = {name for plan in plans for name in plan.user_classes}
    # Threads share the interpreter's lock: congestion controls in Python get a process.
    if batches and names and all(map(congestion_control.is_importable, names)):
        return worker_process.call(execute, work)
    output = (batches or engine.Batches(1)).run(plans, runs, work.first)
    return ChunkTables.of(work, output)


def _on_threads(
    runs: RunList, missing: Sequence[int], workers: int | None
) -> Generator[tuple[int, Result], None, None]:
    """Run chunks on threads of this process; yields each index with its result as it ends.

    One thread more than workers: the engine has work while a chunk's tables are made. One chunk
    more than threads: a thread has work while a chunk is stored. Results that are not stored yet
    are no more than that.
    """
    workers = workers or os.cpu_count() or 1
    batches = engine.Batches(workers)
    threads = ThreadPoolExecutor(workers + 1)
    todo = iter(missing)
    futures: dict[Future[ChunkTables], int] = {}

    def run(index: int) -> ChunkTables:
        # Plans are built when their chunk starts: all of them at once would fill the memory.
        return execute(runs.work(index), batches)

    def submit(count: int) -> None:
        for index in islice(todo, count):
            futures[threads.submit(run, index)] = index

    try:
        submit(workers + 2)
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                index = futures.pop(future)
                submit(1)
                yield index, future.result
    except BaseException:
        batches.stop()
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()
