"""What the lab page knows of links and variants, as one JSON document.

The page's engine reads the hops of a link as this package does, by crates/scenario, and says what
control each key has. Variants and the parts of a connection are resolved here.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ackclock.input import catalogue
from ackclock.input.document import read_document
from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.link.names import PACKAGED
from ackclock.input.scenario.draft import absolute_traces, draft_of
from ackclock.input.scenario.hosts import DEFAULT_HOST, READ_KEYS, resolve
from ackclock.input.scenario.model import PHASE_START_PS, Scenario
from ackclock.input.scenario.resolution import recordings
from ackclock.input.units import show_time
from ackclock.input.variant_groups import LINUX
from ackclock.simulation.plan import build_plan
from ackclock.storage.environment import version

DURATION_PS = 30 * 10**12
SAMPLE_PS = 50 * 10**9
"""600 samples of each line: more than a page has pixels for."""
ACK_POLICIES: dict[str, dict[str, Any]] = {
    "as the host": {},
    "every segment": {"delayed_ack": False},
    "every 8 segments": {"delayed_ack": {"segments": 8, "timer": "40 ms"}},
    "4 per RTT (TACK)": {"delayed_ack": {"segments": 2, "timer": "200 ms", "per_rtt": 4}},
}
"""Keys of [[flow]] by the page's name; studies/ack_path/runs.py has the last one's values."""
_FLOW = "flow"
LARGEST_EXACT = 2**53
"""The largest integer up to which a page's numbers hold every integer."""


def document(links: Iterable[tuple[str, Path]]) -> dict[str, Any]:
    """The catalogue of these links: name and file.

    Returns:
        ``version``, ``links`` (each with ``name, title, source``, ``hops`` and ``tunnels`` as the
        link file has them, ``recordings``, the times in ms of those that it names, by path, and
        ``parts``, the flows and proxies of one connection by direction), ``variants`` (``name,
        summary, source, common, tcp``), ``hosts`` (the names of host stacks), ``ack_policies``
        (``name, written, tcp``), and ``scenario``: what all scenarios of the page have.

    Raises:
        InputError: a link file is missing or invalid.
    """
    written = {
        "version": version("ackclock"),
        "host": DEFAULT_HOST,
        "hosts": catalogue.host_names(),
        "scenario": {
            "duration_ps": DURATION_PS,
            "sample_ps": SAMPLE_PS,
            "phase_start_ps": PHASE_START_PS,
            "seed": 1,
        },
        "variants": _variants(),
        "ack_policies": _ack_policies(),
        "links": [link_entry(name, path) for name, path in links],
    }
    _check_exact(written)
    return written


def packaged() -> list[tuple[str, Path]]:
    """The packaged links."""
    return [(path.stem, path) for path in sorted(PACKAGED.glob("*.toml"))]


def link_entry(name: str, path: Path) -> dict[str, Any]:
    """One link of the catalogue."""
    scenario = _scenario(path, "down", {})
    file = read_document(path)
    hops = copy.deepcopy(file.data["hop"])
    absolute_traces(hops, file.folder)
    return {
        "name": name,
        "title": scenario.title,
        "source": scenario.source,
        "hops": hops,
        "tunnels": file.data.get("tunnel", []),
        "recordings": {str(one.path): one.times_ms for one in recordings(scenario)},
        "parts": {direction: _parts(path, direction) for direction in DIRECTIONS},
    }


def _scenario(path: Path, direction: str, tcp: dict[str, Any]) -> Scenario:
    flow = {"name": _FLOW, "workload": {"kind": "bulk"}, "direction": direction, **tcp}
    keys = {"duration": show_time(DURATION_PS), "sample": show_time(SAMPLE_PS), "flow": [flow]}
    return draft_of({"link": str(path.absolute()), **keys}).check()


def _parts(path: Path, direction: str) -> dict[str, Any]:
    """The flows and proxies of one connection, without TCP; proxies have theirs by variant."""
    plan = build_plan(_scenario(path, direction, {}), 1).document
    flows = [{key: value for key, value in flow.items() if key != "tcp"} for flow in plan["flows"]]
    proxies = plan.get("proxies", [])
    if not proxies:
        return {"flows": flows, "proxies": []}
    by_variant = {
        name: build_plan(_scenario(path, direction, {"variant": name}), 1).document["proxies"]
        for name in catalogue.variants()
    }
    return {
        "flows": flows,
        "proxies": [
            {**proxy, "tcp": {name: by_variant[name][index]["tcp"] for name in by_variant}}
            for index, proxy in enumerate(proxies)
        ],
    }


def _variants() -> list[dict[str, Any]]:
    return [
        {
            "name": entry["name"],
            "summary": entry["summary"],
            "source": entry["source"],
            "common": entry["name"] in LINUX,
            "tcp": resolve(READ_KEYS({"variant": entry["name"]})).plan(),
        }
        for entry in catalogue.entries("variants")
    ]


def _ack_policies() -> list[dict[str, Any]]:
    base = resolve().plan()
    policies = []
    for name, keys in ACK_POLICIES.items():
        plan = resolve(READ_KEYS(keys)).plan()
        changed = {key: value for key, value in plan.items() if base.get(key) != value}
        policies.append({"name": name, "written": keys, "tcp": changed})
    return policies


def _check_exact(value: Any) -> None:
    """A page's numbers are doubles: no integer of a plan may exceed them."""
    if isinstance(value, dict):
        for inner in value.values():
            _check_exact(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_exact(inner)
    elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
        raise ValueError(f"{value} is no exact number of a page")


def text(links: Iterable[tuple[str, Path]]) -> str:
    """The document of these links as JSON."""
    return json_text(document(links))


def json_text(catalogue_document: dict[str, Any]) -> str:
    """A catalogue as JSON."""
    return json.dumps(catalogue_document, separators=(",", ":"))
