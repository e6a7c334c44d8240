"""The transport of the compared flows."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.errors import InputError, choices, format_value

TCP, QUIC = "tcp", "quic"
TRANSPORTS = (TCP, QUIC)
STACK = "noq 1.4"
"""The stack of `QUIC`, by which results name it: another stack has other results."""
NO_CONTROL = ("dctcp", "lp", "prague", "python:")
"""What begins the names of variants that the stack cannot have."""
ALONE = "Flows over noq 1.4 are compared by their transfers alone: what they cost others is not run."
"""The note about comparisons with QUIC."""


def check_transports(transports: Sequence[str]) -> None:
    """Raise InputError for an unknown transport."""
    for transport in transports:
        if transport not in TRANSPORTS:
            raise InputError(format_value(transport), choices(TRANSPORTS, transport), key="transports")


def has_no_control(variant: str) -> bool:
    """Whether the QUIC stack refuses this variant: it passes ECN on as one bit, has
    no timestamps, and no control in Python.
    """
    return variant.startswith(NO_CONTROL)


def transport_keys(transport: str) -> dict[str, str]:
    """The sweep parameters of a transport."""
    return {} if transport == TCP else {"flow.flow.transport": transport}
