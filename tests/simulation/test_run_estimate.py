"""The estimate of what a sweep will take, and the time left."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from ackclock.comparison import compare
from ackclock.input.scenario.draft import read_draft
from ackclock.simulation import chunk_runner
from ackclock.simulation.run_estimate import RunEstimate, TimeLeft, _places, _slowdown, duration_text, size_text
from ackclock.simulation.sweep import check_points, estimated, sweep_draft
from ackclock.storage.dataset_files import TABLES

SWEEP = """\
duration = "10 s"
seeds = 40
[[hop]]
name = "air"
rate = "5 Mb/s"
delay = "20 ms"
queue = { packets = 30 }
loss.down = { mean = 0.002 }
[[flow]]
workload = { kind = "bulk" }
[sweep]
"tcp.variant" = ["reno", "cubic", "vegas", "bbr"]
"""


def test_places_are_drawn_in_proportion_to_the_cost_and_once_each() -> None:
    costs = [1.0] * 500 + [9.0] * 500
    first = [place for place, _ in zip(_places(costs, 1), range(100), strict=False)]
    assert len(set(first)) == 100
    assert Counter(place >= 500 for place in first)[True] == pytest.approx(90, abs=2)
    assert sorted(_places([1.0] * 23, 5)) == [0, 5, 10, 15, 20]


def test_time_left_begins_with_the_estimate_and_follows_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    # 100 equal chunks, two at a time, estimated at 100 s; each pair takes 4 s.
    left = TimeLeft([1.0] * 100, 100.0, 2)
    found = []
    for pair in range(1, 50):
        now[0] = 4.0 * pair
        left.done(1.0)
        found.append(left.done(1.0))
    assert found[0] == pytest.approx(150, rel=0.3)
    assert all(value == pytest.approx(4.0 * (50 - pair), rel=0.25, abs=4) for pair, value in enumerate(found[4:], 5))


@pytest.mark.parametrize(("alone", "threads", "expected"), [(1.0, 2, 1.0), (1.5, 2, 2.0), (2.0, 1, 2.0)])
def test_slowdown_of_threads_follows_from_that_of_one(alone: float, threads: int, expected: float) -> None:
    assert _slowdown(alone, threads, 2) == pytest.approx(expected)


def test_estimate_counts_the_runs_of_a_part_and_finds_the_size(write, tmp_path: Path) -> None:
    draft = read_draft(write("sweep.toml", SWEEP))
    expected = estimated(check_points(draft), workers=1, series="all")
    sweep_draft(draft, folder=tmp_path / "out", series="all")
    size = sum(file.stat().st_size for name in TABLES for file in (tmp_path / "out" / name).iterdir())
    assert expected.runs == 160
    assert expected.size_bytes == pytest.approx(size, rel=0.5)
    assert expected.cpu_s > 0.05
    assert expected.wall_s >= expected.cpu_s


def test_long_sweep_prints_its_estimate_and_the_time_left(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_runner, "LONG_S", 0.001)
    labels: list[str] = []
    sweep_draft(read_draft(write("sweep.toml", SWEEP)), progress=lambda done, total, label: labels.append(label))
    assert "of CPU time" in labels[1]
    assert labels[-1].endswith(" left")


def test_command_prints_an_estimate_and_writes_nothing(ackclock, write, tmp_path: Path) -> None:
    scenario = str(write("sweep.toml", SWEEP))
    done = ackclock("sweep", scenario, "--estimate", "--json", "--part", "1/1", "--out", str(tmp_path / "out"))
    assert done.returncode == 0
    assert {"runs", "cpu_s", "bytes", "wall_s", "workers"} == set(json.loads(done.stdout))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_read_at_a_glance(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(1234, "1.23 kB"), (5.5e6, "5.5 MB"), (2e10, "20 GB")])
def test_sizes_are_read_at_a_glance(size: float, text: str) -> None:
    assert size_text(size) in (text, text.replace("5.5", "5.50").replace("20 ", "20.0 "))


@pytest.mark.finding("U10")
def test_estimate_and_progress_count_runs_of_a_later_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = RunEstimate(runs=100, cpu_s=50.0, size_bytes=1e6, wall_s=25.0, workers=2)
    assert alone.with_runs(20) == RunEstimate(runs=120, cpu_s=60.0, size_bytes=1.2e6, wall_s=30.0, workers=2)
    monkeypatch.setattr(chunk_runner, "LONG_S", 0.0)
    steps: list[tuple[int, int, str]] = []
    work = {"variants": ["cubic"], "buffers": ["auto"], "delayed_ack": [True], "seeds": 2, "duration": "2 s"}
    compare("dumbbell-10m", **work, progress=lambda *step: steps.append(step))  # type: ignore[arg-type]
    assert [total for _, total, _ in steps[:2]] == [2 + 24, 2 + 24]
    assert "of CPU time" in steps[1][2]
    # The runs beside other flows are planned; the defaults alone need none.
    assert steps[-1][0] == steps[-1][1] == 14
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
