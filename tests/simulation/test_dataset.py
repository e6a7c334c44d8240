"""The dataset of a sweep or a comparison: parts of several machines, and single runs made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock.comparison import compare
from ackclock.errors import InputError
from ackclock.input.scenario.draft import read_draft
from ackclock.simulation import run_list
from ackclock.simulation.dataset_run import scenario_of_run
from ackclock.simulation.run import simulate_scenario
from ackclock.simulation.sweep import Sweep, check_points, sweep_checked, sweep_draft, sweep_part
from ackclock.storage.dataset_files import TABLES

SWEEP = """\
duration = "2 s"
sample = "1 s"
seeds = 3
[[hop]]
name = "air"
rate = "2 Mb/s"
delay = "20 ms"
queue = { packets = 20 }
[[flow]]
workload = { kind = "bulk" }
[sweep]
"tcp.variant" = ["reno", "cubic"]
"hop.air.loss.down.mean" = [0, 0.01]
"""


@pytest.fixture
def scenario(write, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep of 12 runs in 6 chunks."""
    monkeypatch.setattr(run_list, "CHUNK_RUNS", 2)
    return write("sweep.toml", SWEEP)


def tables(sweep: Sweep) -> dict[str, pl.DataFrame]:
    return {name: sweep.data.table(name) for name in TABLES}


@pytest.mark.parametrize("parts", [1, 3, 10])
def test_collected_parts_equal_the_sweep_for_any_number_of_parts(scenario: Path, tmp_path: Path, parts: int) -> None:
    points = check_points(read_draft(scenario))
    at_once = sweep_checked(points, folder=tmp_path / "at-once")
    folders = [tmp_path / f"part{number}" for number in range(1, parts + 1)]
    for number, folder in enumerate(folders, 1):
        sweep_part(points, (number, parts), folder=folder)
    joined = sweep_checked(points, folder=tmp_path / "joined", collect=folders[::-1])
    assert joined.document["cells"] == at_once.document["cells"]
    assert joined.document["digest"] == at_once.document["digest"]
    assert all(one.equals(other) for one, other in zip(tables(joined).values(), tables(at_once).values(), strict=True))
    assert not (tmp_path / "joined" / "chunks").exists()


def test_collect_names_the_missing_runs_and_can_be_repeated(scenario: Path, tmp_path: Path) -> None:
    points = check_points(read_draft(scenario))
    sweep_part(points, (1, 2), folder=tmp_path / "one")
    with pytest.raises(InputError, match=r"3 of 6 chunks are in no part; the first is chunk 1 \(runs 2 to 3\)"):
        sweep_checked(points, folder=tmp_path / "joined", collect=[tmp_path / "one"])
    sweep_part(points, (2, 2), folder=tmp_path / "two")
    joined = sweep_checked(points, folder=tmp_path / "joined", collect=[tmp_path / "two"])
    assert joined.runs["run"].to_list() == list(range(12))


def test_collect_refuses_other_runs_and_damaged_chunks(scenario: Path, tmp_path: Path, write) -> None:
    points = check_points(read_draft(scenario))
    other = check_points(read_draft(write("other.toml", SWEEP.replace("20 ms", "30 ms"))))
    sweep_part(other, (1, 1), folder=tmp_path / "other")
    with pytest.raises(InputError, match="a folder without chunks of this sweep"):
        sweep_checked(points, folder=tmp_path / "joined", collect=[tmp_path / "other"])
    sweep_part(points, (1, 1), folder=tmp_path / "part")
    path = tmp_path / "part" / "chunks" / "00002" / "summaries.parquet"
    texts = pl.read_parquet(path)
    texts.with_columns(pl.col("summary").str.replace('goodput_bps":', 'goodput_bps":1')).write_parquet(path)
    with pytest.raises(InputError, match="chunk 2 is damaged"):
        sweep_checked(points, folder=tmp_path / "joined", collect=[tmp_path / "part"])


