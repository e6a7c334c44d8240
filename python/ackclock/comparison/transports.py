"""The transport of the compared flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ackclock.errors import InputError, choices, format_value
from ackclock.simulation.transport import QUIC as QUIC
from ackclock.simulation.transport import TCP as TCP

TRANSPORTS = (TCP, QUIC)
STACK = "noq 1.4"
"""The stack of `QUIC`, by which results name it: another stack has other results."""
NO_CONTROL = ("dctcp", "lp", "prague", "python:")
"""What begins the names of variants that the stack cannot have."""
FLOW = "flow"
"""The name of the compared flow."""
_KEY = f"flow.{FLOW}.transport"


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


def named(ranking: Sequence[Mapping[str, Any]]) -> str:
    """The transports of a ranking, as titles have them.

    >>> named([{"params": {"transport": "tcp"}}, {"params": {"transport": "quic"}}])
    'TCP and QUIC'
    """
    found = {ranked["params"].get("transport", TCP) for ranked in ranking}
    return " and ".join(transport.upper() for transport in TRANSPORTS if transport in found) or TCP.upper()


def transport_keys(transport: str) -> dict[str, str]:
    """The sweep parameters of a transport."""
    return {} if transport == TCP else {_KEY: transport}


def for_flows(point: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sweep parameters of a choice for the flows of a load, [[flow]] tables: those in place of
    the compared one have its name, or begin with it.
    """
    own = [one["name"] for one in flows if one["name"] == FLOW or one["name"].startswith(f"{FLOW}_")]
    return _moved(point, [f"flow.{name}.transport" for name in own])


def for_place(point: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a `Place`, whose flow is named by the path of a host's key."""
    return _moved(point, ["tcp.transport"])


def _moved(point: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    others = {key: value for key, value in point.items() if key != _KEY}
    return {**others, **(dict.fromkeys(keys, point[_KEY]) if _KEY in point else {})}
