"""STAMP probes (RFC 8762) to a reflector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, native_errors
from ackclock.linux import require_linux

if TYPE_CHECKING:
    from ackclock.documents.measure import StampDocument

PORT = 862


def stamp(
    host: str, port: int = PORT, *, key_file: str | Path | None = None, gap_s: float = 0.04, count: int = 250
) -> StampDocument:
    """RTTs, one-way delays and a clock comparison: the document of ``measure --stamp``
    (docs/reference/measure.md).

    Args:
        host: a name or an address.
        port: the reflector's UDP port.
        key_file: a file whose first line is the key of the authenticated mode.
        gap_s: seconds between probes.
        count: number of probes.

    Raises:
        InputError: an unknown host, or no reply.
    """
    require_linux("measure", "kernel timestamps, pacing and packet sockets")
    from ackclock import _native

    if not (1e-4 <= gap_s <= 60 and 1 <= count <= 1_000_000 and 0 < port < 65536):
        raise InputError(f"{count} probes every {gap_s} s to port {port}", "1 to 1000000 probes every 100 us to 60 s")
    with native_errors():
        arguments = (host, port), None if key_file is None else str(key_file), round(gap_s * 1e9), count
        document = _native.stamp(*arguments)
    return {"host": host, "port": port, **document}
