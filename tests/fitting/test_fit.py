"""`ackclock fit`: links from captures of both ends, beside the links that made them."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.errors import NoPath
from ackclock.fitting.prediction import verdict
from ackclock.input.scenario.link_draws import draws_path
from tests.support.captures import simulated_captures
from tests.support.documents import follows

LOSSY = {
    "rate": {"down": "6.3 Mb/s", "up": "800 kb/s"},
    "delay": "23 ms",
    "queue": {"down": {"kind": "droptail", "bytes": "40 kB"}, "up": {"kind": "droptail", "packets": 100}},
    "loss": {"down": {"kind": "gilbert-elliott", "mean": 0.004, "bad_sojourn": "6 ms"}},
}

UPLOAD = [{"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}]


@pytest.fixture(scope="module")
def lossy(tmp_path_factory) -> tuple[Path, Path]:
    return simulated_captures(tmp_path_factory.mktemp("fit"), LOSSY, duration="20 s")


@pytest.fixture(scope="module")
def fitted(lossy) -> Any:
    return ackclock.fit(*lossy, score=False)


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in follows("fit", fit.document)["parameters"]}


def test_intervals_contain_the_parameters_of_the_link_when_a_queue_overflowed(fitted):
    truth = {
        "rate.down": 6.3e6,
        "rate.up": 800e3,
        "delay": 23.0,
        "queue.down.bytes": 40e3,
        "loss.down.mean": 0.004,
    }
    for path, value in truth.items():
        row = rows(fitted)[path]
        slack = 0.1 if path == "delay" else 0.0  # the simulated host delays packets by up to 0.1 ms
        # Delays of lengths bound the rate of the uplink from below.
        hi = math.inf if path == "rate.up" else row["hi"]
        assert row["lo"] - slack <= value <= hi + slack, row
    # 95 % of the intervals contain the truth: this one is held to a factor of 2.
    assert 3.0 < rows(fitted)["loss.down.bad_sojourn"]["value"] < 12.0
    assert rows(fitted)["rate.down"]["hi"] / rows(fitted)["rate.down"]["lo"] < 1.02


def test_queue_is_bounded_with_a_reason_when_it_never_overflowed(fitted):
    row = rows(fitted)["queue.up.bytes"]
    assert row["status"] != "identified" and row["value"] is None
    reasons = {row["path"]: row for row in fitted.document["not_identified"]}
    assert "never seen to overflow" in reasons["hop.access.queue.up.bytes"]["why"]
    # As long as the other direction's queue.
    assert reasons["hop.access.queue.up.bytes"]["default"] == pytest.approx(40e3 * 0.8 / 6.3, rel=0.05)


def test_fit_is_the_same_when_the_captures_are_in_the_other_order(lossy, fitted):
    swapped = ackclock.fit(*reversed(lossy), score=False)
    ends = {one["capture"]: one["end"] for one in swapped.document["inputs"]}
    assert [ends[str(path)] for path in lossy] == ["server", "client"]
    for path, row in rows(fitted).items():
        other = rows(swapped)[path]
        assert other["status"] == row["status"]
        if row["value"] is not None:
            assert other["value"] == pytest.approx(row["value"], rel=1e-3), path


def test_link_file_is_a_link_with_a_fit_table_and_draws_when_written(ackclock, lossy, tmp_path):
    done = ackclock("fit", *lossy, "-o", "link.toml", "--json", "--no-score")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    data = tomllib.loads((tmp_path / "link.toml").read_text())
    assert [row["path"] for row in data["fit"]["parameters"]] == [row["path"] for row in document["parameters"]]
    draws = pl.read_parquet(draws_path(tmp_path / "link.toml"))
    assert "hop.access.rate.down" in draws.columns and draws.height >= 100
    assert not draws.select(pl.any_horizontal(pl.all().is_null() | pl.all().is_nan()).any()).item()
    scenario = 'link = "link.toml"\nduration = "2 s"\n[[flow]]\nworkload = { kind = "bulk" }\n'
    (tmp_path / "scenario.toml").write_text(scenario)
    assert ackclock("simulate", "scenario.toml", "--quiet", "--out", "run", "--no-report").returncode == 0


def test_table_has_a_line_for_each_parameter_and_each_default(ackclock, lossy):
    done = ackclock("fit", *lossy, "--no-score", "--all")
    assert done.returncode == 0, done.stderr
    assert "access.rate.down" in done.stdout and "identified" in done.stdout
    assert "not identified: access.queue.up.bytes" in done.stdout


def test_fit_is_refused_and_writes_nothing_when_the_captures_are_not_both_ends(ackclock, lossy, tmp_path):
    other = simulated_captures(tmp_path / "other", flows=UPLOAD, duration="1 s")
    (tmp_path / "text.pcap").write_text("no capture")
    for given, found in (
        ([lossy[0], lossy[0]], "the same capture twice"),
        ([lossy[0], other[1]], "no other capture has packets in common"),
        ([lossy[0], "absent.pcap"], "no such file"),
        ([lossy[0], "text.pcap"], "text.pcap"),
    ):
        done = ackclock("fit", *given, "-o", "link.toml", "--quiet")
        assert done.returncode == 2, done
        assert found in done.stderr, done.stderr
        assert not (tmp_path / "link.toml").exists() and not list(tmp_path.glob("*.draws.parquet"))


def test_other_file_is_kept_when_it_has_the_name_of_the_link(ackclock, lossy, tmp_path):
    (tmp_path / "link.toml").write_text("mine")
    done = ackclock("fit", *lossy, "-o", "link.toml", "--no-score")
    assert done.returncode == 2 and "--force" in done.stderr
    assert (tmp_path / "link.toml").read_text() == "mine" and not list(tmp_path.glob("*.draws.parquet"))
    assert ackclock("fit", *lossy, "-o", "link.toml", "--no-score", "--force").returncode == 0
    assert ackclock("fit", *lossy, "-o", "link.toml", "--no-score").returncode == 0  # the same again


def test_captures_without_common_packets_raise_with_the_file(lossy, tmp_path):
    other = simulated_captures(tmp_path, flows=UPLOAD, duration="1 s")
    with pytest.raises(NoPath) as raised:
        ackclock.fit(lossy[0], other[1])
    assert raised.value.file in {str(lossy[0]), str(other[1])}


def test_score_compares_the_held_out_part_with_a_naive_fit(lossy):
    fit = ackclock.fit(*lossy)
    score = follows("fit", fit.document)["score"]
    (held_out,) = score["held_out"]
    assert held_out["direction"] == "down" and held_out["from_s"] > 10
    assert abs(held_out["goodput_error"]) < 0.2 and abs(held_out["rtt_p95_error"]) < 0.25, score
    assert abs(score["naive"]["goodput_error"]) > 0
    assert "choose" in score["sentence"]
    assert "score" in tomllib.loads(fit.text)["fit"]


@pytest.mark.parametrize(
    ("errors", "spread", "window", "good_for"),
    [
        ((0.04, -0.09), 0.0, None, "buffers"),
        ((-0.04, 0.2), 0.0, None, "variants"),
        ((0.15, 0.0), 0.0, None, "large differences"),
        ((-0.3, 0.0), 0.1, None, "nothing"),
        ((-0.3, 0.0), 0.2, None, "large differences"),
        ((0.01, 0.01), 0.0, 65536, "receive window"),
        ((0.3, 0.01), 0.0, 65536, "nothing"),
    ],
)
def test_fit_is_good_for_what_its_errors_allow(errors, spread, window, good_for):
    goodput, rtt = errors
    found = verdict(goodput, rtt, spread, window)
    assert found["good_for"] == good_for
    assert ("differ by as much" in found["sentence"]) == (good_for == "large differences" and spread > 0)
    assert ("64 KiB" in found["sentence"]) == (good_for == "receive window")


def test_queue_is_an_aqm_when_replays_with_it_are_like_the_captures(tmp_path):
    hop = {"rate": "5 Mb/s", "delay": "15 ms", "queue": {"kind": "fq-codel"}}
    fit = ackclock.fit(*simulated_captures(tmp_path, hop, duration="12 s"), score=False)
    assert rows(fit)["queue.down.bytes"]["value"] is None
    assert rows(fit)["queue.down.kind"]["kind"] == "fq-codel"
    assert fit.link.to_dict()["hop"][0]["queue"]["down"] == {"kind": "fq-codel"}
    assert fit.parameters.filter(pl.col("path").str.ends_with("down.kind"))["kind"].to_list() == ["fq-codel"]


def test_target_of_an_aqm_is_within_its_interval_when_a_load_stands(tmp_path):
    hop = {"rate": "5 Mb/s", "delay": "15 ms", "queue": {"kind": "fq-codel", "target": "20 ms"}}
    fit = ackclock.fit(*simulated_captures(tmp_path, hop, duration="20 s"), score=False)
    # PIE at its default target is less like the input, and more so than fq-codel at its own.
    assert rows(fit)["queue.down.kind"]["kind"] == "fq-codel"
    row = rows(fit)["queue.down.target"]
    assert row["lo"] <= 20 <= row["hi"] and row["hi"] <= 4 * row["lo"], row


def test_rate_of_the_acks_direction_is_assumed_from_the_data_when_no_queue_stood(tmp_path):
    hop = {"rate": "40 Mb/s", "delay": "20 ms", "jitter": {"kind": "exponential", "mean": "8 ms"}}
    fit = ackclock.fit(*simulated_captures(tmp_path, hop, {"receive_buffer": "32 KiB"}, duration="4 s"), score=False)
    assert rows(fit)["rate.up"]["status"] == rows(fit)["rate.down"]["status"] == "bounded"
    defaults = {row["path"]: row["default"] for row in fit.document["not_identified"]}
    assert defaults["hop.access.rate.up"] == defaults["hop.access.rate.down"] >= 1e6


def test_captures_of_an_upload_are_scored_at_their_sender(tmp_path):
    hop = {"rate": {"down": "8 Mb/s", "up": "2 Mb/s"}}
    score = ackclock.fit(*simulated_captures(tmp_path, hop, flows=UPLOAD, duration="15 s")).document["score"]
    assert score["held_out"][0]["direction"] == "up"
    assert abs(score["held_out"][0]["goodput_error"]) < 0.1 and abs(score["held_out"][0]["rtt_p95_error"]) < 0.2
