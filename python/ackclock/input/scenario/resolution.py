"""A scenario with all defaults resolved, as TOML that runs again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

from ackclock import congestion_control
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.rate import recording
from ackclock.input.link.trace import Recording, read_recording
from ackclock.input.scenario.hosts import READ_KEYS, resolve, tables_at, tcp_keys
from ackclock.input.scenario.model import ENDS, Scenario
from ackclock.input.units import show_time

BRINGING = ("host", "variant", "recovery")  # keys that set others
ABSENT = {
    "push": "every",
    "first_climb": 0.0,
    "app_limited_growth": False,
    "syn_linear_timeouts": 0,
    "ecn_packets": "data",
    "accecn_option": "changes",
    "processing_jitter": False,
    "gro": False,
    "tsq": False,
}
"""Values of keys that a host may lack."""


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
        tables = tables_at(scenario.tcp, end)
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


def _explicit(table: CheckedTable) -> dict[str, Any]:
    """The explicit TCP keys, and the host."""
    explicit = {key: value for key, value in table.written().items() if key not in ("overhead", *ENDS)}
    return {"host": resolve(table).host, **explicit}


def _differing(keys: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The keys that differ from the known ones, and those that a host lacks."""
    lacking = (
        {key: value for key, value in ABSENT.items() if key in known and key not in keys} if "host" in keys else {}
    )
    return {key: value for key, value in {**keys, **lacking}.items() if known.get(key) != value}


def _own_of_end(table: CheckedTable, all_keys: dict[str, Any] | None, known: dict[str, Any]) -> dict[str, Any]:
    """What an end's own table says: its keys as given, or those of `all_keys` that differ from the
    ones that it has without the table.
    """
    own = table.written() if all_keys is None else _differing(all_keys, known)
    return {**own, **({} if table.overhead is None else {"overhead": show_time(table.overhead)})}


def _flows(scenario: Scenario, shared: dict[str, Any], keep_explicit: bool) -> Any:
    for name, flow in zip(scenario.flow_names(), scenario.flow, strict=True):
        tcp = {} if flow.is_udp else resolve(scenario.tcp, flow).written()
        given = flow.written()
        own = {key: tcp[key] for key in given if key in tcp} if keep_explicit else tcp
        if flow.overhead is not None:
            own["overhead"] = show_time(flow.overhead)
        differing = _differing(own, shared)
        for end in () if flow.is_udp else ENDS:
            known = {**shared, **shared.get(end, {}), **differing}
            table = getattr(flow, end) or READ_KEYS({})
            all_keys = None if keep_explicit else resolve(scenario.tcp, flow, end=end).written()
            own_of_end = _own_of_end(table, all_keys, known)
            if own_of_end:
                differing[end] = own_of_end
        without_tcp = {key: value for key, value in given.items() if key not in tcp_keys()}
        yield {"name": name, **without_tcp, **differing}


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
