"""The default output of each command fits 80 columns and 24 lines, the verdict last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import cli
from ackclock.terminal import SCREEN
from tests.support import ROOT

EXAMPLES = ROOT / "examples"
Screen = Callable[..., list[str]]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Screen:
    """Run a command as in a small terminal, and return the lines that it takes there."""
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> list[str]:
        assert cli.run([*arguments, "--quiet"]) == 0
        printed = capsys.readouterr().out.rstrip("\n").splitlines()
        rows = [line[at : at + SCREEN[0]] for line in printed for at in range(0, max(1, len(line)), SCREEN[0])]
        assert len(rows) <= SCREEN[1], "\n".join(printed)
        return printed

    return run


@pytest.mark.parametrize(
    "name",
    [
        "bloated-line",
        pytest.param("cell", marks=pytest.mark.slow),
        "metrics-cache",
        "uplink-buffer",
        "upload-hurts-download",
    ],
)
@pytest.mark.finding("U30")
def test_simulation_fits_a_screen_with_the_reason_last(name: str, screen: Screen) -> None:
    lines = screen("simulate", str(EXAMPLES / f"{name}.toml"), "--no-report")
    assert lines[0].startswith("Flows")
    assert "of the time" in " ".join(lines[-4:]) or "RTT." in lines[-1]


def test_household_fits_a_screen_with_the_verdict_last(screen: Screen) -> None:
    lines = screen("simulate", "--household", "cable-100m", "--no-report")
    assert lines[0] == "What people feel" and any("6 x page" in line for line in lines)
    assert "a call (MOS" in " ".join(lines[-2:])


def test_rest_is_printed_on_request(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(EXAMPLES / "metrics-cache.toml")
    screen("simulate", scenario, "--no-report")
    assert cli.run(["simulate", scenario, "--no-report", "--quiet", "--all"]) == 0
    whole = capsys.readouterr().out
    assert "transfer-8" in whole and "Hops (seed 1)" in whole and "Limits (seed 1)" in whole


@pytest.mark.finding("U34")
def test_difference_prints_what_is_seen_then_how_sure(screen: Screen) -> None:
    for name, seed in (("a", "1"), ("b", "2")):
        screen("simulate", str(EXAMPLES / "bloated-line.toml"), "--seed", seed, "--no-report", "--out", name)
    text = " ".join(screen("diff", "a", "b"))
    assert text.index("Seen of all flows: goodput") < text.index("one value on a side cannot say")


def test_difference_of_runs_with_seeds_shows_what_differs(screen: Screen) -> None:
    for name in ("metrics-cache", "metrics-cache-loss"):
        screen("simulate", str(EXAMPLES / f"{name}.toml"), "--no-report", "--out", name)
    lines = screen("diff", "metrics-cache", "metrics-cache-loss")
    assert lines[0] == "Figures that differ"
    assert lines[-1].endswith("figures differ by more than chance.")


def test_analysis_fits_a_screen(screen: Screen) -> None:
    screen("simulate", str(EXAMPLES / "upload-hurts-download.toml"), "--pcap", "--no-report", "--out", "run")
    captures = [f"run/captures/upload.{end}.pcap" for end in ("client", "server")]
    screen("analyze", captures[0])
    screen("analyze", *captures)


@pytest.mark.slow
def test_advice_fits_a_screen_with_what_to_type_and_the_undo(screen: Screen) -> None:
    lines = screen("advise", "dsl-16m", "--no-report")
    assert lines[0] == "What people feel"
    assert any(line.startswith("  tc qdisc replace dev") for line in lines)
    assert any(line.startswith("  undo: ") for line in lines)
    assert "targets met" in " ".join(lines[-2:])
