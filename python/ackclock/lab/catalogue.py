"""What the lab page knows of links, host stacks, variants, workloads and the household, as one JSON
document.

The page's form reads links and scenarios as this package does, by crates/scenario, and says what
control each key has.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ackclock import _native
from ackclock.input import catalogue
from ackclock.input.document import read_document
from ackclock.input.link.names import PACKAGED
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.hosts import DEFAULT_HOST
from ackclock.input.scenario.resolution import recordings
from ackclock.input.variant_groups import LINUX
from ackclock.simulation import household
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
NOT_OFFERED = ("probe", "live")
"""Workloads that have no figure on the page."""
LARGEST_EXACT = 2**53
"""The largest integer up to which a page's numbers hold every integer."""


def document(links: Iterable[tuple[str, Path]]) -> dict[str, Any]:
    """The catalogue of these links: name and file.

    Returns:
        ``version``, ``links`` (each with ``name, title, source``, ``hops`` and ``tunnels`` as the
        link file has them, and ``recordings``, the times in ms of those that it names, by path),
        ``variants`` (``name, summary, source, common``), ``hosts`` (files of host stacks by name),
        ``ack_policies`` (``name, written``), ``workloads`` (``name, text``, and ``tcp``, whether
        it runs over TCP), ``household`` (the keys of its scenario), and ``scenario``: what all
        scenarios of the page have.

    Raises:
        InputError: a link file is missing or invalid.
    """
    written = {
        "version": version("ackclock"),
        "host": DEFAULT_HOST,
        "hosts": {name: catalogue.host_file(name) for name in catalogue.host_names()},
        "scenario": {
            "duration_ps": DURATION_PS,
            "household_ps": round(household.DURATION_S * 1e12),
            "sample_ps": SAMPLE_PS,
            "seed": 1,
        },
        "variants": _variants(),
        "ack_policies": [{"name": name, "written": keys} for name, keys in ACK_POLICIES.items()],
        "workloads": _workloads(),
        "household": _household(),
        "links": [link_entry(name, path) for name, path in links],
    }
    _check_exact(written)
    return written


def packaged() -> list[tuple[str, Path]]:
    """The packaged links."""
    return [(path.stem, path) for path in sorted(PACKAGED.glob("*.toml"))]


def link_entry(name: str, path: Path) -> dict[str, Any]:
    """One link of the catalogue."""
    flow = {"workload": {"kind": "bulk"}}
    scenario = draft_of({"link": str(path.absolute()), "duration": "30 s", "flow": [flow]}).check()
    file = read_document(path)
    return {
        "name": name,
        "title": scenario.title,
        "source": scenario.source,
        "hops": _native.with_absolute_traces(file.data["hop"], str(file.folder)),
        "tunnels": file.data.get("tunnel", []),
        "recordings": {str(one.path): one.times_ms for one in recordings(scenario)},
    }


def _variants() -> list[dict[str, Any]]:
    return [
        {
            "name": entry["name"],
            "summary": entry["summary"],
            "source": entry["source"],
            "common": entry["name"] in LINUX,
        }
        for entry in catalogue.entries("variants")
    ]


def _workloads() -> list[dict[str, Any]]:
    """Each with the examples of the keys that it must have."""
    offered = []
    for kind, table in _native.table_kinds("Workload"):
        if kind in NOT_OFFERED:
            continue
        keys = _native.table_keys(table)
        (text,) = [meaning for key, _, _, _, meaning, _ in keys if key == "kind"]
        needed = "".join(f"{key} = {example}\n" for key, _, default, *_, example in keys if default == "required")
        flow = _native.read_table("Flow", {"workload": tomllib.loads(needed)})
        offered.append({"name": kind, "text": text, "tcp": not flow.is_udp})
    return offered


def _household() -> dict[str, Any]:
    """The keys of household.toml that a scenario of the page has, too."""
    data = read_document(household.FILE).data
    return {key: data[key] for key in ("duration", "measure", "flow")}


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
