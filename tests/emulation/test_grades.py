"""Grades, seeds and tries of an emulation, without traffic."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from ackclock.cli import emulate as command
from ackclock.emulation import config
from ackclock.emulation.config import emulation_scenario, seed_of
from ackclock.emulation.run import open_emulation
from ackclock.emulation.terminal_tables import emulation_tables
from ackclock.emulation.tries import GRADES, graded, in_child, reaches
from ackclock.errors import InputError, RunFailed

LINE = 'title = "a line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = "1 Mb/s"\ndelay = "15 ms"\n'
SPREAD = dict.fromkeys(("count", "min", "mean", "sd", "p50", "p95", "p99", "max"), 20.0)


def document(grade, argv=("true",), status=0):
    audit = {
        "valid": grade != "invalid",
        "why": f"it is {grade}",
        "grade": grade,
        "bound": {"goodput": 0.0123, "rtt_p95": None},
        "release_error_us": SPREAD,
        "input_lateness_us": SPREAD,
        "deadline_misses": 3,
        "unintended_drops": 0,
    }
    return {
        **audit,
        "notes": [],
        "timer_p99_us": 70.0,
        "hops": [],
        "clients": [{"client": 0, **audit}],
        "command": {"argv": list(argv), "exit": status, "not_run": None},
        "seconds": 1.0,
        "started": 1e9,
        "packets_in": 10,
        "packets_out": 10,
        "load": 0.5,
        "steal_percent": 0.1,
        "cpu_seconds": 0.1,
        "cpu_wait": {"server": None, "client": {"run_s": 0.5, "wait_s": 0.1, "max_wait_percent": 7.04}},
        "log": None,
    }


@pytest.fixture
def emulations(monkeypatch, write, tmp_path):
    """Grades of the emulations to come; returns the call of the command, and the seeds drawn."""
    link, seeds = write("line.toml", LINE), tmp_path / "seeds"
    seeds.touch()

    def run(grades, status=0, **options):
        def emulate_here(scenario, seed, settings):
            done = len(seeds.read_text().split())
            with seeds.open("a") as file:
                file.write(f"{seed}\n")
            return {**document(grades[done], settings.command, status), "seed": seed}

        monkeypatch.setattr(config, "emulate_here", emulate_here)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            command.emulate(str(link), ["true"], log=False, report=False, **options)
        return ended.value.code, [int(word) for word in seeds.read_text().split()]

    return run


@pytest.mark.finding("L9")
def test_grade_reaches_itself_and_lesser_grades():
    assert [reaches(grade, "usable") for grade in GRADES] == [False, False, True, True]
    assert [reaches(grade, "exact") for grade in GRADES] == [False, False, False, True]


@pytest.mark.finding("L9")
@pytest.mark.parametrize(
    ("grade", "require", "status", "expected"),
    [
        ("usable", "exact", 7, 1),
        ("invalid", "usable", 7, 1),
        ("usable", "usable", 7, 7),
        ("exact", "usable", 0, 0),
        ("invalid", None, 7, 7),
    ],
)
def test_exit_status_is_1_when_the_grade_is_less_than_required(emulations, capsys, grade, require, status, expected):
    code, _ = emulations([grade], status, require=require)
    assert code == expected
    assert ("which is less than" in capsys.readouterr().err) == (require is not None and not reaches(grade, require))


@pytest.mark.finding("L9")
def test_retry_emulates_again_until_the_grade_is_as_required_and_keeps_earlier_folders(emulations, tmp_path, capsys):
    code, seeds = emulations(["invalid", "usable", "exact"], 3, retry=5, out=tmp_path / "run")
    assert (code, len(seeds)) == (3, 2)
    text = capsys.readouterr().err
    assert "invalid: it is invalid; again, 5 left; its folder is kept as" in text
    folders = [json.loads((tmp_path / name / "emulation.json").read_text())["grade"] for name in ("run.1", "run")]
    assert folders == ["invalid", "usable"]
    assert not (tmp_path / "run.2").exists()


@pytest.mark.finding("L9")
def test_retry_ends_after_its_tries_and_requires_exact_where_that_is_asked(emulations):
    code, seeds = emulations(["usable"] * 3, 0, retry=2, require="exact")
    assert (code, len(seeds)) == (1, 3)
    assert len(set(seeds)) == 3, "each try draws its own seed"


@pytest.mark.finding("R7")
def test_emulation_without_a_packet_is_unused():
    found = graded({**document("exact"), "packets_in": 0, "packets_out": 0})
    assert (found["grade"], found["why"], found["valid"]) == ("unused", "no packet reached the link", True)
    assert [client["grade"] for client in found["clients"]] == ["unused"]


@pytest.mark.finding("R7")
@pytest.mark.parametrize("grade", ["exact", "usable", "invalid"])
def test_grade_stays_with_a_packet_and_an_invalid_one_without(grade):
    with_packet: Any = {**document(grade), "packets_in": 1, "packets_out": 0}
    assert graded(with_packet) == with_packet
    invalid: Any = {**document("invalid"), "packets_in": 0}
    assert graded(invalid) == invalid


@pytest.mark.finding("R7")
@pytest.mark.parametrize(("require", "expected"), [(None, 7), ("usable", 1), ("exact", 1)])
def test_unused_emulation_is_less_than_usable_and_not_tried_again(emulations, require, expected):
    code, seeds = emulations(["unused"] * 3, 7, retry=2, require=require)
    assert (code, len(seeds)) == (expected, 1)


@pytest.mark.finding("L8")
def test_emulation_draws_its_own_seed_unless_one_is_given(emulations, write):
    code, seeds = emulations(["exact"] * 3)
    assert (code, len(seeds)) == (0, 1)
    scenario = emulation_scenario(str(write("line.toml", LINE)))
    drawn = {seed_of(scenario, None) for _ in range(20)}
    assert len(drawn) == 20
    assert seed_of(scenario, 5) == 5
    stated = write(
        "stated.toml", 'link = "line.toml"\nseeds = [9]\nduration = "1 s"\n[[flow]]\nworkload = { kind = "bulk" }\n'
    )
    assert seed_of(emulation_scenario(str(stated)), None) == 9


@pytest.mark.finding("L8")
@pytest.mark.finding("L9")
@pytest.mark.finding("U35")
def test_terminal_and_report_show_grade_bound_and_seed(emulations, tmp_path, capsys):
    _, (seed,) = emulations(["usable"], out=tmp_path / "run")
    assert str(seed) in capsys.readouterr().out
    audit, *_ = emulation_tables({**document("usable"), "link": "line", "seed": 77})
    text = " ".join(str(cell) for column in audit.columns for cell in column.cells)
    assert "usable" in text
    assert "1.2 %" in text
    assert "77" in text
    done = open_emulation(tmp_path / "run")
    assert (done.grade, done.valid, done.document["seed"]) == ("usable", True, seed)
    page = done.report(tmp_path / "report.html").read_text("utf-8")
    assert "Usable: it is usable." in page
    assert str(seed) in page


def cells(table):
    return [str(cell) for column in table.columns for cell in column.cells]


@pytest.mark.finding("R6")
def test_terminal_and_report_show_how_long_processes_waited_for_a_cpu(emulations, tmp_path):
    emulations(["usable"], out=tmp_path / "run")
    *_, processes = emulation_tables({**document("usable"), "link": "line", "seed": 77})
    assert cells(processes) == ["client", "0.50 s", "0.10 s", "7.0 % of the run"]
    page = open_emulation(tmp_path / "run").report(tmp_path / "report.html").read_text("utf-8")
    assert "Processes of the client, without a CPU" in page
    assert "Processes of the server, without a CPU" not in page
    assert "0.10 s; one thread 7.0 % of the run" in page.replace("\xa0", " ")


@pytest.mark.finding("R6")
@pytest.mark.parametrize("changed", [{"cpu_wait": {"server": None, "client": None}}, {"cpu_wait": None}, {}])
def test_emulation_without_times_of_processes_shows_none(changed):
    given = {key: value for key, value in document("usable").items() if key != "cpu_wait"}
    assert len(emulation_tables({**given, **changed, "link": "line", "seed": 77})) == 2


@pytest.mark.finding("R5")
@pytest.mark.parametrize("name", ["shop.example", "a", "_dmarc.x-1.example", "SERVER", "x" * 63])
def test_name_of_the_server_is_a_host_name(name):
    assert config.check_names([name]) == (name,)


@pytest.mark.finding("R5")
@pytest.mark.parametrize(
    "name",
    ["", "-a", "a..b", "a b", "a\n192.0.2.1 b", "a#", "x" * 64, "a." * 130 + "a", "localhost", "Client", "client-2"],
)
def test_name_of_the_server_is_refused_when_it_is_none_or_another_hosts(name):
    with pytest.raises(InputError, match=r"host name|other host") as error:
        config.check_names([name])
    assert error.value.option == "--hostname"


def test_child_passes_on_its_result_and_its_errors():
    assert in_child(lambda: {"pid": os.getpid() != os.getppid()}) == ({"pid": True}, False)

    def refused():
        raise InputError("soon", "a time", option="--seconds")

    with pytest.raises(InputError, match="soon") as error:
        in_child(refused)
    assert error.value.option == "--seconds"
    with pytest.raises(RunFailed, match="without a result"):
        in_child(lambda: os._exit(3))


def test_child_gets_sigterm_and_no_other_try_follows():
    parent = os.getpid()

    def until_sigterm():
        received = []
        signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
        os.kill(parent, signal.SIGTERM)
        end = time.monotonic() + 10
        while not received and time.monotonic() < end:
            time.sleep(0.01)
        return {"received": received}

    assert in_child(until_sigterm) == ({"received": [signal.SIGTERM]}, True)


EARLY_SIGTERM = """
import os, signal, threading, time
from ackclock.emulation.tries import in_child

def until_sigterm():
    received = []
    signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    end = time.monotonic() + 10
    while not received and time.monotonic() < end:
        time.sleep(0.01)
    return {"received": received}

def once_the_child_waits():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
os.register_at_fork(after_in_parent=once_the_child_waits)
print(in_child(until_sigterm))
"""


def test_child_gets_sigterm_when_it_comes_before_the_parent_waits_and_there_are_other_threads():
    done = subprocess.run(
        [sys.executable, "-c", EARLY_SIGTERM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{({'received': [15]}, True)}\n"
