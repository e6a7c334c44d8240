"""Names one may use: variants, recoveries, slow starts and queues from the engine; hosts and links from files."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HOSTS = Path(__file__).resolve().parents[1] / "hosts"


@cache
def _engine_catalogue() -> dict[str, Any]:
    from ackclock import _native

    catalogue: dict[str, Any] = json.loads(_native.catalogue())
    return catalogue


def entries(kind: str) -> list[dict[str, str]]:
    """What the engine offers of one kind (variants, recoveries, slow_starts, queues): name, summary, source."""
    found: list[dict[str, str]] = _engine_catalogue()[kind]
    return found


@cache
def _names(kind: str) -> tuple[str, ...]:
    return tuple(entry["name"] for entry in entries(kind))


def variants() -> tuple[str, ...]:
    """TCP variants (congestion controls) the engine has."""
    return _names("variants")


def recoveries() -> tuple[str, ...]:
    """Loss recoveries the engine has."""
    return _names("recoveries")


def slow_starts() -> tuple[str, ...]:
    """Slow starts the engine has."""
    return _names("slow_starts")


def queues() -> tuple[str, ...]:
    """Queues the engine has."""
    return _names("queues")


@cache
def hosts() -> dict[str, str]:
    """Host stacks with what each is and its source, one per file in hosts/."""
    found = {}
    for path in sorted(HOSTS.glob("*.toml")):
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = f"{said.get('title', '')}. Source: {said.get('source', '')}"
    return found
