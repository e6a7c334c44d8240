"""The fast and the slow path of the engine: both must send the same packets.

The program `both_paths` (crates/sim/examples), which `make hunt-ourselves` builds, runs a plan with
the engine's shortcuts and without them.
"""

from __future__ import annotations

import json
import queue
import subprocess
from pathlib import Path
from typing import Any

from ackclock.errors import RunFailed
from ackclock.hunting.objectives import HuntRun
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.plan import build_plan

PROGRAM = Path(__file__).parents[2] / "target/release/examples/both_paths"
_IDLE: queue.LifoQueue[subprocess.Popen[str]] = queue.LifoQueue()
"""Processes of the program that wait for a plan."""


def difference(run: HuntRun) -> float:
    """How many forms of a case differ from the usual one."""
    return float(len(differing(run.scenario, int(run.summary["seed"]))))


def differing(scenario: Scenario, seed: int) -> list[dict[str, Any]]:
    """The forms that differ, each with its first packet that does. Raises RunFailed."""
    try:
        process = _IDLE.get_nowait()
    except queue.Empty:
        process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(build_plan(scenario, seed).text() + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RunFailed(f"both_paths ended with status {process.wait()}", "run the case by itself")
    _IDLE.put(process)
    answer = json.loads(line)
    if "error" in answer:
        raise RunFailed(answer["error"], "run the case by itself")
    return [form for form in answer["forms"] if form["first"] is not None]
