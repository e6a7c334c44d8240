"""Results: one shape for all, opened again from their folders; inputs as objects; progress in a
notebook.
"""

from __future__ import annotations

import doctest
import json
import sys
import time
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from docsite.keys import keys as keys_of

import ackclock
from ackclock import (
    Bulk,
    ConstantRate,
    Flow,
    Hop,
    Link,
    Probe,
    Tcp,
    Transfer,
    Web,
    api,
    notebook,
    result,
    result_folder,
)
from ackclock.errors import InputError
from ackclock.input import objects
from ackclock.input.scenario.hosts import tcp_keys
from ackclock.storage import run_kind

pytestmark = pytest.mark.finding("U22")
BULK = [{"workload": {"kind": "bulk"}}]
SHORT = "2 s"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, ackclock.Result]:
    """A result of each kind that needs no real time, each with a run folder."""
    folder = tmp_path_factory.mktemp("runs")
    run = ackclock.simulate("dsl-16m", BULK, duration=SHORT, out=folder / "simulate", captures="pcap")
    capture = next((folder / "simulate" / "captures").glob("*.server.pcap"))
    return {
        "simulate": run,
        "sweep": ackclock.sweep(
            "dsl-16m", BULK, duration=SHORT, over={"tcp.variant": ["reno", "bbr"]}, out=folder / "sweep"
        ),
        "compare": ackclock.compare(
            "dsl-16m",
            variants=["reno", "bbr"],
            buffers=["auto"],
            delayed_ack=[True],
            seeds=2,
            duration=SHORT,
            out=folder / "compare",
        ),
        "analyze": ackclock.analyze(capture, out=folder / "analyze"),
    }


KINDS = ("simulate", "sweep", "compare", "analyze")


