"""One run in a subprocess, for congestion controls in Python: threads of one process would share
the interpreter's lock.

The subprocess is a new interpreter. A fork would copy this process without its threads, and
multiprocessing would run the user's script a second time.
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
    """`engine.run` in a subprocess. Raises RunFailed."""
    request = pickle.dumps(([str(Path.cwd()), *sys.path], plan))
    process = subprocess.run(
        [sys.executable, "-m", "ackclock.simulation.worker_process"], input=request, stdout=subprocess.PIPE, check=False
    )
    if process.returncode != 0:
        raise RunFailed(f"its process ended with status {process.returncode}")
    result, failure = pickle.loads(process.stdout)
    if failure is not None:
        raise failure
    return cast("EngineOutput", result)


def _main() -> None:
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a congestion control may print
    paths, plan = pickle.load(sys.stdin.buffer)
    sys.path[:] = paths
    from ackclock.simulation import engine

    reply: tuple[EngineOutput | None, RunFailed | None]
    try:
        reply = (engine.run(plan), None)
    except RunFailed as error:
        reply = (None, error)
    with stdout:
        pickle.dump(reply, stdout)


if __name__ == "__main__":
    _main()
