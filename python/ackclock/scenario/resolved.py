"""A scenario with every default said, as TOML that can be run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock.link.rate import TraceRate
from ackclock.link.trace import Recording, read_recording
from ackclock.scenario.hosts import resolve
from ackclock.scenario.model import Scenario
from ackclock.units import show_time


def resolved(scenario: Scenario, trace_name: Callable[[Path], str] = str) -> dict[str, Any]:
    """The scenario as plain TOML values. `trace_name` says how trace files are to be named."""
    shared = resolve(scenario.tcp).written()
    if scenario.tcp.overhead is not None:
        shared["overhead"] = show_time(scenario.tcp.overhead)
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
        "flow": list(_flows(scenario, shared)),
    }


def _flows(scenario: Scenario, shared: dict[str, Any]) -> Any:
    for name, flow in zip(scenario.flow_names(), scenario.flow, strict=True):
        own = {} if flow.is_udp else scenario.tcp_of(flow).written()
        if flow.overhead is not None:
            own["overhead"] = show_time(flow.overhead)
        differing = {key: value for key, value in own.items() if shared.get(key) != value}
        yield {"name": name, **flow.written(), **differing}


def _window(scenario: Scenario) -> Any:
    window = scenario.measure.window
    return window if isinstance(window, str) else [show_time(time) for time in window]


def _renamed(value: Any, trace_name: Callable[[Path], str]) -> Any:
    if isinstance(value, dict):
        return {key: trace_name(Path(inner)) if key == "trace" else _renamed(inner, trace_name) for key, inner in value.items()}
    return value


def scenario_hash(scenario: Scenario) -> str:
    """16 hex digits over what the scenario does: titles do not count, the contents of its traces do."""
    data = resolved(scenario, lambda path: read_recording(path).digest)
    del data["title"], data["source"]
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def recordings(scenario: Scenario) -> list[Recording]:
    """The recorded rates a scenario uses, each once, in order of first use."""
    sides = [side for hop in scenario.hop for side in (hop.down, hop.up) if side]
    found = {side.rate.recording: None for side in sides if isinstance(side.rate, TraceRate)}
    return list(found)
