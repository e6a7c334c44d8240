"""One run in a process of its own, for congestion controls in Python, which would otherwise take turns at the interpreter's lock.

A new interpreter, not a fork of this one (it has threads) nor multiprocessing's (which would run the user's script again).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ackclock.errors import RunFailed

if TYPE_CHECKING:
    from ackclock.simulation.engine import EngineOutput
    from ackclock.simulation.plan import Plan


def run(plan: Plan) -> EngineOutput:
    """What `engine.run` gives, from another process. Raises RunFailed."""
    asked = pickle.dumps(([str(Path.cwd()), *sys.path], plan))
    done = subprocess.run(
        [sys.executable, "-m", "ackclock.simulation.worker_process"], input=asked, stdout=subprocess.PIPE, check=False
    )
    if done.returncode != 0:
        raise RunFailed(f"its process ended with status {done.returncode}")
    result, failure = pickle.loads(done.stdout)
    if failure is not None:
        raise failure
    return cast("EngineOutput", result)


def _main() -> None:
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a congestion control prints is not part of the answer
    paths, plan = pickle.load(sys.stdin.buffer)
    sys.path[:] = paths
    from ackclock.simulation import engine

    said: tuple[EngineOutput | None, RunFailed | None]
    try:
        said = (engine.run(plan), None)
    except RunFailed as error:
        said = (None, error)
    with answer:
        pickle.dump(said, answer)


if __name__ == "__main__":
    _main()
