"""Valid names: variants, recoveries, slow starts and queues of the engine; hosts and links from
files.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ackclock.documents.engine import Catalogue, Entry

Kind = Literal["variants", "recoveries", "slow_starts", "queues", "linux_rules"]
HOSTS = Path(__file__).resolve().parents[1] / "hosts"


@cache
def _engine_catalogue() -> Catalogue:
    from ackclock import _native

    return _native.catalogue()


def entries(kind: Kind) -> list[Entry]:
    """The engine's entries of one kind ("variants", "recoveries", "slow_starts", "queues",
    "linux_rules"): name, summary, source.
    """
    return _engine_catalogue()[kind]


@cache
def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(entry["name"] for entry in entries(kind))


def variants() -> tuple[str, ...]:
    """The engine's TCP variants (congestion controls)."""
    return _names("variants")


def queues() -> tuple[str, ...]:
    """The engine's queues."""
    return _names("queues")


def linux_rules() -> tuple[str, ...]:
    """The rules in which a host stack may differ from the RFCs as Linux does."""
    return _names("linux_rules")


@cache
def host_names() -> list[str]:
    """The names of the host stacks of TCP, sorted."""
    return sorted(name for name in _stack_names() if "tcp" in host_file(name))


def _stack_names() -> list[str]:
    return sorted(path.stem for path in HOSTS.glob("*.toml"))


def host_file(name: str) -> dict[str, Any]:
    """The tables of a host stack's file."""
    return tomllib.loads((HOSTS / f"{name}.toml").read_text("utf-8"))


@cache
def hosts() -> dict[str, str]:
    """Host stacks of TCP, name -> title and source, one for each file in hosts/ with [tcp]."""
    return {name: _described(name) for name in host_names()}


@cache
def quic_stacks() -> dict[str, str]:
    """QUIC stacks likewise, one for each file with [quic]."""
    return {name: _described(name) for name in sorted(set(_stack_names()) - set(host_names()))}


def _described(name: str) -> str:
    file = host_file(name)
    return f"{file.get('title', '')}. Source: {file.get('source', '')}"
