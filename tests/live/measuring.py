"""``measure`` over an emulated link, with the far end's clock as wrong as one likes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.live.cells import ATTEMPTS, Unmeasured

CLIENT = """
import os, socket, sys, time
while True:
    try:
        socket.create_connection((os.environ["ACKCLOCK_SERVER"], 4862)).close()
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
os.execv(sys.executable, [sys.executable, "-m", "ackclock", "measure", os.environ["ACKCLOCK_SERVER"], *sys.argv[1:]])
"""
"""Waits until the far end listens."""


def measured(link: str, *arguments: str, clock_shift_ns: int = 0, seconds: float = 60.0) -> dict[str, Any]:
    """The document of a measurement over this link's text, in a run that the emulation's audit calls valid."""
    why = ""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            audit, document = _once(link, Path(folder), list(arguments), clock_shift_ns, seconds)
            if audit["valid"]:
                return document
        why = audit["why"]
    raise Unmeasured(why)


def _once(link: str, folder: Path, arguments: list[str], shift: int, seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    (folder / "link.toml").write_text(link, encoding="utf-8")
    ackclock = [sys.executable, "-m", "ackclock"]
    token, out = str(folder / "token"), folder / "out"
    serve = [*ackclock, "serve", "--listen", "0.0.0.0", "--token-file", token, "--clock-shift", str(shift)]
    client = [sys.executable, "-c", CLIENT, "--token-file", token, "--out", str(out), "--no-report", "--quiet", *arguments]
    command = [
        *ackclock,
        "emulate",
        str(folder / "link.toml"),
        "--json",
        "--seconds",
        str(seconds),
        "--server",
        shlex.join(serve),
    ]
    done = subprocess.run([*command, "--", *client], capture_output=True, text=True, timeout=seconds + 60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), json.loads((out / "measurement.json").read_text("utf-8"))
