"""Filters of flows and of time."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, format_value

Ends = Mapping[str, Any]
"""Conditions on a flow's endpoints, for the engine: {"net": [..]}, {"ports": [..]}, {"all": [..]},
{"any": [..]} or {"not": ..}.
"""

_ALLOWED = (
    "host ADDRESS, net NETWORK/BITS, port NUMBER or portrange FIRST-LAST, joined by `and`, `or`, `not` and parentheses "
    "(a flow has both directions, so without src or dst)"
)
_DEEPEST = 40
"""Maximum nesting of terms; each change between `and` and `or` nests by one."""
_TOKEN = re.compile(r"[()!]|&&|\|\||[^\s()!&|]+|\S")
_WORDS = {"&&": "and", "||": "or", "!": "not"}


@dataclass(frozen=True)
class PacketFilter:
    """A filter: conditions on a flow's endpoints (`parse_filter`), and times after the first
    packet, in seconds.
    """

    ends: Ends | None = None
    since_s: float | None = None
    until_s: float | None = None

    def as_json(self) -> str:
        """The filter for the engine."""

        def ns(seconds: float | None) -> int | None:
            return None if seconds is None else max(-(2**62), min(2**62, round(seconds * 1e9)))

        return json.dumps({"ends": self.ends, "since_ns": ns(self.since_s), "until_ns": ns(self.until_s)})


def parse_filter(expression: str | None) -> Ends | None:
    """Parse an expression such as ``host 10.0.0.1 and not (port 22 or port 53)``; None without one.

    As in tcpdump's filters, `and` and `or` have equal precedence, from left to right, and `not` a
    higher one. ``tcp`` before a term is ignored.

    Raises:
        InputError: a syntax error.
    """
    if expression is None:
        return None
    parser = _Parser(expression)
    ends = parser.parse_expression(0)
    if parser.words:
        raise parser.refused()
    if _depth(ends) > _DEEPEST:
        raise _too_deep()
    return ends


def _depth(ends: Ends) -> int:
    """The nesting of terms."""
    deepest, level = 0, [ends]
    while level:
        deepest += 1
        level = [
            inner
            for one in level
            for inner in [*one.get("all", ()), *one.get("any", ()), *([one["not"]] if "not" in one else ())]
        ]
    return deepest


def _too_deep() -> InputError:
    return InputError(f"terms nested more than {_DEEPEST} deep", _ALLOWED, key="--filter")


class _Parser:
    """A recursive descent parser over words."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.words: list[str] = [_WORDS.get(word, word) for word in _TOKEN.findall(expression)]

    def refused(self) -> InputError:
        return InputError(format_value(self.expression), _ALLOWED, key="--filter")

    def next(self) -> str:
        if not self.words:
            raise self.refused()
        return self.words.pop(0)

    def parse_expression(self, depth: int) -> Ends:
        """Terms joined by `and` and `or`, from left to right."""
        ends = self.term(depth)
        while self.words and self.words[0] in ("and", "or"):
            kind = {"and": "all", "or": "any"}[self.next()]
            term = self.term(depth)
            ends = {kind: [*ends[kind], term]} if kind in ends else {kind: [ends, term]}
        return ends

    def term(self, depth: int) -> Ends:
        word = self.next()
        if depth > _DEEPEST:
            raise _too_deep()
        if word == "not":
            return {"not": self.term(depth + 1)}
        if word == "(":
            ends = self.parse_expression(depth + 1)
            if self.next() != ")":
                raise self.refused()
            return ends
        if word == "tcp":
            return {"all": []} if not self.words or self.words[0] in ("and", "or", ")") else self.term(depth + 1)
        return self.primitive(word)

    def primitive(self, word: str) -> Ends:
        if word == "host":
            return {"net": _network(self.next(), host=True)}
        if word == "net":
            return {"net": _network(self.next(), host=False)}
        if word == "port":
            port = self.port(self.next())
            return {"ports": [port, port]}
        if word == "portrange":
            first, _, last = self.next().partition("-")
            return {"ports": sorted((self.port(first), self.port(last)))}
        raise self.refused()

    def port(self, text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 5 or int(text) > 65535:
            raise InputError(format_value(text), "a port from 0 to 65535", option="--filter")
        return int(text)


def _network(text: str, *, host: bool) -> list[str | int]:
    try:
        net = ipaddress.ip_network(ipaddress.ip_address(text) if host else text, strict=False)
    except ValueError:
        allowed = "an IPv4 or IPv6 address" + ("" if host else ", with `/` and the length of the prefix")
        raise InputError(format_value(text), allowed, option="--filter") from None
    return [str(net.network_address), net.prefixlen]
