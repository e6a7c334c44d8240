"""Chunks of runs on a Dask cluster.

The scheduler has at most two chunks for each thread of the workers. A chunk of a worker that ends
goes to another worker. When the scheduler ends, its chunks are submitted again to the scheduler
that answers at the same address within `PATIENCE_S`; chunks that this process has stored are not.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from ackclock.errors import InputError, RunFailed
from ackclock.simulation.dataset import ChunkTables
from ackclock.simulation.run_list import ChunkWork, RunList
from ackclock.storage.environment import engine_digest

PATIENCE_S = 60.0
"""Seconds for which a scheduler that has ended is waited for."""
POLL_S = 0.5
"""Seconds between two looks at the connection while no chunk ends."""
CONNECT_S = 10.0
"""Timeout in seconds for a scheduler to answer."""
AHEAD = 2
"""Chunks of each thread of the workers that the scheduler has."""

Execute = Callable[[ChunkWork], ChunkTables]
"""A function of a module, as workers import it."""


def dask_client(address: str) -> Any:
    """A client of the scheduler at `address`.

    Raises:
        InputError: the package distributed is absent, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError.problem(
            "--dask requires the package distributed", 'pip install "ackclock[dask]"', option="--dask"
        ) from None
    try:
        return Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        why = f"no Dask scheduler answers at {address} ({error})"
        raise InputError.problem(
            why, "give the address that `dask scheduler` prints, such as tcp://host:8786", option="--dask"
        ) from None


def on_cluster(
    execute: Execute, runs: RunList, missing: Sequence[int], address: str
) -> Generator[tuple[int, Callable[[], ChunkTables]], None, None]:
    """Run chunks on the cluster at `address`; yields each index with its result as it ends.

    Raises:
        InputError: no scheduler answers at the start.
        RunFailed: the scheduler ended, and none answered within `PATIENCE_S`.
    """
    todo = deque(missing)
    submitted: dict[Any, int] = {}
    name = uuid.uuid4().hex
    client = dask_client(address)
    # This module reports a scheduler that has ended.
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        while todo or submitted:
            try:
                _fill(client, submitted, todo, lambda index: (execute, runs.work(index)), name)
                ended = _ended(client, submitted)
            except _SchedulerLostError:
                todo.extendleft(sorted(submitted.values(), reverse=True))
                submitted.clear()
                _close(client)
                client, name = _next_scheduler(address), uuid.uuid4().hex
                continue
            for future in ended:
                yield submitted.pop(future), partial(_result, future)
    finally:
        submitted.clear()
        _close(client)
        log.setLevel(level)


class _SchedulerLostError(Exception):
    """The connection to the scheduler ended."""


def _fill(
    client: Any, submitted: dict[Any, int], todo: deque[int], call: Callable[[int], tuple[Any, ...]], name: str
) -> None:
    """Submit chunks until the scheduler has `AHEAD` for each thread."""
    try:
        limit = AHEAD * max(sum(client.nthreads().values()), 1)
        while todo and len(submitted) < limit:
            execute, work = call(todo[0])
            # A key of its own: other clients do not share the result.
            future = client.submit(
                _on_worker, execute, work, engine_digest(), key=f"ackclock-{name}-{todo[0]}", pure=False
            )
            submitted[future] = todo.popleft()
    except (OSError, TimeoutError, AttributeError) as error:
        # A client that is reconnecting has no connection object.
        if isinstance(error, AttributeError) and _connected(client):
            raise
        raise _SchedulerLostError from error


def _ended(client: Any, submitted: dict[Any, int]) -> list[Any]:
    """The chunks that have ended; empty if none ends for a while."""
    from distributed import CancelledError, wait

    try:
        done = wait(list(submitted), timeout=POLL_S, return_when="FIRST_COMPLETED").done
    except TimeoutError:
        done = set()
    except CancelledError as error:
        raise _SchedulerLostError from error
    if any(future.status in ("cancelled", "lost") for future in done) or not _connected(client):
        raise _SchedulerLostError
    return sorted(done, key=submitted.__getitem__)


def _connected(client: Any) -> bool:
    connection = client.scheduler_comm
    return client.status == "running" and connection is not None and not connection.comm.closed()


def _next_scheduler(address: str) -> Any:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return dask_client(address)
        except InputError:
            if time.monotonic() > until:
                raise RunFailed.problem(
                    f"the Dask scheduler at {address} has ended; finished chunks are kept",
                    "start it again and run the same command again",
                ) from None
            time.sleep(POLL_S)


def _close(client: Any) -> None:
    try:
        client.close(timeout=2)
    except (OSError, TimeoutError):  # the scheduler does not answer
        return


def _result(future: Any) -> ChunkTables:
    from distributed import KilledWorker

    try:
        tables: ChunkTables = future.result()
    except KilledWorker:
        raise RunFailed("several workers ended while they ran this chunk, such as for want of memory") from None
    return tables


def _on_worker(execute: Execute, work: ChunkWork, engine: str) -> ChunkTables:
    if engine_digest() != engine:
        raise RunFailed.problem("a Dask worker has another build of ackclock", "install the same build on all machines")
    return execute(work)
