"""The commands of the guides, run as written in a scratch folder, one shell line each."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def first_block(guide: str) -> list[str]:
    """The lines of a guide's first code block, without comments."""
    block = re.search(r"^```\n(.*?)^```$", (ROOT / "docs" / guide).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert block is not None
    return [re.sub(r"\s+# .*", "", line) for line in block[1].splitlines()]


EMULATE = first_block("reference/emulate.md")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """An empty folder with the examples and a program in it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ntest -n "$ACKCLOCK_SERVER" && ls /sys/class/net\n')
    program.chmod(0o755)
    return tmp_path


def start(line: str, folder: Path) -> subprocess.Popen[str]:
    command = ["sh", "-c", f"exec {line}"]
    return subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def needed(line: str) -> list[str]:
    """Programs beyond ackclock that a line names."""
    return [name for name in ("iperf3", "curl", "firefox") if re.search(rf"\b{name}\b", line)]


def marked(line: str) -> Any:
    """A household takes a minute of real time, iperf3 ten seconds."""
    is_slow = "household" in line or "iperf3" in line
    return pytest.param(line, marks=pytest.mark.slow) if is_slow else line


@pytest.mark.finding("L2")
@pytest.mark.parametrize(
    "line", [marked(line) for line in EMULATE if "--pair" not in line and "--internet" not in line]
)
def test_emulate_guide_line_ends_with_status_0(line: str, scratch: Path) -> None:
    if absent := [name for name in needed(line) if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(absent)} is not installed")
    running = start(line, scratch)
    out, err = running.communicate(timeout=90)
    assert running.returncode == 0, err
    if "http.server" in line:
        assert "Directory listing" in out, err
    if "./program" in line:
        assert sorted(out.split("\n\n")[0].split()[:2]) == ["client", "lo"], out


@pytest.mark.skipif(os.geteuid() != 0, reason="names of namespaces need root")
def test_emulate_guide_pair_stays_until_ctrl_c(scratch: Path) -> None:
    (line,) = (line for line in EMULATE if "--pair" in line)
    name = f"guide{os.getpid()}"
    running = start(re.sub(r"--name \S+", f"--name {name}", line), scratch)
    place = Path("/run/netns") / f"{name}-client"
    until = time.monotonic() + 30
    while not place.exists() and running.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert place.exists(), running.communicate()
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0
    assert not place.exists()
