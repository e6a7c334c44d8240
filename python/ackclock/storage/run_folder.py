"""Run folders: the identity and state of the experiment in a folder, and a lock for one writer at a
time.

Every command that writes a run folder enters a `RunFolder`. Results are never overwritten: a folder
with another experiment is refused before anything is done or written, or is renamed with ``force``.
environment.json has the identity as ``run = {kind, digest, state}``, whatever the other files are.
In the state finished it also has the digest of each document and table.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from ackclock.errors import InputError, RunFailed
from ackclock.storage import atomic_files, remote_folder, temporary_files
from ackclock.storage.environment import engine_digest, environment
from ackclock.storage.run_kind import kind_among
from ackclock.storage.stored_files import read_json

try:
    import fcntl
except ImportError:  # not a POSIX system: no locks
    fcntl = None  # type: ignore[assignment]

RUNS = Path("runs")
"""Where runs go without `--out`."""
ENVIRONMENT = "environment.json"
BEGUN, FINISHED = "begun", "finished"
INPUTS = (ENVIRONMENT, "scenario.toml", "traces")
"""Files of a run folder without finished results."""
PARTS = {"cells": "sweep or compare", "live": "reproduce --live", **dict.fromkeys(INPUTS, "a run")}
"""Files and subfolders of an unfinished run of an earlier version, which wrote no identity."""
DATASET = ("chunks", "runs", "flows", "series", "hops", "summaries")
MAX_HARM = 16
"""Datasets of runs beside other flows in a comparison (`simulation.harm`): more are not crowded."""
DIGESTED = (".json", ".toml", ".parquet")
"""The files of a finished folder that commands read."""
TEMPORARY_PARTS = ("cells", "chunks")
"""Subfolders whose files are removed after the folder is finished."""
CROWDED = (
    *("", "cells", "traces", "live", "xplot", *DATASET),
    *(
        "/".join(("prices", *path))
        for name in ("loads", *(f"harm-{number}" for number in range(1, MAX_HARM + 1)))
        for path in ((), (name,), *((name, part) for part in DATASET))
    ),
    *("analysis", "analysis/xplot", "simulated", "simulated/cells", "simulated/traces"),
)
"""Subfolders of a run folder that may hold temporary files."""
PATIENCE_S = 2.0
"""Timeout in seconds for a lock: a sweep of runs/ holds one for milliseconds."""
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file would be larger than this process may write",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk reports an I/O error",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
AGAIN = "run the same command again"
REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise `ulimit -f`",
}


@dataclass(frozen=True)
class Identity:
    """The identity of an experiment: the command, and 16 hex digits of a hash over its resolved
    input.

    ``once``: the experiment is not repeatable (real traffic), so results of the same command are
    not replaced. ``any_engine``: results do not depend on the engine's version.
    """

    kind: str
    digest: str
    once: bool = False
    any_engine: bool = False

    @classmethod
    def of(cls, kind: str, resolved: Any, *, once: bool = False, any_engine: bool = False) -> Self:
        """`resolved` is the resolved input as plain JSON values."""
        return cls(kind, sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:16], once, any_engine)

    def default_folder(self) -> Path:
        """`runs/<hash>`: where the run goes without ``--out``.

        Another engine's results are in another folder.
        """
        engine = "" if self.any_engine else engine_digest()
        return RUNS / sha256(f"{self.kind} {self.digest} {engine}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Contents:
    """The existing contents of a folder.

    ``kind`` is "" for an empty folder, None for files of another origin.
    """

    kind: str | None = ""
    digest: str = ""
    engine: str = ""
    finished: bool = False
    identified: bool = False


class WriteFailed(RunFailed):
    """A run folder could not be written, such as on a full disk. Finished results are kept."""

    def _usual_code(self, found: str) -> str:
        return "disk"


class RunFolder:
    """A run folder as a context manager: entered while a command writes to it.

    ``finished`` is true where the folder holds the whole experiment; else the caller runs the
    missing part and calls `finish`. On exit this process's temporary files are removed, and so is a
    folder without finished results.

    Raises:
        InputError: the folder has other contents, or another process is writing to it; nothing is
            changed.
        WriteFailed: the disk is full, or does not take writes.
    """

    last_kept: ClassVar[RunFolder | None] = None
    """The run folder that last kept results, for the message after Ctrl-C."""

    def __init__(self, path: str | Path, identity: Identity, *, seeds: Iterable[int] = (), force: bool = False) -> None:
        self.path = Path(path)
        self.identity = identity
        self.finished = False
        self._seeds = list(seeds)
        self._force = force
        self._remote = remote_folder.of(self.path)
        self._pulled = False
        self._lock: int | None = None
        self._made: list[Path] = []
        """The newly created folders, innermost first."""

    def check(self) -> None:
        """Raise the InputError that entering would raise; change nothing."""
        self._check_remote()
        try:
            str(self.path).encode()  # no file of a table can be written below another name
            self.path.resolve()
            contents = _contents(self.path)
        except UnicodeEncodeError:
            raise _refused(Path(ascii(str(self.path))), "is no UTF-8") from None
        except (OSError, RuntimeError) as error:  # a name that is too long, links that lead in a circle
            raise _refused(self.path, f"cannot be used ({getattr(error, 'strerror', None) or error})") from None
        self._refusal(contents)

    def _check_remote(self) -> None:
        if remote_folder.is_url(self.path):
            raise _refused(
                self.path,
                f"is not on this machine, and {self.identity.kind} writes to a folder",
                "sweep and compare write to such paths; name a folder",
            )
        if self._remote is None or self._pulled:
            return
        if self._force:
            raise InputError.problem(
                f"--force cannot move {self._remote.shown} aside: such file systems do not rename folders",
                "name another folder, or remove that one",
                option="--force",
            )
        self._remote.pull_state()
        self._pulled = True

    def __enter__(self) -> Self:
        self.check()
        with self._entering():
            if self.path.parent == RUNS:
                sweep_runs(besides=self.path)
            self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            RunFolder.last_kept = self
            if error is None:
                return
            for name in CROWDED:
                temporary_files.sweep_own(self.path / name)
            empty = self._removed_if_empty()
            if empty:
                RunFolder.last_kept = None
            then = AGAIN if empty or not self.identity.once else "run it again into another folder"
            if not isinstance(error, WriteFailed) and (
                failed := write_failed(error, self.path, empty=empty, then=then)
            ):
                raise failed from error
        finally:
            self._unlock()

    def finish(self) -> None:
        """Mark the experiment as finished in environment.json."""
        self._write(FINISHED)
        self.finished = True

    def reopen(self) -> None:
        """Mark a finished run as unfinished while results are added; `finish` ends that."""
        self._write(BEGUN)
        self.finished = False

    def _open(self) -> None:
        """Lock the folder and read its contents; create it, or move the old one aside."""
        while True:
            place = self.path.resolve()
            self._made = [parent for parent in (place, *place.parents) if not parent.exists()]
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                    raise
                raise _refused(self.path, f"cannot be made ({error.strerror})") from None
            if not self._locked():
                continue
            contents = _contents(self.path)
            aside = self._refusal(contents)
            for name in CROWDED:
                temporary_files.sweep(self.path / name, alone=self._lock is not None)
            if not aside:
                break
            _set_aside(self.path)
            self._unlock()
        self.finished = bool(contents.kind) and contents.finished
        if self.finished and self._remote:
            self._remote.pull_results()
        if not contents.kind:
            try:
                self._write(BEGUN)
                for name in INPUTS[1:] if contents.identified else ():  # another experiment's
                    temporary_files.remove(self.path / name)
            except BaseException:
                self._removed_if_empty()
                raise

    def _removed_if_empty(self) -> bool:
        """Remove a folder without results, or only its contents if the folder existed before;
        return whether it had none.
        """
        if not _holds_nothing(self.path):
            return False
        _clear(self.path)
        with contextlib.suppress(OSError):  # not where another process has begun something
            for folder in self._made:
                folder.rmdir()
        return True

    def _refusal(self, contents: _Contents) -> bool:
        """Whether the existing folder is to be moved aside.

        Raises InputError where that is not allowed.
        """
        if contents.kind == "":
            return False
        if contents.kind is None:
            raise _refused(
                self.path, "is a folder with other files", "name a new or empty folder, or that of an earlier run"
            )
        reason = self._differs(contents)
        if reason and not self._force:
            aside = free_name(self.path.resolve()).name
            hint = f"name another folder, or move this one to {aside} with --force (in Python: force=True)"
            if self._remote:
                hint = "name another folder"
            raise _refused(self.path, f"holds {reason}", hint)
        return bool(reason)

    def _differs(self, contents: _Contents) -> str:
        """A description of the other experiment in the folder; empty if it is this one."""
        what = f"the results of {contents.kind}" if contents.finished else f"an unfinished {contents.kind}"
        if not contents.identified:
            return f"the results of {contents.kind} by an earlier version"
        if contents.kind != self.identity.kind:
            return what
        if contents.digest != self.identity.digest:
            return f"{what} with another input"
        if self.identity.once and (contents.finished or not _holds_nothing(self.path)):
            return f"{what}, never the same twice"
        if not self.identity.any_engine and contents.engine != engine_digest():
            return f"{what} by another version of the engine"
        return ""

    def _write(self, state: str) -> None:
        run = {"kind": self.identity.kind, "digest": self.identity.digest, "state": state}
        if state == FINISHED and self._remote:
            self._remote.push_results()  # the state is uploaded last
        files = {"files": file_digests(self.path)} if state == FINISHED else {}
        atomic_files.write_json(self.path / ENVIRONMENT, {**environment(self._seeds), "run": run, **files})
        if self._remote:
            self._remote.push(ENVIRONMENT)

    def _locked(self) -> bool:
        """Take the folder's lock, which ends with the process. False where the folder has been
        moved or removed meanwhile.

        The lock is on the folder itself, so it leaves no file. Where a file system has no such
        locks, none is taken.
        """
        until = time.monotonic() + PATIENCE_S
        try:
            descriptor = os.open(self.path, _FOLDER)
        except FileNotFoundError:
            return False
        except PermissionError:  # on Windows a folder is not opened
            return True
        while (taken := _flock(descriptor)) is False:
            if time.monotonic() > until:
                os.close(descriptor)
                raise _refused(
                    self.path,
                    "is being written to by another process",
                    "wait until it has ended, or name another folder",
                )
            time.sleep(0.05)
        if taken is None:
            os.close(descriptor)
            return True
        self._lock = descriptor
        try:
            same = os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            same = False
        if not same:
            self._unlock()
        return same

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextlib.contextmanager
    def _entering(self) -> Any:
        try:
            yield
        except BaseException as error:
            self._unlock()
            if isinstance(error, OSError) and (
                failed := write_failed(error, self.path, empty=_holds_nothing(self.path))
            ):
                raise failed from error
            raise


def file_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 (16 hex digits) of each document and table of a run folder, by path."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.suffix in DIGESTED)
    return {
        path.as_posix(): _file_digest(folder / path)
        for path in paths
        if path.name != ENVIRONMENT
        and not any(part in TEMPORARY_PARTS or temporary_files.is_leftover_name(part) for part in path.parts)
        and (folder / path).is_file()
    }


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:16]


def write_failed(error: BaseException, folder: Path, *, empty: bool = False, then: str = AGAIN) -> WriteFailed | None:
    """The error of a write below a run folder, with its remedy; None for any other error.

    `empty`: no result is finished. `then`: the next step once the disk has space.
    """
    number = atomic_files.errno_of(error)
    if number not in FULL:
        return None
    named = Path(str(error.filename)) if isinstance(error, OSError) and error.filename else None
    if number in (errno.EACCES, errno.EPERM) and (named is None or folder not in (named, *named.parents)):
        return None  # such as an input that may not be read, or a socket
    kept = "nothing was finished" if empty else f"what was finished is kept in {remote_folder.shown(folder)}"
    return WriteFailed(f"{FULL[number]}; {kept}", f"{REMEDIES.get(number, 'mend that')} and {then}")


def _refused(path: Path, statement: str, hint: str = "name another folder") -> InputError:
    return InputError.problem(
        f"--out {remote_folder.shown(path)} {statement}", hint, option="--out", code="folder-taken"
    )


def identity_in(path: Path) -> Identity | None:
    """The identity of the experiment in a run folder by this engine; None without one."""
    found = _identified(path)
    return Identity(found.kind, found.digest) if found and found.kind and found.engine == engine_digest() else None


def _identified(path: Path) -> _Contents | None:
    """The contents of a folder by its environment.json; None without an identity in it."""
    try:
        environment = read_json(path / ENVIRONMENT)
        run = environment["run"]
        finished = run["state"] == FINISHED
        return _Contents(run["kind"], run["digest"], environment["engine"], finished, identified=True)
    except (InputError, KeyError, TypeError):
        return None


def opened(
    path: str | Path | None, identity: Identity, *, seeds: Iterable[int] = (), force: bool = False
) -> AbstractContextManager[RunFolder | None]:
    """A run folder as a context manager; an empty context without a folder."""
    return contextlib.nullcontext() if path is None else RunFolder(path, identity, seeds=seeds, force=force)


def sweep_runs(besides: Path | None = None) -> None:
    """Remove the temporary files of ended processes from the folders in runs/, and their folders
    without finished results.

    No later run names the folder of a killed emulation or measurement.
    """
    try:
        folders = [path for path in RUNS.iterdir() if path != besides and path.is_dir() and not path.is_symlink()]
    except OSError:
        return
    for folder in folders:
        with contextlib.suppress(OSError, InputError):
            _sweep_run(folder)


def _sweep_run(folder: Path) -> None:
    contents = _contents(folder)
    if contents.kind is None:
        return
    crowded = CROWDED[:1] if contents.finished else CROWDED
    names = [
        name
        for name in crowded
        if any(temporary_files.is_leftover_name(entry.name) for entry in _listed(folder / name))
    ]
    # Empty folders, and inputs without a run's identity, are of unknown origin and stay.
    bare = contents.kind == "" and (contents.identified or bool(names))
    if not names and not bare:
        return
    descriptor = os.open(folder, _FOLDER)
    try:
        taken = _flock(descriptor)
        if taken is False:
            return
        for name in names:
            temporary_files.sweep(folder / name, alone=bool(taken))
        if taken and bare and _contents(folder).kind == "":
            _clear(folder)
            folder.rmdir()
    finally:
        os.close(descriptor)


def _flock(descriptor: int) -> bool | None:
    """Whether this process holds the lock now; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not on this file system
        return None
    return True


