"""``make bench``: every heading has rows, or a line with the part left out and the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.input import catalogue
from ackclock.input.scenario.draft import read_draft
from benches import bench, commands, programs
from benches.figures import Figure, finish
from benches.peers.ns2_speed import CASES
from tests.support import ROOT

BENCHES = ROOT / "benches"


@pytest.fixture(autouse=True)
def nothing_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_left_out", [])


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A stand-in for ackclock-bench with two congestion controls and one delivered packet."""
    program = tmp_path / "ackclock-bench"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint('[\"reno\", \"newreno\"]' if sys.argv[1] == 'variants' else '{{\"data_packets\": 1}}')\n"
    )
    program.chmod(0o755)
    return program


@pytest.mark.finding("U23")
def test_bench_names_what_it_leaves_out_when_valgrind_is_missing(binary, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert bench.print_variants(binary) == {}
    assert bench.print_instructions(binary) == {}
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "left out: instructions by congestion control: valgrind is not installed (valgrind)",
        "left out: instructions of whole cases: valgrind is not installed (valgrind)",
    ]
    assert programs.left_out() == [line.removeprefix("left out: ") for line in printed]


@pytest.mark.finding("U23")
def test_bench_has_a_row_for_each_congestion_control_when_valgrind_is_there(
    binary, tmp_path, monkeypatch, capsys
) -> None:
    valgrind = tmp_path / "valgrind"
    valgrind.write_text("#!/bin/sh\necho '{\"data_packets\": 1}'; echo 'Collected : 1200' >&2\n")
    valgrind.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert bench.print_variants(binary) == {"reno": 1200.0, "newreno": 1200.0}
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["reno", "newreno"]


@pytest.mark.finding("U23")
def test_bench_binary_lists_the_congestion_controls_of_the_package() -> None:
    binary = BENCHES.parent / "target" / "release" / "ackclock-bench"
    if not binary.exists():
        pytest.skip("cargo test --release builds target/release/ackclock-bench")
    listed = json.loads(subprocess.run([str(binary), "variants"], check=True, capture_output=True, text=True).stdout)
    assert set(listed) == set(catalogue.variants())


def test_finish_repeats_what_misses_its_target_and_is_one(capsys) -> None:
    over, under = Figure("wall time", 2.5, 2.0, "s"), Figure("ratio", 0.5, 0.72, "x", at_least=True)
    met = [
        Figure("stated", 9.0, None, "s"),
        Figure("at its maximum", 2.0, 2.0, "s"),
        Figure("ratio", 1.0, 1.0, "x", True),
    ]
    programs.leave_out("`emulate`: not here")
    capsys.readouterr()
    assert finish([*met, over, under]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "",
        "targets missed",
        f"{'wall time':<62}      2.50 s        target 2  OVER",
        f"{'ratio':<62}      0.50 x        target at least 0.72  UNDER",
        "",
        "left out",
        "`emulate`: not here",
    ]
    assert finish(met) == 0
    assert capsys.readouterr().out.splitlines()[:3] == ["", "targets missed", "none"]


def test_scenario_of_a_case_has_the_windows_and_buffer_of_speed_tcl(tmp_path: Path) -> None:
    windows = {"one-1g": 6109, "hundred-1g": 62, "one-10m": 60}
    buffers = {"one-1g": 9408, "hundred-1g": 10398, "one-10m": 102}
    for case in CASES:
        path = tmp_path / "scenario.toml"
        path.write_text(commands.scenario(case, 2))
        plan = read_draft(path).check().plan(1).expanded()
        assert len(plan["flows"]) == case.flows
        assert {flow["tcp"]["receive_buffer"] for flow in plan["flows"]} == {1024 * windows[case.name]}
        assert plan["hops"][1]["down"]["queue"]["packets"] == buffers[case.name]
