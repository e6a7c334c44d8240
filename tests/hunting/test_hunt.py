"""`hunt` end to end: what is found, made simple and written; determinism, interruptions, errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import cli
from ackclock.errors import InputError
from ackclock.hunting import value_of, verification
from ackclock.hunting.evaluation import Store
from ackclock.hunting.objectives import NAMED
from ackclock.input.scenario.draft import read_draft
from ackclock.terminal import PROMPT, SCREEN
from tests.support.documents import follows
from tests.support.kill_loop import CLI
from tests.support.namespaces import namespaces

SCENARIO = """\
duration = "2 s"
[tcp]
variant = "reno"
[[hop]]
name  = "path"
rate  = {{ down = "10 Mb/s", up = "10 Mb/s" }}
delay = "5 ms"
queue = {{ down = {{ bytes = "30 kB" }} }}
[[flow]]
name     = "download"
workload = {{ kind = "bulk" }}
[hunt]
objective = {objective}
breaks    = {breaks}
runs      = {runs}
[hunt.vary]
"hop.path.delay"        = {{ from = "2 ms", to = "50 ms", scale = "log" }}
"hop.path.loss.down"    = {{ losses = 2, within = 300 }}
"hop.path.policer.down" = ["absent", {{ rate = {{ from = "1 Mb/s", to = "8 Mb/s", scale = "log" }}, burst = "5 kB" }}]
"hop.path.jitter.down"  = ["absent", {{ kind = "uniform", high = {{ from = "1 ms", to = "20 ms" }} }}]
"""
PLANTED = """\
def planted(run):
    '''1 above a delay of 20 ms with a policer, whatever the rest is.'''
    hop = run.scenario.hop[0]
    if hop.down.policer is None or hop.mean_delay["down"] < 20e9:
        return 0.1
    return 1.0
