"""`ackclock emulate --beside household`: real programs at both ends.

Skipped where network namespaces are not allowed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ackclock.simulation.household import FLOWS
from tests.support.documents import follows
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]


def emulate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ackclock", "emulate", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.slow
def test_household_runs_beside_a_command_and_has_scores(tmp_path: Path) -> None:
    done = emulate(tmp_path, "dsl-16m", "--beside", "household", "--json", "--no-log", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    follows("emulate", document)
    rows = {row["flow"]: row for row in document["programs"]}
    assert set(rows) == set(FLOWS) and document["command"]["argv"] == ["--beside", "household", "sh", "-c", "exit 3"]
    # An upload of 1 Mb/s into 64 KiB: half a second of queue.
    assert rows["call"]["app"]["score"]["mos"]["mean"] < 3.5
    assert rows["game"]["app"]["score"]["late_share"] > 0.5
    assert rows["page-1"]["app"]["score"]["load_s"] < 1.0
    assert 0.6e6 < rows["upload"]["goodput_bps"] < 1e6
    assert document["household"]["verdict"].startswith("Beside a download and an upload the link holds none")


@pytest.mark.parametrize("other", [("--pair",), ("--seconds", "5")])
def test_household_is_refused_with_another_end(other: tuple[str, ...], tmp_path: Path) -> None:
    done = emulate(tmp_path, "dsl-16m", "--beside", "household", *other)
    assert done.returncode == 2 and "--beside has an end of its own" in done.stderr
