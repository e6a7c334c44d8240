"""Pulses of a second recorded during a measurement, and the clocks of captures by them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ackclock import simulate
from ackclock.errors import InputError
from ackclock.measurement.pulses import PulseRecorder, recorders
from ackclock.measurement.run import _join

SLOW = {"rate": "1 Mb/s", "delay": {"down": "30 ms", "up": "10 ms"}}


def replaced(file: Path, text: str) -> None:
    beside = file.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def test_recorder_lists_each_pulse_once_when_the_file_has_the_last_one_only(tmp_path):
    source = tmp_path / "assert"
    replaced(source, "1700000000.000000100#1\n")
    with PulseRecorder(source, tmp_path / "pulses.txt") as recorder:
        for second in (1, 2):
            time.sleep(0.5)
            replaced(source, f"170000000{second - 1}.99999990{second}#{second + 1}\n")
        time.sleep(0.5)
    assert (tmp_path / "pulses.txt").read_text("utf-8").splitlines() == [
        "1700000000.000000100 1700000000",
        "1700000000.999999901 1700000001",
        "1700000001.999999902 1700000002",
    ]
    assert recorder.summary() == {"file": "pulses.txt", "pulses": 3}


def test_recorder_has_the_lines_of_a_list_that_grows(tmp_path):
    source = tmp_path / "list"
    source.write_text("# counter label\n5000000000 7\n6000000000\n", encoding="utf-8")
    with PulseRecorder(source, tmp_path / "pulses.txt") as recorder, source.open("a", encoding="utf-8") as more:
        more.write("7000000000 9\n")
    assert (tmp_path / "pulses.txt").read_bytes() == source.read_bytes()
    assert recorder.count == 3


def test_more_than_two_sources_and_a_missing_one_are_errors_of_pps(tmp_path):
    for sources in ([tmp_path / "none"], [tmp_path] * 3):
        with pytest.raises(InputError, match="--pps"):
            recorders(sources, tmp_path)


@pytest.fixture
def run_folder(tmp_path) -> Path:
    flows = [{"name": "download", "workload": {"kind": "bulk"}}]
    simulate({"hop": [{"name": "line", **SLOW}]}, flows, "3 s", 1, out=tmp_path / "run", captures="pcap")
    for end, name in (("client", "capture.pcap"), ("server", "capture-far.pcap")):
        (tmp_path / f"run/captures/download.{end}.pcap").rename(tmp_path / name)
    return tmp_path


def recorded(folder: Path, ahead_ns: tuple[int, int], pulses: int) -> list[PulseRecorder]:
    """Recorders of clocks that are this much ahead of the simulator's, 2000-01-01 at its start."""
    for name, ahead in zip(("near", "far"), ahead_ns, strict=True):
        lines = [f"{(946684800 + n) * 10**9 + ahead} {946684800 + n}" for n in range(pulses)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = recorders([folder / "near", folder / "far"], folder)
    for each in made:
        with each:
            pass
    return made


def test_captures_are_joined_by_the_pulses_of_both_ends(run_folder):
    document: Any = {"pps": {}}
    # Both captures have the true time; the pulses put the far clock 5 ms ahead of it.
    _join(run_folder, document, recorded(run_folder, (0, 5_000_000), 10))
    analysis = json.loads((run_folder / "analysis" / "analysis.json").read_text("utf-8"))
    assert document["pps"] == {} and analysis["clock"]["assumption"].startswith("known")
    up, down = (analysis["flows"][0][half]["one_way_delay_ms"]["min"] for half in ("a2b", "b2a"))
    assert (up, down) == (pytest.approx(10 - 5, abs=1), pytest.approx(30 + 5, abs=1))


def test_invalid_pulses_leave_the_analysis_without_them_and_a_reason(run_folder):
    document: Any = {"pps": {}}
    _join(run_folder, document, recorded(run_folder, (0, 0), 1))
    analysis = json.loads((run_folder / "analysis" / "analysis.json").read_text("utf-8"))
    assert "fewer than two pulses" in document["pps"]["broken"]
    assert analysis["clock"]["assumption"].startswith("symmetric")


@pytest.mark.parametrize("given", [["--pps", "a"], ["--capture", "--pps", "a", "--pps", "b"]])
def test_pps_without_the_captures_that_it_converts_is_refused(ackclock, given):
    done = ackclock("measure", "127.0.0.1", *given)
    assert done.returncode == 2 and "--pps requires --capture" in done.stderr
