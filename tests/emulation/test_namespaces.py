"""Namespaces of an emulation: named pairs, uplink, simulated stations, nesting, and cleanup."""

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

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="requires root and iproute2")

LINK = """title = "a line"
source = "test"
[[hop]]
name = "line"
rate = "2 Mb/s"
delay = "15 ms"
"""
PYTHON = sys.executable
CLIENT = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(0.5)
# Until there are ten replies: on a busy machine the server may start seconds after the client.
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
    """An emulation with `--pair` in the background."""

    def __init__(self, folder: Path, link: str, *more: str) -> None:
        self.output = folder / "output"
        with self.output.open("w") as output:
            argv = command(link, "--pair", "--no-log", "--out", folder / "pair", *more)
            self.process = subprocess.Popen(argv, stdout=output, stderr=subprocess.DEVNULL, cwd=folder)
        self.prefixes = until(lambda: self._prefixes())

    def _prefixes(self) -> dict[str, list[str]]:
        """The command that enters each namespace, by name; empty until both are printed."""
        lines = [line.split(": ") for line in self.output.read_text().splitlines()]
        return {line[0]: line[1].split()[:-1] for line in lines} if len(lines) >= 2 else {}

    def end(self, by: signal.Signals) -> None:
        self.process.send_signal(by)
        self.process.wait(20)


def rtt_ms(prefix, address):
    done = subprocess.run(
        [*prefix, PYTHON, "-c", CLIENT, address], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[1])


EXACT_MS = 2 * (15 + 128 * 8 / 2e6 * 1e3)


@pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("ip"), reason="root's prefix is `ip netns exec`: requires iproute2"
)
def test_pair_is_connected_by_the_link_and_removed_after_sigint(tmp_path, link):
    pair = Pair(tmp_path, link, "--name", "ackclocktest")
    server, client = pair.prefixes["ackclocktest-server"], pair.prefixes["ackclocktest-client"]
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
    (guard,) = [int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "ackclock-guard"]
    return guard


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("L6")
@pytest.mark.parametrize("guarded", [True, False], ids=["by_its_guard", "by_the_next_emulation"])
def test_names_of_a_killed_emulation_are_removed(tmp_path, link, guarded):
    pair = Pair(tmp_path, link, "--name", f"ackk{os.getpid()}")
    names = [Path("/run/netns") / name for name in pair.prefixes]
    journal = Path("/run/ackclock") / str(pair.process.pid)
    try:
        assert len(names) == 2
        assert all(name.exists() for name in names)
        assert journal.exists()
        guard = guard_of(pair.process.pid)
        if not guarded:
            os.kill(guard, signal.SIGKILL)
    finally:
        pair.end(signal.SIGKILL)
    if not guarded:
        assert all(name.exists() for name in names), "without the guard the names remain"
        subprocess.run(
            command(link, "--no-log", "--out", tmp_path / "next", "--", "true"), capture_output=True, check=True
        )
    until(lambda: not any(path.exists() for path in (*names, journal)))
    until(lambda: not Path(f"/proc/{guard}").exists())


@needs_root
def test_second_pair_is_refused_when_its_name_exists(tmp_path, link):
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


