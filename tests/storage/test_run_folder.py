"""Run folders: another experiment is refused, a killed one continues, and a full disk keeps
finished results.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.analysis import analyze
from ackclock.comparison import compare
from ackclock.errors import InputError
from ackclock.input.scenario import read_draft
from ackclock.measurement.schedule import Schedule, ScheduleState, keep
from ackclock.papers.reproduce import reproduce
from ackclock.result_folder import write_report
from ackclock.simulation.sweep import sweep_draft
from ackclock.storage import temporary_files
from ackclock.storage.run_folder import Identity, RunFolder, WriteFailed, sweep_runs

CLI = [sys.executable, "-m", "ackclock"]
COMPARED: dict[str, Any] = {
    "variants": ["reno"], "buffers": ["auto"], "delayed_ack": [True], "seeds": 2, "duration": "1 s",
}  # fmt: skip


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and when it was written."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def another(write: Callable[[str, str], Path]) -> Path:
    """A scenario with a sweep, which no other run here is."""
    return write(
        "another.toml",
        'duration = "1 s"\nseeds = 2\n[[hop]]\nname = "air"\nrate = "1 Mb/s"\ndelay = "10 ms"\n'
        '[[flow]]\nworkload = { kind = "bulk" }\n[sweep]\n"tcp.variant" = ["reno", "cubic"]\n',
    )


@pytest.fixture
def capture(small: Path, tmp_path: Path) -> Path:
    ackclock.simulate(small, seed=1, out=tmp_path / "source", captures="pcap")
    return next((tmp_path / "source" / "captures").glob("*.client.pcap"))


@pytest.mark.finding("U1")
def test_run_folder_refuses_every_other_experiment_and_changes_nothing(
    small: Path, another: Path, capture: Path, tmp_path: Path, ackclock: Callable[..., Any]
) -> None:
    def measured(out: Path) -> None:  # the traffic is of no interest here
        with RunFolder(out, Identity.of("measure", "a far end", once=True)) as run:
            (out / "measurement.json").write_text("{}")
            run.finish()

    makers: dict[str, Callable[[Path], object]] = {
        "simulate": lambda out: ackclock("simulate", small, "--no-report", "--out", out),
        "simulate of another seed": lambda out: ackclock("simulate", small, "--seed", 7, "--no-report", "--out", out),
        "sweep": lambda out: ackclock("sweep", another, "--no-report", "--out", out),
        "compare": lambda out: compare("dumbbell-10m", **COMPARED, out=out),
        "analyze": lambda out: ackclock("analyze", capture, "--no-report", "--out", out),
        "export": lambda out: ackclock("export", "dsl-16m", "--to", "tc", "--out", out),
        "measure": measured,
    }
    for name, make in makers.items():
        make(tmp_path / name)
    before = {name: contents(tmp_path / name) for name in makers}
    assert all(before.values())
    commands: dict[str, tuple[object, ...]] = {
        "simulate": ("simulate", small),
        "sweep": ("sweep", another),
        "compare": ("compare", "dumbbell-10m", "--quick"),
        "analyze": ("analyze", capture),
        "export": ("export", "dsl-16m", "--to", "tc"),
        "reproduce": ("reproduce", "asymmetry"),
        "reproduce --all": ("reproduce",),
        "reproduce --live": ("reproduce", "wibro", "--live"),
        "measure": ("measure", "127.0.0.1", "--tests", "path"),
        "measure --every": ("measure", "127.0.0.1", "--every", "1 h"),
        "emulate": ("emulate", "dsl-16m", "--", "true"),
    }
    for name in makers:
        for kind, command in commands.items():
            if name == kind and kind not in ("compare", "measure"):
                continue
            done = ackclock(command[0], "--quiet", "--out", tmp_path / name, *command[1:])
            assert (done.returncode, done.stdout) == (2, ""), (name, kind)
            assert done.stderr.count("\n") == 1
            assert f"--out {tmp_path / name} holds the results of {name.split()[0]}" in done.stderr
            assert "--force" in done.stderr
            assert contents(tmp_path / name) == before[name], (name, kind)


@pytest.mark.finding("U1")
def test_python_raises_input_error_when_the_folder_holds_another_run(
    small: Path, another: Path, capture: Path, tmp_path: Path
) -> None:
    ackclock.simulate(small, out=tmp_path / "run")
    before = contents(tmp_path / "run")
    calls: list[Callable[[], object]] = [
        lambda: ackclock.simulate(small, seed=9, out=tmp_path / "run"),
        lambda: ackclock.sweep(another, out=tmp_path / "run"),
        lambda: compare("dumbbell-10m", **COMPARED, out=tmp_path / "run"),
        lambda: analyze(capture, out=tmp_path / "run"),
        lambda: reproduce("wimax-bursts", quick=True, out=tmp_path / "run"),
        lambda: ackclock.measure("127.0.0.1", {"tests": ["path"]}, out=tmp_path / "run"),
        lambda: ackclock.emulate("dsl-16m", ["true"], out=tmp_path / "run"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="holds the results of simulate"):
            call()
    assert contents(tmp_path / "run") == before
    ackclock.simulate(small, seed=9, out=tmp_path / "run", force=True)
    assert contents(tmp_path / "run.1") == before


@pytest.mark.finding("U1")
def test_force_moves_run_folders_aside_and_never_onto_another(small: Path, tmp_path: Path) -> None:
    (tmp_path / "run.2").mkdir()
    (tmp_path / "run.2" / "mine").write_text("precious")
    held = []
    for seed in range(1, 5):
        ackclock.simulate(small, seed=seed, out=tmp_path / "run", force=True)
        held.append(contents(tmp_path / "run"))
    assert [contents(tmp_path / name) for name in ("run.1", "run.3", "run.4", "run")] == held
    assert (tmp_path / "run.2" / "mine").read_text() == "precious"
    with pytest.raises(InputError, match="other files"):
        ackclock.simulate(small, out=tmp_path / "run.2", force=True)


@pytest.mark.finding("L6")
def test_folder_that_is_moved_aside_is_swept_first(small: Path, tmp_path: Path) -> None:
    ackclock.simulate(small, seed=1, out=tmp_path / "run")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    (tmp_path / "run" / f".live.{ended.pid}.tmp").mkdir()
    ackclock.simulate(small, seed=2, out=tmp_path / "run", force=True)
    assert (tmp_path / "run.1" / "flows.parquet").is_file()
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.finding("U1")
def test_force_continues_the_same_experiment(small: Path, tmp_path: Path) -> None:
    ackclock.simulate(small, out=tmp_path / "run")
    before = contents(tmp_path / "run")
    ackclock.simulate(small, out=tmp_path / "run", force=True)
    assert contents(tmp_path / "run") == before
    assert not (tmp_path / "run.1").exists()


@pytest.mark.finding("U1")
def test_force_moves_the_target_when_the_folder_is_a_symlink(small: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk" / "run")
    ackclock.simulate(small, seed=1, out=tmp_path / "run")
    ackclock.simulate(small, seed=2, out=tmp_path / "run", force=True)
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["run", "run.1"]


@pytest.mark.finding("U1")
@pytest.mark.parametrize("name", ["simulate", "sweep", "compare", "analyze", "reproduce"])
def test_same_experiment_is_reused_without_changes(
    name: str, small: Path, another: Path, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "simulate": lambda: ackclock.simulate(small, out=tmp_path / "run").summaries,
        "sweep": lambda: sweep_draft(read_draft(another), folder=tmp_path / "run").document,
        "compare": lambda: compare("dumbbell-10m", **COMPARED, out=tmp_path / "run").document,
        "analyze": lambda: analyze(capture, out=tmp_path / "run").document,
        "reproduce": lambda: reproduce("wimax-bursts", seeds=(), out=tmp_path / "run").paper,
    }
    if name == "reproduce":
        monkeypatch.setattr("ackclock.papers.reproduce.EVALUATORS", {"wimax-bursts": lambda _: {}})
        monkeypatch.setattr("ackclock.papers.reproduce._DRAWINGS", {})
    first = calls[name]()
    held = {file: data for file, (data, _) in contents(tmp_path / "run").items()}
    monkeypatch.setattr("ackclock.simulation.engine.run", None)
    assert calls[name]() == first
    assert {file: data for file, (data, _) in contents(tmp_path / "run").items()} == held


@pytest.mark.finding("U1")
def test_analysis_is_another_when_the_capture_has_changed(capture: Path, tmp_path: Path) -> None:
    analyze(capture, out=tmp_path / "run")
    data = bytearray(capture.read_bytes())
    data[-1] ^= 1
    capture.write_bytes(bytes(data))
    with pytest.raises(InputError, match="analyze with another input"):
        analyze(capture, out=tmp_path / "run")


@pytest.mark.finding("U1")
def test_folder_of_an_earlier_version_is_reported_but_not_replaced(small: Path, another: Path, tmp_path: Path) -> None:
    ackclock.simulate(small, out=tmp_path / "simulate")
    ackclock.sweep(another, out=tmp_path / "sweep")
    compare("dumbbell-10m", **COMPARED, out=tmp_path / "compare")
    for kind in ("simulate", "sweep", "compare"):
        about = tmp_path / kind / "environment.json"
        environment = json.loads(about.read_text())
        del environment["run"]
        about.write_text(json.dumps(environment))
        before = contents(tmp_path / kind)
        with pytest.raises(InputError, match=f"results of {kind} by an earlier version"):
            ackclock.simulate(small, out=tmp_path / kind)
        assert contents(tmp_path / kind) == before
        assert write_report(tmp_path / kind).is_file()


@pytest.mark.finding("U1")
def test_captures_are_added_to_a_finished_simulation(small: Path, tmp_path: Path) -> None:
    ackclock.simulate(small, seed=1, out=tmp_path / "run")
    before = {name: data for name, (data, _) in contents(tmp_path / "run").items()}
    ackclock.simulate(small, seed=1, out=tmp_path / "run", captures="pcap")
    after = {name: data for name, (data, _) in contents(tmp_path / "run").items()}
    # A captured end has an element more, for the time between arrival and processing.
    for files in (before, after):
        files["summary.json"] = re.sub(rb'"elements_called": \d+', b"", files["summary.json"])
        files["environment.json"] = re.sub(rb'"summary.json": "\w+"', b"", files["environment.json"])
    assert before.items() <= after.items()
    assert sorted(after.keys() - before.keys()) == ["captures/download.client.pcap", "captures/download.server.pcap"]


@pytest.mark.finding("U1")
def test_schedule_of_measurements_continues_only_when_the_plan_is_the_same(tmp_path: Path) -> None:
    def scheduled(what: str) -> ScheduleState:
        once = lambda folder: folder.mkdir() or (folder / "measurement.json").write_text("{}")  # noqa: E731
        return keep(tmp_path / "run", Schedule(0.01, 2), {"host": what}, once, report=lambda _: None)

    first = scheduled("one")
    assert scheduled("one") == first
    with pytest.raises(InputError, match="measure --every with another input"):
        scheduled("other")


@pytest.mark.finding("U1")
def test_second_process_is_refused_while_another_writes_to_the_folder(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ackclock.storage.run_folder.PATIENCE_S", 0.1)
    holder = textwrap.dedent("""
        import sys
        from ackclock.storage.run_folder import Identity, RunFolder
        with RunFolder(sys.argv[1], Identity("simulate", "0")):
            print("entered", flush=True)
            sys.stdin.read()
    """)
    argv = [sys.executable, "-c", holder, str(tmp_path / "run")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for identity in (Identity("simulate", "0"), Identity("simulate", "1")):
            with pytest.raises(InputError), RunFolder(tmp_path / "run", identity):
                pytest.fail("two processes write to one folder")
        with (
            pytest.raises(InputError, match="another process"),
            RunFolder(tmp_path / "run", Identity("simulate", "0"), force=True),
        ):
            pytest.fail("two processes write to one folder")
        process.kill()
        process.wait()
    with RunFolder(tmp_path / "run", Identity("simulate", "0")) as run:
        run.finish()


@pytest.mark.finding("L6")
def test_leftovers_go_only_when_their_process_has_ended(tmp_path: Path) -> None:
    own = temporary_files.beside(tmp_path / "live").name
    pid, start, space, boot = own.split(".")[2].split("-")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    stays = {
        own: "of this process",
        f".live.{pid}.tmp": "of a living process, as earlier versions named it",
        f".live.{ended.pid}-1-4-{boot}.tmp": "of another PID namespace",
        f".live.{ended.pid}-1-{space}-00000000.tmp": "of another boot, or machine",
        ".notes.tmp": "not ours",
        "live.1.tmp": "not ours",
    }
    goes = {
        f".live.{pid}-{int(start) + 1}-{space}-{boot}.tmp": "of an ended process whose ID was given again",
        f".live.{ended.pid}-{start}-{space}-{boot}.tmp": "of an ended process",
        f".live.{ended.pid}.tmp": "of an ended process, as earlier versions named it",
    }
    for name in (*stays, *goes):
        (tmp_path / name).mkdir()
    temporary_files.sweep(tmp_path, alone=False)
    assert {path.name for path in tmp_path.iterdir()} == stays.keys()
    temporary_files.sweep(tmp_path, alone=True)
    elsewhere = {name for name, whose in stays.items() if whose.startswith("of another")}
    assert {path.name for path in tmp_path.iterdir()} == stays.keys() - elsewhere


@pytest.mark.finding("L6")
def test_same_analysis_sweeps_every_folder_in_which_it_was_killed(capture: Path, tmp_path: Path) -> None:
    analyze(capture, out=tmp_path / "run")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    places = [tmp_path / "run", *(path for path in (tmp_path / "run").iterdir() if path.is_dir())]
    assert len(places) > 1
    for place in places:
        (place / f".any.{ended.pid}.tmp").touch()
    analyze(capture, out=tmp_path / "run")
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.finding("L6")
def test_next_run_sweeps_folders_in_runs_when_their_processes_were_killed(
    small: Path, tmp_path: Path, ackclock: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    killed = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from ackclock.storage import temporary_files, atomic_files
        from ackclock.storage.run_folder import Identity, RunFolder
        for name in ("bare", "begun", "whole"):
            run = RunFolder(Path("runs") / name, Identity("emulate", "0"))
            run.__enter__()
            temporary_files.beside(run.path / "live").mkdir()
            if name != "bare":
                atomic_files.write_json(run.path / "emulation.json", {})
            if name == "whole":
                run.finish()
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    subprocess.run([sys.executable, "-c", killed], check=False, timeout=60)
    (tmp_path / "runs" / "mine").mkdir()
    (tmp_path / "runs" / "mine" / ".live.tmp").touch()
    assert len(list((tmp_path / "runs").glob("*/.live.*.tmp"))) == 3
    assert ackclock("simulate", small, "--no-report").returncode == 0
    assert not list((tmp_path / "runs").glob("*/.live.*.tmp"))
    names = {path.name for path in (tmp_path / "runs").iterdir()}
    assert names >= {"begun", "whole", "mine"}
    assert "bare" not in names
    assert (tmp_path / "runs" / "mine" / ".live.tmp").exists()


@pytest.mark.finding("L6")
def test_empty_run_folder_is_known_when_its_process_is_killed_while_clearing_it(tmp_path: Path) -> None:
    """Whatever is removed first: 200 kills met a folder without environment.json, which the next
    run refused.
    """
    killed = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from ackclock.storage import temporary_files
        from ackclock.storage.run_folder import Identity, RunFolder

        def child(work):
            if os.fork() == 0:
                work()
                os._exit(0)
            os.wait()

        def begin():
            RunFolder(folder, Identity("sweep", "1")).__enter__()
            (folder / "cells").mkdir()
            (folder / "scenario.toml").touch()

        def clear():
            calls = []
            def counted(path, remove=temporary_files.remove):
                calls.append(path)
                if len(calls) > number:
                    os._exit(0)
                remove(path)
            temporary_files.remove = counted
            run = RunFolder(folder, Identity("simulate", "0"))
            run.__enter__()
            run.__exit__(ValueError, ValueError(), None)

        for number in range(4):
            folder = Path(sys.argv[1]) / str(number)
            child(begin)
            child(clear)
    """)
    subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=True, timeout=60)
    assert len(list(tmp_path.iterdir())) == 4
    for folder in tmp_path.iterdir():
        with RunFolder(folder, Identity("compare", "0")) as run:
            run.finish()


