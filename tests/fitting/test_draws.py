"""Comparisons over a fitted link: a link for each seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.link_draws import LinkDraws
from ackclock.simulation.dataset_run import scenario_of_run

LINK = """title = "fitted"
[[hop]]
name = "access"
rate = { down = "4 Mb/s", up = "1 Mb/s" }
delay = "20 ms"
queue = { down = { kind = "droptail", bytes = "40 kB" }, up = { kind = "droptail", bytes = "40 kB" } }
loss = { down = { kind = "gilbert-elliott", mean = 0.003, bad_sojourn = "5 ms" } }
jitter = { up = { kind = "normal", mean = "3 ms", sd = "1 ms" } }
[fit]
inputs = []
"""
DRAWS = {
    "hop.access.rate.down": [3.6e6, 4.4e6],
    "hop.access.delay": [19.0, 21.0],
    "hop.access.queue.down.bytes": [38e3, 42e3],
    "hop.access.loss.down.mean": [0.002, 0.004],
    "hop.access.loss.down.bad_sojourn": [4.0, 6.0],
    "hop.access.jitter.up.mean": [2.5, 3.5],
}


@pytest.fixture
def link(tmp_path: Path) -> Path:
    path = tmp_path / "link.toml"
    path.write_text(LINK)
    pl.DataFrame(DRAWS).write_parquet(tmp_path / "link.draws.parquet")
    return path


def test_hop_of_a_seed_has_the_values_of_one_joint_draw(link):
    flow = {"workload": {"kind": "bulk"}}
    scenario = draft_of({"link": str(link), "duration": "1 s", "flow": [flow]}).check()
    draws = LinkDraws.beside(link)
    assert draws is not None
    for seed in (1, 2, 3):
        (hop,) = draws.scenario(scenario, seed).hop
        draw = {path: values[(seed - 1) % 2] for path, values in DRAWS.items()}
        assert hop.down and hop.up
        assert hop.down.rate == draw["hop.access.rate.down"] and hop.up.rate == 1e6
        assert hop.down.delay == hop.up.delay == draw["hop.access.delay"] * 1e9
        assert hop.down.queue and hop.up.queue and hop.down.loss and hop.up.jitter
        assert hop.down.queue.bytes == draw["hop.access.queue.down.bytes"] and hop.up.queue.bytes == 40e3
        assert (hop.down.loss.kind, hop.up.jitter.kind) == ("gilbert-elliott", "normal")
        assert hop.down.loss.mean == draw["hop.access.loss.down.mean"]
        assert hop.down.loss.bad_sojourn == draw["hop.access.loss.down.bad_sojourn"] * 1e9
        assert hop.up.jitter.mean == draw["hop.access.jitter.up.mean"] * 1e9 and hop.up.jitter.sd == 1e9


def test_comparison_has_a_link_for_each_seed_when_the_link_was_fitted(link, tmp_path):
    link.write_text("".join(line for line in LINK.splitlines(keepends=True) if not line.startswith("loss")))
    keys: dict[str, Any] = {"variants": ["reno"], "buffers": ["auto"], "delayed_ack": [True], "duration": "4 s"}
    drawn = ackclock.compare(link, seeds=2, out=tmp_path / "drawn", **keys)
    assert any("a link of its own" in note for note in drawn.document["notes"])
    goodputs = drawn.frames["flows"].sort("seed")["goodput_bps"].to_list()
    assert goodputs[1] / goodputs[0] > 1.1, goodputs  # the draws' rates differ by 22 %
    run = scenario_of_run(tmp_path / "drawn", 1)
    assert run.hop[0].down and run.hop[0].down.rate == 4.4e6
    (tmp_path / "link.draws.parquet").unlink()
    point = ackclock.compare(link, seeds=2, **keys)
    assert not any("a link of its own" in note for note in point.document["notes"])


def test_link_without_a_fit_table_has_no_draws(link):
    link.write_text(LINK.partition("[fit]")[0])
    assert LinkDraws.beside(link) is None and LinkDraws.beside("dsl-16m") is None
