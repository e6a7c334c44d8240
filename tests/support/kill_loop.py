"""Kills commands at random moments and checks their run folders afterwards."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ackclock.storage import temporary_files

CLI = [sys.executable, "-m", "ackclock"]
EARLIEST_S = 0.2
"""The interpreter starts, and nothing is written."""


@dataclass
class Figures:
    """Number of kills, of absent, unfinished and finished folders after them, and of complete
    reruns.
    """

    kills: int = 0
    absent: int = 0
    unfinished: int = 0
    finished: int = 0
    reruns: int = 0


@dataclass(frozen=True)
class Killed:
    """A command line without ``--out``, killed again and again in folders below ``place``.

    ``real``: its traffic is real, so its tables differ each time, and a folder with results is
    moved aside by the next run.
    """

    arguments: Sequence[str]
    place: Path
    seed: int
    real: bool = False

    def kill(self, times: int, *, rerun_each: int = 2) -> Figures:
        """Kill it so many times; after every ``rerun_each`` kills in one folder run it to its end
        there, and compare.
        """
        rng, found = random.Random(self.seed), Figures()
        reference = self.place / "reference"
        longest = self._complete(reference)
        expected = _files(reference)
        for number in range(times):
            out = self.place / f"run{number // rerun_each}"
            self._killed(out, rng.uniform(EARLIEST_S, longest))
            found.kills += 1
            state = check_readable(out)
            setattr(found, state, getattr(found, state) + 1)
            if (number + 1) % rerun_each and number + 1 < times:
                continue
            self._complete(out)
            assert check_readable(out) == "finished"
            assert not [path for path in self.place.rglob(".*.tmp") if temporary_files.is_leftover_name(path.name)]
            if self.real:
                assert _names(out) == _names(reference), f"seed {self.seed}, kill {number}"
            else:
                assert _files(out) == expected, f"seed {self.seed}, kill {number}"
            found.reruns += 1
            for path in self.place.glob(f"{out.name}*"):
                shutil.rmtree(path)
        return found

    def _argv(self, out: Path) -> list[str]:
        command, *others = self.arguments
        return [*CLI, command, "--quiet", *(["--force"] if self.real else []), "--out", str(out), *others]

    def _killed(self, out: Path, after_s: float) -> None:
        with subprocess.Popen(
            self._argv(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.place
        ) as process:
            time.sleep(after_s)
            process.send_signal(signal.SIGKILL)
            _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr.decode()

    def _complete(self, out: Path) -> float:
        began = time.monotonic()
        done = subprocess.run(self._argv(out), capture_output=True, text=True, timeout=600, check=False, cwd=self.place)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return time.monotonic() - began


def check_readable(folder: Path) -> str:
    """Read every file of a run folder but those under construction; say whether it is "absent",
    "unfinished" or "finished".
    """
    if not folder.is_dir():
        return "absent"
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not temporary_files.is_leftover_name(name)]
        for path in (Path(root) / name for name in files if not temporary_files.is_leftover_name(name)):
            if path.suffix == ".parquet":
                pl.read_parquet(path, glob=False)
            elif path.suffix == ".json":
                json.loads(path.read_text("utf-8"))
            elif path.suffix == ".toml":
                tomllib.loads(path.read_text("utf-8"))
    try:
        state = json.loads((folder / "environment.json").read_text("utf-8"))["run"]["state"]
    except FileNotFoundError:
        return "absent"
    return "finished" if state == "finished" else "unfinished"


def _files(folder: Path) -> dict[str, bytes]:
    """Every table by its bytes, every other file by its name, as documents contain the path of
    their folder.
    """
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() if path.suffix == ".parquet" else b"" for path in files}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