@pytest.mark.finding("L6")
def test_sweep_leaves_a_folder_alone_while_its_process_writes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with RunFolder(Path("runs") / "mine", Identity("emulate", "0")) as run:
        strange = run.path / ".live.1-1-1-00000000.tmp"
        strange.mkdir()
        sweep_runs()
        assert strange.is_dir()


FILLS = ("simulate", "simulate --pcap", "sweep", "analyze")


def _on_a_full_disk(command: str, small: Path, another: Path, capture: Path) -> list[str]:
    return {
        "simulate": ["simulate", str(small), "--workers", "1"],
        "simulate --pcap": ["simulate", str(small), "--workers", "1", "--pcap"],
        "sweep": ["sweep", str(another), "--workers", "1"],
        "compare": [
            "compare",
            "dumbbell-10m",
            "--quick",
            "--variants",
            "reno,cubic",
            "--duration",
            "2 s",
            "--workers",
            "1",
        ],
        "analyze": ["analyze", str(capture)],
    }[command]


def _no_traceback(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "the disk is full" in line or "larger than this process may write" in line
    assert "run the same command again" in line


@pytest.mark.finding("U12")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_full_disk_is_one_line_and_keeps_finished_results(
    small: Path, another: Path, capture: Path, tmp_path: Path
) -> None:
    """File systems of 16 to 160 KiB: full while the folder is begun, while runs are kept, and at
    the end.
    """
    script = 'mount -t tmpfs -o size=$1k none "$2" && shift 2 && out=$1 && shift && "$@"; s=$?; cp -r "$out"/. "$out"-copy; exit $s'
    for number, (command, size) in enumerate([("simulate", 16), ("sweep", 48), ("compare", 96), ("analyze", 32)]):
        place = tmp_path / f"disk{number}"
        place.mkdir()
        (copy := tmp_path / f"run{number}-copy").mkdir()
        argv = [
            *CLI,
            *_on_a_full_disk(command, small, another, capture),
            "--no-report",
            "--quiet",
            "--out",
            str(place / "run"),
        ]
        run = [
            "unshare",
            "-m",
            "sh",
            "-c",
            script.replace('"$out"-copy', str(copy)),
            "sh",
            str(size),
            str(place),
            str(place),
            *argv,
        ]
        _no_traceback(subprocess.run(run, capture_output=True, text=True, timeout=60, check=False))
        assert not [path for path in copy.rglob("*") if path.name.endswith(".tmp")]
        _readable(copy / "run")


def _readable(folder: Path) -> None:
    """Every file of a run folder is whole; a folder that is not there holds nothing that is
    broken.
    """
    import polars as pl

    for path in folder.rglob("*.parquet"):
        pl.read_parquet(path, glob=False)
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())


