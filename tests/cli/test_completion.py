"""Shell completion, short options and the environment variables that commands obey."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ackclock import api, cli
from ackclock.input.link.names import packaged_links
from ackclock.simulation.metrics import METRICS, of_flows
from ackclock.storage import user_cache

COMMAND = str(Path(sys.executable).with_name("ackclock"))


def completed(shell: str, *words: str) -> list[str]:
    """What the shell offers for the last word."""
    line = " ".join(("ackclock", *words))
    own = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    env = {**os.environ, **own, "_ACKCLOCK_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([COMMAND], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.finding("U20")
def test_bash_completes_links_variants_hosts_and_kinds() -> None:
    assert completed("bash", "compare", "dsl-1") == [name for name in packaged_links() if name.startswith("dsl-1")]
    assert "reno,cubic" in completed("bash", "compare", "dsl-16m", "--variants", "reno,cub")
    assert completed("bash", "compare", "dsl-16m", "--host", "linux-6") == ["linux-6"]
    assert completed("bash", "list", "wor") == ["workloads"]
    assert "--rank-by" in completed("bash", "compare", "dsl-16m", "--rank")
    assert completed("bash", "report", "runs/x", "--format", "p") == ["pdf", "png"]
    assert completed("bash", "explain", "zero_window_s") == ["zero_window_stall"]


@pytest.mark.finding("U20")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_complete_links_with_their_titles(shell: str) -> None:
    text = "".join(completed(shell, "compare", "dsl-16"))
    assert "dsl-16m" in text and packaged_links()["dsl-16m"] in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_printed_for_each_shell(shell: str) -> None:
    done = subprocess.run(
        [COMMAND, "--show-completion", shell], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "_ACKCLOCK_COMPLETE" in done.stdout


def test_every_command_has_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    from typer.main import get_command

    from ackclock.cli.app import app

    for name in get_command(app).commands:  # type: ignore[attr-defined]
        assert cli.run([name, "-h"]) == 0
        assert capsys.readouterr().out.startswith("Usage: ackclock " + name)


def test_list_has_workloads_and_every_metric_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["list", "workloads"]) == 0
    assert "transfer" in capsys.readouterr().out
    assert cli.run(["list", "metrics"]) == 0
    assert capsys.readouterr().out.startswith("goodput_bps")
    flow = {"variant": "reno", "direction": "down", "segments_sent": 1, "limited_share": None}
    flow |= dict.fromkeys(("goodput_bps", "throughput_bps", "idle_share"), 1.0)
    flow |= dict.fromkeys(("retransmitted_segments", "timeouts", "fast_retransmits", "window_cuts"), 0)
    flow |= {"rtt_ms": {"min": 1.0, "mean": 1.0, "p95": 1.0}, "from_s": 0.0, "end_s": 1.0}
    scores = {
        "call": {"mos": {"mean": 4.4, "p10": 4.0}},
        "page": {"load_s": 1.0, "byte_index_s": 0.5},
        "video": dict.fromkeys(("start_s", "stalls", "stall_s", "bitrate_bps", "switches", "top_share"), 1.0),
        "conference": dict.fromkeys(("bitrate_bps", "delay_p95_ms", "freezes", "freeze_s", "late_share"), 1.0),
        "game": {"late_share": 0.0},
    }
    flows = [{**flow, "flow": name} for name in ("a", "b", "opposite-1")]
    flows += [{**flow, "flow": kind, "app": {"kind": kind, "score": score}} for kind, score in scores.items()]
    summary: Any = {"flows": flows, "hops": [], "responsiveness": {"rpm": 500.0, "added_p95_ms": 100.0}}
    assert set(of_flows(summary, "opposite")) == set(METRICS)
    assert set(api.list_workloads()) >= {"bulk", "web", "onoff"}


def test_tables_and_progress_have_no_colours_when_no_color_is_set() -> None:
    """Bold and dim text stays: NO_COLOR is about colours."""
    code = "from rich.progress import track; list(track([1], 'x')); from ackclock import cli; cli.run(['doctor'])"
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    outputs = [
        subprocess.run([sys.executable, "-c", code], env=each, capture_output=True, text=True, timeout=60, check=True)
        for each in ({**env, "NO_COLOR": "1"}, env)
    ]
    assert [bool(re.search(r"\x1b\[[0-9;]*3[0-9]", done.stdout)) for done in outputs] == [False, True]


def test_cache_is_in_xdg_cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache.kept("name", "inputs", "txt", lambda: b"derived") == b"derived"
    (file,) = (tmp_path / "ackclock").iterdir()
    assert file.read_bytes() == b"derived"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification: such a path is ignored
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache.kept("name", "inputs", "txt", lambda: b"derived") == b"derived"
    assert (tmp_path / ".cache" / "ackclock" / file.name).is_file()
