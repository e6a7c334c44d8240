"""A call in a subprocess, for congestion controls in Python: threads of one process would share the
interpreter's lock.

The subprocess is a new interpreter. A fork would copy this process without its threads, and
multiprocessing would run the user's script a second time.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from ackclock.errors import RunFailed

T = TypeVar("T")


def call(function: Callable[..., T], *arguments: Any) -> T:
    """`function(*arguments)` in a subprocess; `function` is one of a module. Raises RunFailed."""
    request = pickle.dumps([str(Path.cwd()), *sys.path]), pickle.dumps((function, arguments))
    process = subprocess.run(
        [sys.executable, "-m", "ackclock.simulation.worker_process"],
        input=pickle.dumps(request),
        stdout=subprocess.PIPE,
        check=False,
    )
    if process.returncode != 0:
        raise RunFailed(f"its process ended with status {process.returncode}")
    result, failure = pickle.loads(process.stdout)
    if failure is not None:
        raise failure
    return cast("T", result)


def _main() -> None:
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a congestion control may print
    paths, request = pickle.load(sys.stdin.buffer)
    sys.path[:] = pickle.loads(paths)
    function, arguments = pickle.loads(request)
    reply: tuple[Any, RunFailed | None]
    try:
        reply = (function(*arguments), None)
    except RunFailed as error:
        reply = (None, error)
    with stdout:
        pickle.dump(reply, stdout)


if __name__ == "__main__":
    _main()
