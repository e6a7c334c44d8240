"""Where an emulation's hosts stand: named pairs, the way out, cells with simulated stations, one inside another, and what is left afterwards."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from ackclock.emulation.run import open_emulation
from tests.support.emulation import ECHO, until
from tests.support.namespaces import namespaces

pytestmark = [pytest.mark.realtime, pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")]
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and iproute2")

LINK = """title = "a line"
source = "test"
[[hop]]
name = "line"
rate = "2 Mb/s"
delay = "15 ms"
"""
PYTHON = sys.executable
ASK = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(0.5)
# Until there are ten answers: on a busy machine whoever answers may start seconds later than who asks.
times, end = [], time.perf_counter() + 20
while len(times) < 10 and time.perf_counter() < end:
    start = time.perf_counter()
    udp.sendto(bytes(100), (sys.argv[1], 9))
    try:
        udp.recv(2000)
    except (TimeoutError, ConnectionRefusedError):
        time.sleep(0.1)
        continue
    times.append(time.perf_counter() - start)
print("RTT", min(times) * 1e3)
"""


@pytest.fixture
def link(tmp_path):
    path = tmp_path / "line.toml"
    path.write_text(LINK, encoding="utf-8")
    return str(path)


def command(*arguments):
    return [PYTHON, "-m", "ackclock", "emulate", *map(str, arguments)]


class Pair:
    """An emulation with `--pair` that stays in the background."""

    def __init__(self, folder: Path, link: str, *more: str) -> None:
        self.said = folder / "said"
        with self.said.open("w") as said:
            argv = command(link, "--pair", "--no-log", "--out", folder / "pair", *more)
            self.process = subprocess.Popen(argv, stdout=said, stderr=subprocess.DEVNULL, cwd=folder)
        self.ways = until(lambda: self._ways())

    def _ways(self) -> dict[str, list[str]]:
        lines = [line.split(": ") for line in self.said.read_text().splitlines()]
        return {line[0]: line[1].split()[:-1] for line in lines} if len(lines) >= 2 else {}

    def end(self, by: signal.Signals) -> None:
        self.process.send_signal(by)
        self.process.wait(20)


def rtt_ms(way_in, address):
    done = subprocess.run([*way_in, PYTHON, "-c", ASK, address], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[1])


EXACT_MS = 2 * (15 + 128 * 8 / 2e6 * 1e3)


def test_a_pairs_two_namespaces_are_joined_by_the_link_and_gone_after_an_interrupt(tmp_path, link):
    pair = Pair(tmp_path, link, "--name", "ackclocktest")
    server, client = pair.ways["ackclocktest-server"], pair.ways["ackclocktest-client"]
    echo = subprocess.Popen([*server, PYTHON, "-c", ECHO])
    try:
        assert EXACT_MS - 0.05 <= rtt_ms(client, "100.64.0.1") <= EXACT_MS + 3
    finally:
        echo.kill()
        echo.wait()
        pair.end(signal.SIGINT)
    assert pair.process.returncode == 0
    assert not Path("/run/netns/ackclocktest-server").exists()
    assert json.loads((tmp_path / "pair" / "emulation.json").read_text())["packets_in"] >= 20


def guard_of(emulator: int) -> int:
    """The guard process of an emulation."""
    children = Path(f"/proc/{emulator}/task/{emulator}/children").read_text().split()
    (found,) = [int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "ackclock-guard"]
    return found


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("L6")
@pytest.mark.parametrize("guarded", [True, False], ids=["by_its_guard", "by_the_next_emulation"])
def test_names_of_a_killed_emulation_are_removed(tmp_path, link, guarded):
    pair = Pair(tmp_path, link, "--name", f"ackk{os.getpid()}")
    names = [Path("/run/netns") / name for name in pair.ways]
    notes = Path("/run/ackclock") / str(pair.process.pid)
    try:
        assert len(names) == 2
        assert all(name.exists() for name in names)
        assert notes.exists()
        guard = guard_of(pair.process.pid)
        if not guarded:
            os.kill(guard, signal.SIGKILL)
    finally:
        pair.end(signal.SIGKILL)
    if not guarded:
        assert all(name.exists() for name in names), "only a mount holds them now"
        subprocess.run(command(link, "--no-log", "--out", tmp_path / "next", "--", "true"), capture_output=True, check=True)
    until(lambda: not any(path.exists() for path in (*names, notes)))
    until(lambda: not Path(f"/proc/{guard}").exists())


