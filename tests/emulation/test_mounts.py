"""Mounts of an emulation: the command's own /proc and /sys, which are invisible outside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.namespaces import namespaces

ROOT = os.geteuid() == 0 and shutil.which("unshare") and shutil.which("chroot")
pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]
needs_root = pytest.mark.skipif(not ROOT, reason="requires root, unshare and chroot")

LINK = 'title = "a line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = "10 Mb/s"\n'
VISIBLE = (
    "echo PIDS $(ls /proc | grep -c '^[0-9]'); echo NET $(ls /sys/class/net); echo CGROUP $(ls /sys/fs/cgroup | wc -l)"
)
# A chroot jail in a mount namespace of the test. Its root is a plain directory and its mounts are
# shared: making "/" private fails, as it is no mount point, and does not change the mounts below
# it.
JAIL = """
set -eu
jail=$1; proc=$2; shift 2
mount --make-rprivate /
mount -t proc proc /proc
mount --make-rshared /proc
mount --make-rshared /sys
mkdir -p "$jail"
for entry in /*; do
    name=$(basename "$entry")
    if [ -L "$entry" ]; then cp -a "$entry" "$jail/$name"
    elif [ -d "$entry" ] && [ "$name" != proc ]; then mkdir -p "$jail/$name"; mount --rbind "$entry" "$jail/$name"
    fi
done
mkdir -p "$jail$proc"
mount --rbind /proc "$jail$proc"
[ "$proc" = /proc ] || ln -s "$proc" "$jail/proc"
state() { cat /proc/self/mountinfo; ls /proc | grep -v '^[0-9]'; }
state > "$jail.before"
status=0
chroot "$jail" "$@" || status=$?
state > "$jail.after"
exit $status
"""


def emulate(link, *command):
    return [sys.executable, "-m", "ackclock", "emulate", str(link), "--no-log", "--quiet", *command]


@pytest.fixture
def jailed(tmp_path):
    """Run an emulation in a jail whose /proc is at `proc`; return its output, and the mounts
    outside before and after."""

    def run(proc: str, script: str):
        (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
        argv = emulate(tmp_path / "line.toml", "--json", "--out", tmp_path / "run", "--", "sh", "-c", script)
        jail = tmp_path / "jail"
        outer = ["unshare", "--mount", "--propagation", "private", "sh", "-c", JAIL, "sh", str(jail), proc, *argv]
        done = subprocess.run(outer, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        return done, *((tmp_path / f"jail.{when}").read_text().splitlines() for when in ("before", "after"))

    return run


@needs_root
@pytest.mark.finding("L1", "L4")
def test_mounts_outside_are_unchanged_when_proc_is_shared_in_a_chroot(jailed):
    done, before, after = jailed("/proc", f"{{ {VISIBLE}; }} >&2")
    assert done.returncode == 0, done.stderr
    assert after == before
    assert "self" in after, "the machine's /proc is visible"
    reported = dict(line.split(" ", 1) for line in done.stderr.splitlines() if line.startswith(("PIDS", "NET")))
    assert int(reported["PIDS"]) < 10, "the mounts were made private one by one"
    assert sorted(reported["NET"].split()) == ["client", "lo"]


@needs_root
@pytest.mark.finding("L1")
def test_command_sees_the_machines_proc_when_it_is_not_known_to_be_private(jailed, tmp_path):
    """A /proc that is a symbolic link may point anywhere."""
    done, before, after = jailed("/elsewhere", "true")
    assert done.returncode == 0, done.stderr
    assert after == before
    assert done.stderr.count("the command sees the /proc of this machine: ") == 1
    assert "the command sees the /proc of this machine" in done.stdout, "a note in the document"


@pytest.mark.finding("L4")
def test_proc_and_sys_of_a_command_have_only_its_own_processes_and_interfaces(tmp_path):
    (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
    outside = len(list(Path("/sys/fs/cgroup").iterdir())) if Path("/sys/fs/cgroup").is_dir() else 0
    server = tmp_path / "server"
    argv = emulate(
        "line.toml", "--out", "run", "--server-ready", "none", "--server", f"sh -c 'ls /sys/class/net > {server}'"
    )
    done = subprocess.run(
        [*argv, "--", "sh", "-c", f"{VISIBLE}; sleep 0.5"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    reported = dict(
        line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("PIDS", "NET", "CGROUP"))
    )
    assert int(reported["PIDS"]) < 10
    assert sorted(reported["NET"].split()) == ["client", "lo"]
    assert sorted(server.read_text().split()) == ["lo", "server"]
    if os.geteuid() == 0:
        assert int(reported["CGROUP"]) == outside, "other mounts in /sys remain"
