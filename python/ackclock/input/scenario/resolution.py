"""A scenario with all defaults resolved, as TOML that runs again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock import congestion_control
from ackclock.input.link.rate import recording
from ackclock.input.link.trace import Recording, read_recording
from ackclock.input.scenario.hosts import ABSENT, resolve
from ackclock.input.scenario.model import ENDS, Scenario
from ackclock.input.scenario.tcp import TcpKeys
from ackclock.input.units import show_time

BRINGING = ("host", "variant", "recovery")  # keys that set others


def resolved(
    scenario: Scenario, trace_name: Callable[[Path], str] = str, swept: Collection[str] = ()
) -> dict[str, Any]:
    """The scenario as plain TOML values. `trace_name` returns the name of a trace file.

    If a sweep varies a key that sets others, such as the variant, TCP keys are written as given: a
    resolved value would override the one that each variant sets.
    """
    keep_explicit = any(path.rsplit(".", 1)[-1] in BRINGING for path in swept)
    shared = _explicit(scenario.tcp) if keep_explicit else resolve(scenario.tcp).written()
    if scenario.tcp.overhead is not None:
        shared["overhead"] = show_time(scenario.tcp.overhead)
    for end in ENDS:
        tables = scenario.tcp.at(end)
        if len(tables) > 1:
            shared[end] = _own_of_end(tables[-1], None if keep_explicit else resolve(*tables).written(), shared)
    return {
        "title": scenario.title,
        "source": scenario.source,
        "duration": show_time(scenario.duration),
        "seeds": list(scenario.seeds),
        "clients": scenario.clients,
        "sample": show_time(scenario.sample),
        "phase_jitter": scenario.phase_jitter,
        "tcp": shared,
        "measure": {"window": _window(scenario)},
        "hop": [_renamed(hop.written(), trace_name) for hop in scenario.hop],
        "flow": list(_flows(scenario, shared, keep_explicit)),
    }


def _explicit(keys: TcpKeys) -> dict[str, Any]:
    """The explicit TCP keys, and the host."""
    explicit = {key: value for key, value in keys.explicit_keys().items() if key != "overhead"}
    return {"host": resolve(keys).host, **TcpKeys.model_construct(None, **explicit).model_dump(exclude_none=True)}


def _differing(keys: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The keys that differ from the known ones, and those that a host lacks."""
    lacking = (
        {key: value for key, value in ABSENT.items() if key in known and key not in keys} if "host" in keys else {}
    )
    return {key: value for key, value in {**keys, **lacking}.items() if known.get(key) != value}


def _own_of_end(table: TcpKeys, all_keys: dict[str, Any] | None, known: dict[str, Any]) -> dict[str, Any]:
    """What an end's own table says: its keys as given, or those of `all_keys` that differ from the
    ones that it has without the table.
    """
    if all_keys is None:
        own: dict[str, Any] = TcpKeys.model_construct(None, **table.explicit_keys()).model_dump(exclude_none=True)
    else:
        own = _differing(all_keys, known)
    return {**own, **({} if table.overhead is None else {"overhead": show_time(table.overhead)})}


def _flows(scenario: Scenario, shared: dict[str, Any], keep_explicit: bool) -> Any:
    for name, flow in zip(scenario.flow_names(), scenario.flow, strict=True):
        tcp = {} if flow.is_udp else resolve(scenario.tcp, flow).written()
        own = {key: tcp[key] for key in flow.explicit_keys() if key in tcp} if keep_explicit else tcp
        if flow.overhead is not None:
            own["overhead"] = show_time(flow.overhead)
        differing = _differing(own, shared)
        for end in () if flow.is_udp else ENDS:
            known = {**shared, **shared.get(end, {}), **differing}
            tables = [*scenario.tcp.at(end), *flow.at(end)]
            table = getattr(flow, end) or TcpKeys()
            own_of_end = _own_of_end(table, None if keep_explicit else resolve(*tables).written(), known)
            if own_of_end:
                differing[end] = own_of_end
        yield {"name": name, **flow.written(), **differing}


def _window(scenario: Scenario) -> Any:
    window = scenario.measure.window
    return window if isinstance(window, str) else [show_time(time) for time in window]


def _renamed(value: Any, trace_name: Callable[[Path], str]) -> Any:
    if isinstance(value, dict):
        return {
            key: trace_name(Path(inner)) if key == "trace" else _renamed(inner, trace_name)
            for key, inner in value.items()
        }
    return value


def scenario_hash(scenario: Scenario) -> str:
    """16 hex digits over the scenario: without titles, with the contents of its traces."""
    data = resolved(scenario, lambda path: read_recording(path).digest)
    del data["title"], data["source"]
    ends = [table for one in (data["tcp"], *data["flow"]) for table in (one, *(one.get(end, {}) for end in ENDS))]
    variants = [table["variant"] for table in ends if "variant" in table]
    data["digests"] = {name: congestion_control.digest(name) for name in variants if congestion_control.is_user(name)}
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def recordings(scenario: Scenario) -> list[Recording]:
    """The recorded rates of a scenario, without duplicates, in order of first use."""
    sides = [side for hop in scenario.hop for side in (hop.down, hop.up) if side]
    return list({recording(side.rate): None for side in sides if not isinstance(side.rate, int | None)})
