"""Framing: the bytes that a line sends for a packet."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input import form
from ackclock.input.quantity_fields import Size
from ackclock.input.schema import Table, choice_field

WORDS = ("none", "slip", "cslip")
CELL, CELL_PAYLOAD, TRAILER = 53, 48, 8
HEADER, COMPRESSED = 40, 6
"""Bytes of IPv4 and TCP header without options, and what CSLIP sends instead (RFC 1144), options
left as they are.
"""
MAX_ROWS = 1000


def _overhead(size: int) -> int:
    if size > MAX_ROWS:
        raise InvalidValue(format_value(size), f"an encapsulation of at most {MAX_ROWS} B")
    return size


class Atm(Table):
    """Whole ATM cells (AAL5, RFC 2684): `overhead` bytes of encapsulation and an 8-byte trailer go
    with each packet.

    2 B is PPP over ATM with VC multiplexing, 32 B PPP over Ethernet, bridged with LLC/SNAP and
    without the Ethernet FCS.
    """

    kind: Annotated[str, choice_field("atm")]
    overhead: Annotated[Size, AfterValidator(_overhead)] = 2

    @property
    def aal5_overhead(self) -> int:
        """Bytes that go with an IP packet into cells, trailer included: tc-cake(8)'s overhead."""
        return self.overhead + TRAILER

    def plan(self) -> dict[str, Any]:
        return {"atm": {"overhead": self.overhead}}


def _framing(value: Any) -> Any:
    if isinstance(value, dict):
        return Atm.model_validate(value)
    if value == "atm":
        return Atm(kind="atm")
    if value not in WORDS:
        words = choices([f'"{name}"' for name in (*WORDS, "atm")], format_value(value))
        raise InvalidValue(format_value(value), f'{words}, or {{ kind = "atm", overhead = "32 B" }}')
    return value


Framing = Annotated[Annotated[str, form.words(*WORDS, "atm")] | Atm, BeforeValidator(_framing)]


def framing_plan(framing: str | Atm) -> Any:
    """The plan of a framing."""
    return framing.plan() if isinstance(framing, Atm) else framing


def on_wire(size: int, planned: Any) -> int:
    """Bytes that a TCP packet of `size` bytes takes on a line with a plan's framing."""
    if isinstance(planned, dict):
        padded: int = size + planned["atm"]["overhead"] + TRAILER + CELL_PAYLOAD - 1
        return padded // CELL_PAYLOAD * CELL
    return size - (HEADER - COMPRESSED) if planned == "cslip" and size >= HEADER else size
