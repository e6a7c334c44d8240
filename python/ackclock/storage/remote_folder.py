"""Run folders on file systems of fsspec, such as ``s3://bucket/study`` or ``memory://study``.

A command works on a copy of the run folder on this machine, and uploads what it finishes. Such file
systems have neither locks nor renames, so a file that is uploaded last says that the others are
there: a chunk counts with its ``chunk.json``, a dataset with ``environment.json`` in the state
"finished". Equal runs have equal bytes: two processes that write the same chunk do no harm.

`local` returns the copy of a URL, and the functions of this module take the copy. Credentials in a
URL are in no message and no file.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

from ackclock.errors import InputError, RunFailed

T = TypeVar("T")
URL = re.compile(r"(?!file:|local:)[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""How a path on another file system begins; `Path` makes one slash of two."""
STATE = "environment.json"
"""The file of a run folder that says what it is, and whether it is finished."""
SECRETS = re.compile(r"SECRET|TOKEN|PASSWORD|ACCESS_KEY|ACCOUNT_KEY")
"""Environment variables whose values are in no message."""


@dataclass
class RemoteFolder:
    """A run folder on another file system.

    Attributes:
        url: the URL as given; it may have credentials.
        copy: the copy on this machine, removed when this process ends.
    """

    url: str = field(repr=False)
    copy: tempfile.TemporaryDirectory[str]

    def __post_init__(self) -> None:
        self.local = Path(self.copy.name) / "run"
        self.shown = shown_url(self.url)
        try:
            import fsspec
        except ImportError:
            raise InputError.problem(
                f"--out {self.shown} requires the package fsspec",
                'pip install "ackclock[s3]" for s3://, else "ackclock[fsspec]" and the package of that file system',
                option="--out",
            ) from None
        self._files, self._root = self._asked(lambda: fsspec.core.url_to_fs(self.url))
        self._root = self._root.rstrip("/")

    def pull_state(self) -> None:
        """Copy what says what the folder holds: its identity and the list of its chunks.

        Raises:
            InputError: the file system does not answer, or holds other files there.
        """
        self._files.invalidate_cache()
        names = self._asked(lambda: self._names(""))
        if STATE not in names:
            if names:
                raise InputError.problem(
                    f"--out {self.shown} has other files",
                    "name a new folder, or that of an earlier run",
                    option="--out",
                )
            return
        self._asked(lambda: self._get([STATE]))
        self._asked(lambda: self._get(name for name in self._files_below("chunks") if name.endswith("/chunk.json")))

    def pull_results(self) -> None:
        """Copy a finished dataset."""
        names = self._asked(lambda: self._files_below(""))
        self._asked(lambda: self._get(name for name in names if not name.startswith("chunks/")))

    def pull_chunks(self) -> None:
        """Copy the tables of the chunks that are complete and not here."""
        self._files.invalidate_cache()
        names = set(self._asked(lambda: self._files_below("chunks")))
        complete = {str(PurePosixPath(name).parent) for name in names if name.endswith("/chunk.json")}
        self._asked(lambda: self._get(name for name in names if str(PurePosixPath(name).parent) in complete))

    def push(self, name: str, last: str = "") -> None:
        """Upload a file, or all files of a folder, `last` after the others.

        Raises RunFailed.
        """
        path = self.local / name
        names = [name] if path.is_file() else [f"{name}/{file.name}" for file in path.iterdir()]
        ahead = [file for file in names if not (last and file.endswith(f"/{last}"))]
        self._sent(ahead)
        self._sent([file for file in names if file not in ahead])

    def push_results(self) -> None:
        """Upload all files but the state and the chunks."""
        files = (path.relative_to(self.local) for path in self.local.rglob("*") if path.is_file())
        self._sent([path.as_posix() for path in files if path.parts[0] not in (STATE, "chunks")])

    def remove_chunks(self) -> None:
        """Remove the chunks of a finished dataset."""
        self._files.invalidate_cache()
        if self._written(lambda: self._files.exists(f"{self._root}/chunks")):
            self._written(lambda: self._files.rm(f"{self._root}/chunks", recursive=True))

    def _names(self, folder: str) -> set[str]:
        """The names in a folder of the other file system; none if it is absent."""
        place = f"{self._root}/{folder}".rstrip("/")
        try:
            entries = self._files.ls(place, detail=False)
        except FileNotFoundError:
            return set()
        return {PurePosixPath(str(entry).rstrip("/")).name for entry in entries if str(entry).rstrip("/") != place}

    def _files_below(self, folder: str) -> list[str]:
        """All files below a folder, relative to the run folder."""
        try:
            files = self._files.find(f"{self._root}/{folder}".rstrip("/"))
        except FileNotFoundError:
            return []
        start = len(self._root.lstrip("/")) + 1
        return sorted(str(file).lstrip("/")[start:] for file in files)

    def _get(self, names: Iterable[str]) -> None:
        wanted = [name for name in names if not (self.local / name).is_file() or name == STATE]
        for folder in {(self.local / name).parent for name in wanted}:
            folder.mkdir(parents=True, exist_ok=True)
        if wanted:
            self._files.get([f"{self._root}/{name}" for name in wanted], [str(self.local / name) for name in wanted])

    def _sent(self, names: list[str]) -> None:
        if names:
            places = [f"{self._root}/{name}" for name in names]
            for folder in {place.rpartition("/")[0] for place in places}:
                self._written(lambda folder=folder: self._files.makedirs(folder, exist_ok=True))  # type: ignore[misc]
            self._written(lambda: self._files.put([str(self.local / name) for name in names], places))

    def _asked(self, call: Callable[[], T]) -> T:
        """A call that reads. Raises InputError in place of any of its errors."""
        try:
            return call()
        except Exception as error:  # each file system has its own
            raise InputError.problem(
                f"--out {self.shown} cannot be read ({scrubbed(error, self.url)})",
                "check the address, the credentials and the package of that file system",
                option="--out",
            ) from None

    def _written(self, call: Callable[[], T]) -> T:
        """A call that writes. Raises RunFailed in place of any of its errors."""
        try:
            return call()
        except Exception as error:
            raise RunFailed(
                f"{self.shown} cannot be written ({scrubbed(error, self.url)}); what was finished is kept there",
                "mend that and run the same command again",
            ) from None


