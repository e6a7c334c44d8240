"""Rates that vary, and caps, in a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.fitting import media, medium_fit, run
from ackclock.fitting.engine import engine_fit
from tests.support.captures import simulated_captures

DOWNLOAD = {"name": "download", "workload": {"kind": "bulk"}}
SECONDS = 12


def stepwise(path: Path) -> Path:
    """A recording of 2 s at 6 Mb/s, 2 s at 3 Mb/s, and so on."""
    times = [ms for ms in range(1, 1000 * SECONDS + 1) if ms % (2 if ms // 2000 % 2 == 0 else 4) == 0]
    path.write_text("".join(f"{ms}\n" for ms in times))
    return path


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A link with a stepwise rate, and the captures of a download over it."""
    folder = tmp_path_factory.mktemp("recorded")
    rate = {"down": {"trace": str(stepwise(folder / "steps.trace")), "start": "0 s"}, "up": "2 Mb/s"}
    hop = {"name": "access", "rate": rate, "delay": "15 ms", "queue": {"kind": "droptail", "bytes": "60 kB"}}
    return hop, simulated_captures(folder / "run", hop, duration=f"{SECONDS} s")


def test_rate_is_a_recording_when_it_changes_in_steps(captured, tmp_path):
    hop, captures = captured
    out = tmp_path / "link.toml"
    for _ in range(2):
        fit = ackclock.fit(*captures, out=out, score=False)
    row = rows(fit)["rate.down"]
    assert (row["kind"], row["status"]) == ("recorded", "identified") and row["value"] == pytest.approx(4.5e6, rel=0.03)
    assert rows(fit)["delay"]["hi"] == pytest.approx(15, abs=1.0)
    queue = rows(fit)["queue.down.bytes"]
    assert queue["lo"] <= 60_000 <= queue["hi"] + 1500, queue
    assert (tmp_path / "link.rate.down.trace").is_file() and 'trace = "link.rate.down.trace"' in out.read_text()

    def goodput(link: Any) -> float:
        run = ackclock.simulate(link, [DOWNLOAD], f"{SECONDS} s", seeds=[3, 4], tcp={"variant": "reno"})
        return float(sum(summary["flows"][0]["goodput_bps"] for summary in run.summaries))

    assert goodput(str(out)) == pytest.approx(goodput({"hop": [hop]}), rel=0.05)


def test_recorded_rate_is_in_the_link_when_no_file_is_written(captured):
    hop = ackclock.fit(*captured[1], score=False).link.to_dict()["hop"][0]
    assert Path(hop["rate"]["down"]["trace"]).is_file() and hop["rate"]["up"]


def test_part_that_is_held_out_is_predicted_when_the_rate_is_a_recording(captured):
    score = ackclock.fit(*captured[1], variant="cubic").document["score"]
    # The fitted part has as much of the fast steps as of the slow ones, the held-out part has not.
    assert score is not None and abs(score["held_out"][0]["goodput_error"]) < 0.3


@pytest.fixture
def framed(monkeypatch):
    """The engine's fit with a period of 5 ms and changes of the rate that frames may explain; media
    are NR alone.
    """
    own = engine_fit

    def with_period(*args: Any, **keys: Any) -> Any:
        reported: Any = own(*args, **keys)
        down = reported["fit"]["down"]
        down["frame_period"] = {"ns": 5e6}
        down["rate"]["evidence"] |= {"steps": None, "variation": 0.1, "mode_above_mean": None}
        return reported

    monkeypatch.setattr(run, "engine_fit", with_period)
    monkeypatch.setattr(media, "candidates", lambda fit: [media.Medium("nr", standard="nr")])


def test_rate_is_a_recording_when_no_medium_is_like_the_input(captured, framed, monkeypatch):
    monkeypatch.setattr(medium_fit, "recognise", lambda *_: medium_fit.UnlikeMedium("nr", 121.0, 71.0))
    fit = ackclock.fit(*captured[1], score=False)
    assert rows(fit)["rate.down"]["kind"] == "recorded" and "medium" not in fit.document["link"]["hop"][0]
    remarks = fit.document["remarks"]
    assert any("nr, differ by 11 standard deviations of a repeat, an input from it by 8 at most" in r for r in remarks)
    assert any("this link has a recording of it" in r for r in remarks) and not any(
        "has its mean" in r for r in remarks
    )


@pytest.mark.slow
def test_medium_is_refused_when_its_repeats_are_more_like_each_other_than_the_input(captured, framed, monkeypatch):
    # A link without a medium whose replays are like nothing does not make one likely.
    monkeypatch.setattr(media.Search, "distance_of", lambda *_: 1000.0)
    fit = ackclock.fit(*captured[1], score=False, variant="cubic")
    assert rows(fit)["rate.down"]["kind"] == "recorded", fit.document["link"]
    assert any("no medium with grants or frames is like the input" in text for text in fit.document["remarks"])


@pytest.mark.parametrize(("distance", "is_accepted"), [(29.0, True), (65.0, True), (72.0, False)])
def test_input_may_differ_from_a_medium_as_its_repeats_do(distance, is_accepted):
    assert (distance <= medium_fit.max_distance([13.0, 41.0, 10.0])) is is_accepted


def fit_of_docsis(folder, seconds, cap, burst, **keys):
    """The fit to a download over a DOCSIS link with these caps and this burst."""
    medium = {
        "kind": "grants",
        "standard": "docsis-3.1",
        "rate": {"down": "200 Mb/s", "up": "40 Mb/s"},
        "cap": cap,
        "burst": burst,
    }
    hop = {"name": "access", "medium": medium, **keys}
    ackclock.simulate({"hop": [hop]}, [DOWNLOAD], f"{seconds} s", 1, out=folder / "run", captures="pcap")
    return ackclock.fit(folder / "run", score=False, variant="cubic")


def test_cap_and_burst_are_fitted_when_a_docsis_link_shapes(tmp_path):
    queue = {"kind": "droptail", "bytes": "60 kB"}
    fit = fit_of_docsis(tmp_path, 15, {"down": "4 Mb/s", "up": "2 Mb/s"}, "250 kB", delay="20 ms", queue=queue)
    found = rows(fit)
    assert found["medium.cap.down"]["lo"] <= 4e6 <= found["medium.cap.down"]["hi"]
    assert found["medium.burst"]["lo"] <= 250e3 <= found["medium.burst"]["hi"]
    assert not any("token bucket" in text for text in fit.document["remarks"])
    assert not any(key.startswith("shaper.") for key in found)  # the cap is that shaper
    assert {"hop.access.medium.cap.down", "hop.access.medium.burst"} <= set(fit.draws.columns)


@pytest.mark.slow
def test_cap_that_the_replayed_part_does_not_show_is_fitted_when_the_whole_input_shows_it(tmp_path):
    queue = {"kind": "droptail", "bytes": "111869 B"}
    cap = {"down": "3417275 b/s", "up": "10 Mb/s"}
    found = rows(fit_of_docsis(tmp_path, 30, cap, "273 kB", delay="99.2 ms", queue=queue))
    assert found["medium.cap.down"]["lo"] <= 3_417_275 <= found["medium.cap.down"]["hi"]
    assert found["delay"]["lo"] <= 99.2 <= found["delay"]["hi"]
