"""A copy of a capture that can be given to others: headers alone, with other addresses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ackclock.errors import native_errors


@dataclass(frozen=True)
class StrippedCopy:
    """What a copy has.

    Attributes:
        packets: packets of the capture and of the copy.
        original_bytes: captured bytes of the capture.
        kept_bytes: captured bytes of the copy.
    """

    packets: int
    original_bytes: int
    kept_bytes: int


def strip(capture: str | Path, out: str | Path) -> StrippedCopy:
    """Write a copy of a capture that holds no payload and none of its addresses, in pcapng.

    Times and lengths stay, so that `ackclock analyze` finds the same in it. Addresses of a network
    stay in one network, private ones private. A UDP payload becomes a hash; its key and that of the
    addresses are drawn for each copy and not kept. Ports stay, and the fields of IP and TCP headers
    but for cookies, signatures and routes.

    Args:
        capture: a pcap, pcapng, snoop or ERF file, plain or in gzip or zstd; "-" is standard input.
        out: the file to write; it must not exist.

    Raises:
        InputError: the capture cannot be read, or `out` exists or cannot be written.
    """
    from ackclock import _native

    with native_errors(file=str(capture)):
        return StrippedCopy(*_native.strip_capture(str(capture), str(out)))
