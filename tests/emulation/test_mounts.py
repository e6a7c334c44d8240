"""Mounts of an emulation: the command's own /proc and /sys, invisible outside."""

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
needs_root = pytest.mark.skipif(not ROOT, reason="needs root, unshare and chroot")

LINK = 'title = "a line"\nsource = "test"\n[[hop]]\nname = "line"\nrate = "10 Mb/s"\n'
SEES = "echo PIDS $(ls /proc | grep -c '^[0-9]'); echo NET $(ls /sys/class/net); echo CGROUP $(ls /sys/fs/cgroup | wc -l)"
# A jail in a mount namespace of the test's own, whatever happens in which is unseen outside it. Its root is a plain directory, its mounts
# are peers of shared ones: where "/" is no mount point, nothing below it is made private by making "/" private.
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
seen() { cat /proc/self/mountinfo; ls /proc | grep -v '^[0-9]'; }
seen > "$jail.before"
status=0
chroot "$jail" "$@" || status=$?
seen > "$jail.after"
exit $status
"""


def emulate(link, *command):
    return [sys.executable, "-m", "ackclock", "emulate", str(link), "--no-log", "--quiet", *command]


@pytest.fixture
def jailed(tmp_path):
    """Run an emulation in a jail whose /proc is at `proc`; return its output, and the mounts outside before and after."""

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
def test_chroot_with_a_shared_proc_leaves_the_mounts_outside_as_they_were(jailed):
    done, before, after = jailed("/proc", f"{{ {SEES}; }} >&2")
    assert done.returncode == 0, done.stderr
    assert after == before
    assert "self" in after, "the machine's /proc can be seen"
    reported = dict(line.split(" ", 1) for line in done.stderr.splitlines() if line.startswith(("PIDS", "NET")))
    assert int(reported["PIDS"]) < 10, "its mounts could be made private one by one"
    assert sorted(reported["NET"].split()) == ["client", "lo"]


@needs_root
@pytest.mark.finding("L1")
def test_emulation_goes_on_with_the_proc_that_is_there_when_it_cannot_be_proven_private(jailed, tmp_path):
    """A /proc that is a link could lead anywhere."""
    done, before, after = jailed("/elsewhere", "true")
    assert done.returncode == 0, done.stderr
    assert after == before
    assert done.stderr.count("the command sees the /proc of this machine: ") == 1
    assert "the command sees the /proc of this machine" in done.stdout, "a note in the document"


@pytest.mark.finding("L4")
def test_command_sees_its_own_processes_and_interfaces_when_it_looks_at_proc_and_sys(tmp_path):
    (tmp_path / "line.toml").write_text(LINK, encoding="utf-8")
    outside = len(list(Path("/sys/fs/cgroup").iterdir())) if Path("/sys/fs/cgroup").is_dir() else 0
    server = tmp_path / "server"
    argv = emulate("line.toml", "--out", "run", "--server-ready", "none", "--server", f"sh -c 'ls /sys/class/net > {server}'")
    done = subprocess.run(
        [*argv, "--", "sh", "-c", f"{SEES}; sleep 0.5"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    reported = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("PIDS", "NET", "CGROUP")))
    assert int(reported["PIDS"]) < 10
    assert sorted(reported["NET"].split()) == ["client", "lo"]
    assert sorted(server.read_text().split()) == ["lo", "server"]
    if os.geteuid() == 0:
        assert int(reported["CGROUP"]) == outside, "what else is mounted in /sys stays"