_COPIES: dict[Path, RemoteFolder] = {}
"""The remote folders of this process by their copies."""


def local(path: str | Path) -> Path:
    """The folder on this machine of a path, or of the copy of a URL.

    Raises:
        InputError: the file system of a URL is not known.
    """
    text = str(path)
    if text.lower().startswith(("file:", "local:")):
        return Path("/" + urlsplit(text).path.lstrip("/"))
    if not URL.match(text):
        return Path(path)
    remote = RemoteFolder(text, tempfile.TemporaryDirectory(prefix="ackclock-"))
    _COPIES[remote.local] = remote
    return remote.local


def finished(path: str | Path) -> Path:
    """The folder on this machine of a finished run: of a URL, a copy of all of its files."""
    folder = local(path)
    if remote := of(folder):
        remote.pull_state()
        remote.pull_chunks()
        remote.pull_results()
    return folder


def of(folder: Path) -> RemoteFolder | None:
    """The remote folder whose copy a folder is."""
    return _COPIES.get(folder)


def shown(folder: Path) -> str:
    """A folder as messages and documents name it: the URL of a copy, without credentials."""
    remote = of(folder)
    return remote.shown if remote else str(folder)


def is_url(path: Path) -> bool:
    """Whether a path is a URL whose slashes `Path` has joined."""
    return URL.match(str(path)) is not None


def shown_url(url: str) -> str:
    """A URL without user, password and query."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def scrubbed(error: BaseException, url: str) -> str:
    """An error's message in one line, without credentials."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    parts = urlsplit(url)
    words = [url, parts.password, parts.username if parts.password else None, parts.query]
    words += [value for name, value in os.environ.items() if SECRETS.search(name) and len(value) >= 4]
    for word in filter(None, words):
        text = text.replace(word, "***")
    return text
