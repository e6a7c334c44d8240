"""Chunks of runs in parallel, on the threads of this process or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ackclock import congestion_control
from ackclock.errors import RunFailed
from ackclock.notebook import notebook_progress
from ackclock.simulation import engine, worker_process
from ackclock.simulation.dataset import ChunkTables, Dataset
from ackclock.simulation.run_list import ChunkWork, RunList
from ackclock.simulation.runner import dask_client

if TYPE_CHECKING:
    from ackclock.notebook import Progress


def run_missing(
    data: Dataset,
    *,
    chunks: Sequence[int] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    dask: str | None = None,
) -> None:
    """Run the chunks of a dataset that have no results, or those of `chunks` among them.

    Each chunk is stored when it ends. An interrupted call loses only the chunks in progress: one
    for each worker, and one more.

    Raises:
        RunFailed: a run failed.
        KeyboardInterrupt: Ctrl-C; finished chunks are stored.
    """
    runs = data.runs
    data.open()
    wanted = set(range(len(runs.chunks)) if chunks is None else chunks)
    missing = [index for index in data.missing() if index in wanted]
    total = sum(len(runs.chunks[index]) for index in wanted)
    done = total - sum(len(runs.chunks[index]) for index in missing)
    progress = progress or notebook_progress()
    if progress:
        progress(done, total, "from an earlier run" if done else "")
    if not missing:
        return
    with _executor(runs, workers, dask) as submit:
        futures = {submit(index): index for index in missing}
        for future in as_completed(futures):
            index = futures.pop(future)
            data.put(index, _taken(future, runs, index))
            done += len(runs.chunks[index])
            if progress:
                progress(done, total, runs.spec(runs.chunks[index][-1]).label())


Submit = Callable[[int], Future[ChunkTables]]
"""Submits a chunk by its index."""


def _taken(future: Future[ChunkTables], runs: RunList, index: int) -> ChunkTables:
    try:
        return future.result()
    except RunFailed as error:
        number = runs.chunks[index].start + (error.run or 0)
        raise error.within(runs.spec(number).label()) from error


def execute(work: ChunkWork, batches: engine.Batches | None = None) -> ChunkTables:
    """Run a chunk, on one thread without `batches`. Raises RunFailed, whose `run` is the index in
    the chunk.
    """
    plans = [part.plan for part in work.points]
    runs = [(point, *run) for point, part in enumerate(work.points) for run in part.runs]
    names = {name for plan in plans for name in congestion_control.names_in(plan.document)}
    # Threads share the interpreter's lock: congestion controls in Python get a process.
    if batches and names and all(map(congestion_control.is_importable, names)):
        return worker_process.call(execute, work)
    output = (batches or engine.Batches(1)).run(plans, runs, work.first)
    return ChunkTables.of(work, output)


@contextmanager
def _executor(runs: RunList, workers: int | None, dask: str | None) -> Iterator[Submit]:
    if dask:
        with dask_client(dask) as client:
            executor = client.get_executor()
            yield lambda index: executor.submit(execute, runs.work(index))
        return
    workers = workers or os.cpu_count() or 1
    batches = engine.Batches(workers)
    # One thread more than workers: the engine has work while a chunk's tables are made and stored.
    threads = ThreadPoolExecutor(workers + 1)
    try:
        # Plans are built when their chunk starts: all of them at once would fill the memory.
        yield lambda index: threads.submit(lambda: execute(runs.work(index), batches))
    except BaseException:
        batches.stop()
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()
