"""The default output of each command fits 80 columns and 24 lines, the verdict last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import cli
from ackclock.comparison.screen import MAX_LINES, limits
from ackclock.input.link import packaged_links
from ackclock.limitations import named
from ackclock.terminal import PROMPT, SCREEN
from tests.support import ROOT
from tests.support.captures import merged

EXAMPLES = ROOT / "examples"
Screen = Callable[..., list[str]]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Screen:
    """Run a command as in a small terminal, and return the lines that it takes there."""
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, lines: int = SCREEN[1]) -> list[str]:
        assert cli.run([*arguments, "--quiet"]) == 0
        printed = capsys.readouterr().out.rstrip("\n").splitlines()
        rows = [line[at : at + SCREEN[0]] for line in printed for at in range(0, max(1, len(line)), SCREEN[0])]
        assert len(rows) <= lines, "\n".join(printed)
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
    assert any("round trips per minute" in line and "grade D." in line for line in lines[-4:])


def test_simulation_without_a_game_has_no_grade(screen: Screen) -> None:
    assert "grade" not in " ".join(screen("simulate", str(EXAMPLES / "bloated-line.toml"), "--no-report"))


def test_rest_is_printed_on_request(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(EXAMPLES / "metrics-cache.toml")
    screen("simulate", scenario, "--no-report")
    assert cli.run(["simulate", scenario, "--no-report", "--quiet", "--all"]) == 0
    whole = capsys.readouterr().out
    assert "transfer-8" in whole and "Hops (seed 1)" in whole and "Limits (seed 1)" in whole


def test_full_medium_is_shown_as_utilized_where_grants_limit_it(screen: Screen) -> None:
    Path("run.toml").write_text(
        'link = "gpon"\nduration = "1 s"\n[[flow]]\ndirection = "up"\nworkload = { kind = "bulk" }\n'
    )
    lines = screen("simulate", "run.toml", "--no-report")
    share = next(line.split()[2] for line in lines if line.startswith("fibre  up"))
    assert float(share) > 90


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


@pytest.mark.finding("U30")
def test_analysis_of_several_flows_fits_a_screen(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    screen("simulate", str(EXAMPLES / "upload-hurts-download.toml"), "--pcap", "--no-report", "--out", "run")
    for end in ("client", "server"):
        merged(Path(f"{end}.pcap"), *sorted(Path("run/captures").glob(f"*.{end}.pcap")))
    lines = screen("analyze", "client.pcap")
    assert lines[-1] == "`--all` prints each flow, evidence and advice."
    assert "The upload of" in " ".join(lines)
    screen("analyze", "client.pcap", "server.pcap")
    assert cli.run(["analyze", "client.pcap", "--quiet", "--all"]) == 0
    assert "-> " in capsys.readouterr().out and not any("-> " in line for line in lines)


def test_sweep_fits_a_screen_with_its_extremes_last(screen: Screen) -> None:
    Path("sweep.toml").write_text(
        'link = "dsl-16m"\nduration = "1 s"\nseeds = 2\n[[flow]]\nworkload = { kind = "bulk" }\n[sweep]\n'
        '"tcp.variant" = ["cubic", "reno", "bbr"]\n"hop.dsl.delay" = ["1 ms", "2 ms", "4 ms", "8 ms", "16 ms", "32 ms"]\n'
    )
    lines = screen("sweep", "sweep.toml", "--no-report", "--out", "run")
    assert lines[-1].startswith("Retransmitted from ")
    assert any(line.startswith("`--all` prints all ") for line in lines)
    assert screen("show", "run") == lines


def test_fit_fits_a_screen_with_what_it_is_good_for_last(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.toml").write_text(
        'link = "dsl-16m"\nduration = "10 s"\n[[flow]]\nname = "download"\nworkload = { kind = "bulk" }\n'
    )
    screen("simulate", "run.toml", "--pcap", "--no-report", "--out", "run")
    captures = [f"run/captures/download.{end}.pcap" for end in ("client", "server")]
    lines = screen("fit", *captures)
    assert lines[0].startswith("Fitted to") and any(line.startswith("Not identified, and assumed: ") for line in lines)
    assert "goodput" in " ".join(lines[-3:]) and not any(line.startswith("    ") for line in lines)
    assert cli.run(["fit", *captures, "--quiet", "--all"]) == 0
    assert "service times" in capsys.readouterr().out


LINKS = ("dsl-16m", "cable-100m", "lte-fixed-10m", "wimax-nist", "cable-ricochet", "geo-satellite")
FEW = ("--variants", "cubic,bbr", "--seeds", "1")
IN_THE_GATE = [link for link in LINKS if link != "cable-100m"]  # its household takes ten seconds
SLOW = [("cable-100m", FEW), *((link, ()) for link in LINKS)]


def _verdict(lines: list[str]) -> str:
    """The lines from the last one that begins a recommendation."""
    start = max(number for number, line in enumerate(lines) if line.startswith(("Use ", "Keep ")))
    return " ".join(lines[start:])


@pytest.mark.parametrize(
    ("link", "options"),
    [*((link, FEW) for link in IN_THE_GATE), *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)],
)
@pytest.mark.finding("U30")
def test_comparison_has_20_lines_with_the_verdict_last(link: str, options: tuple[str, ...], screen: Screen) -> None:
    lines = screen("compare", link, *options, "--no-report", lines=MAX_LINES)
    verdict = _verdict(lines)
    assert verdict.endswith(("has what to type.", "by this rule.", "by this rule without harm.", "ms.")), verdict
    assert sum("`--all` prints" in line for line in lines) == 1


@pytest.mark.parametrize("goal", ["throughput", "latency", "fairness"])
def test_comparison_of_transfers_has_20_lines_with_the_verdict_last(goal: str, screen: Screen) -> None:
    options = ("--variants", "cubic,reno,vegas", "--flows", "2", "--opposite", "1", "--quick", "--no-report")
    axes = ("--queue", "link,fq-codel", "--ack-policy", "link,safe", "--ack", "none,acc", "--buffers", "auto")
    lines = screen("compare", "dsl-16m", "--goal", goal, *options, *axes, lines=MAX_LINES)
    assert lines[0].startswith("TCP over") and "buffers" not in lines[2]
    assert "of goodput at a p95 RTT" in _verdict(lines)


def test_whole_comparison_is_printed_on_request(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("compare", "dsl-16m", *FEW, "--no-report", "--out", "run")
    brief = screen(*options, lines=MAX_LINES)
    assert cli.run([*options, "--quiet", "--all"]) == 0
    whole = capsys.readouterr().out
    assert "The goal household counts" in whole and "All choices" in whole
    assert screen("show", "run", lines=MAX_LINES) == brief


NAMES = sorted(packaged_links())
SHOWN_IN_THE_GATE = ("dsl-16m", "docsis-3.1", "geo-100m-pep", "expedience-campus", "gpon")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SHOWN_IN_THE_GATE else pytest.mark.slow) for name in NAMES]
)
def test_link_is_shown_in_a_screen_with_what_it_is_good_for_last(name: str, screen: Screen) -> None:
    lines = screen("show", name, lines=SCREEN[1] - PROMPT)
    assert lines[0].startswith(f"{name}: ")
    if name != "geo-100m-pep":  # no household runs over its proxies
        start = next(number for number, line in enumerate(lines) if line.startswith("Today: "))
        assert not any(line.startswith(("Bottleneck", "RTT", "Source")) for line in lines[start:])


@pytest.mark.parametrize("name", ["metrics-cache", "cell", "biad-wimax"])
def test_scenario_is_shown_in_a_screen(name: str, screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(EXAMPLES / f"{name}.toml")
    lines = screen("show", scenario)
    assert cli.run(["show", scenario, "--all"]) == 0
    whole = capsys.readouterr().out
    assert ("`--all` prints every key." in lines) == (name != "cell")
    assert whole.splitlines()[0].startswith(lines[0][:40])


@pytest.mark.finding("U42")
@pytest.mark.parametrize(
    ("rate", "named"),
    [('{ trace = "line.down" }', ["recorded-rate"]), ('"8 Mb/s"', [])],
    ids=["recorded", "constant"],
)
def test_verdict_names_a_limitation_only_where_it_touches(rate: str, named: list[str], screen: Screen) -> None:
    Path("line.down").write_text("".join(f"{ms}\n" for ms in range(1, 1000)))
    Path("run.toml").write_text(
        f'duration = "2 s"\n[[hop]]\nname = "radio"\nrate = {rate}\ndelay = "20 ms"\n'
        'queue = { kind = "droptail", packets = 50 }\n[[flow]]\nworkload = { kind = "bulk" }\n'
    )
    lines = screen("simulate", "run.toml", "--no-report")
    found = [line for line in lines if line.startswith("Limitation")]
    assert found == [f"Limitation: {name} (`ackclock explain {name}`)." for name in named]
    assert not lines[-1].startswith("Limitation")


@pytest.mark.finding("U42")
def test_comparison_names_the_limitations_of_a_medium_and_of_quic() -> None:
    cells = [{"transport": "tcp"}, {"transport": "quic"}]
    document: Any = {"scenario": {"hop": [{"medium": {"kind": "grants"}}]}, "cells": cells}
    assert limits(document) == ["Limitations: medium-as-read, one-quic-stack (`ackclock explain medium-as-read`)."]
    assert named(["one-hop-fitted"], with_command=False) == ["Limitation: one-hop-fitted."]
    plain: Any = {"scenario": {"hop": [{"rate": "8 Mb/s"}]}, "cells": cells[:1]}
    assert limits(plain) == []


@pytest.mark.slow
def test_advice_fits_a_screen_with_what_to_type_and_the_undo(screen: Screen) -> None:
    lines = screen("advise", "dsl-16m", "--no-report")
    assert lines[0] == "What people feel"
    assert any(line.startswith("  tc qdisc replace dev") for line in lines)
    assert any(line.startswith("  undo: ") for line in lines)
    assert "targets met" in " ".join(lines[-2:])
