"""Datasets on file systems of fsspec: memory, and S3 as a server of moto on loopback."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import ackclock
from ackclock.comparison import compare
from ackclock.errors import InputError, RunFailed
from ackclock.input.scenario.draft import Draft, read_draft
from ackclock.simulation import run_list
from ackclock.simulation.sweep import Sweep, check_points, sweep_checked, sweep_draft, sweep_part
from ackclock.storage import remote_folder
from ackclock.storage.dataset_files import TABLES
from ackclock.storage.remote_folder import RemoteFolder, local, shown_url

fsspec = pytest.importorskip("fsspec", reason="the package fsspec is not installed")

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
SECRET = "wJalrXUtnFEMI-of-a-test"


@pytest.fixture
def draft(write, monkeypatch: pytest.MonkeyPatch) -> Draft:
    """A sweep of 12 runs in 6 chunks."""
    monkeypatch.setattr(run_list, "CHUNK_RUNS", 2)
    return read_draft(write("sweep.toml", SWEEP))


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """A server of S3 on loopback: the environment with which clients reach it."""
    pytest.importorskip("s3fs", reason="the package s3fs is not installed")
    server_module = pytest.importorskip("moto.server", reason="the package moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server.stop()


@pytest.fixture(params=["memory", "s3"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty folder."""
    name = uuid.uuid4().hex
    if request.param == "memory":
        return f"memory://{name}/study"
    for key, value in request.getfixturevalue("s3").items():
        monkeypatch.setenv(key, value)
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    fsspec.filesystem("s3").clear_instance_cache()
    return f"s3://{name}/study"


@pytest.fixture
def memory_url() -> str:
    """The URL of an empty folder in memory."""
    return f"memory://{uuid.uuid4().hex}/study"


def files(url: str) -> dict[str, bytes]:
    """All files below a URL."""
    system, root = fsspec.core.url_to_fs(url)
    system.invalidate_cache()
    return {str(path).lstrip("/")[len(root.lstrip("/")) + 1 :]: system.cat_file(path) for path in system.find(root)}


def equal(sweep: Sweep, expected: Sweep) -> None:
    assert sweep.document["digest"] == expected.document["digest"]
    for name in TABLES:
        assert sweep.data.table(name).equals(expected.data.table(name))


def test_sweep_is_written_to_a_url_and_read_back(draft: Draft, url: str, tmp_path: Path) -> None:
    expected = sweep_draft(draft, folder=tmp_path / "here")
    sweep = sweep_draft(draft, folder=local(url))
    equal(sweep, expected)
    assert sweep.document["folder"] == url
    there = files(url)
    here = {str(path.relative_to(tmp_path / "here")) for path in (tmp_path / "here").rglob("*") if path.is_file()}
    assert set(there) == here
    assert not any(SECRET.encode() in content for content in there.values())
    assert there["runs/00000.parquet"] == (tmp_path / "here" / "runs" / "00000.parquet").read_bytes()
    assert json.loads(there["environment.json"])["run"]["state"] == "finished"
    opened = ackclock.open(url)
    assert opened.document["digest"] == expected.document["digest"]
    assert opened.frames["runs"].equals(expected.runs)


