"""TCP of a flow: its keys, and what its host stack has for those that it leaves out
(crates/scenario/src/tcp).
"""

from __future__ import annotations

from functools import cache

from ackclock import _native
from ackclock._native import Tcp
from ackclock.input.checked_table import CheckedTable, ReadBy

DEFAULT_HOST = "linux-6"
READ_KEYS = ReadBy("TcpKeys")
READ_ENDS = ReadBy("TcpEnds")


@cache
def tcp_keys() -> tuple[str, ...]:
    """The names of the keys of [tcp], of both ends, `server` and `client`."""
    return tuple(name for name, *_ in _native.table_keys("TcpEnds"))


def resolve(*tables: CheckedTable, end: str | None = None) -> Tcp:
    """The TCP keys of a flow, or of one of its ends ("server", "client"): explicit keys (later
    tables override earlier ones), then those of the variant and the host.
    """
    return _native.resolve_tcp(list(tables), end)


__all__ = ["DEFAULT_HOST", "READ_ENDS", "READ_KEYS", "Tcp", "resolve", "tcp_keys"]