"""


def scenario(folder: Path, *, objective: str = '"goodput"', breaks: float = 0.5, runs: int = 60) -> Path:
    path = folder / "study.toml"
    path.write_text(SCENARIO.format(objective=objective, breaks=breaks, runs=runs), "utf-8")
    return path


def planted(folder: Path, **keys: Any) -> Path:
    (folder / "mine.py").write_text(PLANTED, "utf-8")
    return scenario(folder, objective='"python:mine.planted"', breaks=0.9, **keys)


def test_planted_case_is_found_and_shrunk_to_what_it_needs(tmp_path: Path) -> None:
    result = ackclock.hunt(planted(tmp_path), out=tmp_path / "run", workers=1)
    (case,) = result.document["cases"]
    follows("hunt", result.document)
    assert result.document["search"]["first_broken"] <= case["at_run"] <= 60
    point = case["point"]
    # The delay is the nearest to the scenario's own that breaks, the rest is the scenario's.
    assert 20 <= float(point["hop.path.delay"].removesuffix(" ms")) <= 24
    assert point["hop.path.jitter.down"] == point["hop.path.loss.down"] == "absent"
    assert [need.partition(" ")[0] for need in case["needs"]] == ["hop.path.delay", "hop.path.policer.down"]
    assert case["seeds"] == {"broken": 5, "of": 5}
    # The case has the objective's function with it.
    (tmp_path / "mine.py").unlink()
    assert value_of(tmp_path / "run" / case["scenario"]) == 1.0


def test_hunt_finds_nothing_when_nothing_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("def calm(run):\n    return 0.5\n", "utf-8")
    path = scenario(tmp_path, objective='"python:mine.calm"', breaks=0.9, runs=30)
    assert cli.run(["hunt", str(path), "--out", str(tmp_path / "run"), "--no-report", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Nothing broke: of 30 cases searched, the worst has 0.500;")
    assert not (tmp_path / "run/cases").exists()


def test_document_is_the_same_when_the_seed_is_whatever_the_workers(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    files = []
    for workers in (1, 2):
        ackclock.hunt(path, out=tmp_path / str(workers), workers=workers)
        files.append(
            {name: (tmp_path / str(workers) / name).read_bytes() for name in ("hunt.json", "evaluations.jsonl")}
        )
    assert files[0] == files[1]
    other = ackclock.hunt(path, seed=2, workers=1).document
    assert other["search"] != json.loads(files[0]["hunt.json"])["search"]


def test_killed_hunt_continues_to_the_same_document(tmp_path: Path) -> None:
    path = scenario(tmp_path, runs=120)
    whole = ackclock.hunt(path, out=tmp_path / "whole", workers=1).document
    folder = tmp_path / "killed"
    command = [*CLI, "hunt", str(path), "--out", str(folder), "--workers", "1", "--no-report", "--quiet"]
    kept = folder / "evaluations.jsonl"
    kills, lines = 0, 0
    while kills < 3:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (len(kept.read_bytes().splitlines()) if kept.exists() else 0) < lines + 8:
            time.sleep(0.01)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = len(kept.read_bytes().splitlines())
        assert now >= lines + 8
        kills, lines = kills + 1, now
    assert kills == 3
    kept.write_bytes(kept.read_bytes() + b'{"case": "torn')
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert json.loads((folder / "hunt.json").read_text()) == whole
    assert kept.read_bytes() == (tmp_path / "whole/evaluations.jsonl").read_bytes()


def test_line_of_an_interrupted_hunt_is_named_when_it_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "evaluations.jsonl").write_bytes(b'{"generation": 0, "elapsed_s": 1.0}\n{"case": "a"\n')
    with pytest.raises(InputError, match="line 2 is not JSON"):
        Store(tmp_path).open()


def test_found_case_is_a_scenario_that_breaks_and_a_test_that_fails(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    document = ackclock.hunt(scenario(tmp_path), out=folder, workers=1).document
    case = document["cases"][0]
    assert value_of(folder / case["scenario"]) == pytest.approx(case["figure"]["value"])
    assert (
        cli.run(
            ["simulate", str(folder / case["scenario"]), "--no-report", "--quiet", "--out", str(tmp_path / "again")]
        )
        == 0
    )
    assert read_draft(folder / case["scenario"]).check().title == "Case 1 of a hunt"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", case["test"]],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "1 failed" in done.stdout and "AssertionError" in done.stdout


def test_finished_hunt_is_read_again_and_opened(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    first = ackclock.hunt(path, out=tmp_path / "run", workers=1)
    again = ackclock.hunt(path, out=tmp_path / "run", workers=1)
    assert first.document == again.document == ackclock.open(tmp_path / "run").document
    assert first.cases.height == len(first.document["cases"]) > 0
    with pytest.raises(ackclock.InputError, match="another input"):
        ackclock.hunt(path, out=tmp_path / "run", runs=61)


def test_cases_of_one_mechanism_are_one(tmp_path: Path) -> None:
    cases = ackclock.hunt(scenario(tmp_path, runs=100), workers=1).document["cases"]
    kinds = [
        (
            case["mechanism"]["limit"],
            case["mechanism"]["event"],
            *(need.split(" ")[0] for need in case["needs"] if "delay" not in need),
        )
        for case in cases
    ]
    assert len(set(kinds)) == len(kinds)


def test_constraints_and_plausibility_keep_cases_out(tmp_path: Path) -> None:
    path = scenario(tmp_path, breaks=0.7)
    limits = (
        'constraints = [{ key = "hop.path.delay", max = "10 ms" }, { metric = "timeouts", max = 0 }]\nplausible = 1.5\n'
    )
    path.write_text(path.read_text().replace("[hunt.vary]", f"{limits}[hunt.vary]"))
    document = ackclock.hunt(path, workers=1).document
    assert document["search"]["forbidden"] > 0 and document["cases"]
    for case in document["cases"]:
        assert float(case["point"]["hop.path.delay"].removesuffix(" ms")) <= 10
        assert case["nearest"]["decades"] <= 1.5 and "timeout" not in case["mechanism"]["events"]


def test_two_values_of_a_key_are_compared(tmp_path: Path) -> None:
    objective = '{ name = "difference", of = "goodput", key = "tcp.variant", values = ["reno", "bbr"] }'
    document = ackclock.hunt(scenario(tmp_path, objective=objective, breaks=0.6), workers=1).document
    assert document["cases"] and "with reno relative to bbr" in document["objective"]["what"]
    assert document["cases"][0]["figure"]["value"] <= 0.6


def test_minutes_are_a_budget(tmp_path: Path) -> None:
    began = time.monotonic()
    document = ackclock.hunt(planted(tmp_path), minutes=0.02, workers=1).document
    assert document["search"]["runs"] > 0 and time.monotonic() - began < 30


def test_screen_has_the_verdict_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    path = scenario(tmp_path, runs=80)
    assert cli.run(["hunt", str(path), "--out", str(tmp_path / "run"), "--no-report", "--quiet"]) == 0
    lines = capsys.readouterr().out.rstrip("\n").splitlines()
    assert len(lines) <= SCREEN[1] - PROMPT and max(map(len, lines)) <= SCREEN[0]
    assert "to break found" in " ".join(lines[-2:])
    assert cli.run(["hunt", str(path), "--out", str(tmp_path / "run"), "--no-report", "--quiet", "--all"]) == 0
    every = capsys.readouterr().out.splitlines()
    assert len(every) >= len(lines) and any(line.startswith("With ") or "    With" in line for line in every)


@pytest.mark.parametrize(
    ("old", "new", "line", "wrong"),
    [
        ('"goodput"', '"godput"', 13, "hunt.objective: found \"godput\"; allowed: share, goodput"),
        ('"goodput"', '{ name = "share", flow = "upload" }', 13, "hunt.objective.flow: found \"upload\"; allowed: download"),
        ('"goodput"', '"python:mine.f"', 13, 'no file "mine.py"'),
        ("breaks    = 0.5", "brakes = 0.5", 14, 'unknown key "brakes"'),
        ("runs      = 60", "runs = 0", 15, "hunt.runs: found 0; allowed: a whole number from 1"),
        ("runs      = 60", "runs = 5\nminutes = 5", 16, "both runs and minutes; one budget"),
        ('to = "50 ms"', 'to = "50 Mb/s"', 17, "hunt.vary.hop.path.delay.to: found \"50 Mb/s\"; allowed: a time"),
        ("[hunt.vary]", 'constraints = [{ metric = "drop", max = 0 }]\n[hunt.vary]', 16, "found \"drop\"; allowed: drops"),
        ("[hunt.vary]", "constraints = [{ key = { a = 1 }, max = 0 }]\n[hunt.vary]", 16, "allowed: a name"),
        ("[hunt.vary]", 'search = "gradient"\n[hunt.vary]', 16, "allowed: cmaes, random"),
        ('"hop.path.delay" ', '"hop.pth.delay" ', 17, "hop.NAME.KEY with NAME one of path"),
        ('"hop.path.delay" ', '"hop.path.dely" ', 17, 'unknown key "dely"'),
    ],
)  # fmt: skip
def test_wrong_table_ends_with_its_line_and_what_is_allowed(
    old: str, new: str, line: int, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert cli.run(["hunt", str(path), "--out", str(tmp_path / "run"), "--quiet", "--workers", "1"]) == 2
    message = capsys.readouterr().err
    assert f"study.toml:{line}: " in message and wrong in message, message
    assert not (tmp_path / "run").exists()


def test_scenario_without_a_hunt_is_refused_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(tmp_path)
    path.write_text(path.read_text().split("[hunt]")[0])
    assert cli.run(["hunt", str(path)]) == 2
    assert "found no [hunt]; allowed: [hunt] with an objective" in capsys.readouterr().err


def test_simulation_ignores_the_hunt_with_a_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path)
    assert cli.run(["simulate", str(path), "--no-report", "--out", str(tmp_path / "run")]) == 0
    assert "its [hunt] is ignored; `ackclock hunt` searches it" in capsys.readouterr().err


def test_hunt_that_is_no_table_is_refused_by_simulate_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path)
    path.write_text("hunt = true\n" + path.read_text().split("[hunt]")[0])
    for command in ("simulate", "hunt"):
        assert cli.run([command, str(path)]) == 2
        assert "study.toml:1: hunt: found true; allowed: a table with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("sack = false", "download sets sack, "),
        ('server = { variant = "reno", recovery = "newreno" }', "download sets recovery in server, "),
        ('variant = "reno"', ""),
        ('server = { variant = "reno" }', ""),
    ],
)
def test_kernel_is_not_asked_for_a_tcp_that_it_does_not_have(keys: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f"""duration = "5 s"
link = "dsl-16m"
[[flow]]
name = "download"
workload = {{ kind = "bulk" }}
{keys}
"""
    )
    case = read_draft(tmp_path / "mine.toml").check()
    found = verification.cannot(case, NAMED["goodput"])
    assert found.startswith(why) if why else "sets" not in found


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")
def test_kernel_confirms_a_policer_over_the_emulated_link(tmp_path: Path) -> None:
    path = scenario(tmp_path, breaks=0.4, runs=30)
    path.write_text(path.read_text().replace('duration = "2 s"', 'duration = "5 s"'))
    case = ackclock.hunt(path, workers=1, verify=True).document["cases"][0]
    assert case["verification"]["concluded"], case["verification"]["text"]
    assert case["verification"]["counts"], case["verification"]["text"]
