"""Which congestion control a sender uses: the kernel's, from captures at either end, and the cases
in which it must not be stated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ackclock import _native, analyze
from studies.analyzer.captures import Case, run

CAPTURES = Path(os.environ.get("ACKCLOCK_ORACLES", "/nowhere")) / "captures"
needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="ACKCLOCK_ORACLES has no captures of a kernel")
FAMILIES = {"cubic": "cubic-like", "reno": "reno-like", "bbr": "bbr-v1"}


def found(capture: Path, **keys: Any) -> Any:
    """Of the direction with most data."""
    flows = analyze(capture, **keys).document["flows"]
    directions = [flow[side] for flow in flows for side in ("a2b", "b2a")]
    return max(directions, key=lambda direction: direction["payload_bytes"])["congestion_control"]


@needs_captures
@pytest.mark.parametrize("control", FAMILIES)
@pytest.mark.parametrize("end", ["server", "client"])
def test_family_is_that_of_the_kernels_sender_or_unknown(control: str, end: str) -> None:
    reported = found(CAPTURES / f"down-{control}.{end}.pcap.gz")
    assert reported["family"] in (FAMILIES[control], "unknown"), reported
    assert reported["confident"] == (reported["family"] != "unknown")


@needs_captures
@pytest.mark.parametrize("name", ["buf8k-cubic", "buf32k-cubic", "buf64k-cubic", "zwin"])
@pytest.mark.parametrize("end", ["server", "client"])
def test_family_is_unknown_when_a_buffer_limits_the_kernels_sender(name: str, end: str) -> None:
    reported = found(CAPTURES / f"{name}.{end}.pcap.gz", congestion_control=True)
    assert (reported["family"], reported["confident"]) == ("unknown", False), reported


HOP = {
    "name": "access",
    "rate": "8 Mb/s",
    "delay": "20 ms",
    "queue": {"down": {"kind": "droptail", "bytes": "40 kB"}, "up": {"kind": "droptail", "packets": 100}},
}
"""A link with a BDP of 28 segments and a queue of 26."""


WEB = {
    "kind": "web",
    "request": "400 B",
    "answers": 1,
    "size": "20 kB",
    "jobs": 10_000,
    "think": "100 ms",
    "persistent": True,
}
"""Answers on one connection, with pauses between them."""


SHORT_QUEUE = {
    **HOP,
    "queue": {"down": {"kind": "droptail", "bytes": "16 kB"}, "up": {"kind": "droptail", "packets": 100}},
}


@pytest.mark.parametrize(("variant", "hop"), [("reno", SHORT_QUEUE), ("cubic", HOP), ("bbr", HOP), ("bic", HOP)])
def test_family_is_stated_at_the_sender_when_the_window_is_the_limit(
    variant: str, hop: dict[str, Any], tmp_path: Path
) -> None:
    run(Case(hop, {"host": "linux-6", "variant": variant}, "35 s"), tmp_path)
    family = dict(_native.congestion_control_families())[variant]
    reported = found(tmp_path / "server.pcap")
    assert (reported["family"], reported["confident"]) == (family, True), reported


@pytest.mark.parametrize(
    ("tcp", "flow", "seconds"),
    [
        ({"send_buffer": "25 KiB"}, {"workload": {"kind": "bulk"}}, 35),
        ({"receive_buffer": "25 KiB"}, {"workload": {"kind": "bulk"}}, 35),
        ({}, {"workload": WEB}, 35),
        ({}, {"workload": {"kind": "bulk"}}, 3),
    ],
    ids=["send buffer", "receive window", "application", "short"],
)
@pytest.mark.parametrize("end", ["server", "client"])
def test_family_is_unknown_when_the_window_is_not_the_limit(
    tcp: dict[str, str], flow: dict[str, Any], seconds: int, end: str, tmp_path: Path
) -> None:
    run(Case(HOP, {"host": "linux-6", "variant": "cubic", **tcp}, f"{seconds} s", flow=flow), tmp_path)
    reported = found(tmp_path / f"{end}.pcap", congestion_control=True)
    assert (reported["family"], reported["confident"]) == ("unknown", False), reported


def test_commoner_family_is_stated_with_the_other_beside_it_when_both_have_the_same_windows(tmp_path: Path) -> None:
    """Half of the window is what fits the path without its queue, if the queue holds as much."""
    run(Case(HOP, {"host": "linux-6", "variant": "reno"}, "35 s"), tmp_path)
    reported = found(tmp_path / "server.pcap")
    likelihoods = {candidate["name"]: candidate["likelihood"] for candidate in reported["candidates"]}
    assert reported["family"] == "reno-like"
    assert likelihoods["reno"] < 0.95 and likelihoods["westwood-ns2"] > 0.02


def test_one_flow_with_its_congestion_control_fits_a_terminal_of_24_lines(
    ackclock, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run(Case(HOP, {"host": "linux-6", "variant": "cubic"}, "35 s"), tmp_path)
    printed = ackclock("analyze", str(tmp_path / "server.pcap")).stdout
    assert "congestion control" in printed and "cubic-like" in printed, printed
    assert len(printed.splitlines()) <= 24, printed


def test_reference_has_each_congestion_control_in_its_family() -> None:
    text = (Path(__file__).parents[2] / "docs/reference/analyze.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    listed = {
        name.strip(): family.strip("` ")
        for row in rows
        if len(cells := row.strip("| ").split(" | ")) == 3
        for family, names in zip(cells[0].split(", "), cells[2].split(";"), strict=False)
        for name in names.split(", ")
    }
    for name, family in _native.congestion_control_families():
        assert listed.get(name) == family, name


def test_small_directions_are_examined_when_asked(tmp_path: Path) -> None:
    hop = {**HOP, "rate": "0.2 Mb/s", "queue": {"down": {"kind": "droptail", "packets": 12}}}
    run(Case(hop, {"host": "linux-6", "variant": "reno"}, "35 s"), tmp_path)
    assert found(tmp_path / "server.pcap")["candidates"] == []
    assert found(tmp_path / "server.pcap", congestion_control=True)["candidates"]
