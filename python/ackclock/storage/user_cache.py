"""Files derived once per user and machine, in ``$XDG_CACHE_HOME/ackclock`` or
``~/.cache/ackclock``. Each may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from ackclock.storage.atomic_files import atomic_write


def kept(name: str, inputs: str, suffix: str, derive: Callable[[], bytes]) -> bytes:
    """The result of `derive`, which depends on `inputs` alone. It is read from the cache, or
    derived and kept there.

    A file of another user is not read, and none is written to a folder of another user: with
    `sudo`, the home folder is the caller's. Without a usable folder, `derive` runs each time.
    """
    content: bytes | None = None
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no home folder
        folder = _folder()
        file = folder / f"{name}-{sha256(inputs.encode()).hexdigest()[:16]}.{suffix}"
        if _own(file):
            return file.read_bytes()
        content = derive()
        if _own(_existing(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            atomic_write(file, content)
    return derive() if content is None else content


def _folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "ackclock"


def _existing(folder: Path) -> Path:
    """`folder`, or the innermost parent that exists."""
    return next(parent for parent in (folder, *folder.parents) if parent.is_dir())


def _own(path: Path) -> bool:
    if not path.exists():
        return False
    return not hasattr(os, "geteuid") or path.stat().st_uid == os.geteuid()
