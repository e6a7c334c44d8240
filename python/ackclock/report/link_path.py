"""A link as a reader meets it: hop by hop, server first, each with what it does to a packet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ackclock.report.page import Path, PathStep

_KEYS = ("pep", "medium", "rate", "framing", "queue", "loss", "delay", "jitter", "outage", "duplicate", "reorder", "handover")
_ARROW = {"down": "↓", "up": "↑"}


def link_path(hops: Sequence[Mapping[str, Any]]) -> Path:
    """The diagram of ``hops``: [[hop]] tables as written in a link file or scenario."""
    return Path([PathStep(_name(hop), _lines(hop)) for hop in hops])


def _name(hop: Mapping[str, Any]) -> str:
    return f"{hop.get('name', 'hop')}" + (", one per client" if hop.get("per_client") else "")


def _lines(hop: Mapping[str, Any]) -> list[str]:
    lines = {"down": ["↓ to the client only"], "up": ["↑ to the server only"]}.get(str(hop.get("only")), [])
    for key in _KEYS:
        if key not in hop:
            continue
        value = hop[key]
        if isinstance(value, Mapping) and value and set(value) <= {"down", "up"}:
            lines += [f"{_ARROW[way]} {_say(key, inner)}" for way, inner in value.items()]
        else:
            lines.append(_say(key, value))
    return lines or ["passes everything at once"]


def _say(key: str, value: Any) -> str:
    match key, value:
        case "medium", {"kind": "grants", "standard": str(standard), "rate": {"down": down, "up": up}}:
            return f"{standard} with requests and grants, {down} down and {up} up" + _capped(value)
        case "rate", {"trace": file}:
            return f"recorded rate, {PurePath(str(file)).name}"
        case "rate", _:
            return f"{value}"
        case "delay", _:
            return f"{value} one way"
        case "framing", _:
            atm = "ATM cells" if isinstance(value, Mapping) else "no framing"
            return {"slip": "SLIP framing", "cslip": "CSLIP header compression"}.get(str(value), atm)
        case "pep", {**said}:
            return f"split-TCP proxy, {said['buffer']} each way"
        case "handover", {**said}:
            return f"another path every {said['every']}, nothing for {said['gap']} after a change"
        case "queue", {**limits}:
            return "queue of " + _limits(limits)
        case "outage", list():
            return f"{len(value)} scheduled outages"
        case _, {"kind": kind, **rest}:
            return f"{key}: {kind} " + ", ".join(f"{name} {inner}" for name, inner in rest.items())
        case _, {"mean": mean}:
            return f"{key}: {mean}"
    return f"{key}: {value}"


def _capped(medium: Any) -> str:
    caps = [f"{cap} {way}" for way in ("down", "up") if (cap := (medium.get("cap") or {}).get(way))]
    return f", a client at most {' and '.join(caps)}" if caps else ""


def _limits(limits: Mapping[Any, Any]) -> str:
    kind = limits.get("kind", "droptail")
    said = [f"{limits['packets']} packets"] if "packets" in limits else []
    said += [str(limits["bytes"])] if "bytes" in limits else []
    size = " or ".join(said) or "any length"
    return size if kind == "droptail" else f"{size} ({kind})"