@pytest.mark.finding("U12")
@pytest.mark.parametrize("command", FILLS)
def test_file_size_limit_is_one_line_and_keeps_finished_results(
    command: str, small: Path, another: Path, capture: Path, tmp_path: Path, ackclock: Callable[..., Any]
) -> None:
    """`ulimit -f`, in blocks of 512 bytes, needs no root: writes fail as on a full disk."""
    argv = [
        *CLI,
        *_on_a_full_disk(command, small, another, capture),
        "--no-report",
        "--quiet",
        "--out",
        str(tmp_path / "run"),
    ]
    run = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *argv]
    _no_traceback(subprocess.run(run, capture_output=True, text=True, timeout=60, check=False))
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]
    _readable(tmp_path / "run")
    assert ackclock(*argv[len(CLI) :]).returncode == 0


@pytest.mark.finding("U12")
def test_write_error_names_the_cause_and_the_remedy(tmp_path: Path) -> None:
    for number, words in (
        (28, "the disk is full"),
        (122, "quota"),
        (30, "read-only"),
        (5, "I/O error"),
        (13, "permission denied"),
    ):
        with (
            pytest.raises(WriteFailed, match=words) as failed,
            RunFolder(tmp_path / "run", Identity("simulate", "0")) as run,
        ):
            raise OSError(number, os.strerror(number), str(run.path / "flows.parquet"))
        assert failed.value.code == "disk"
        assert not (tmp_path / "run").exists()