def processes_with(variable):
    """PIDs of the processes with a variable in their environment."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if variable.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
        except OSError:
            continue
    return pids


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda by: by.name)
def test_processes_and_interfaces_are_gone_when_an_emulation_ends_by_a_signal(tmp_path, link, by):
    variable = f"ACKCLOCK_TEST_MARK={os.getpid()}-{by.name}"
    argv = command(link, "--out", tmp_path / "run", "--no-report", "--server", "sleep 1000", "--server-ready", "none")
    sleeps = ["--", "sh", "-c", "sleep 1000 & sleep 1000"]
    environment = {**os.environ, **dict([variable.split("=")])}
    running = subprocess.Popen(
        [*argv, *sleeps], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        until(lambda: len(processes_with(variable)) >= 6)
    except AssertionError:
        running.kill()
        raise
    if by is signal.SIGINT:
        os.killpg(running.pid, by)  # as a terminal does
    else:
        running.send_signal(by)
    running.wait(30)
    until(lambda: not processes_with(variable))
    assert not [path for path in Path("/sys/class/net").iterdir() if path.name.startswith(("to0", "ackclock"))]
    leftovers = list((tmp_path / "run").glob(".live*"))
    assert bool(leftovers) == (by is signal.SIGKILL)
    if leftovers:
        done = subprocess.run([*argv, "--seconds", "0.3", *sleeps], capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == 128 + signal.SIGTERM
        assert not list((tmp_path / "run").glob(".live*"))


def test_nested_emulation_adds_the_delays_of_both_links(tmp_path, link):
    """A relay in the inner server's namespace forwards datagrams to the outer server."""
    relay = tmp_path / "relay.py"
    relay.write_text(
        "import os, socket\n"
        "inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "inner.bind(('', 9))\n"
        "while True:\n"
        "    data, sender = inner.recvfrom(2000)\n"
        "    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outside:\n"
        "        outside.bind('inside')\n"
        "        outside.sendto(data, 'outside')\n"
        "        outside.recv(2000)\n"
        "    os.unlink('inside')\n"
        "    inner.sendto(data, sender)\n"
    )
    # The relay reaches the outer client's namespace over a Unix socket: the file system is shared,
    # the network is not.
    outer = tmp_path / "outer.py"
    outer.write_text(
        "import os, socket, subprocess, sys, threading\n"
        "def forward():\n"
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
        "threading.Thread(target=forward, daemon=True).start()\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n"
    )
    ask = CLIENT.replace("sys.argv[1]", "__import__('os').environ['ACKCLOCK_SERVER']").replace(
        'print("RTT"', 'print("RTT", file=sys.stderr); print("RTT"'
    )
    ask = ask.replace('print("RTT", min(times) * 1e3)', "print(min(times) * 1e3, file=sys.stderr)")
    inner = command(
        link,
        "--json",
        "--no-log",
        "--out",
        tmp_path / "inner",
        "--server",
        f"{PYTHON} {relay}",
        "--",
        PYTHON,
        "-c",
        ask,
    )
    argv = command(
        link, "--json", "--no-log", "--out", tmp_path / "outer", "--server", shlex.join([PYTHON, "-c", ECHO])
    )
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


def test_real_host_shares_a_cell_with_simulated_stations(tmp_path):
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    ask = shlex.join([PYTHON, "-c", CLIENT, "100.64.0.1"])
    argv = command("cell.toml", "--json", "--out", "run", "--no-report", "--server", shlex.join([PYTHON, "-c", ECHO]))
    argv += ["--", "sh", "-c", f"{ask} >&2; sleep 2"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rtt = float(done.stderr.split("RTT")[1].split()[0])
    assert rtt > 15, "a cell of 5 ms frames, with a bandwidth request per reply"
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
    """A network namespace that stands for a machine, with methods to run commands in it.

    Without nftables a script replaces nft.
    """
    name = f"ackn{os.getpid()}"
    environment = dict(os.environ)
    if not shutil.which("nft"):
        script = tmp_path / "bin" / "nft"
        script.parent.mkdir()
        script.write_text(NFT, encoding="utf-8")
        script.chmod(0o755)
        environment["PATH"] = f"{script.parent}:{environment['PATH']}"
    subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)

    class Machine:
        def start(self, *argv):
            """Start a command in a process group of its own."""
            inside = ["ip", "netns", "exec", name, *map(str, argv)]
            return subprocess.Popen(
                inside, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
            )

        def run(self, *argv):
            inside = ["ip", "netns", "exec", name, *map(str, argv)]
            return subprocess.run(
                inside, capture_output=True, text=True, timeout=60, check=True, env=environment
            ).stdout

        def uplink_state(self):
            """Whether forwarding is on, and the emulator's NAT tables."""
            forwarding = self.run("cat", "/proc/sys/net/ipv4/ip_forward").strip() == "1"
            return forwarding, [line for line in self.run("nft", "list", "tables").splitlines() if "ackclock" in line]

    yield Machine()
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("L6")
@pytest.mark.parametrize("guarded", [True, False], ids=["by_its_guard", "by_the_next_emulation"])
def test_uplink_of_a_killed_emulation_is_removed(tmp_path, link, machine, guarded):
    started = tmp_path / "started"
    argv = command(
        link, "--internet", "--no-log", "--out", tmp_path / "run", "--", "sh", "-c", f"touch {started}; sleep 60"
    )
    running = machine.start(*argv)
    try:
        until(started.exists)
        forwarding, tables = machine.uplink_state()
        # The server's namespace has a table of its own; the script that replaces nft keeps both in
        # one folder.
        assert forwarding
        assert any("ackclock_198_1" in table for table in tables)
        guard = guard_of(running.pid)
        if not guarded:
            os.kill(guard, signal.SIGKILL)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(20)
    if not guarded:
        assert machine.uplink_state()[0], "without the guard the uplink remains"
        machine.run(*command(link, "--no-log", "--out", tmp_path / "next", "--", "true"))

    def removed():
        forwarding, tables = machine.uplink_state()
        return not forwarding and not any("ackclock_198_1" in table for table in tables)

    until(removed)
    until(lambda: not Path(f"/proc/{guard}").exists())


