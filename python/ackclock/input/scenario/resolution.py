"""A scenario with all defaults resolved, as TOML that runs again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock import congestion_control
from ackclock.input.link.rate import is_recorded, recording
from ackclock.input.link.trace import Recording, read_recording
from ackclock.input.scenario.model import Scenario


def resolved(
    scenario: Scenario, trace_name: Callable[[Path], str] = str, swept: Collection[str] = ()
) -> dict[str, Any]:
    """The scenario as plain TOML values. `trace_name` returns the name of a trace file.

    If a sweep varies a key that sets others, such as the variant, TCP keys are written as given: a
    resolved value would override the one that each variant sets.
    """
    data = scenario.resolved(list(swept))
    return {**data, "hop": [_renamed(hop, trace_name) for hop in data["hop"]]}


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
    ends = [table for one in (data["tcp"], *data["flow"]) for table in (one, one.get("server"), one.get("client"))]
    variants = [table["variant"] for table in ends if table and "variant" in table]
    names = [*variants, *_controllers(data["hop"])]
    data["digests"] = {name: congestion_control.digest(name) for name in names if congestion_control.is_user(name)}
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _controllers(value: Any) -> list[str]:
    """What changes the rates of shapers, at any depth of the hops."""
    if isinstance(value, list):
        return [name for inner in value for name in _controllers(inner)]
    if not isinstance(value, dict):
        return []
    own = [name] if isinstance(name := value.get("autorate"), str) else []
    return own + [name for inner in value.values() for name in _controllers(inner)]


def recordings(scenario: Scenario) -> list[Recording]:
    """The recorded rates of a scenario, without duplicates, in order of first use."""
    sides = [side for hop in scenario.hop for side in (hop.down, hop.up) if side]
    return list({recording(side.rate): None for side in sides if is_recorded(side.rate)})
