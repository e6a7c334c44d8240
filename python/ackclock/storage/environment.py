"""The versions and the machine that a run depended on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TypedDict

from ackclock.storage import user_cache


class Environment(TypedDict):
    """environment.json without the state of the run: versions, seeds and the machine."""

    ackclock: str
    engine: str
    seeds: list[int]
    host: dict[str, str | int | None]
    packages: dict[str, str]


def environment(seeds: Iterable[int]) -> Environment:
    """What a run depends on here."""
    return {
        "ackclock": version("ackclock"),
        "engine": engine_digest(),
        "seeds": list(seeds),
        "host": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "packages": {name: version(name) for name in ("polars", "pydantic")},
    }


@cache
def version(package: str) -> str:
    """The version of an installed package."""
    return metadata.version(package)


@cache
def engine_digest() -> str:
    """16 hex digits over the engine's binary. Results of different engines are kept apart by it.

    The binary is read once: later processes read the digest from the user's cache while the file's
    inode, size and times of change are the same.
    """
    from ackclock import _native

    if not (name := _native.__file__):
        return "unknown"
    file = Path(name)
    stat = file.stat()
    state = f"{file} {stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
    return user_cache.kept("engine", state, "txt", lambda: sha256(file.read_bytes()).hexdigest()[:16].encode()).decode()
