"""The digest of the code of an emulation: only a measurement by older code is repeated."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2] / "crates"
SOURCES = ("emu/src", "core/src", "sim/src/build", "sim/src/plan")
OF_SIMULATED_HOSTS = ("core/src/tcp", "core/src/app", "core/src/host")
"""Real hosts have their own TCP, applications and processing times."""


@cache
def emulator_digest() -> str:
    """16 hex digits over the sources of the emulator and of the link's elements."""
    files = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.rs"))
    digest = sha256()
    for path in files:
        if not any(path.is_relative_to(ROOT / folder) for folder in OF_SIMULATED_HOSTS):
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
