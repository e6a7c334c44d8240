"""Which packets of a capture count."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass

from ackclock.errors import InputError, show

_ALLOWED = "terms joined by `and`: host ADDRESS, port NUMBER"


@dataclass(frozen=True)
class Only:
    """What to take: addresses and ports that a flow must have at one of its ends, and a time from the first packet, in seconds."""

    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    since_s: float | None = None
    until_s: float | None = None

    def as_json(self) -> str:
        """As the engine takes it."""

        def ns(seconds: float | None) -> int | None:
            return None if seconds is None else max(-(2**62), min(2**62, round(seconds * 1e9)))

        return json.dumps({"hosts": self.hosts, "ports": self.ports, "since_ns": ns(self.since_s), "until_ns": ns(self.until_s)})


def parse_filter(expression: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Hosts and ports of an expression such as ``host 10.0.0.1 and port 443``."""
    hosts: list[str] = []
    ports: list[int] = []
    words = expression.split()
    while words:
        kind, value, *words = [*words, "", ""][: max(2, len(words))]
        if kind == "host":
            hosts.append(_host(value))
        elif kind == "port" and value.isdigit() and 0 <= int(value) <= 65535:
            ports.append(int(value))
        else:
            raise InputError(show(expression), _ALLOWED, key="--filter")
        if words and (words[0] != "and" or len(words) < 2):
            raise InputError(show(expression), _ALLOWED, key="--filter")
        words = words[1:]
    return tuple(hosts), tuple(ports)


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InputError(show(text), "an IPv4 or IPv6 address", key="--filter host") from None
