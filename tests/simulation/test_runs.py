"""Run folders: files, equal bytes for equal input, interrupted runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock.input.scenario import draft_of, read_draft
from ackclock.input.scenario.resolution import scenario_hash
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.run import simulate_scenario
from ackclock.simulation.runner import RunSpec, RunStore, run_specs
from ackclock.simulation.sweep import check_points, run_list, sweep_draft
from ackclock.storage.dataset_files import TABLES

SERIES = ["seed", "flow", "time_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms", "flight_bytes", "delivered_bytes",
          "retransmitted_segments"]  # fmt: skip
HOPS = [
    "seed",
    "hop",
    "direction",
    "station",
    "time_s",
    "queue_packets",
    "queue_bytes",
    "drops",
    "marks",
    "delivered_bytes",
]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_run_folder_has_the_documented_files_and_columns(small, tmp_path):
    done = ackclock.simulate(small, out=tmp_path / "run")
    assert sorted(contents(tmp_path / "run")) == [
        "environment.json", "flows.parquet", "hops.parquet", "scenario.toml", "series.parquet", "summary.json",
    ]  # fmt: skip
    series = pl.read_parquet(tmp_path / "run" / "series.parquet")
    assert series.columns == SERIES
    assert pl.read_parquet(tmp_path / "run" / "hops.parquet").columns == HOPS
    flows = pl.read_parquet(tmp_path / "run" / "flows.parquet")
    assert flows["seed"].to_list() == [1, 2]
    assert {"flow", "variant", "goodput_bps", "rtt_ms_p95", "retransmission_rate"} <= set(flows.columns)
    assert series["seed"].unique(maintain_order=True).to_list() == [1, 2]
    assert done.flows.equals(flows)


def test_series_times_are_multiples_of_the_sample_step(small):
    series = ackclock.simulate(small, seed=1).series
    assert series["time_s"].to_list() == [pytest.approx(0.1 * step, abs=1e-12) for step in range(1, len(series) + 1)]
    assert series["delivered_bytes"].is_sorted()


def test_same_seed_yields_the_same_bytes_with_any_number_of_workers(small, tmp_path):
    folders = []
    for name, workers in (("once", 1), ("twice", 1), ("wide", 2)):
        ackclock.simulate(small, seeds=[1, 2, 3], out=tmp_path / name, workers=workers)
        folders.append(contents(tmp_path / name))
    assert folders[0] == folders[1] == folders[2]


def test_another_seed_yields_another_run(small):
    first, second = (ackclock.simulate(small, seed=seed).series for seed in (1, 2))
    assert not first.drop("seed").equals(second.drop("seed"))


def test_resolved_scenario_yields_the_same_result(small, tmp_path):
    first = ackclock.simulate(small, out=tmp_path / "first")
    second = ackclock.simulate(tmp_path / "first" / "scenario.toml", out=tmp_path / "second")
    assert first.summaries == second.summaries
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_run_folder_has_its_traces_and_runs_without_the_originals(tmp_path, write):
    (tmp_path / "cell").write_text("".join(f"{time}\n" for time in range(1, 100)))
    scenario = write(
        "traced.toml",
        'duration = "2 s"\n[[hop]]\nname = "air"\nrate.down = { trace = "cell" }\ndelay = "10 ms"\n'
        '[[flow]]\nworkload = { kind = "bulk" }\n',
    )
    first = ackclock.simulate(scenario, out=tmp_path / "run")
    (tmp_path / "cell").unlink()
    second = ackclock.simulate(tmp_path / "run" / "scenario.toml")
    assert first.summaries == second.summaries
    assert len(list((tmp_path / "run" / "traces").iterdir())) == 1


def test_finished_run_is_reused(small, tmp_path, monkeypatch):
    scenario = read_draft(small).check()
    first = simulate_scenario(scenario, folder=tmp_path / "run")
    monkeypatch.setattr("ackclock.simulation.engine.run", None)
    second = simulate_scenario(scenario, folder=tmp_path / "run")
    assert second.summaries == first.summaries
    assert second.series.equals(first.series)


@pytest.mark.finding("U1")
def test_results_of_another_engine_are_neither_reused_nor_replaced(small, tmp_path):
    scenario = read_draft(small).check()
    first = simulate_scenario(scenario, folder=tmp_path / "run")
    about = tmp_path / "run" / "environment.json"
    about.write_text(about.read_text().replace(json.loads(about.read_text())["engine"], "another"))
    before = contents(tmp_path / "run")
    with pytest.raises(ackclock.InputError, match="simulate by another version of the engine"):
        simulate_scenario(scenario, folder=tmp_path / "run")
    assert contents(tmp_path / "run") == before
    assert simulate_scenario(scenario, folder=tmp_path / "run", force=True).summaries == first.summaries
    assert contents(tmp_path / "run.1") == before


def test_folder_with_other_files_is_refused_and_unchanged(small, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(ackclock.InputError, match="a folder with other files"):
        ackclock.simulate(small, out=tmp_path / "mine")
    assert contents(tmp_path / "mine") == {"thesis.txt": b"precious"}


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_simulate_captures_every_flow_at_both_ends(small, tmp_path, form):
    magic = {"pcap": (b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1"), "pcapng": (b"\x0a\x0d\x0d\x0a",)}[
        form
    ]
    ackclock.simulate(small, seed=1, out=tmp_path / "run", captures=form)
    captures = {path.name: path.read_bytes()[:4] for path in (tmp_path / "run" / "captures").iterdir()}
    assert sorted(captures) == [f"download.client.{form}", f"download.server.{form}"]
    assert all(first in magic for first in captures.values())


def test_captures_of_several_seeds_have_distinct_names(small, tmp_path):
    ackclock.simulate(small, out=tmp_path / "run", captures="pcap")
    names = sorted(path.name for path in (tmp_path / "run" / "captures").iterdir())
    assert names == [f"seed{seed}-download.{end}.pcap" for seed in (1, 2) for end in ("client", "server")]


def test_captures_with_offloads_are_added_to_a_finished_run_with_captures(small, tmp_path):
    ackclock.simulate(small, seed=1, out=tmp_path / "run", captures="pcap")
    ackclock.simulate(small, seed=1, out=tmp_path / "run", captures="pcap", offloads=True)
    names = sorted(path.name for path in (tmp_path / "run" / "captures").iterdir())
    ends = ("client", "server")
    assert names == [f"download.{end}.{kind}" for end in ends for kind in ("offloads.pcap", "pcap")]
    plain, merged = (
        ackclock.analyze(tmp_path / "run" / "captures" / f"download.server.{kind}")
        for kind in ("pcap", "offloads.pcap")
    )
    assert merged.document["packets"] < plain.document["packets"]
    for counted in ("segments", "payload_bytes", "unique_bytes"):
        assert merged.document["flows"][0]["b2a"][counted] == plain.document["flows"][0]["b2a"][counted]


def test_offloads_without_captures_are_refused(small):
    with pytest.raises(ackclock.InputError, match="offloads are of captures"):
        ackclock.simulate(small, offloads=True)


SWEEP = """\
duration = "3 s"
sample = "1 s"
seeds = 2
[[hop]]
name = "air"
rate = "2 Mb/s"
delay = "20 ms"
queue = { packets = 20 }
[[flow]]
workload = { kind = "bulk" }
[sweep]
"tcp.variant" = ["reno", "cubic"]
"hop.air.loss.down.mean" = [0, 0.01, 0.05]
"""


def test_sweep_points_have_intervals(write, tmp_path):
    sweep = sweep_draft(read_draft(write("sweep.toml", SWEEP)), folder=tmp_path / "run")
    cells = sweep.document["cells"]
    assert [cell["params"] for cell in cells] == [
        {"tcp.variant": variant, "hop.air.loss.down.mean": mean}
        for variant in ("reno", "cubic")
        for mean in (0, 0.01, 0.05)
    ]
    for cell in cells:
        assert cell["n"] == 2
        assert {"goodput_bps", "rtt_p95_ms", "retransmission_rate", "jain"} <= set(cell["metrics"])
        goodput = cell["metrics"]["goodput_bps"]
        assert goodput["lo"] <= goodput["mean"] <= goodput["hi"]
    assert cells[0]["metrics"]["goodput_bps"]["mean"] > cells[2]["metrics"]["goodput_bps"]["mean"]
    runs = pl.read_parquet(tmp_path / "run" / "runs" / "*.parquet")
    assert runs["run"].to_list() == list(range(12))
    assert runs["hop.air.loss.down.mean"].to_list() == [0.0, 0.0, 0.01, 0.01, 0.05, 0.05] * 2
    assert runs["seed"].to_list() == [1, 2] * 6
    assert runs["goodput_bps"][:2].mean() == pytest.approx(cells[0]["metrics"]["goodput_bps"]["mean"])
    assert pl.read_parquet(tmp_path / "run" / "flows" / "*.parquet").height == 12
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "dataset.json", "environment.json", "flows", "hops", "points.json", "runs", "scenario.toml", "series", "summaries", "sweep.json",
    ]  # fmt: skip
    assert tomllib.loads((tmp_path / "run" / "scenario.toml").read_text())["sweep"]["tcp.variant"] == ["reno", "cubic"]


def test_sweep_is_equal_for_any_number_of_workers(write, tmp_path):
    draft = read_draft(write("sweep.toml", SWEEP))
    for name, workers in (("one", 1), ("two", 2)):
        sweep_draft(draft, folder=tmp_path / name, workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_resolved_sweep_yields_the_same_result(write, tmp_path):
    first = sweep_draft(read_draft(write("sweep.toml", SWEEP)), folder=tmp_path / "first")
    second = sweep_draft(read_draft(tmp_path / "first" / "scenario.toml"))
    assert first.document["cells"] == second.document["cells"]


def test_finished_sweep_is_read_and_not_run_again(write, tmp_path, monkeypatch):
    draft = read_draft(write("sweep.toml", SWEEP))
    first = sweep_draft(draft, folder=tmp_path / "run")
    before = contents(tmp_path / "run")
    monkeypatch.setattr("ackclock.simulation.engine.Batches.run", None)
    again = sweep_draft(draft, folder=tmp_path / "run")
    assert again.document == first.document
    assert again.flows.equals(first.flows)
    assert again.points[3].results[1].summary == first.points[3].results[1].summary
    assert contents(tmp_path / "run") == before


def test_sweep_in_memory_equals_the_sweep_in_a_folder(write, tmp_path):
    draft = read_draft(write("sweep.toml", SWEEP))
    stored, free = sweep_draft(draft, folder=tmp_path / "run"), sweep_draft(draft)
    assert free.document["cells"] == stored.document["cells"]
    assert free.document["digest"] == stored.document["digest"]
    assert free.runs.equals(stored.runs)
    assert free.flows.equals(stored.flows)
    for one, other in zip(free.points[1].results, stored.points[1].results, strict=True):
        assert one.series.equals(other.series)
        assert one.hops.equals(other.hops)


def test_sweep_keeps_the_series_of_one_seed_by_default(write, tmp_path):
    draft = read_draft(write("sweep.toml", SWEEP))
    kept = {}
    for series in ("none", "sampled", "all"):
        sweep = sweep_draft(draft, folder=tmp_path / series, series=series)
        kept[series] = sweep.data.table("series")["run"].unique().sort().to_list()
        assert sweep.points[1].results[1].series.height == 3  # simulated again where it is not kept
    assert kept == {"none": [], "sampled": list(range(0, 12, 2)), "all": list(range(12))}


def test_sweep_runs_only_missing_points(write, tmp_path, monkeypatch):
    draft = read_draft(write("sweep.toml", SWEEP))
    scenario = draft.check(draft.points()[0])
    store = RunStore(tmp_path / "run")
    (kept,) = run_specs([RunSpec(scenario, 1)], store=store)
    seen: list[tuple[int, int, str]] = []
    results = run_specs(
        [RunSpec(scenario, 1), RunSpec(scenario, 2)], store=store, progress=lambda *now: seen.append(now)
    )
    assert [now[:2] for now in seen] == [(1, 2), (2, 2)]
    assert results[0].summary == kept.summary
    assert results[0].folder == kept.folder
    assert results[0].series.columns == SERIES


def test_failed_run_names_its_parameters_and_seed(small, monkeypatch):
    def fail(plan):
        raise ackclock.RunFailed("out of luck")

    monkeypatch.setattr("ackclock.simulation.engine.run", fail)
    with pytest.raises(ackclock.RunFailed, match=r"^tcp\.variant=reno seed 7: out of luck$"):
        run_specs([RunSpec(read_draft(small).check(), 7, {"tcp.variant": "reno"})])


LONG_SWEEP = SWEEP.replace("3 s", "300 s").replace("seeds = 2", "seeds = 10").replace('"2 Mb/s"', '"20 Mb/s"')


def start_sweep(scenario: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ackclock", "sweep", str(scenario), "--out", str(out), "--workers", "1", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_a_chunk(out: Path, running: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and running.poll() is None:
        if finished(out):
            return
        time.sleep(0.01)
    pytest.fail("the sweep ended, or hung, before it could be stopped")


def finished(out: Path) -> set[str]:
    chunks = out / "chunks"
    return {path.name for path in chunks.iterdir() if not path.name.startswith(".")} if chunks.is_dir() else set()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_sweep_continues(write, tmp_path, how):
    text = LONG_SWEEP
    out = tmp_path / "run"
    scenario = write("sweep.toml", text)
    running = start_sweep(scenario, out)
    try:
        wait_for_a_chunk(out, running)
        os.kill(running.pid, how)
        _, complaint = running.communicate(timeout=30)
    finally:
        running.kill()
    kept = finished(out)
    assert running.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in complaint
    assert kept
    assert not (out / "sweep.json").exists()
    timestamps = {name: (out / "chunks" / name / "chunk.json").stat().st_mtime_ns for name in kept}

    data = Dataset(run_list(check_points(read_draft(scenario))), out)
    missing = data.missing()
    assert len(missing) == len(data.runs.chunks) - len(kept)
    run_missing(data, chunks=missing[:1])
    assert not list((out / "chunks").glob(".*.tmp"))
    assert {name: (out / "chunks" / name / "chunk.json").stat().st_mtime_ns for name in kept} == timestamps
    for name in finished(out):  # complete chunks only
        tables = {table: pl.read_parquet(out / "chunks" / name / f"{table}.parquet") for table in TABLES}
        runs = tables["runs"]["run"].to_list()
        assert runs == list(range(runs[0], runs[0] + len(runs)))
        assert all(set(table["run"]) <= set(runs) for table in tables.values())
        assert tables["summaries"]["run"].to_list() == runs


def test_default_folder_is_named_by_the_scenario_hash(small, write):
    renamed = write("other.toml", 'title = "another title"\n' + small.read_text())
    longer = write("longer.toml", small.read_text().replace("3 s", "4 s"))
    hashes = [scenario_hash(read_draft(path).check()) for path in (small, renamed, longer)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_scenario_with_udp_only_runs():
    link = {"hop": [{"name": "line", "rate": "1 Mb/s"}]}
    run = ackclock.simulate(link, [{"workload": {"kind": "cbr", "rate": "100 kb/s"}}], "10 s", phase_jitter=False)
    (flow,) = run.summaries[0]["flows"]
    assert (flow["variant"], flow["rtt_ms"]["mean"]) == ("udp", None)
    assert flow["throughput_bps"] == pytest.approx(100e3, rel=0.02)


def test_simulate_accepts_a_link_and_flows(tmp_path):
    run = ackclock.simulate("dumbbell-10m", [{"workload": {"kind": "bulk"}, "count": 2}], "5 s", seeds=[1, 2])
    assert run.flows.height == 4
    assert run.folder is None
    assert {"goodput_bps", "jain"} <= set(run.metrics)
    sweep = ackclock.sweep(
        "dumbbell-10m", [{"workload": {"kind": "bulk"}}], "2 s", over={"tcp.variant": ["reno", "cubic"]}
    )
    assert sweep.metrics["tcp.variant"].to_list() == ["reno", "cubic"]
    with pytest.raises(ackclock.InputError, match="nothing to sweep"):
        ackclock.sweep("dumbbell-10m", [{"workload": {"kind": "bulk"}}], "2 s")


def test_draft_from_python_is_checked_like_a_file():
    with pytest.raises(ackclock.InputError, match='found no "duration"'):
        ackclock.simulate(draft_of({}).document.data, [{"workload": {"kind": "bulk"}}])


def test_recorded_cellular_links_carry_about_the_recorded_rate(cellular_link):
    run = ackclock.simulate(cellular_link, [{"workload": {"kind": "bulk"}}], "20 s", phase_jitter=False)
    air = next(hop for hop in run.summaries[0]["hops"] if (hop["hop"], hop["direction"]) == ("air", "down"))
    assert 0.5 < air["utilization"] <= 1
    assert air["drops"] < air["delivered"]


def test_seeds_from_python_are_checked():
    for seed in ([], [1, 1], -1):
        with pytest.raises(ackclock.InputError, match=r"seeds(\[1\])?: found"):
            ackclock.simulate("dumbbell-10m", [{"workload": {"kind": "bulk"}}], "1 s", seed)


def test_simulate_refuses_a_sweeps_folder(write, small, tmp_path):
    sweep_draft(read_draft(write("sweep.toml", SWEEP)), folder=tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(ackclock.InputError, match="the results of sweep"):
        ackclock.simulate(small, out=tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_seeds_over_a_droptail_queue_yield_different_outcomes():
    hops = [
        {"name": "core", "rate": "100 Mb/s", "delay": "45 ms"},
        {"name": "air", "rate": "10 Mb/s", "queue": {"kind": "droptail", "packets": 50}},
    ]
    data = {
        "hop": hops, "duration": "20 s", "seeds": 5,
        "tcp": {"host": "ns2", "variant": "newreno", "recovery": "sack"},
        "flow": [{"workload": {"kind": "bulk"}, "count": 6}],
    }  # fmt: skip
    run = simulate_scenario(draft_of(data).check())
    sorted_goodputs = [sorted(round(flow["goodput_bps"], -4) for flow in summary["flows"]) for summary in run.summaries]
    assert len(set(map(tuple, sorted_goodputs))) > 2