@needs_root
@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("L6")
def test_killed_emulation_leaves_nothing_when_it_is_killed_at_any_time(tmp_path, link, machine):
    name = f"ackr{os.getpid()}"
    for number in range(20):
        pair = ["--internet", "--pair", "--name", f"{name}-{number}"]
        running = machine.start(*command(link, *pair, "--no-log", "--no-report", "--quiet"))
        journal = Path("/run/ackclock") / str(running.pid)
        # From before the first entry until the emulation runs: an emulation starts within half a
        # second.
        time.sleep(0.2 + number * 0.05)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(20)
        until(lambda journal=journal: not journal.exists() and not list(Path("/run/netns").glob(f"{name}-*")))
        forwarding, tables = machine.uplink_state()
        assert not forwarding
        assert not any("ackclock_198_1" in table for table in tables)


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("S4")
def test_forged_journal_deletes_nothing_when_any_user_could_write_it(tmp_path, link):
    """In a mount namespace with a /run of its own: the directory is writable by all users."""
    victim = tmp_path / "victim"
    victim.write_text("", encoding="utf-8")
    script = f"""
set -eu
mount -t tmpfs none /run
umask 000
mkdir -m 777 /run/ackclock /run/netns
touch /run/netns/bystander
identity="$(readlink /proc/self/ns/pid) $(readlink /proc/self/ns/net) $(cat /proc/sys/kernel/random/boot_id)"
printf '%s 1\nname {victim}\nname {victim} 1\nname ../..{victim} 1\nname bystander 1\nforwarding\n' "$identity" > /run/ackclock/4194303
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
    before, after, *remaining = done.stdout.split("\n")
    assert before == after
    assert remaining == ["bystander", "700 0", ""]


@needs_root
@pytest.mark.realtime
@pytest.mark.finding("S4")
def test_pair_is_refused_when_the_journals_directory_belongs_to_another_user(tmp_path, link):
    script = 'mount -t tmpfs none /run && mkdir /run/ackclock && chown 65534 /run/ackclock && exec "$@"'
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    argv += command(link, "--pair", "--seconds", "0.2", "--no-log", "--out", tmp_path / "run")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "/run/ackclock cannot hold cleanup journals: it belongs to user 65534; remove it" in done.stderr


@needs_root
@pytest.mark.skipif(not has_nat(), reason="neither nftables nor iptables is installed")
def test_uplink_masquerades_traffic_and_is_removed_at_the_end(tmp_path, link):
    """A namespace stands for the machine, with one neighbour outside."""
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
        # The neighbour has no route to the emulation: it can reply only to the machine's own
        # address.
        echo = subprocess.Popen(inside(outside, PYTHON, "-c", ECHO))
        argv = command(link, "--json", "--no-log", "--out", tmp_path / "run", "--internet", "--", "sh", "-c")
        argv += [f"{shlex.join([PYTHON, '-c', CLIENT, '192.0.2.2'])} >&2"]
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
            tables = subprocess.run(
                inside(machine, "nft", "list", "tables"), capture_output=True, text=True, check=True
            )
            assert "ackclock" not in tables.stdout
    finally:
        for name in (machine, outside):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_internet_is_refused_with_exit_status_2_without_nat_or_root(tmp_path, link):
    empty = tmp_path / "empty"
    empty.mkdir()
    argv = command(link, "--internet", "--out", tmp_path / "run", "--", "true")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PATH": str(empty)})
    assert done.returncode == 2
    assert "--internet" in done.stderr
    assert not (tmp_path / "run").exists()