def _contents(path: Path) -> _Contents:
    """Read the contents of a folder. Raises InputError where the path is not a folder."""
    if path.exists() and not path.is_dir():
        raise _refused(path, "is a file")
    names = {entry.name for entry in _listed(path) if not temporary_files.is_leftover_name(entry.name)}
    if not names:
        return _Contents()
    if found := _identified(path):
        left = not found.finished and _holds_nothing(path)  # by a killed process; the lock excludes a running one
        return _Contents(identified=True) if left else found
    if kind := kind_among(names):
        return _Contents(kind.command)
    return _Contents(next((run for name, run in PARTS.items() if name in names), None))


def _listed(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise _refused(path, "may not be read") from None


def _holds_nothing(path: Path) -> bool:
    """Whether the folder has no results: only inputs, empty folders and temporary files."""
    for entry in _listed(path):
        if entry.name in INPUTS or temporary_files.is_leftover_name(entry.name):
            continue
        if not entry.is_dir() or entry.is_symlink() or not _holds_nothing(entry):
            return False
    return True


def _clear(path: Path) -> None:
    """Remove a folder's contents, its identity last: a process killed meanwhile leaves a folder
    that is still identified.
    """
    for entry in sorted(_listed(path), key=lambda entry: entry.name == ENVIRONMENT):
        temporary_files.remove(entry)


def free_name(path: Path) -> Path:
    """NAME.1, or the first such name that is free: where ``force`` moves a run folder."""
    number = 1
    while os.path.lexists(there := path.with_name(f"{path.name}.{number}")):
        number += 1
    return there


def _set_aside(path: Path) -> None:
    """Move a run folder to NAME.1, or the first such name that is free.

    A link stays where it is; the folder it names moves.
    """
    real = path.resolve()
    while True:
        try:
            real.rename(free_name(real))
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                continue  # taken in this very moment
            raise _refused(path, f"cannot be moved aside ({error.strerror})") from None
        return
