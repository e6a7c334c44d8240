"""The diagram of a link: its hops, server first, each with its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ackclock.format import setting_text
from ackclock.report.page import Path, PathStep
from ackclock.report.run_input import HopTable, TunnelTable

_KEYS = [key for key in HopTable.__annotations__ if key not in ("name", "only", "per_client")]
"""The elements of a hop, in the order in which they are shown."""
_ARROW = {"down": "↓", "up": "↑"}


def link_path(hops: Sequence[HopTable], tunnels: Sequence[TunnelTable] = ()) -> Path:
    """The diagram of ``hops`` and ``tunnels``: tables as written in a link file or scenario."""

    def inside(hop: HopTable) -> list[str]:
        return [f"inside a {tunnel['kind']} tunnel" for tunnel in tunnels if hop.get("name") in tunnel["over"]]

    return Path([PathStep(_name(hop), [*inside(hop), *_lines(hop)]) for hop in hops])


def _name(hop: HopTable) -> str:
    return f"{hop.get('name', 'hop')}" + (", one per client" if hop.get("per_client") else "")


def _lines(hop: HopTable) -> list[str]:
    lines = {"down": ["↓ to the client only"], "up": ["↑ to the server only"]}.get(str(hop.get("only")), [])
    for key in _KEYS:
        if key not in hop:
            continue
        value = hop.get(key)
        if isinstance(value, Mapping) and value and set(value) <= {"down", "up"}:
            lines += [f"{_ARROW[direction]} {_describe(key, inner)}" for direction, inner in value.items()]
        else:
            lines.append(_describe(key, value))
    return lines or ["passes everything at once"]


def _describe(key: str, value: Any) -> str:
    match key, value:
        case "medium", {"kind": "grants", "standard": str(standard), "rate": {"down": down, "up": up}}:
            return f"{standard} with requests and grants, {down} down and {up} up" + _capped(value)
        case "rate", {"schedule": _}:
            return _steps(value)
        case "rate", {"trace": file}:
            return f"recorded rate, {PurePath(str(file)).name}"
        case "rate", _:
            return f"{value}"
        case "delay", {"schedule": _}:
            return f"{_steps(value)}, one way"
        case "delay", _:
            return f"{value} one way"
        case "framing", _:
            words = {"slip": "SLIP framing", "cslip": "CSLIP header compression", "none": "no framing"}
            kind = value.get("kind", f"{value.get('cells')} cells") if isinstance(value, Mapping) else str(value)
            return words.get(kind, "ATM cells" if kind == "atm" else f"{kind} framing")
        case "pep", {**keys}:
            return f"split-TCP proxy, {keys['buffer']} in each direction"
        case "slots", {**keys}:
            lost = f", nothing for {keys['held']}" if "held" in keys else ""
            return f"slots of {keys.get('every', '15 s')}, each with a rate{lost} after a change"
        case "handover", {**keys}:
            return f"another path every {keys['every']}, nothing for {keys['gap']} after a change"
        case "mtu", {"ip": size, **rest}:
            black_hole = "" if rest.get("icmp", True) else ", without a report to senders"
            return f"packets of at most {size}{black_hole}" + (", MSS clamped" if rest.get("clamp_mss") else "")
        case "policer", {"rate": limit, "burst": burst, **rest}:
            return ", ".join(filter(None, (f"policer of {limit}, burst {burst}", setting_text(rest))))
        case "shaper", {**rest}:
            queue = rest.get("queue")
            waits = f", queue of {_limits(queue)}" if isinstance(queue, Mapping) else ""
            limit = rest.get("rate")
            if rest.get("autorate"):
                limit = f"{rest['min_shaper_rate']} to {rest['max_shaper_rate']} by {rest['autorate']}"
            return f"shaper of {limit}, burst {rest.get('burst', '1 packet')}{waits}"
        case "queue", {**limits}:
            return "queue of " + _limits(limits)
        case "outage", list():
            return f"{len(value)} scheduled outages"
        case _, {"mean": {"schedule": _} as mean, **rest}:
            further = setting_text({name: rest[name] for name in rest if name != "kind"})
            return " ".join(filter(None, (f"{key}: {rest.get('kind', '')} {further}".strip(), _steps(mean))))
        case _, {"kind": kind, **rest}:
            return f"{key}: {kind} " + setting_text(rest)
        case _, {"mean": mean}:
            return f"{key}: {setting_text(mean)}"
    return f"{key}: {setting_text(value)}"


def _steps(schedule: Mapping[str, Any]) -> str:
    between = ", linearly between" if schedule.get("linear") else ""
    again = f", again every {schedule['repeat']}" if "repeat" in schedule else ""
    return ", ".join(f"{value} from {at}" for at, value in schedule["schedule"]) + between + again


def _capped(medium: Any) -> str:
    caps = [f"{cap} {direction}" for direction in ("down", "up") if (cap := (medium.get("cap") or {}).get(direction))]
    return f", a client at most {' and '.join(caps)}" if caps else ""


def _limits(limits: Mapping[Any, Any]) -> str:
    kind = limits.get("kind", "droptail")
    keys = [f"{limits['packets']} packets"] if "packets" in limits else []
    keys += [str(limits["bytes"])] if "bytes" in limits else []
    size = " or ".join(keys) or "any length"
    return size if kind == "droptail" else f"{size} ({kind})"