@needs_root
def test_a_second_pair_of_the_same_name_is_refused_and_the_first_one_stays(tmp_path, link):
    pair = Pair(tmp_path, link, "--name", "ackclocktwice")
    try:
        argv = command(link, "--pair", "--name", "ackclocktwice", "--no-log", "--out", tmp_path / "b")
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1
        assert "ackclocktwice-server already" in done.stderr
        assert Path("/run/netns/ackclocktwice-server").exists()
    finally:
        pair.end(signal.SIGTERM)
    assert not Path("/run/netns/ackclocktwice-server").exists()


def processes_with(mark):
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda by: by.name)
def test_processes_namespaces_and_interfaces_are_gone_however_an_emulation_ends(tmp_path, link, by):
    mark = f"ACKCLOCK_TEST_MARK={os.getpid()}-{by.name}"
    argv = command(link, "--out", tmp_path / "run", "--no-report", "--server", "sleep 1000", "--server-ready", "none")
    what = ["--", "sh", "-c", "sleep 1000 & sleep 1000"]
    environment = {**os.environ, **dict([mark.split("=")])}
    running = subprocess.Popen([*argv, *what], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: len(processes_with(mark)) >= 6)
    except AssertionError:
        running.kill()
        raise
    if by is signal.SIGINT:
        os.killpg(running.pid, by)  # as a terminal does
    else:
        running.send_signal(by)
    running.wait(30)
    until(lambda: not processes_with(mark))
    assert not [path for path in Path("/sys/class/net").iterdir() if path.name.startswith(("to0", "ackclock"))]
    left = list((tmp_path / "run").glob(".live*"))
    assert bool(left) == (by is signal.SIGKILL)
    if left:
        done = subprocess.run([*argv, "--seconds", "0.3", *what], capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == 128 + signal.SIGTERM
        assert not list((tmp_path / "run").glob(".live*"))


def test_an_emulation_inside_an_emulation_adds_both_links_delays(tmp_path, link):
    """The inner server's place is the outer client's; a relay there passes datagrams on to the outer server."""
    relay = tmp_path / "relay.py"
    relay.write_text(
        "import os, socket\n"
        "inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "inner.bind(('', 9))\n"
        "while True:\n"
        "    data, sender = inner.recvfrom(2000)\n"
        "    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:\n"
        "        way.bind('inside')\n"
        "        way.sendto(data, 'outside')\n"
        "        way.recv(2000)\n"
        "    os.unlink('inside')\n"
        "    inner.sendto(data, sender)\n"
    )
    # The outer client's namespace is reached over a local socket, as files are shared and networks are not.
    outer = tmp_path / "outer.py"
    outer.write_text(
        "import os, socket, subprocess, sys, threading\n"
        "def carry():\n"
        "    local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    local.bind('outside')\n"
        "    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    udp.settimeout(0.4)\n"
        "    while True:\n"
        "        data, sender = local.recvfrom(2000)\n"
        "        udp.sendto(data, (os.environ['ACKCLOCK_SERVER'], 9))\n"
        "        try:\n"
        "            local.sendto(udp.recv(2000), sender)\n"
        "        except OSError:\n"
        "            pass\n"
        "threading.Thread(target=carry, daemon=True).start()\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n"
    )
    ask = ASK.replace("sys.argv[1]", "__import__('os').environ['ACKCLOCK_SERVER']").replace(
        'print("RTT"', 'print("RTT", file=sys.stderr); print("RTT"'
    )
    ask = ask.replace('print("RTT", min(times) * 1e3)', "print(min(times) * 1e3, file=sys.stderr)")
    inner = command(
        link, "--json", "--no-log", "--out", tmp_path / "inner", "--server", f"{PYTHON} {relay}", "--", PYTHON, "-c", ask
    )
    argv = command(link, "--json", "--no-log", "--out", tmp_path / "outer", "--server", shlex.join([PYTHON, "-c", ECHO]))
    argv += ["--", PYTHON, str(outer), *inner]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rtt = float(done.stderr.split("RTT\n")[1].split()[0])
    assert 2 * EXACT_MS - 0.1 <= rtt <= 2 * EXACT_MS + 8


CELL = """link = "wimax-nist"
duration = "10 s"
clients = 4
[[flow]]
name = "beside"
workload = { kind = "cbr", rate = "1 Mb/s", packet = "1000 B" }
count = 3
[[flow]]
name = "tcp"
workload = { kind = "bulk" }
"""


def test_a_real_host_shares_a_cell_with_simulated_stations(tmp_path):
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    ask = shlex.join([PYTHON, "-c", ASK, "100.64.0.1"])
    argv = command("cell.toml", "--json", "--out", "run", "--no-report", "--server", shlex.join([PYTHON, "-c", ECHO]))
    argv += ["--", "sh", "-c", f"{ask} >&2; sleep 2"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rtt = float(done.stderr.split("RTT")[1].split()[0])
    assert rtt > 15, "a cell of 5 ms frames, with a request for each answer"
    run = open_emulation(tmp_path / "run")
    delivered = run.fates.filter(pl.col("fate") == "delivered").group_by("flow").len()
    counts = dict(delivered.iter_rows())
    seconds = run.document["seconds"]
    assert counts["live"] >= 10
    for flow in ("beside-1", "beside-2", "beside-3"):
        assert counts[flow] == pytest.approx(125 * seconds, rel=0.1), "1 Mb/s of 1000 B"
    assert counts["tcp"] > 300
    assert set(run.series["flow"]) == {"tcp"}
    assert run.hops["station"].n_unique() >= 4


def has_nat():
    return bool(shutil.which("nft") or shutil.which("iptables"))


NFT = """#!/bin/sh
# Replaces nft where it is not installed: a table is a file here.
tables=$(dirname "$0")/tables
mkdir -p "$tables"
case "$1" in
    "add table ip "*) name=${1#add table ip }; touch "$tables/${name%%;*}" ;;
    "delete table ip "*) rm "$tables/${1#delete table ip }" ;;
    list) for table in "$tables"/*; do [ -e "$table" ] && echo "table ip $(basename "$table")"; done ;;
esac
exit 0
"""


@pytest.fixture
def machine(tmp_path):
    """A network namespace as a machine, with methods to run commands in it. Without nftables a script replaces nft."""
    name = f"ackn{os.getpid()}"
    environment = dict(os.environ)
    if not shutil.which("nft"):
        stand_in = tmp_path / "bin" / "nft"
        stand_in.parent.mkdir()
        stand_in.write_text(NFT, encoding="utf-8")
        stand_in.chmod(0o755)
        environment["PATH"] = f"{stand_in.parent}:{environment['PATH']}"
    subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)

    class Machine:
        def start(self, *argv):
            """In a process group of its own."""
            inside = ["ip", "netns", "exec", name, *map(str, argv)]
            return subprocess.Popen(inside, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True)

        def run(self, *argv):
            inside = ["ip", "netns", "exec", name, *map(str, argv)]
            return subprocess.run(inside, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout

        def leads_out(self):
            """Forwarding, and the tables that let traffic out."""
            forwards = self.run("cat", "/proc/sys/net/ipv4/ip_forward").strip() == "1"
            return forwards, [line for line in self.run("nft", "list", "tables").splitlines() if "ackclock" in line]

    yield Machine()
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("L6")
@pytest.mark.parametrize("guarded", [True, False], ids=["by_its_guard", "by_the_next_emulation"])
def test_way_out_of_a_killed_emulation_is_closed(tmp_path, link, machine, guarded):
    mark = tmp_path / "started"
    argv = command(link, "--internet", "--no-log", "--out", tmp_path / "run", "--", "sh", "-c", f"touch {mark}; sleep 60")
    running = machine.start(*argv)
    try:
        until(mark.exists)
        forwards, tables = machine.leads_out()
        # The place of the server has a table of its own, in its own namespace; a stand-in for nft keeps both in one folder.
        assert forwards
        assert any("ackclock_198_1" in table for table in tables)
        guard = guard_of(running.pid)
        if not guarded:
            os.kill(guard, signal.SIGKILL)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(20)
    if not guarded:
        assert machine.leads_out()[0], "the way out is still open"
        machine.run(*command(link, "--no-log", "--out", tmp_path / "next", "--", "true"))

    def closed():
        forwards, tables = machine.leads_out()
        return not forwards and not any("ackclock_198_1" in table for table in tables)

    until(closed)
    until(lambda: not Path(f"/proc/{guard}").exists())


@needs_root
@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("L6")
def test_killed_emulation_leaves_nothing_when_it_is_killed_at_any_moment(tmp_path, link, machine):
    name = f"ackr{os.getpid()}"
    for number in range(20):
        pair = ["--internet", "--pair", "--name", f"{name}-{number}"]
        running = machine.start(*command(link, *pair, "--no-log", "--no-report", "--quiet"))
        notes = Path("/run/ackclock") / str(running.pid)
        # From before its first note until it runs: an emulation takes half a second to begin.
        time.sleep(0.2 + number * 0.05)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(20)
        until(lambda notes=notes: not notes.exists() and not list(Path("/run/netns").glob(f"{name}-*")))
        forwards, tables = machine.leads_out()
        assert not forwards
        assert not any("ackclock_198_1" in table for table in tables)


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("S4")
def test_forged_note_deletes_nothing_when_a_user_could_write_it(tmp_path, link):
    """In a mount namespace with a /run of its own: a directory as an emulation with umask 000 left it once, open to all."""
    victim = tmp_path / "victim"
    victim.write_text("", encoding="utf-8")
    script = f"""
set -eu
mount -t tmpfs none /run
umask 000
mkdir -m 777 /run/ackclock /run/netns
touch /run/netns/bystander
world="$(readlink /proc/self/ns/pid) $(readlink /proc/self/ns/net) $(cat /proc/sys/kernel/random/boot_id)"
printf '%s 1\nname {victim}\nname {victim} 1\nname ../..{victim} 1\nname bystander 1\nforwarding\n' "$world" > /run/ackclock/4194303
cat /proc/sys/net/ipv4/ip_forward
"$@" > /dev/null
cat /proc/sys/net/ipv4/ip_forward
ls /run/netns
stat -c '%a %u' /run/ackclock
ls /run/ackclock
"""
    argv = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", script, "sh"]
    argv += command(link, "--no-log", "--quiet", "--out", tmp_path / "run", "--", "true")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert victim.exists()
    before, after, *left = done.stdout.split("\n")
    assert before == after
    assert left == ["bystander", "700 0", ""]


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("S4")
def test_pair_is_refused_when_its_notes_would_lie_in_another_users_directory(tmp_path, link):
    script = 'mount -t tmpfs none /run && mkdir /run/ackclock && chown 65534 /run/ackclock && exec "$@"'
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    argv += command(link, "--pair", "--seconds", "0.2", "--no-log", "--out", tmp_path / "run")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "/run/ackclock cannot hold cleanup journals: it belongs to user 65534; remove it" in done.stderr


@needs_root
@pytest.mark.skipif(not has_nat(), reason="neither nftables nor iptables is installed")
def test_the_way_out_leads_through_this_machine_and_is_closed_afterwards(tmp_path, link):
    """The machine is a namespace here, with one neighbour outside."""
    machine, outside = f"ackm{os.getpid()}", f"acko{os.getpid()}"

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def inside(namespace, *words):
        return ["ip", "netns", "exec", namespace, *words]

    try:
        for name in (machine, outside):
            ip("netns", "add", name)
        ip("-n", machine, "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", outside)
        for name, address in ((machine, "192.0.2.1/24"), (outside, "192.0.2.2/24")):
            ip("-n", name, "address", "add", address, "dev", "wan")
            ip("-n", name, "link", "set", "wan", "up")
        # Who answers knows no way to the emulation: only the machine's own address can be answered.
        echo = subprocess.Popen(inside(outside, PYTHON, "-c", ECHO))
        argv = command(link, "--json", "--no-log", "--out", tmp_path / "run", "--internet", "--", "sh", "-c")
        argv += [f"{shlex.join([PYTHON, '-c', ASK, '192.0.2.2'])} >&2"]
        done = subprocess.run(inside(machine, *argv), capture_output=True, text=True, timeout=60, check=False)
        echo.kill()
        echo.wait()
        assert done.returncode == 0, done.stderr
        assert EXACT_MS - 0.05 <= float(done.stderr.split("RTT")[1].split()[0]) <= EXACT_MS + 5
        links = subprocess.run(["ip", "-n", machine, "-o", "link"], capture_output=True, text=True, check=True).stdout
        assert "ackclock" not in links
        forward = subprocess.run(
            inside(machine, "cat", "/proc/sys/net/ipv4/ip_forward"), capture_output=True, text=True, check=True
        )
        assert forward.stdout.strip() == "0"
        if shutil.which("nft"):
            tables = subprocess.run(inside(machine, "nft", "list", "tables"), capture_output=True, text=True, check=True)
            assert "ackclock" not in tables.stdout
    finally:
        for name in (machine, outside):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_without_nat_or_root_the_way_out_is_refused_with_exit_status_2(tmp_path, link):
    empty = tmp_path / "empty"
    empty.mkdir()
    argv = command(link, "--internet", "--out", tmp_path / "run", "--", "true")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PATH": str(empty)})
    assert done.returncode == 2
    assert "--internet" in done.stderr
    assert not (tmp_path / "run").exists()
