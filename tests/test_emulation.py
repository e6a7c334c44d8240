"""Emulation: a command behind a link in real time. Skipped where neither root nor a user namespace may make network namespaces."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.live.cells import namespaces

pytestmark = [pytest.mark.realtime, pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")]

ECHO = """
import os, socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
while True:
    data, sender = udp.recvfrom(2000)
    udp.sendto(data, sender)
"""
ASK = """
import os, socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(0.2)
times = []
until = time.perf_counter() + 20
while len(times) < 20 and time.perf_counter() < until:
    start = time.perf_counter()
    # On a busy machine an answer may come to who asks again.
    question = str(start).encode().ljust(100)
    udp.sendto(question, (os.environ["ACKCLOCK_SERVER"], 9))
    try:
        while udp.recv(2000) != question:
            pass
    except (TimeoutError, ConnectionRefusedError):
        continue
    times.append(time.perf_counter() - start)
    time.sleep(0.01)
print("RTT", min(times) * 1e3)
"""


@pytest.fixture
def ackclock(tmp_path):
    """Runs the command line in a process of its own, as an emulation moves into a namespace for good."""

    def run(*arguments):
        argv = [sys.executable, "-m", "ackclock", *map(str, arguments)]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture
def line(write):
    return write(
        "line.toml",
        """title = "a line"
source = "test"
[[hop]]
name = "line"
rate = "1 Mb/s"
delay = "15 ms"
""",
    )


def test_a_datagram_there_and_back_takes_what_the_link_file_says(ackclock, line):
    done = ackclock("emulate", line, "--json", "--server", f"{sys.executable} -c '{ECHO}'", "--", sys.executable, "-c", ASK)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {
        "link",
        "valid",
        "why",
        "release_error_us",
        "input_lateness_us",
        "deadline_misses",
        "unintended_drops",
        "hops",
        "command",
    } <= set(document)
    assert document["unintended_drops"] == 0
    rtt_ms = float(done.stderr.split("RTT")[1].split()[0])
    exact = 2 * (15 + 128 * 8 / 1e6 * 1e3)
    # What the machine adds is on top; what the link adds is never less.
    assert exact - 0.05 <= rtt_ms <= exact + 3


COUNT = """
import socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
for _ in range(3):
    print("GOT", udp.recv(100).decode(), file=sys.stderr, flush=True)
"""
SEND = """
import os, socket, time
time.sleep(1)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(3):
    udp.sendto(str(number).encode(), (os.environ["ACKCLOCK_SERVER"], 9))
    time.sleep(0.1)
"""


def test_the_very_first_packet_arrives(ackclock, line):
    done = ackclock("emulate", line, "--json", "--server", f"{sys.executable} -c '{COUNT}'", "--", sys.executable, "-c", SEND)
    assert done.returncode == 0, done.stderr
    got = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("GOT")]
    assert got == ["0", "1", "2"]


GIVE = """
import socket
listener = socket.create_server(("", 9))
connection, _ = listener.accept()
connection.sendall(bytes(150_000))
"""
TAKE = """
import os, socket, sys, time
until = time.monotonic() + 10
while True:
    try:
        connection = socket.create_connection((os.environ["ACKCLOCK_SERVER"], 9), 1)
        break
    except OSError:
        assert time.monotonic() < until
        time.sleep(0.1)
connection.settimeout(10)
taken = 0
while data := connection.recv(65536):
    taken += len(data)
print("TAKEN", taken, file=sys.stderr)
"""


def test_what_a_server_has_sent_arrives_though_its_process_has_ended(ackclock, line):
    # 150 kB take 1.2 s over 1 Mb/s, and fit into a send buffer.
    done = ackclock("emulate", line, "--json", "--server", f"{sys.executable} -c '{GIVE}'", "--", sys.executable, "-c", TAKE)
    assert done.returncode == 0, done.stderr
    assert "TAKEN 150000" in done.stderr


def test_an_emulation_whose_server_has_ended_goes_on_sleeping(ackclock, line):
    done = ackclock("emulate", line, "--json", "--no-log", "--server", "true", "--", "sleep", "2")
    document = json.loads(done.stdout)
    assert document["cpu_seconds"] < 0.25 * document["seconds"]


def test_the_commands_failure_is_exit_status_1_and_its_own_status_is_in_the_document(ackclock, line):
    done = ackclock("emulate", line, "--json", "--", "sh", "-c", "exit 7")
    assert done.returncode == 1
    assert json.loads(done.stdout)["command"] == {"argv": ["sh", "-c", "exit 7"], "exit": 7}


def test_a_command_that_is_not_there_is_said_as_a_shell_says_it(ackclock, line):
    done = ackclock("emulate", line, "--json", "--", "no-such-command")
    assert done.returncode == 1
    assert json.loads(done.stdout)["command"]["exit"] == 127
    assert "no-such-command" in done.stderr


def test_what_a_command_leaves_behind_ends_with_the_emulation(ackclock, line, tmp_path):
    mark = tmp_path / "still-here"
    done = ackclock("emulate", line, "--", "sh", "-c", f"(sleep 1; touch {mark}) & exit 0")
    assert done.returncode == 0, done.stderr
    subprocess.run(["sleep", "1.5"], check=True)
    assert not mark.exists()


def test_an_emulation_inside_an_emulation_has_both_links_neighbours_of_its_own(ackclock, line):
    inner = f"{sys.executable} -m ackclock emulate {line} --json -- sh -c 'echo $ACKCLOCK_SERVER >&2'"
    done = ackclock("emulate", line, "--json", "--", "sh", "-c", f"echo $ACKCLOCK_SERVER >&2; {inner}")
    assert done.returncode == 0, done.stderr
    assert "100.64.0.1" in done.stderr
    assert "100.66.0.1" in done.stderr


def test_a_live_flow_is_for_emulations_and_an_unknown_link_is_named(ackclock, write):
    scenario = write("live.toml", 'link = "dsl-16m"\nduration = "5 s"\n[[flow]]\nworkload = { kind = "live" }\n')
    done = ackclock("simulate", scenario)
    assert done.returncode == 2
    assert "emulate" in done.stderr
    done = ackclock("emulate", "no-such-link", "--", "true")
    assert done.returncode == 2
    assert "no-such-link" in done.stderr