@pytest.mark.parametrize("number", [0, 4, 11])
def test_run_of_a_sweep_is_the_same_when_made_again(scenario: Path, tmp_path: Path, number: int) -> None:
    sweep = sweep_draft(read_draft(scenario), folder=tmp_path / "sweep")
    one = simulate_scenario(scenario_of_run(tmp_path / "sweep", number), folder=tmp_path / "one", captures="pcap")
    summary = pl.read_parquet(tmp_path / "sweep" / "summaries" / "*.parquet")["summary"][number]
    assert json.loads((tmp_path / "one" / "summary.json").read_text())[0]["hops"] == json.loads(summary)["hops"]
    # A captured end has an element more, for the time between arrival and processing.
    made_again, in_sweep = (
        {**made, "engine": {**made["engine"], "elements_called": None}}
        for made in (one.summaries[0], sweep.data.result(number).summary)
    )
    assert made_again == in_sweep
    assert one.series.height == 2
    assert len(list((tmp_path / "one" / "captures").iterdir())) == 2


@pytest.mark.parametrize(
    "sweep",
    [
        '"hop.air.queue.down.kind" = ["droptail", "codel", "pie"]',
        '"flow.f.workload.kind" = ["bulk", "web"]',
        '"link" = ["dsl-16m", "cable-100m"]',
    ],
)
def test_run_of_a_sweep_of_kinds_or_links_is_the_same_when_made_again(tmp_path: Path, write: Any, sweep: str) -> None:
    hop = SWEEP[SWEEP.index("[[hop]]") : SWEEP.index("[[flow]]")]
    hop = 'link = "dsl-16m"\n' if "link" in sweep else hop
    flow = '[[flow]]\nname = "f"\nworkload = { kind = "bulk" }\n'
    file = Path(write("sweep.toml", f'duration = "2 s"\nseeds = 2\n{hop}{flow}[sweep]\n{sweep}\n'))
    swept = sweep_draft(read_draft(file), folder=tmp_path / "sweep")
    for number in range(0, len(swept.data.runs), 2):
        one = simulate_scenario(scenario_of_run(tmp_path / "sweep", number))
        assert one.summaries[0] == swept.data.result(number).summary
    again = sweep_draft(read_draft(tmp_path / "sweep" / "scenario.toml"), folder=tmp_path / "again")
    assert again.document["digest"] == swept.document["digest"]


@pytest.mark.parametrize("options", [{}, {"ack_policy": ["link", "safe"], "queue": ["link", "codel"]}])
def test_run_of_a_comparison_is_the_same_when_made_again(tmp_path: Path, options: dict[str, Any]) -> None:
    compared = compare(
        "dsl-16m",
        variants=["reno", "vegas"],
        buffers=["auto"],
        seeds=2,
        duration="2 s",
        out=tmp_path / "compare",
        **options,
    )
    for number in range(0, len(compared.data.runs), 3):
        one = simulate_scenario(scenario_of_run(tmp_path / "compare", number))
        assert one.summaries[0] == compared.data.result(number).summary


def test_command_runs_parts_collects_them_and_makes_one_run_again(write, ackclock, tmp_path: Path) -> None:
    scenario = str(write("sweep.toml", SWEEP))
    for number in (1, 2):
        done = ackclock("sweep", scenario, "--part", f"{number}/2", "--out", str(tmp_path / str(number)), "--json")
        assert (done.returncode, json.loads(done.stdout)["part"]) == (0, f"{number}/2")
    collected = [option for number in (1, 2) for option in ("--collect", str(tmp_path / str(number)))]
    done = ackclock("sweep", scenario, *collected, "--out", str(tmp_path / "all"), "--json", "--no-report")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["cells"]) == 4
    again = ackclock(
        "simulate", "--from", str(tmp_path / "all"), "--run", "7", "--json", "--out", str(tmp_path / "one")
    )
    assert json.loads(again.stdout)["seed"] == 2
    for arguments, words in (
        (("sweep", scenario, "--part", "3/2"), '"3/2"; allowed: a part such as 2/3'),
        (("sweep", scenario, "--series", "some"), "--series"),
        (("simulate", "--from", str(tmp_path / "all"), "--run", "12"), "a number from 0 to 11"),
        (("simulate", "--run", "1"), "--run requires --from"),
        (("simulate", "--from", str(tmp_path / "one"), "--run", "0"), "no finished sweep or comparison"),
    ):
        refused = ackclock(*arguments)
        assert refused.returncode == 2
        assert words in refused.stderr
    shutil.rmtree(tmp_path / "all")