@pytest.mark.parametrize("kind", KINDS)
def test_result_shows_itself_in_12_lines_and_as_html(kind: str, results) -> None:
    done = results[kind]
    lines = repr(done).splitlines()
    assert 2 < len(lines) <= 12
    assert lines[0].startswith(f"{type(done).__name__}: ")
    assert max(map(len, lines)) <= result.WIDTH
    assert "<table>" in done._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_result_has_document_frames_json_plot_and_report(kind: str, results, tmp_path) -> None:
    done = results[kind]
    assert json.loads(done.to_json(tmp_path / "document.json")) == json.loads((tmp_path / "document.json").read_text())
    assert "flows" in done.frames
    assert all(
        isinstance(frame, pl.DataFrame) and frame.equals(getattr(done, name)) for name, frame in done.frames.items()
    )
    assert done.plot()._repr_svg_().startswith("<svg")
    assert done.report(tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("kind", KINDS)
def test_open_gives_the_result_of_a_run_folder(kind: str, results, tmp_path) -> None:
    done = results[kind]
    again = ackclock.open(done.folder)
    assert again.folder == done.folder
    assert again.frames["flows"].equals(done.flows)
    known = {key: value for key, value in json.loads(again.to_json()).items() if key not in ("shown", "scenario")}
    assert known.items() <= json.loads(done.to_json()).items()
    assert 2 < len(repr(again).splitlines()) <= 12
    assert again.plot()._repr_svg_().startswith("<svg")
    assert again.report(tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.realtime
def test_sweep_of_200_runs_shows_itself_in_10_ms_without_reading_tables(tmp_path, monkeypatch) -> None:
    metric = {"mean": 1e6, "lo": 9e5, "hi": 1.1e6, "n": 2}
    metrics = {"goodput_bps": metric, "rtt_p95_ms": metric, "retransmission_rate": metric, "jain": metric}
    points = [{"params": {"tcp.initial_window": n}, "n": 2, "metrics": metrics} for n in range(100)]
    (tmp_path / "sweep.json").write_text(json.dumps({"cells": points}))
    pl.DataFrame({"seed": range(200)}).write_parquet(tmp_path / "flows.parquet")
    monkeypatch.setattr(pl, "read_parquet", None)
    done = ackclock.open(tmp_path)
    lines = repr(done).splitlines()
    assert len(lines) == 12 and lines[-1] == "... 93 more lines; frames: flows (200 rows)"

    def seconds() -> float:
        began = time.perf_counter()
        repr(done)
        return time.perf_counter() - began

    assert min(seconds() for _ in range(10)) < 0.01


def test_each_kind_of_run_folder_has_a_result_and_a_page() -> None:
    finished = set(run_kind.KINDS) - {run_kind.SCHEDULE}
    assert result_folder._RESULTS.keys() == result_folder._PAGES.keys() == finished


def test_open_refuses_a_schedule_of_measurements_which_has_a_report_only(tmp_path) -> None:
    state = '{"every_s": 6, "times": 2, "what": {"host": "h"}, "runs": {}}'
    (tmp_path / run_kind.SCHEDULE.document).write_text(state)
    with pytest.raises(InputError, match="schedule of several measurements"):
        ackclock.open(tmp_path)
    assert "0 of 2 measurements are done" in result_folder.write_report(tmp_path).read_text("utf-8")


def test_open_refuses_other_folders(tmp_path) -> None:
    with pytest.raises(InputError, match="a run folder"):
        ackclock.open(tmp_path)


def test_simulation_without_a_folder_is_reported_to_a_path(tmp_path) -> None:
    run = ackclock.simulate("dsl-16m", BULK, duration=SHORT)
    assert run.report(tmp_path / "page.html").stat().st_size > 10_000
    with pytest.raises(ValueError, match="no run folder"):
        run.report()


def test_integer_seeds_are_a_count_everywhere() -> None:
    assert ackclock.simulate("dsl-16m", BULK, "1 s", 2).flows["seed"].to_list() == [1, 2]
    assert ackclock.simulate("dsl-16m", BULK, "1 s", seeds=[7, 9]).flows["seed"].to_list() == [7, 9]
    assert ackclock.simulate("dsl-16m", BULK, "1 s", seed=7).flows["seed"].to_list() == [7]
    swept = ackclock.sweep("dsl-16m", BULK, "1 s", 2, over={"tcp.variant": ["reno"]})
    assert swept.flows["seed"].to_list() == [1, 2]
    with pytest.raises(InputError, match="seed=7 is the seed 7"):
        ackclock.simulate("dsl-16m", BULK, "1 s", seeds=2, seed=1)


def test_typed_inputs_are_the_same_run_as_dicts() -> None:
    link = Link(
        [
            Hop(name="core", rate="100 Mb/s", delay=0.005),
            Hop(
                name="air",
                rate={"down": 8e6, "up": "1 Mb/s"},
                delay=timedelta(milliseconds=20),
                queue={"packets": 30},
                loss=0.01,
            ),
        ]
    )
    flows = [
        Flow(workload=Transfer(size=500_000), tcp=Tcp(variant="cubic")),
        Flow(workload=ConstantRate(rate=1e6), start=0.5),
    ]
    hops = [
        {"name": "core", "rate": "100 Mb/s", "delay": "5 ms"},
        {
            "name": "air",
            "rate": {"down": "8 Mb/s", "up": "1 Mb/s"},
            "delay": "20 ms",
            "queue": {"packets": 30},
            "loss": 0.01,
        },
    ]
    tables = [
        {"workload": {"kind": "transfer", "size": "500 kB"}, "variant": "cubic"},
        {"workload": {"kind": "cbr", "rate": "1 Mb/s"}, "start": "500 ms"},
    ]
    one = ackclock.simulate(link, flows, 3.0, tcp=Tcp(rto_min=0.3), clients=2, sample=timedelta(milliseconds=50))
    other = ackclock.simulate({"hop": hops}, tables, "3 s", tcp={"rto_min": "300 ms"}, clients=2, sample="50 ms")
    assert one.flows.equals(other.flows)
    assert one.series.equals(other.series)


def test_link_is_loaded_changed_and_written(tmp_path) -> None:
    faster = Link.load("dsl-16m").with_hop("dsl", rate={"down": "50 Mb/s", "up": "10 Mb/s"}, delay=0.004)
    path = faster.to_toml(tmp_path / "faster.toml")
    run = ackclock.simulate(path, BULK, "2 s")
    assert run.flows.equals(ackclock.simulate(faster, BULK, "2 s").flows)
    assert (
        ackclock.compare(faster, variants=["reno"], buffers=["auto"], delayed_ack=[True], seeds=1, duration=SHORT).link
        == "inline"
    )
    with pytest.raises(KeyError, match="hops: internet, dsl"):
        faster.with_hop("wifi", delay="1 ms")


@pytest.mark.parametrize(
    ("own", "model", "left_out"),
    [
        (Tcp, "TcpEnds", set()),
        (ackclock.Quic, "Quic", set()),
        (Flow, "Flow", set(tcp_keys())),
        (Bulk, "Bulk", {"kind"}),
        (Transfer, "Transfer", {"kind"}),
        (ConstantRate, "ConstantRate", {"kind"}),
        (ackclock.OnOff, "OnOff", {"kind"}),
        (Probe, "Probe", {"kind"}),
        (Web, "Web", {"kind"}),
        (ackclock.Page, "Page", {"kind"}),
        (ackclock.Video, "Video", {"kind"}),
        (ackclock.Call, "Call", {"kind"}),
        (ackclock.Conference, "Conference", {"kind"}),
        (ackclock.Game, "Game", {"kind"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_typed_input_has_every_key_of_its_table(own, model, left_out) -> None:
    keys = {field.name for field in fields(own)} - {"tcp"}
    assert keys == {key.name for key in keys_of(model)} - left_out


def test_typed_hop_has_every_key_of_a_link_file() -> None:
    assert {field.name for field in fields(Hop)} == {key.name for key in keys_of("Hop")}


def test_dir_has_public_names_only() -> None:
    assert dir(ackclock) == sorted([*ackclock.__all__, "__version__"])
    assert all(hasattr(ackclock, name) for name in ackclock.__all__)


@pytest.mark.parametrize("module", [api, result, objects], ids=lambda module: module.__name__)
def test_examples_of_docstrings_run(module) -> None:
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


def test_progress_is_one_line_renewed_in_a_notebook(monkeypatch) -> None:
    lines: list[str] = []
    handle = SimpleNamespace(update=lambda line, raw: lines.append(line["text/plain"]))

    def display(line, raw, display_id):
        lines.append(line["text/plain"])
        return handle

    shell = SimpleNamespace(kernel=object())
    fake = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setattr(notebook, "PATIENCE_S", 0.0)
    monkeypatch.setattr(notebook, "INTERVAL_S", 0.0)
    ackclock.simulate("dsl-16m", BULK, "1 s", 2)
    assert [line.split(",")[0] for line in lines] == ["0 of 2 runs", "1 of 2 runs", "2 of 2 runs"]
    del shell.kernel
    assert notebook.notebook_progress() is None


@pytest.mark.slow
def test_folder_of_a_reproduction_is_opened(tmp_path: Path) -> None:
    done = ackclock.reproduce("wimax-bursts", quick=True, out=tmp_path / "paper")
    again = ackclock.open(tmp_path / "paper")
    assert again.document["totals"] == done.document["totals"]
    assert done.verdicts.height == len(done.claims)
    assert len(repr(done).splitlines()) <= 12


def test_times_of_every_call_are_text_seconds_or_timedeltas(tmp_path, results) -> None:
    capture = next((results["simulate"].folder / "captures").glob("*.server.pcap"))
    for since, until in (("500 ms", "1 s"), (0.5, 1), (timedelta(seconds=0.5), timedelta(seconds=1))):
        part = ackclock.analyze(capture, since=since, until=until)
        assert part.document["packets"] == ackclock.analyze(capture, since=0.5, until=1.0).document["packets"] > 0
    with pytest.raises(InputError, match="1 fortnight"):
        ackclock.analyze(capture, until="1 fortnight")
    known: Any = {"variants": ["reno"], "buffers": ["auto"], "delayed_ack": [True], "seeds": 1}
    goodputs = {
        ackclock.compare("dsl-16m", duration=duration, **known).best.metrics["goodput_bps"].mean
        for duration in ("2 s", 2, timedelta(seconds=2))
    }
    assert len(goodputs) == 1


@pytest.mark.parametrize("duration", ["3 s", 3, 3.0, timedelta(seconds=3)])
def test_times_of_a_measurement_plan_are_text_seconds_or_timedeltas(duration, monkeypatch) -> None:
    from ackclock.measurement import run

    monkeypatch.setattr(run, "_measured", lambda host, plan, **_: plan)
    plan: Any = run.measure("192.0.2.1", {"duration": duration, "sample": 0.02})
    assert (plan.seconds, plan.sample_ns) == (3.0, 20_000_000)
