"""`reproduce --live`: jobs, runs, and verdicts beside the simulator's.

Real traffic where network namespaces are allowed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from threading import Event, Timer

import polars as pl
import pytest

from ackclock.errors import InputError, RunFailed
from ackclock.papers.claims import claims_of
from ackclock.papers.evaluators import ExperimentData, point
from ackclock.papers.evidence import Evidence, Unobservable
from ackclock.papers.experiments import experiments_file, known, settings_of
from ackclock.papers.live import job as live_job
from ackclock.papers.live import run as live_run
from ackclock.papers.live.experiments import LiveExperiments
from ackclock.papers.live.job import Budget, Walk, jobs_of
from ackclock.papers.live.reproduction import _live, reproduce_live
from ackclock.papers.live.summary import of_walk
from ackclock.papers.wibro.datagrams import rate_mbps
from ackclock.statistics import interval
from tests.support.namespaces import namespaces


def scenario(paper: str, experiment: str, scheme: str, **point: object):
    for place, found in settings_of(experiments_file(paper)["experiments"][experiment], paper):
        text = {path.rpartition(".")[2]: value for path, value in place.point.items()}
        if place.scheme == scheme and all(text.get(key) == value for key, value in point.items()):
            return found
    raise KeyError(scheme)


def test_stream_has_the_papers_packets_and_rate_within_the_budget():
    (job,) = jobs_of(scenario("wibro", "udp", "down full"), Budget.quick(), 1)
    train = job.strands[0]["spec"]["datagrams"]["down"]
    assert (train["payload"] + 28) * 8e9 / train["gap_ns"] == pytest.approx(12e6, rel=1e-3)
    assert job.seconds == 20.0
    assert job.window_s == (8.0, 15.0)
    assert job.strands[0]["spec"]["datagrams"]["up"]["gap_ns"] == 10**9
    assert len({job.key, jobs_of(scenario("wibro", "udp", "up full"), Budget.quick(), 1)[0].key}) == 2


def test_transfer_has_the_papers_window_variant_and_options(monkeypatch):
    monkeypatch.setattr(live_job, "available", lambda: frozenset({"reno", "cubic"}))
    (job,) = jobs_of(scenario("wibro", "tcp", "XP as installed"), Budget(), 1)
    bulk = job.strands[0]["spec"]["bulk"]
    assert (bulk["congestion"], bulk["receive_window"], bulk["send_buffer"]) == ("reno", 65535, 8704)
    assert job.sysctls == {"tcp_timestamps": 0, "tcp_window_scaling": 0, "tcp_sack": 0}


def test_load_of_other_users_is_simulated_in_the_emulator(monkeypatch):
    monkeypatch.setattr(live_job, "available", lambda: frozenset({"ackclock_bic"}))
    (job,) = jobs_of(scenario("wimax-bursts", "day", "", off="7 s"), Budget.quick(), 1)
    assert [strand["names"] for strand in job.strands] == [["download"]]
    assert [(flow["name"], flow["workload"]["off"]) for flow in job.load] == [("load", "7 s")]
    assert job.strands[0]["spec"]["bulk"]["congestion"] == "ackclock_bic"
    assert job.strands[0]["spec"]["bulk"]["sample_ns"] == 50_000_000


def test_missing_kernel_variant_and_long_duration_have_a_reason(monkeypatch):
    monkeypatch.setattr(live_job, "available", lambda: frozenset({"reno", "cubic"}))
    with pytest.raises(Unobservable, match="kernel has no vegas; `ackclock kernel-cc load` brings it"):
        jobs_of(scenario("wimax-measured", "transfers", "down auto", variant="vegas"), Budget(), 1)
    with pytest.raises(Unobservable, match="300 s of real time"):
        jobs_of(scenario("wimax-measured", "both", "both"), Budget.quick(), 1)
    (job,) = jobs_of(scenario("wimax-measured", "both", "both"), Budget(), 1)
    assert [strand["start_s"] for strand in job.strands] == [0.0, 60.0]
    assert job.strands[1]["spec"]["bulk"]["duration_ns"] == 180 * 10**9


def test_probes_of_a_partial_path_have_that_part_as_link():
    jobs = jobs_of(scenario("wibro", "hops", ""), Budget.quick(), 1)
    assert [[hop["name"] for hop in job.hops] for job in jobs] == [
        ["wired"],
        ["wired", "air"],
        ["air"],
        ["wired", "air"],
    ]
    assert [job.walk["from"] for job in jobs if job.walk] == ["server", "server", "client", "client"]


def test_walk_has_a_row_of_empty_figures_when_no_probe_of_a_size_is_answered():
    walk: Walk = {"name": "wired", "from": "server", "sizes": [60, 1500], "rounds": 2}
    answered = {"hop": 2, "ip_bytes": 60, "rtt_ms": 10.0}
    probes = pl.DataFrame([answered, {**answered, "rtt_ms": 14.0}, {"hop": 2, "ip_bytes": 1500, "rtt_ms": None}])
    small, large = of_walk(walk, probes)["probes"]
    assert (small["sent"], small["lost"], small["rtt_ms"]["mean"]) == (2, 0, 12.0)
    assert (large["sent"], large["lost"], large["rtt_ms"]["mean"]) == (1, 1, None)


def test_claim_is_not_observable_when_a_live_run_lacks_its_figure():
    evaluate = _live(lambda _: Evidence(interval([known(None)]), ""), [])
    assert evaluate
    with pytest.raises(Unobservable, match="did not give"):
        evaluate(claims_of("wibro")[0])


def test_live_reproduction_refuses_papers_without_a_path(tmp_path):
    with pytest.raises(InputError, match="wibro"):
        reproduce_live("asymmetry", out=tmp_path / "run")


@pytest.mark.slow
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")
def test_live_setting_yields_figures_and_is_reused(tmp_path, monkeypatch):
    """One stream of wibro alone: the cap's 10 Mb/s, whatever the machine's load makes of the
    audit.
    """
    only = {"experiments": {"udp": {**experiments_file("wibro")["experiments"]["udp"], "schemes": ["down full"]}}}
    for module in ("ackclock.papers.live.experiments.experiments_file", "ackclock.papers.experiments.experiments_file"):
        monkeypatch.setattr(module, lambda paper: {**experiments_file.__wrapped__(paper), **only})
    done: list[tuple[int, int, str]] = []
    experiments = LiveExperiments("wibro", Budget(longest_s=14.0), tmp_path, progress=lambda *text: done.append(text))
    figures = ExperimentData(experiments)
    found = figures.mean(point("udp", "down full"), rate_mbps)
    assert found.mean == pytest.approx(10.0, rel=0.05)
    (run,) = experiments.document()["runs"]
    assert run["places"] == ["udp down full"]
    assert run["flows"][0]["one_way_delay_ms"]["min"] > 500.0
    assert bool(experiments.invalid_reasons) != run["valid"]
    folder = tmp_path / "live" / run["run"]
    assert json.loads((folder / "summary.json").read_text("utf-8"))["audit"]["attempts"] >= 1
    assert not list(Path(folder).glob("emulation*")), "captures and fates are not kept"
    if run["valid"]:
        LiveExperiments("wibro", Budget(longest_s=14.0), tmp_path, progress=lambda *text: done.append(text))("udp")
        assert done[-1][2] == "taken from an earlier run"


def test_interrupted_live_run_ends_its_process_and_starts_no_other():
    stop = Event()
    Timer(0.2, stop.set).start()
    began = time.monotonic()
    status, _, _ = live_run._until_done([sys.executable, "-c", "import time; time.sleep(60)"], 60.0, stop)
    assert status != 0
    assert time.monotonic() - began < 10
    with pytest.raises(RunFailed, match="interrupted"):
        live_run._until_done(["true"], 60.0, stop)
