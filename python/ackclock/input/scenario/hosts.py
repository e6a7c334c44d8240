"""TCP of a flow: its keys, and what its host stack has for those that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from ackclock.input.checked_table import CheckedTable, ReadBy

DEFAULT_HOST = "linux-6"
READ_KEYS = ReadBy("TcpKeys")
READ_ENDS = ReadBy("TcpEnds")


@cache
def tcp_keys() -> tuple[str, ...]:
    """The names of the keys of [tcp], of both ends, `server` and `client`."""
    from ackclock import _native

    return tuple(name for name, *_ in _native.table_keys("TcpEnds"))


def tables_at(table: CheckedTable, end: str | None) -> list[CheckedTable]:
    """The tables of a [tcp] or a [[flow]] for an end, "server" or "client", weakest first; for None
    those of both.
    """
    own = getattr(table, end) if end else None
    return [table, own] if own else [table]


@dataclass(frozen=True)
class Tcp:
    """All TCP keys of a flow, with defaults and words resolved. Sizes in bytes, times in ps,
    windows in segments.
    """

    table: CheckedTable

    @property
    def host(self) -> str:
        """Name of the host stack."""
        return str(self.table.host)

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """The keys that the host stack or the flow has."""
        return {key: getattr(self.table, key) for key in self.written() if key != "host"}

    def plan(self) -> dict[str, Any]:
        """The TCP object of a plan."""
        return self.table.plan()

    def written(self) -> dict[str, Any]:
        """All keys as a [tcp] table has them."""
        return self.table.written()


def resolve(*tables: CheckedTable, end: str | None = None) -> Tcp:
    """The TCP keys of a flow, or of one of its ends ("server", "client"): explicit keys (later
    tables override earlier ones), then those of the variant and the host.
    """
    from ackclock import _native

    return Tcp(_native.resolve_tcp(list(tables), end))
