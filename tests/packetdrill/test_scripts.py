"""The scripts below this folder against their host stacks.

A script names its host in a line `// host: NAME` (default: linux-6), keys of a [tcp] table in a
line `// tcp: KEY = VALUE, ..`, the findings that it is for in a line `// finding: K1, K2`, and a
claim that does not hold yet in a line `// fails: REASON`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError, RunFailed
from ackclock.packetdrill import run_script, run_scripts, scripts_in
from studies.conformance.suites import header, tcp_keys


def _of_findings(script: Path) -> Any:
    """The script as a parameter, marked with its findings."""
    named = [id_ for id_ in header(script, "finding").split(", ") if id_]
    name = f"{script.parent.name}/{script.stem}"
    return pytest.param(script, id=name, marks=[pytest.mark.finding(*named)] if named else [])


SCRIPTS = [_of_findings(script) for script in scripts_in(Path(__file__).parent)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_host_sends_the_segments_of_the_script(script: Path) -> None:
    result = run_script(script, header(script, "host", "linux-6"), tcp=tcp_keys(script))
    if header(script, "fails"):
        assert result.verdict == "fails", "the script passes: remove its line `// fails:`"
    else:
        assert result.verdict == "passes", result


def test_command_prints_expected_and_got_when_a_script_fails(tmp_path: Path, ackclock: Any) -> None:
    script = tmp_path / "wrong.pkt"
    text = (Path(__file__).parent / "receiver" / "out-of-order-sack.pkt").read_text()
    script.write_text(text.replace("ack 2001", "ack 2002"))
    result = ackclock("packetdrill", str(script))
    assert result.returncode == 1
    assert "differs   ack: expected 2002, got 2001" in result.stdout
    assert "1 script against linux-6 (tolerance 4 ms): 0 pass, 1 fail, 0 unsupported" in result.stdout


def test_json_has_counts_and_a_row_per_script(ackclock: Any) -> None:
    folder = Path(__file__).parent / "closing"
    document = json.loads(ackclock("packetdrill", str(folder), "--json").stdout)
    assert document["host"] == "linux-6"
    assert document["counts"]["fails"] == 0
    assert sum(document["counts"].values()) == len(document["scripts"]) == len(list(folder.glob("*.pkt")))


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("`sysctl -q net.ipv4.tcp_made_up=1`", "the engine does not have this sysctl"),
        ("`touch hacked`", "commands are read for their sysctls and never executed"),
        (
            "0 setsockopt(3, SOL_SOCKET, SO_MADE_UP, [1], 4) = 0",
            "the engine does not have the socket option SO_MADE_UP",
        ),
    ],
)
def test_setting_that_the_engine_lacks_is_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "a.pkt"
    script.write_text(f"{setting}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    result = run_script(script)
    assert (result.verdict, result.line, result.why) == ("unsupported", 1, why)
    assert not (tmp_path / "hacked").exists()


class FixedWindow(ackclock.CongestionControl):
    """Eight segments, always."""

    def __init__(self, initial_window: float, initial_ssthresh: float) -> None:
        super().__init__(8.0, 8.0)

    def on_congestion(self, congestion: ackclock.Congestion) -> None:
        self.ssthresh = self.cwnd = 8.0


class Raising(ackclock.CongestionControl):
    def on_ack(self, ack: ackclock.Ack) -> None:
        raise ValueError("no window")


GROWTH = Path(__file__).parent / "growth" / "stretch-ack-grows-by-all-segments.pkt"


def test_congestion_control_in_python_is_played_against_a_script(tmp_path: Path) -> None:
    script = tmp_path / "fixed.pkt"
    text = GROWTH.read_text().replace("1:10001(10000)", "1:8001(8000)").replace("ack 10001", "ack 8001")
    script.write_text(text.replace("10001:30001(20000)", "8001:16001(8000)").replace("cwnd == 20", "cwnd == 8"))
    assert run_script(script, tcp={"variant": FixedWindow}).verdict == "passes"
    assert run_script(script).verdict == "fails"
    with pytest.raises(RunFailed, match="no window"):
        run_script(GROWTH, tcp={"variant": Raising})


def test_example_holds_the_window_and_reno_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2] / "examples")
    own = {"variant": "python:own_control.TwoInQueue"}
    assert run_script("two-in-queue.pkt", tcp=own).verdict == "passes"
    failed = run_script("two-in-queue.pkt", tcp={"variant": "reno"})
    assert (failed.verdict, failed.got) == ("fails", "tcpi_snd_cwnd = 80")


def test_invalid_key_of_the_caller_is_refused() -> None:
    with pytest.raises(InputError) as raised:
        run_script(GROWTH, tcp={"segment": "no size"})
    assert raised.value.key == "tcp.segment"


def test_file_that_is_no_script_is_refused_with_its_line(tmp_path: Path, ackclock: Any) -> None:
    script = tmp_path / "a.pkt"
    script.write_bytes(b"\n\xff\x00 what\n")
    with pytest.raises(InputError) as raised:
        run_script(script)
    assert raised.value.line == 2
    failed = ackclock("packetdrill", str(script))
    assert (failed.returncode, failed.stdout) == (2, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One script passes, one fails, two cannot be read."""
    text = (Path(__file__).parent / "receiver" / "out-of-order-sack.pkt").read_text()
    (tmp_path / "a.pkt").write_bytes(b"\n\xff\x00 what\n")
    (tmp_path / "b.pkt").mkdir()
    (tmp_path / "c.pkt").write_text(text.replace("ack 2001", "ack 2002"))
    (tmp_path / "d.pkt").write_text(text)
    return tmp_path


@pytest.mark.finding("R12")
def test_unreadable_script_ends_nothing_in_a_folder(folder: Path, ackclock: Any) -> None:
    done = ackclock("packetdrill", str(folder))
    assert done.returncode == 2
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "][:4] == [
        *("unreadable", "unreadable", "fails", "passes"),
    ]
    assert f"unreadable   {folder / 'a.pkt'}:2\n             why       found " in done.stdout
    summary = "4 scripts against linux-6 (tolerance 4 ms): 1 pass, 1 fail, 0 unsupported, 2 unreadable"
    assert done.stdout.splitlines()[-1] == summary
    document = json.loads(ackclock("packetdrill", str(folder), "--json").stdout)
    assert document["counts"] == {"passes": 1, "fails": 1, "unsupported": 0, "unreadable": 2}
    assert document["scripts"][0]["line"] == 2


def test_folder_without_unreadable_scripts_exits_with_1_when_one_fails(folder: Path, ackclock: Any) -> None:
    (folder / "a.pkt").unlink()
    (folder / "b.pkt").rmdir()
    assert ackclock("packetdrill", str(folder)).returncode == 1


def test_invalid_key_of_the_caller_ends_a_run_of_many() -> None:
    with pytest.raises(InputError):
        list(run_scripts([GROWTH, GROWTH], tcp={"segment": "no size"}))


def test_ignored_differences_are_named_and_checked(tmp_path: Path, ackclock: Any) -> None:
    script = tmp_path / "a.pkt"
    script.write_text(GROWTH.read_text().replace("> P. ", "> . "))
    assert run_script(script).verdict == "fails"
    assert run_script(script, ignored=["psh"]).verdict == "passes"
    done = ackclock("packetdrill", str(script), "--ignore", "time,psh", "--json")
    assert (done.returncode, json.loads(done.stdout)["ignored"]) == (0, ["psh", "time"])
    wrong = ackclock("packetdrill", str(script), "--ignore", "psh,push")
    assert wrong.returncode == 2
    assert 'found "push"; allowed: psh, window, info' in wrong.stderr
