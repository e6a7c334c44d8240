"""Captures of simulated flows, and what `analyze` reports about them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock import analyze, simulate

HOP = {"name": "air", "rate": "4 Mb/s", "delay": "30 ms", "queue": {"kind": "droptail", "packets": 40}}


def simulated_captures(folder: Path, hop=None, tcp=None, flows=None, duration="8 s", **keys) -> tuple[Path, Path]:
    """Captures of the first flow at the server's end and at the client's."""
    flows = flows or [{"name": "download", "workload": {"kind": "bulk"}}]
    simulate({"hop": [{**HOP, **(hop or {})}]}, flows, duration, 1, tcp=tcp or {}, out=folder, captures="pcap", **keys)
    name = flows[0]["name"]
    return folder / "captures" / f"{name}.server.pcap", folder / "captures" / f"{name}.client.pcap"


def finding_of(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The finding of this name about the largest flow."""
    named = {finding["finding"]: finding for flow in document["flows"] for finding in flow["diagnosis"]}
    assert name in named, sorted(named)
    return named[name]


def buffer_of(folder: Path, link: Any, **tcp: Any) -> dict[str, Any]:
    """What a download's two captures say of the bottleneck's buffer."""
    path = link if isinstance(link, str) else {"hop": [link]}
    simulate(path, [{"name": "f", "workload": {"kind": "bulk"}}], "20 s", 1, tcp=tcp, out=folder, captures="pcap")
    captures = folder / "captures"
    document = analyze(captures / "f.server.pcap", captures / "f.client.pcap").document
    found: Any = document["flows"][0]["b2a"]["bottleneck_buffer_bytes"]
    return found


def metered(cap: str, burst: str) -> dict[str, Any]:
    """A cable channel that meters its stations, as DOCSIS does."""
    medium = {
        "kind": "grants",
        "standard": "docsis-3.1",
        "rate": {"down": "200 Mb/s", "up": "20 Mb/s"},
        "cap": {"down": cap, "up": "10 Mb/s"},
        "burst": burst,
    }
    return {"name": "air", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 300}, "medium": medium}


def merged(to: Path, *captures: Path) -> Path:
    """Captures of one host put together in order of time."""
    rows, head = [], b""
    for capture in captures:
        content = capture.read_bytes()
        head, at = content[:24], 24
        while at < len(content):
            second, part, kept, _ = struct.unpack("<IIII", content[at : at + 16])
            rows.append(((second, part), content[at : at + 16 + kept]))
            at += 16 + kept
    to.write_bytes(head + b"".join(row for _, row in sorted(rows, key=lambda row: row[0])))
    return to
