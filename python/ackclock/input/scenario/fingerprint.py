"""A digest of an unchecked scenario: cheap, where a check of all points takes seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.input.document import read_document
from ackclock.input.scenario.draft import Draft, find_link
from ackclock.input.scenario.har import is_har
from ackclock.storage.environment import engine_digest
from ackclock.user_class import PREFIX

PACKAGE = Path(__file__).resolve().parents[2]


def fingerprint(draft: Draft) -> str | None:
    """SHA-256 over everything that the checked points of a scenario follow from: its document with
    the [sweep], its link files, recorded rates and HAR files, and the state of this package's
    files.

    None where that is not known in advance: a file is missing, or a congestion control or a rate
    controller is in Python.
    """
    folder = draft.document.folder
    found = sha256(_package_state().encode())
    try:
        text = json.dumps(draft.document.data)
        if PREFIX in text:
            return None
        found.update(text.encode())
        for name in _values(draft.document.data, "link"):
            path = find_link(name, folder)
            if path is None:
                return None
            link = read_document(path)
            text = json.dumps(link.data)
            if PREFIX in text:
                return None
            found.update(f"\nlink {path} {text}".encode())
            _add_files(found, link.data, link.folder)
        _add_files(found, draft.document.data, folder)
    except (OSError, TypeError, InputError):  # TypeError: a value that JSON does not have
        return None
    return found.hexdigest()


def _add_files(found: Any, data: Any, folder: Path) -> None:
    for name in (*_values(data, "trace"), *filter(is_har, _values(data, "page"))):
        found.update(f"\nfile {folder / name}\n".encode())
        found.update((folder / name).read_bytes())


def _values(data: Any, key: str) -> Iterator[str]:
    """The texts at a key at any depth, and those that a sweep sets there."""
    if isinstance(data, dict):
        for path, value in data.items():
            if path.rpartition(".")[2] == key:
                yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))
            yield from _values(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from _values(value, key)


@cache
def _package_state() -> str:
    """The engine, and name, size and time of change of each file of this package."""
    files = sorted(path for pattern in ("*.py", "*.toml") for path in PACKAGE.rglob(pattern))
    states = ((path, path.stat()) for path in files)
    return "\n".join([engine_digest(), *(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in states)])
