"""The limit of this process's address space (`ulimit -v`), below which Polars ends the process.

Polars aborts when an allocation fails, which no exception reports. A command whose tables are its
result refuses a limit that is too low before it begins; in every other command the import of Polars
does, so that what needs no table works with little memory.

The needs are peaks (VmPeak) of small runs on two cores with 1, 2 and 4 threads and a margin: tables
980, 1196 and 1390 MiB (`report`), runs on all cores 1056, 1331 and 1413 (`sweep`), with statistics
1298, 1648 and 1657 (`advise`, `compare`). Peaks vary: of 7 reports 2 failed with 1216 MiB, of 12
with 1280 MiB and more none. Most of it is reserved by threads, and never touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib.abc import MetaPathFinder

from ackclock.errors import RunFailed

try:
    import resource
except ImportError:  # not a POSIX system: no such limit
    resource = None  # type: ignore[assignment]

MIB_PER_THREAD = 128
"""Stack and heap that a thread reserves."""


class Need(Enum):
    """What a command loads, in MiB of address space beside its threads."""

    TABLES = 1088
    RUNS = 1280
    STATISTICS = 1536

    @property
    def mib(self) -> int:
        """The address space on this machine in MiB."""
        return int(self.value) + MIB_PER_THREAD * _threads()


def _threads() -> int:
    """The threads of Polars, one for each core unless its variable says otherwise."""
    given = os.environ.get("POLARS_MAX_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_address_space(need: Need) -> None:
    """Raise RunFailed if the limit is less than a command needs."""
    if not has_room(need):
        raise out_of_memory(need)


@contextmanager
def polars_guarded() -> Iterator[None]:
    """Let the imports of Polars and NumPy raise RunFailed where the limit is less than Polars
    needs.
    """
    guard = _Guard()
    if limit_bytes() is not None:
        sys.meta_path.insert(0, guard)
    try:
        yield
    finally:
        if guard in sys.meta_path:
            sys.meta_path.remove(guard)


class _Guard(MetaPathFinder):
    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: object = None) -> None:
        """No module is found here."""
        if fullname in ("polars", "numpy"):
            check_address_space(Need.TABLES)


def limit_bytes() -> int | None:
    """The limit of the address space; None without one."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def has_room(need: Need) -> bool:
    """Whether the limit of the address space allows what a command needs."""
    limit = limit_bytes()
    return limit is None or limit >= need.mib << 20


def has_low_memory(error: BaseException) -> bool:
    """Whether too little memory caused an exception. Below the limit, modules load in part and
    native code panics.
    """
    if isinstance(error, MemoryError):
        return True
    limit = limit_bytes()
    is_consequence = isinstance(error, ImportError | NameError | OSError) or is_panic(error)
    return is_consequence and limit is not None and limit < Need.STATISTICS.mib << 20


def is_panic(error: BaseException) -> bool:
    """Whether native code panicked. The exception of pyo3 has no base but BaseException."""
    return type(error).__name__ == "PanicException"


def out_of_memory(need: Need = Need.TABLES) -> RunFailed:
    """The error of too little memory, with the limit if there is one."""
    limit = limit_bytes()
    if limit is None:
        return RunFailed.problem("the memory is used up", "free some, or give fewer --workers", code="memory")
    mib = max(need.mib, (limit >> 20) + MIB_PER_THREAD)
    return RunFailed.problem(
        f"`ulimit -v` allows {limit >> 20} MiB of address space, too little for the tables of a run",
        f"allow {mib} MiB or more, such as with `ulimit -v {mib << 10}`",
        code="memory",
    )