def test_finished_sweep_at_a_url_is_not_run_again(
    draft: Draft, memory_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sweep_draft(draft, folder=local(memory_url))
    monkeypatch.setattr("ackclock.simulation.chunk_runner.execute", None)
    equal(sweep_draft(draft, folder=local(memory_url)), first)


def test_parts_in_one_url_are_completed_by_another_machine(draft: Draft, url: str, tmp_path: Path) -> None:
    sweep_part(check_points(draft), (1, 2), folder=local(url))
    assert sum(name.endswith("/chunk.json") for name in files(url)) == 3
    with pytest.raises(InputError, match="holds an unfinished sweep"):
        sweep_draft(draft, folder=local(url), series="all")
    done: list[int] = []
    sweep = sweep_draft(draft, folder=local(url), progress=lambda now, total, label: done.append(now))
    assert done[0] == 6
    equal(sweep, sweep_draft(draft))
    assert not any(name.startswith("chunks/") for name in files(url))


def test_parts_at_urls_are_collected(draft: Draft, memory_url: str, tmp_path: Path) -> None:
    points = check_points(draft)
    for number in (1, 2):
        sweep_part(points, (number, 2), folder=local(f"{memory_url}-{number}"))
    parts = [remote_folder.finished(f"{memory_url}-{number}") for number in (1, 2)]
    equal(sweep_checked(points, folder=tmp_path / "all", collect=parts), sweep_draft(draft))


def test_chunk_without_its_last_file_is_run_again(
    draft: Draft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"memory://{uuid.uuid4().hex}"
    sweep_part(check_points(draft), (1, 2), folder=local(url))
    system, root = fsspec.core.url_to_fs(url)
    system.rm(f"{root}/chunks/00002/chunk.json")
    system.pipe_file(f"{root}/chunks/00002/runs.parquet", b"half a table")
    done: list[int] = []
    sweep = sweep_draft(draft, folder=local(url), progress=lambda now, total, label: done.append(now))
    assert done[0] == 4
    equal(sweep, sweep_draft(draft))


def test_sweep_fails_clearly_when_another_process_removes_its_chunks(draft: Draft) -> None:
    url = f"memory://{uuid.uuid4().hex}"
    points = check_points(draft)
    sweep_part(points, (1, 2), folder=local(url))
    system, root = fsspec.core.url_to_fs(url)

    def remove(done: int, total: int, label: str) -> None:
        if system.exists(f"{root}/chunks/00000"):
            system.rm(f"{root}/chunks/00000", recursive=True)

    with pytest.raises(RunFailed, match=f"removed the chunks of {url}; run the same command again"):
        sweep_checked(points, folder=local(url), progress=remove)
    equal(sweep_checked(points, folder=local(url)), sweep_draft(draft))


def test_upload_that_fails_keeps_finished_chunks(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    url = f"memory://user:{SECRET}@{uuid.uuid4().hex}"
    put, calls = MemoryFileSystem.put, [0]

    def failing(self: Any, *arguments: Any, **options: Any) -> None:
        calls[0] += 1
        if calls[0] > 6:
            raise OSError(f"the request to {url} with {SECRET} was refused")
        put(self, *arguments, **options)

    monkeypatch.setattr(MemoryFileSystem, "put", failing)
    with pytest.raises(RunFailed, match="what was finished is kept there") as caught:
        sweep_draft(draft, folder=local(url))
    assert SECRET not in str(caught.value)
    monkeypatch.setattr(MemoryFileSystem, "put", put)
    done: list[int] = []
    equal(
        sweep_draft(draft, folder=local(url), progress=lambda now, total, label: done.append(now)), sweep_draft(draft)
    )
    assert done[0] >= 4
    assert not any(SECRET.encode() in content for content in files(url).values())


def test_comparison_is_written_to_a_url_and_reported(memory_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"variants": ["reno", "vegas"], "buffers": ["auto"], "seeds": 2, "duration": "2 s"}
    compared = compare("dsl-16m", **options, out=memory_url)
    assert compared.document["folder"] == memory_url
    again = compare("dsl-16m", **options, out=memory_url)
    assert again.document["ranking"] == compared.document["ranking"]
    assert ackclock.open(memory_url).document["ranking"] == json.loads(files(memory_url)["compare.json"])["ranking"]


def test_other_experiment_and_force_are_refused_at_a_url(draft: Draft) -> None:
    url = f"memory://{uuid.uuid4().hex}"
    sweep_draft(draft, folder=local(url))
    before = files(url)
    with pytest.raises(InputError, match=f"{url} holds the results of sweep with another input; name another folder$"):
        sweep_draft(draft.replaced({"seeds": [9]}), folder=local(url))
    with pytest.raises(InputError, match="--force cannot move"):
        sweep_draft(draft, folder=local(url), force=True)
    assert files(url) == before
    fsspec.filesystem("memory").pipe_file(f"/{url.partition('://')[2]}x/thesis.txt", b"precious")
    with pytest.raises(InputError, match="has other files"):
        sweep_draft(draft, folder=local(f"{url}x"))


def test_other_commands_refuse_a_url(ackclock, write) -> None:
    scenario = str(write("sweep.toml", SWEEP))
    refused = ackclock("simulate", scenario, "--out", "s3://bucket/study")
    assert refused.returncode == 2
    assert "simulate writes to a folder" in refused.stderr
    refused = ackclock("sweep", scenario, "--out", "nosuch://bucket/study")
    assert refused.returncode == 2
    assert "nosuch://bucket/study cannot be read" in refused.stderr


def test_credentials_are_in_no_message() -> None:
    assert shown_url("sftp://me:secret@host/a/b?sig=c") == "sftp://host/a/b"
    assert "secret" not in repr(RemoteFolder("memory://me:secret@host/a", TemporaryDirectory()))


def test_command_reports_and_repeats_runs_of_a_url(
    s3, url: str, write, ackclock, monkeypatch: pytest.MonkeyPatch
) -> None:
    if url.startswith("memory"):
        pytest.skip("a process has a memory of its own")
    scenario = str(write("sweep.toml", SWEEP))
    done = ackclock("sweep", scenario, "--out", url, "--json", "--no-report")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["folder"] == url
    assert SECRET not in done.stdout + done.stderr
    made = ackclock("report", url)
    assert (made.returncode, made.stdout.strip()) == (0, f"{url}/report.html")
    assert b"<html" in files(url)["report.html"][:1000]
    again = ackclock("simulate", "--from", url, "--run", "7", "--json", "--no-report")
    assert json.loads(again.stdout)["seed"] == 2