@pytest.mark.finding("U12")
def test_full_standard_output_is_one_line(small: Path, tmp_path: Path) -> None:
    argv = [*CLI, "simulate", str(small), "--no-report", "--quiet", "--out", str(tmp_path / "run")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard output" in done.stderr


@pytest.mark.finding("U12")
def test_ctrl_c_prints_the_folder_when_results_are_finished(another: Path, tmp_path: Path) -> None:
    long = (
        another.read_text().replace('"1 s"', '"600 s"').replace("seeds = 2", "seeds = 50").replace("1 Mb/s", "20 Mb/s")
    )
    another.write_text(long)
    argv = [*CLI, "sweep", str(another), "--workers", "1", "--quiet", "--out", str(tmp_path / "run")]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        chunks = tmp_path / "run" / "chunks"
        while process.poll() is None and not list(chunks.glob("[0-9]*")):
            pass
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (
        stderr == f"ackclock: interrupted; finished results are in {tmp_path / 'run'}, and the same "
        "command continues from there\n"
    )
    assert not list(tmp_path.rglob("*.tmp"))
    with pytest.raises(InputError, match=r"holds an unfinished sweep; run the same command again"):
        write_report(tmp_path / "run")


@pytest.mark.finding("U1")
def test_path_that_cannot_be_a_folder_is_bad_input(small: Path, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for place in (tmp_path / "circle", tmp_path / "circle" / "run", tmp_path / ("x" * 300), small, small / "run"):
        with pytest.raises(InputError, match="name another folder"):
            ackclock.simulate(small, out=place)
