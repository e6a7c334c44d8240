"""Recorded rates: each seed starts at another time of the recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.comparison import Comparison, compare
from ackclock.errors import InputError
from ackclock.simulation.recordings import RecordingUse, sentences

FLOW = [{"workload": {"kind": "bulk"}}]
CHOICES: dict[str, Any] = {"variants": ["reno", "cubic"], "buffers": ["auto"], "delayed_ack": [True]}


@pytest.fixture
def halves(tmp_path: Path) -> Any:
    """A link whose recording of 60 s has 2.4 Mb/s in its first half, and 12 Mb/s in its second."""
    times = [*range(5, 30_001, 5), *range(30_001, 60_001)]
    (tmp_path / "halves").write_text("".join(f"{time}\n" for time in times))

    def link(start: str | None = None) -> list[dict[str, Any]]:
        rate = {"trace": str(tmp_path / "halves"), **({"start": start} if start else {})}
        queue = {"kind": "droptail", "packets": 100}
        return [{"name": "air", "delay": "20 ms", "rate": {"down": rate, "up": "5 Mb/s"}, "queue": queue}]

    return link


def starts(done: Any) -> list[float]:
    return [summary["hops"][0]["recording"]["start_s"] for summary in done.summaries]


def relative_width(done: Comparison) -> float:
    """The width of the best choice's interval over its mean."""
    goodput = done.best.metrics["goodput_bps"]
    return (goodput.hi - goodput.lo) / goodput.mean


@pytest.mark.finding("U6")
def test_seeds_start_at_different_times_of_the_recording_unless_it_has_a_start(halves: Any) -> None:
    drawn = ackclock.simulate({"hop": halves()}, FLOW, "2 s", 8)
    assert len(set(starts(drawn))) == 8
    assert all(0 <= start < 60 for start in starts(drawn))
    assert starts(ackclock.simulate({"hop": halves()}, FLOW, "2 s", 8)) == starts(drawn)
    fixed = ackclock.simulate({"hop": halves("12.5 s")}, FLOW, "2 s", 3)
    assert starts(fixed) == [12.5] * 3


@pytest.mark.finding("U6")
def test_goodput_is_that_of_the_half_in_which_the_run_starts(halves: Any) -> None:
    for start, low, high in (("0 s", 1.8e6, 2.4e6), ("30 s", 8e6, 12e6)):
        done = ackclock.simulate({"hop": halves(start)}, FLOW, "10 s", 1)
        assert low < done.flows["goodput_bps"][0] <= high, start


@pytest.mark.finding("U6")
def test_interval_includes_both_halves_of_a_recording_unless_the_start_is_fixed(halves: Any) -> None:
    varying = compare(halves(), **CHOICES, seeds=8, duration="10 s")
    fixed = compare(halves("30 s"), **CHOICES, seeds=8, duration="10 s")
    goodput = varying.best.metrics["goodput_bps"]
    assert relative_width(varying) > 0.4
    assert relative_width(fixed) < 0.02
    assert 3e6 < goodput.mean < 10e6
    assert goodput.lo < goodput.mean < goodput.hi


@pytest.mark.finding("U6")
def test_all_configurations_replay_the_same_parts_of_the_recording(halves: Any) -> None:
    done = compare(halves(), **CHOICES, seeds=3, duration="5 s")
    each = [json.loads(text)["hops"][0]["recording"] for text in done.data.table("summaries")["summary"]]
    assert each[:3] == each[3:]
    (use,) = done.document["recordings"]
    assert [one["start_s"] for one in use["starts"]] == [one["start_s"] for one in each[:3]]
    assert (use["hop"], use["direction"], use["period_s"], use["duration_s"]) == ("air", "down", 60.0, 5.0)
    share = f"{100 * use['seen_share']:.0f} %"
    assert sentences([use, {**use, "direction": "up"}]) == [
        f"The runs replay {share} of the recordings of `air down` and `air up` (60.0 s): 5.00 s from another start "
        "for each of 3 seeds."
    ]


@pytest.mark.parametrize(
    ("starts_s", "duration", "share"),
    [
        ([0.0], 10.0, 0.1),
        ([0.0, 5.0], 10.0, 0.15),
        ([95.0], 10.0, 0.1),  # the last 5 s and the first 5 s
        ([95.0, 0.0], 10.0, 0.15),
        ([20.0, 60.0], 10.0, 0.2),
        ([3.0], 100.0, 1.0),
        ([3.0], 250.0, 1.0),
    ],
)
def test_seen_share_is_the_part_that_at_least_one_run_replays(
    starts_s: list[float], duration: float, share: float
) -> None:
    use = RecordingUse("air", "down", 100.0, dict(enumerate(starts_s, 1)), duration)
    assert use.seen_share == pytest.approx(share)


@pytest.mark.finding("U6")
def test_quick_comparison_prints_how_much_of_the_recording_it_saw(halves: Any, tmp_path: Path) -> None:
    rate = json.dumps(halves()[0]["rate"]["down"]["trace"])
    for start, words in (
        ("", "10.0 s from another start for each of 3 seeds."),
        (', start = "7 s"', "The runs replay 17 % of the recording of `air down` (60.0 s): 10.0 s from 7.00 s on."),
    ):
        link = tmp_path / "link.toml"
        link.write_text(
            f'[[hop]]\nname = "air"\ndelay = "20 ms"\nrate.down = {{ trace = {rate}{start} }}\n'
            'rate.up = "5 Mb/s"\nqueue = { packets = 100 }\n'
        )
        command = [sys.executable, "-m", "ackclock", "compare", str(link), "--quick", "--quiet", "--variants", "reno"]
        done = subprocess.run([*command, "--buffers", "auto"], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert words in " ".join(done.stdout.split())


@pytest.mark.finding("U6")
@pytest.mark.parametrize("start", ["60 s", "-1 s", "7"])
def test_start_outside_of_the_recording_is_an_error_with_its_key(halves: Any, start: str) -> None:
    with pytest.raises(InputError, match=r"hop.air.rate.down.start: found \"?.*; allowed: a time"):
        ackclock.simulate({"hop": halves(start)}, FLOW, "2 s", 1)


def test_hops_without_a_recording_have_no_start() -> None:
    done = ackclock.simulate("dsl-16m", FLOW, "1 s", 1)
    assert all("recording" not in hop for hop in done.summaries[0]["hops"])
    assert "recordings" not in compare("dsl-16m", **CHOICES, seeds=1, duration="1 s").document


@pytest.mark.finding("U6")
def test_run_folder_keeps_the_start_and_gives_the_same_result(halves: Any, tmp_path: Path) -> None:
    first = ackclock.simulate({"hop": halves("12.5 s")}, FLOW, "3 s", 1, out=tmp_path / "run")
    again = ackclock.simulate(tmp_path / "run" / "scenario.toml")
    assert starts(again) == [12.5]
    assert again.flows.equals(first.flows)
