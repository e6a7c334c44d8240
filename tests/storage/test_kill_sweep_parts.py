"""`kill -9` in parts of a sweep of 2,000 runs and in --collect; folders that cannot be written."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ackclock.storage import temporary_files
from tests.support.kill_loop import CLI, check_readable

SWEEP = """\
duration = "60 s"
sample = "10 s"
seeds = 250
[[hop]]
name = "air"
rate = "10 Mb/s"
delay = "100 ms"
queue = { packets = 40 }
loss.down.mean = 0.05
[[flow]]
workload = { kind = "bulk" }
[sweep]
"tcp.variant" = ["reno", "cubic", "vegas", "bic"]
"hop.air.delay" = ["80 ms", "100 ms"]
"""
PARTS = 3
KILLS = 30
KILLS_EACH = 5
"""Kills before the parts are completed and collected."""


class Sweeps:
    """Commands of one sweep in a folder."""

    def __init__(self, folder: Path, text: str = SWEEP) -> None:
        self.folder = folder
        self.scenario = folder / "sweep.toml"
        self.scenario.write_text(text, encoding="utf-8")

    def argv(self, out: str, *options: str) -> list[str]:
        return [*CLI, "sweep", str(self.scenario), "--quiet", "--no-report", "--out", str(self.folder / out), *options]

    def part(self, number: int) -> list[str]:
        return self.argv(f"part{number}", "--part", f"{number}/{PARTS}")

    def collect(self, out: str) -> list[str]:
        parts = [option for n in range(1, PARTS + 1) for option in ("--collect", str(self.folder / f"part{n}"))]
        return self.argv(out, *parts)

    def complete(self, argv: list[str]) -> float:
        """Run a command to its end; returns its duration in seconds."""
        began = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return time.monotonic() - began

    def kill(self, argv: list[str], after_s: float) -> None:
        """Start a command and kill it after so many seconds."""
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(after_s)
            process.send_signal(signal.SIGKILL)
            _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr.decode()

    def digest(self, out: str) -> str:
        """The content digest, after a check that every file can be read and no temporary file is
        left.
        """
        assert check_readable(self.folder / out) == "finished"
        left = [path for path in self.folder.rglob(".*.tmp") if temporary_files.is_leftover_name(path.name)]
        assert not left
        index = json.loads((self.folder / out / "dataset.json").read_text("utf-8"))
        assert index["runs"] == 2000
        return str(index["digest"])


@pytest.mark.slow
@pytest.mark.realtime
def test_parts_and_collect_have_the_same_digest_after_thirty_kills(tmp_path: Path) -> None:
    rng = random.Random(18)
    sweeps = Sweeps(tmp_path)
    sweeps.complete(sweeps.argv("whole"))
    expected = sweeps.digest("whole")
    longest = 3.0
    for cycle in range(KILLS // KILLS_EACH):
        for _ in range(KILLS_EACH):
            number = rng.randint(1, PARTS)
            sweeps.kill(sweeps.part(number), rng.uniform(0.2, longest))
            assert check_readable(tmp_path / f"part{number}") in ("absent", "unfinished")
        longest = max(sweeps.complete(sweeps.part(number)) for number in range(1, PARTS + 1))
        sweeps.kill(sweeps.collect("all"), rng.uniform(0.4, 2.5))
        sweeps.complete(sweeps.collect("all"))
        assert sweeps.digest("all") == expected, f"cycle {cycle}"
        for name in ("all", *(f"part{number}" for number in range(1, PARTS + 1))):
            shutil.rmtree(tmp_path / name)


@pytest.mark.slow
@pytest.mark.realtime
def test_second_process_is_refused_while_a_sweep_runs_in_its_folder(tmp_path: Path) -> None:
    sweeps = Sweeps(tmp_path)
    both = [subprocess.Popen(sweeps.argv("out"), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [process.communicate(timeout=300)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 2])
    if codes == [0, 2]:
        assert any("is being written to by another process" in text for text in texts)
    assert sweeps.digest("out")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
@pytest.mark.parametrize(
    ("mount", "status", "words"),
    [("size=40k", 1, "the disk is full; "), ("ro", 2, "cannot be made (Read-only file system)")],
)
def test_folder_that_takes_no_writes_leaves_nothing_half_written(
    mount: str, status: int, words: str, tmp_path: Path
) -> None:
    sweeps = Sweeps(tmp_path, SWEEP.replace("250", "3").replace("60 s", "2 s"))
    (tmp_path / "disk").mkdir()
    command = sweeps.argv("disk/out", "--part", "1/1")
    script = f'mount -t tmpfs -o {mount} none "$1" && shift && "$@"; s=$?; cp -r "$0" "$0"-copy; exit $s'
    run = ["unshare", "-m", "sh", "-c", script, str(tmp_path / "disk"), str(tmp_path / "disk"), *command]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    (line,) = done.stderr.splitlines()
    assert words in line
    assert check_readable(tmp_path / "disk-copy" / "out") in ("absent", "unfinished")
    assert not list((tmp_path / "disk-copy").rglob("*.tmp"))
