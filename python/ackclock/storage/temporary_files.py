"""Temporary files and folders, `.NAME.OWNER.tmp`, and the removal of those whose process has ended.

OWNER is `PID-START-NAMESPACE-BOOT`: a process ID alone may have been given to another process, and
means nothing in another PID namespace or after a reboot.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path

_NAME = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)(?:-(?P<start>\d+)-(?P<space>\d+)-(?P<boot>[0-9a-f]+))?\.tmp")


def beside(path: Path) -> Path:
    """This process's temporary path for a later rename to `path`."""
    return path.with_name(f".{path.name}.{_owner(os.getpid())}.tmp")


def is_leftover_name(name: str) -> bool:
    """Whether a name is of this form, of any process."""
    return _NAME.fullmatch(name) is not None


def sweep(folder: Path, *, alone: bool) -> None:
    """Remove the temporary files of ended processes from a folder.

    `alone`: this process holds the folder's lock. Then files of processes that are not visible here
    are removed too: of another PID namespace, or from before a reboot.
    """
    for path in _entries(folder):
        if _is_abandoned(path.name, alone=alone):
            remove(path)


def sweep_own(folder: Path) -> None:
    """Remove this process's temporary files from a folder."""
    for path in _entries(folder):
        if is_leftover_name(path.name) and path.name.endswith(f".{_owner(os.getpid())}.tmp"):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder with its contents; errors are ignored."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink()
    except OSError:
        return


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_abandoned(name: str, *, alone: bool) -> bool:
    found = _NAME.fullmatch(name)
    if found is None:
        return False
    pid = int(found["pid"])
    if found["boot"] is not None and (found["space"], found["boot"]) != (str(_pid_namespace()), _boot()):
        return alone
    start = _start_of(pid)
    # Earlier versions named the PID alone. A start of 0 is not known.
    return start is None or (start > 0 and found["start"] not in (None, "0", str(start)))


@cache
def _owner(pid: int) -> str:
    """Owner string of this process; `pid` is its ID, which differs after a fork."""
    return f"{pid}-{_start_of(pid) or 0}-{_pid_namespace()}-{_boot()}"


def _start_of(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; 0 where it is not readable, None without
    such a process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0 if _exists(pid) else None
    return int(stat.rpartition(b")")[2].split()[19])


def _exists(pid: int) -> bool:
    if os.name != "posix":  # elsewhere a signal of 0 is no question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@cache
def _pid_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8]
    except OSError:
        return "0"
