"""Too little memory is one line and exit status 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import cli
from ackclock.cli import address_space

pytestmark = [
    pytest.mark.finding("R9"),
    pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is not kept elsewhere"),
]
SCENARIO = 'link = "dsl-16m"\nduration = "1 s"\n[[flow]]\nworkload = { kind = "bulk" }\n'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def _limited(mib: int, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command whose address space is limited."""
    command = f'ulimit -v {mib << 10}; exec "$0" -m ackclock "$@"'
    words = ["sh", "-c", command, sys.executable, *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("mib", [100, 150, 300, 600])
def test_simulate_below_the_limit_is_one_line(mib: int, scenario: Path) -> None:
    done = _limited(mib, "simulate", str(scenario), "--out", "run", folder=scenario.parent)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"ackclock: `ulimit -v` allows {mib} MiB of address space")
    assert len(done.stderr.splitlines()) == 1
    assert not (scenario.parent / "run").exists()


def test_error_is_a_document_with_json(scenario: Path) -> None:
    done = _limited(300, "simulate", str(scenario), "--json", folder=scenario.parent)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "memory")


def test_command_without_tables_works_below_the_limit(tmp_path: Path) -> None:
    done = _limited(300, "list", "links", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and a run of it in `run`."""
    folder = tmp_path_factory.mktemp("low-memory")
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    ackclock.simulate(folder / "scenario.toml", out=folder / "run", captures="pcap")
    return folder


CAPTURE = "run/captures/flow1.server.pcap"
WITH_TABLES = {
    "sweep": ["sweep", "scenario.toml"],
    "compare": ["compare", "dsl-16m"],
    "analyze": ["analyze", CAPTURE, "--out", "new"],
    "fit": ["fit", CAPTURE, "-o", "new"],
    "advise": ["advise", "scenario.toml"],
    "reproduce": ["reproduce", "asymmetry", "--quick"],
    "measure": ["measure", "127.0.0.1", "--tests", "path"],
    "emulate": ["emulate", "dsl-16m", "--out", "new", "--", "touch", "command-was-run"],
    "show": ["show", "run"],
    "report": ["report", "run"],
}
WITHOUT_TABLES = {
    "analyze": ["analyze", CAPTURE, "--json"],
    "diff": ["diff", "run", "run"],
    "export": ["export", "dsl-16m", "--to", "tc"],
    "show": ["show", "dsl-16m"],
    "explain": ["explain", "memory"],
    "doctor": ["doctor"],
}


@pytest.mark.parametrize("command", WITH_TABLES)
def test_command_with_tables_below_the_limit_is_one_line(command: str, runs: Path) -> None:
    mib, arguments = 600 if command in ("show", "fit") else 150, WITH_TABLES[command]
    done = _limited(mib, *arguments, folder=runs)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith(f"ackclock: `ulimit -v` allows {mib} MiB of address space")
    assert len(done.stderr.splitlines()) == 1
    assert not any((runs / name).exists() for name in ("new", "runs", "command-was-run"))


@pytest.mark.parametrize("arguments", WITHOUT_TABLES.values(), ids=WITHOUT_TABLES)
def test_command_without_tables_is_not_refused_below_the_limit(arguments: list[str], runs: Path) -> None:
    done = _limited(150, *arguments, folder=runs)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_report_is_drawn_with_what_tables_need(runs: Path) -> None:
    done = _limited(address_space.Need.TABLES.mib, "report", "run", folder=runs)
    assert done.returncode == 0, done.stderr
    assert (runs / "run" / "report.html").is_file()


def test_needs_grow_with_what_is_loaded_and_with_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "2")
    tables, runs, statistics = (need.mib for need in address_space.Need)
    # The peaks that were measured on two cores.
    assert (tables >= 1196, runs >= 1331, statistics >= 1648) == (True, True, True)
    monkeypatch.setenv("POLARS_MAX_THREADS", "4")
    assert address_space.Need.TABLES.mib > tables < runs < statistics


def test_limit_above_the_need_is_no_hindrance(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "limit_bytes", lambda: address_space.Need.RUNS.mib << 20)
    assert cli.run(["simulate", str(scenario), "--out", str(scenario.parent / "run"), "--no-report", "--quiet"]) == 0


class PanicException(BaseException):
    """Named as the panics of native code, which are no Exception."""


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("x"), NameError("x"), PanicException("x"), OSError(12, "x")]
)
def test_consequence_of_low_memory_is_one_line(error, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "_command", lambda: fail)
    monkeypatch.setattr(address_space, "limit_bytes", lambda: 300 << 20)
    assert cli.run(["list", "links"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("error", [NameError("a defect"), PanicException("a defect")])
def test_defect_stays_a_traceback_with_enough_memory(error, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "_command", lambda: fail)
    monkeypatch.setattr(address_space, "limit_bytes", lambda: None)
    with pytest.raises(type(error)):
        cli.run(["list", "links"])
