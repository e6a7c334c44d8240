"""Messages about truncated captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.documents.engine import Report, Truncation

_ENDINGS = {
    "cut_off_file": "the file ends there",
    "record_length": "its length is invalid",
    "byte_order": "its byte order is invalid",
    "damaged_compression": "the compressed data is damaged there",
}


def truncations(document: Report) -> list[str]:
    """A sentence for each truncated capture: the packet and the byte at which it ends."""
    captures = [document, *([document["second"]] if "second" in document else [])]
    return [_truncation(one["capture"], cut) for one in captures if (cut := one.get("truncated"))]


def _truncation(name: str, cut: Truncation) -> str:
    why = _ENDINGS.get(cut["kind"], cut["kind"])
    where = (
        f"the record of packet {cut['packet']} begins at byte {cut['byte']} and is not whole ({why}, byte {cut['end']})"
    )
    return f"{name} is truncated: {where}; the figures are those of the {cut['packet'] - 1} packets before it"
