"""The limit of this process's address space (`ulimit -v`), below which Polars ends the process.

Polars aborts when an allocation fails, which no exception reports: a command with tables refuses a
limit that is too low before it begins.
"""

from __future__ import annotations

from ackclock.errors import RunFailed

try:
    import resource
except ImportError:  # not a POSIX system: no such limit
    resource = None  # type: ignore[assignment]

NEEDED_BYTES = 1126 << 20
"""Peak address space (VmPeak) of a simulation of 2 s on two cores, of which Polars reserves most:
1081 MiB."""


def check_address_space() -> None:
    """Raise RunFailed if the limit is less than a command with tables needs."""
    if (limit := limit_bytes()) is not None and limit < NEEDED_BYTES:
        raise out_of_memory()


def limit_bytes() -> int | None:
    """The limit of the address space; None without one."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def has_low_memory(error: BaseException) -> bool:
    """Whether too little memory caused an exception. Below the limit, modules load in part and
    native code panics.
    """
    if isinstance(error, MemoryError):
        return True
    limit = limit_bytes()
    is_consequence = isinstance(error, ImportError | NameError | OSError) or type(error).__name__ == "PanicException"
    return is_consequence and limit is not None and limit < NEEDED_BYTES


def out_of_memory() -> RunFailed:
    """The error of too little memory, with the limit if there is one."""
    limit = limit_bytes()
    if limit is None:
        return RunFailed.problem("the memory is used up", "free some, or give fewer --workers", code="memory")
    return RunFailed.problem(
        f"`ulimit -v` allows {limit >> 20} MiB of address space, too little for the tables of a run",
        f"allow {NEEDED_BYTES >> 20} MiB or more, such as with `ulimit -v {NEEDED_BYTES >> 10}`",
        code="memory",
    )
