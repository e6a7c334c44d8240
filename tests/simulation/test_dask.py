"""The same chunks on a Dask cluster: processes end, and no run is lost or stored twice."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock.errors import InputError, RunFailed
from ackclock.input.scenario.draft import Draft, read_draft
from ackclock.simulation import dask_cluster, run_list
from ackclock.simulation.sweep import Sweep, sweep_draft
from tests.support.dask_processes import DaskProcesses, dask_processes, free_port

pytest.importorskip("distributed", reason="the package distributed is not installed")

SWEEP = """\
duration = "10 s"
seeds = 6
[[hop]]
name = "air"
rate = "10 Mb/s"
delay = "20 ms"
queue = { packets = 50 }
[[flow]]
workload = { kind = "bulk" }
[sweep]
"tcp.variant" = ["reno", "cubic", "vegas", "bbr"]
"hop.air.loss.down.mean" = [0, 0.001, 0.01]
"""


@pytest.fixture
def draft(write, monkeypatch: pytest.MonkeyPatch) -> Draft:
    """A sweep of 72 runs in 12 chunks."""
    monkeypatch.setattr(run_list, "CHUNK_RUNS", 6)
    return read_draft(write("sweep.toml", SWEEP))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskProcesses]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with dask_processes(folder) as processes:
        yield processes


class SweepThread:
    """A sweep on a cluster in a thread; `done` has the finished runs."""

    def __init__(self, draft: Draft, folder: Path, address: str) -> None:
        self.done = 0
        self.result: Sweep | BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(draft, folder, address), daemon=True)
        self._thread.start()

    def wait_for(self, runs: int) -> None:
        """Wait until so many runs are finished."""
        until = time.monotonic() + 60
        while self.done < runs:
            assert time.monotonic() < until, f"{self.done} runs after 60 s; {self.result}"
            time.sleep(0.01)

    def sweep(self) -> Sweep:
        """The result, or the error raised."""
        self._thread.join(120)
        assert self.result is not None, "the sweep does not end"
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def _run(self, draft: Draft, folder: Path, address: str) -> None:
        def progress(done: int, _total: int, _label: str) -> None:
            self.done = done

        try:
            self.result = sweep_draft(draft, folder=folder, dask=address, progress=progress)
        except BaseException as error:
            self.result = error


def same(sweep: Sweep, expected: Sweep) -> None:
    """Both have every run once, and equal results."""
    assert sweep.runs["run"].to_list() == list(range(72))
    assert sweep.document["digest"] == expected.document["digest"]
    for name in ("runs", "flows", "series"):
        assert sweep.data.table(name).equals(expected.data.table(name))


@pytest.mark.realtime
def test_cluster_loses_no_run_when_a_worker_is_killed_in_a_chunk(
    draft: Draft, cluster: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = SweepThread(draft, tmp_path / "cluster", cluster.address)
    running.wait_for(6)
    cluster.workers[0].kill()
    sweep = running.sweep()
    assert cluster.workers[0].wait() == -signal.SIGKILL
    same(sweep, sweep_draft(draft))
    monkeypatch.setattr(dask_cluster, "dask_client", None)  # a finished sweep needs no cluster
    same(sweep_draft(draft, folder=tmp_path / "cluster", dask=cluster.address), sweep)


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_cluster_loses_no_run_when_the_scheduler_is_restarted(
    draft: Draft, cluster: DaskProcesses, tmp_path: Path, ended_by: signal.Signals
) -> None:
    running = SweepThread(draft, tmp_path / "cluster", cluster.address)
    running.wait_for(12)
    cluster.scheduler.send_signal(ended_by)
    cluster.scheduler.wait()
    time.sleep(1)
    cluster.start_scheduler()
    cluster.start_workers()
    same(running.sweep(), sweep_draft(draft))


@pytest.mark.slow
@pytest.mark.realtime
def test_cluster_keeps_finished_chunks_when_the_scheduler_stays_away(
    draft: Draft, cluster: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE_S", 1.0)
    running = SweepThread(draft, tmp_path / "cluster", cluster.address)
    running.wait_for(12)
    cluster.scheduler.kill()
    with pytest.raises(RunFailed, match=r"the Dask scheduler at .* has ended; finished chunks are kept"):
        running.sweep()
    kept = {chunk.name: chunk.stat().st_ino for chunk in (tmp_path / "cluster" / "chunks").iterdir()}
    assert len(kept) >= 2
    began: list[int] = []
    sweep = sweep_draft(draft, folder=tmp_path / "cluster", progress=lambda done, total, label: began.append(done))
    assert began[0] == 6 * len(kept)
    same(sweep, sweep_draft(draft))


def test_chunk_is_refused_by_a_worker_with_another_engine(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailed, match="another build of ackclock"):
        dask_cluster._on_worker(lambda work: pytest.fail("ran"), None, "another engine")


def test_dask_address_is_refused_when_no_scheduler_answers(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.5)
    with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}"):
        sweep_draft(draft, dask=address)
