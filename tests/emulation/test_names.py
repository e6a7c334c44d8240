"""Names inside an emulation: those of its hosts, and no wait for name servers beyond the link."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.finding("R5"),
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]
LINK = 'title = "a line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = "10 Mb/s"\ndelay = "1 ms"\n'
LOOK_UP = """
import json, os, socket, sys, time

def look_up(name):
    try:
        return sorted({entry[4][0] for entry in socket.getaddrinfo(name, 80, proto=socket.IPPROTO_TCP)})
    except socket.gaierror:
        return []

found = {name: look_up(name) for name in sys.argv[1:]}
start = time.monotonic()
found["absent"] = look_up("nothing.example")
found["seconds"] = time.monotonic() - start
found["addresses"] = [os.environ["ACKCLOCK_SERVER"], os.environ["ACKCLOCK_CLIENT"]]
with open(os.environ["FOUND"], "w") as file:
    json.dump(found, file)
"""


def emulated(tmp_path: Path, *options: str, server: str = "", command: list[str]) -> subprocess.CompletedProcess[str]:
    (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
    argv = [sys.executable, "-m", "ackclock", "emulate", "line.toml", "--no-log", "--no-report", "--quiet", *options]
    argv += ["--server", server] if server else []
    return subprocess.run([*argv, "--", *command], cwd=tmp_path, capture_output=True, text=True, timeout=60)


def looked_up(tmp_path: Path, *options: str, at_server: bool = False, names: list[str]) -> dict:
    """What a command finds of names, at one end."""
    script, found = tmp_path / "look_up.py", tmp_path / "found.json"
    script.write_text(LOOK_UP, encoding="utf-8")
    words = ["env", f"FOUND={found}", sys.executable, str(script), *names]
    if at_server:
        options = (*options, "--server-ready", "none")
        done = emulated(tmp_path, *options, server=" ".join(words), command=["sleep", "1.5"])
    else:
        done = emulated(tmp_path, *options, command=words)
    assert done.returncode == 0, done.stderr
    return json.loads(found.read_text())


@pytest.mark.parametrize("at_server", [False, True], ids=["client", "server"])
def test_both_ends_know_the_names_of_both_and_those_that_are_given(at_server: bool, tmp_path: Path) -> None:
    names = ["server", "client", "localhost", "shop.example", "cdn.example"]
    options = ("--hostname", "shop.example", "--hostname", "cdn.example")
    found = looked_up(tmp_path, *options, at_server=at_server, names=names)
    server, client = found["addresses"]
    for name, address in zip(names, [server, client, "127.0.0.1", server, server], strict=True):
        assert address in found[name], found
        assert all(one.startswith("fd5c:") or one in (address, "::1") for one in found[name]), found


def test_unknown_name_fails_at_once(tmp_path: Path) -> None:
    found = looked_up(tmp_path, names=["shop.example"])
    assert (found["shop.example"], found["absent"]) == ([], [])
    assert found["seconds"] < 2.0


def test_clients_have_names_with_their_numbers(tmp_path: Path) -> None:
    found = looked_up(tmp_path, "--clients", "3", names=["client", "client-1", "client-3"])
    assert found["client"] == found["client-1"] != found["client-3"] != []


def test_command_reaches_a_server_by_a_given_name(tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("no curl")
    (tmp_path / "page").write_text("a page")
    server = f"{sys.executable} -m http.server 8000 --bind 0.0.0.0 --directory {tmp_path}"
    command = ["curl", "--silent", "--ipv4", "http://shop.example:8000/page"]
    done = emulated(tmp_path, "--hostname", "shop.example", server=server, command=command)
    assert (done.returncode, done.stdout.split("\n")[0].startswith("a page")) == (0, True), done.stderr


def test_machines_files_are_unchanged(tmp_path: Path) -> None:
    files = [Path("/etc/hosts"), Path("/etc/resolv.conf")]
    before = [file.read_bytes() for file in files if file.exists()]
    mounts = Path("/proc/self/mounts").read_text()
    looked_up(tmp_path, "--hostname", "shop.example", names=["shop.example"])
    assert [file.read_bytes() for file in files if file.exists()] == before
    assert Path("/proc/self/mounts").read_text() == mounts
    (tmp_path / "before").touch()
    done = emulated(tmp_path, command=["sh", "-c", f"ls {tmp_path}; mkdir {tmp_path}/made"])
    assert "before" in done.stdout
    assert (tmp_path / "made").is_dir()
