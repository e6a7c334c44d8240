"""``measure`` over an emulated link, with an adjustable error of the server's clock."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from studies.kernel.runs import ATTEMPTS, Unmeasured

CLIENT = """
import os, socket, sys, time
server = os.environ[sys.argv[1]]
while True:
    try:
        socket.create_connection((server, 4862)).close()
        break
    except OSError:
        time.sleep(0.1)
os.execv(sys.executable, [sys.executable, "-m", "ackclock", "measure", server, *sys.argv[2:]])
"""
"""Waits until the server listens."""
SERVER, SERVER6 = "ACKCLOCK_SERVER", "ACKCLOCK_SERVER6"


def measured(
    link: str | None,
    *arguments: str,
    clock_shift_ns: int = 0,
    seconds: float = 60.0,
    packaged: str = "",
    server: str = SERVER,
) -> dict[str, Any]:
    """The document of a measurement over a link file's text or a packaged link, of a valid
    emulation. Raises Unmeasured, also after `seconds`."""
    why = ""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            audit, document = _once(
                _file(link, packaged, Path(folder)), Path(folder), [server, *arguments], clock_shift_ns, seconds
            )
            if audit["valid"]:
                return document
        why = audit["why"]
    raise Unmeasured(why)


def over(packaged: str, *arguments: str, seconds: float) -> dict[str, Any]:
    """The document of a measurement over a packaged link, also of an invalid emulation."""
    with tempfile.TemporaryDirectory() as folder:
        return _once(packaged, Path(folder), [SERVER, *arguments], 0, seconds)[1]


def _file(text: str | None, packaged: str, folder: Path) -> str:
    if text is None:
        return packaged
    path = folder / "link.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _once(
    link: str, folder: Path, arguments: list[str], shift: int, seconds: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    ackclock = [sys.executable, "-m", "ackclock"]
    token, out = str(folder / "token"), folder / "out"
    server, *arguments = arguments
    serve = [
        *ackclock,
        "serve",
        "--listen",
        "::",
        "--token-file",
        token,
        "--clock-shift",
        str(shift),
        "--allow-capture",
        "16",
    ]
    client = [
        sys.executable,
        "-c",
        CLIENT,
        server,
        "--token-file",
        token,
        "--out",
        str(out),
        "--no-report",
        "--quiet",
        *arguments,
    ]
    command = [
        *ackclock,
        "emulate",
        link,
        "--json",
        "--seconds",
        str(seconds),
        "--server",
        shlex.join(serve),
    ]
    done = subprocess.run([*command, "--", *client], capture_output=True, text=True, timeout=seconds + 60, check=False)
    if done.returncode == 128 + signal.SIGTERM:
        raise Unmeasured(f"the measurement lasts longer than {seconds:g} s")
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    document = json.loads((out / "measurement.json").read_text("utf-8"))
    if (out / "analysis").is_dir():
        document["analysis"] = json.loads((out / "analysis" / "analysis.json").read_text("utf-8"))
    return json.loads(done.stdout), document
