"""`ackclock emulate`: readiness, exit status and delay.

Skipped where network namespaces are not allowed.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from itertools import pairwise

import pytest

import ackclock as ackclock_package
from ackclock.errors import RunFailed
from tests.support.documents import follows
from tests.support.emulation import ECHO, until
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

CLIENT = """
import os, socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(0.2)
times = []
end = time.perf_counter() + 20
while len(times) < 20 and time.perf_counter() < end:
    start = time.perf_counter()
    # A late reply to an earlier request must not count.
    request = str(start).encode().ljust(100)
    udp.sendto(request, (os.environ["ACKCLOCK_SERVER"], 9))
    try:
        while udp.recv(2000) != request:
            pass
    except (TimeoutError, ConnectionRefusedError):
        continue
    times.append(time.perf_counter() - start)
    time.sleep(0.01)
print("RTT", min(times) * 1e3)
"""


@pytest.fixture
def ackclock(tmp_path):
    """Runs the command line in a child process, as an emulation moves its process into a namespace
    for good."""

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


def test_datagram_round_trip_takes_the_link_files_delay(ackclock, line):
    done = ackclock(
        "emulate", line, "--json", "--server", f"{sys.executable} -c '{ECHO}'", "--", sys.executable, "-c", CLIENT
    )
    assert done.returncode == 0, done.stderr
    document = follows("emulate", json.loads(done.stdout))
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
    # The machine adds delay; the link never adds less.
    assert exact - 0.05 <= rtt_ms <= exact + 3


PACED = """
import os, select, socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setblocking(False)
udp.connect((os.environ["ACKCLOCK_SERVER"], 9))
start = next_at = time.perf_counter()
while (now := time.perf_counter()) < start + 9:
    if now >= next_at and now < start + 8.5:
        next_at += 0.02
        try:
            udp.send(f"{now - start:.6f}".encode().ljust(100))
        except OSError:
            pass
    if select.select([udp], [], [], max(0, next_at - now))[0]:
        try:
            sent = udp.recv(2000).decode().split()[0]
            print("PACED", sent, time.perf_counter() - start)
        except OSError:
            pass
"""


def test_real_packets_have_the_delays_of_a_schedule(ackclock, write):
    """10 ms, then 60 ms, 2 s each: a round trip of 20 or 120 ms, and between both at a change."""
    delay = '{ schedule = [["0 s", "10 ms"], ["2 s", "60 ms"]], repeat = "4 s" }'
    link = write("line.toml", f'title = "a line"\nsource = "test"\n[[hop]]\nname = "line"\ndelay = {delay}\n')
    server = f"{sys.executable} -c '{ECHO}'"
    done = ackclock("emulate", link, "--json", "--no-log", "--server", server, "--", sys.executable, "-c", PACED)
    assert done.returncode == 0, done.stderr
    rows = [
        [float(number) for number in line.split()[1:]] for line in done.stderr.splitlines() if line.startswith("PACED")
    ]
    rtts = [(sent, 1e3 * (arrived - sent)) for sent, arrived in rows]
    assert len(rows) > 300 and [sent for sent, _ in rows] == sorted(sent for sent, _ in rows), "no packet is overtaken"
    short = [rtt for _, rtt in rtts if rtt < 25]
    long = [rtt for _, rtt in rtts if rtt > 115]
    assert min(short) == pytest.approx(20, abs=1) and min(long) >= 119.9
    assert len(short) > 120 and len(long) > 120 and len(short) + len(long) > 0.9 * len(rows)
    # A rise at the start of each long part: 4 s apart.
    rises = [b[0] for a, b in pairwise(rtts) if a[1] < 60 <= b[1]]
    assert len(rises) in (2, 3) and rises[1] - rises[0] == pytest.approx(4, abs=0.05)


RECEIVE_3 = """
import socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
for _ in range(3):
    print("RECEIVED", udp.recv(100).decode(), file=sys.stderr, flush=True)
"""
SEND_3 = """
import os, socket, time
time.sleep(1)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(3):
    udp.sendto(str(number).encode(), (os.environ["ACKCLOCK_SERVER"], 9))
    time.sleep(0.1)
"""


def test_first_packet_of_an_emulation_arrives(ackclock, line):
    done = ackclock(
        "emulate", line, "--json", "--server", f"{sys.executable} -c '{RECEIVE_3}'", "--", sys.executable, "-c", SEND_3
    )
    assert done.returncode == 0, done.stderr
    received = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("RECEIVED")]
    assert received == ["0", "1", "2"]


SEND_AT_ONCE = """
import socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.perf_counter()
for number in range(8000):
    while time.perf_counter() < start + number * 10e-6:
        pass
    refused = True
    while refused:
        try:
            refused = not udp.sendto(bytes(1400), ("100.64.0.{}".format(2 + number % 100), 9))
        except ConnectionRefusedError:
            pass
"""


def test_100_clients_start_before_a_server_that_sends_at_once_fills_the_ring(ackclock, line):
    # 1.1 Gb/s from the server's first moment. The RX ring holds 41 ms of it, and the namespaces of
    # 100 clients take longer to configure.
    arguments = ["--json", "--no-log", "--no-report", "--clients", "100"]
    server = f"{sys.executable} -c '{SEND_AT_ONCE}'"
    done = ackclock("emulate", line, *arguments, "--server", server, "--", "sleep", "1")
    document = json.loads(done.stdout)
    # The clients answer some with ICMP errors, each of which refuses one call.
    assert document["packets_in"] >= 8000
    assert document["unintended_drops"] == 0


SERVE_150_KB = """
import socket
listener = socket.create_server(("", 9))
connection, _ = listener.accept()
connection.sendall(bytes(150_000))
"""
FETCH = """
import os, socket, sys, time
end = time.monotonic() + 10
while True:
    try:
        connection = socket.create_connection((os.environ["ACKCLOCK_SERVER"], 9), 1)
        break
    except OSError:
        assert time.monotonic() < end
        time.sleep(0.1)
connection.settimeout(10)
received = 0
while data := connection.recv(65536):
    received += len(data)
print("FETCHED", received, file=sys.stderr)
"""


def test_data_of_the_server_arrives_when_its_process_has_ended(ackclock, line):
    # 150 kB take 1.2 s over 1 Mb/s, and fit into a send buffer.
    done = ackclock(
        "emulate",
        line,
        "--json",
        "--server",
        f"{sys.executable} -c '{SERVE_150_KB}'",
        "--",
        sys.executable,
        "-c",
        FETCH,
    )
    assert done.returncode == 0, done.stderr
    assert "FETCHED 150000" in done.stderr


def test_emulator_sleeps_when_the_server_has_ended(ackclock, line):
    done = ackclock("emulate", line, "--json", "--no-log", "--server", "true", "--", "sleep", "2")
    document = json.loads(done.stdout)
    assert document["cpu_seconds"] < 0.25 * document["seconds"]


@pytest.mark.realtime
@pytest.mark.finding("L3")
@pytest.mark.parametrize(
    ("script", "options", "status"),
    [
        ("exit 42", [], 42),
        ("kill -SEGV $$", [], 128 + signal.SIGSEGV),
        ("kill -INT $$", [], 128 + signal.SIGINT),
        ("kill -PIPE $$", [], 128 + signal.SIGPIPE),
        ("exec sleep 20", ["--seconds", "0.3"], 128 + signal.SIGTERM),
        pytest.param("trap 'exit 5' TERM; sleep 20 & wait", ["--seconds", "0.3"], 5, marks=pytest.mark.slow),
        pytest.param("exit 0", ["--deadline", "0.0000001 ms"], 0, marks=pytest.mark.slow),
        pytest.param("exit 0", ["--deadline", "0.0000001 ms", "--require", "exact"], 1, marks=pytest.mark.slow),
    ],
    ids=["own", "signal", "interrupt", "ignored_by_python", "time", "time_handled", "audit", "required"],
)
def test_emulate_exits_with_its_commands_status(ackclock, line, script, options, status):
    # One datagram crosses the link: the audit needs a packet that can be late.
    probe = (
        f"{sys.executable} -c 'import os, socket; socket.socket(type=2).sendto(bytes(9), "
        '(os.environ["ACKCLOCK_SERVER"], 9))\''
    )
    done = ackclock("emulate", line, "--json", "--no-log", *options, "--", "sh", "-c", f"{probe}; sleep 0.1; {script}")
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout)
    assert document["command"]["exit"] == (0 if "--require" in options else status)
    if "--deadline" in options:
        assert document["grade"] != "exact", "a grade does not change the status unless one is required"


@pytest.mark.realtime
@pytest.mark.finding("L3")
def test_emulate_ends_its_command_by_sigterm_when_it_gets_one(line, tmp_path):
    started = tmp_path / "started"
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        str(line),
        "--no-log",
        "--quiet",
        "--out",
        "run",
        "--",
        "sh",
        "-c",
    ]
    running = subprocess.Popen([*argv, f"touch {started}; exec sleep 60"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    until(started.exists)
    running.terminate()
    assert running.wait(30) == 128 + signal.SIGTERM
    assert json.loads((tmp_path / "run" / "emulation.json").read_text())["command"]["exit"] == 128 + signal.SIGTERM


@pytest.mark.realtime
@pytest.mark.finding("L3")
@pytest.mark.parametrize(
    ("command", "status", "why"), [("no-such-command", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")]
)
def test_emulate_writes_nothing_and_is_invalid_when_its_command_cannot_be_run(
    ackclock, line, tmp_path, command, status, why
):
    done = ackclock("emulate", line, "--json", "--out", "run", "--", command)
    assert done.returncode == status
    document = json.loads(done.stdout)
    assert (document["valid"], document["command"]["exit"]) == (False, status)
    assert document["why"].startswith(f"the command could not be run: {why}")
    assert f"{command}: {why}" in done.stderr
    assert not (tmp_path / "run").exists()
    if status == 127:
        plain = ackclock("emulate", line, "--", command)
        assert plain.returncode == status
        assert "alid" not in plain.stdout + plain.stderr


@pytest.mark.finding("L3")
def test_emulate_raises_when_its_command_cannot_be_run(line):
    with pytest.raises(RunFailed, match=r"no-such-command: the command could not be run: No such file"):
        ackclock_package.emulate(str(line), ["no-such-command"])


LATE = """
import http.server, socket, sys, time
socket.getfqdn = str  # no query of a name server, which the namespace has not: it would take 5 s
time.sleep(float(sys.argv[1]))
http.server.test(http.server.SimpleHTTPRequestHandler, http.server.ThreadingHTTPServer, port=8000)
"""
GET = """
import os, sys, urllib.request
with urllib.request.urlopen(f"http://{os.environ['ACKCLOCK_SERVER']}:8000/line.toml", timeout=10) as response:
    sys.exit(0 if b"a line" in response.read() else 3)
"""


def test_command_waits_when_the_server_sends_to_another_address_before_it_listens(ackclock, line):
    # A query of a name server leaves by the default route, too.
    query = "import socket; socket.socket(type=2).sendto(b'?', ('192.0.2.1', 53))"
    server = shlex.join(["sh", "-c", f'{sys.executable} -c "{query}"; exec {sys.executable} -c "$0" 0.4', LATE])
    done = ackclock("emulate", line, "--json", "--no-log", "--server", server, "--", sys.executable, "-c", GET)
    assert done.returncode == 0, done.stderr


@pytest.mark.realtime
@pytest.mark.finding("L2")
@pytest.mark.parametrize("ready", [[], ["--server-ready", "8000"]], ids=["any", "port"])
def test_command_starts_when_the_server_listens(ackclock, line, ready):
    server = shlex.join([sys.executable, "-c", LATE, "0.4"])
    done = ackclock("emulate", line, "--json", "--no-log", *ready, "--server", server, "--", sys.executable, "-c", GET)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["notes"] == []


@pytest.mark.realtime
@pytest.mark.finding("L2")
def test_time_counts_from_the_command_when_it_waits_for_the_server(ackclock, line):
    server = shlex.join([sys.executable, "-c", LATE, "1"])
    done = ackclock("emulate", line, "--json", "--no-log", "--seconds", "0.9", "--server", server, "--", "true")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seconds"] < 0.9


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("L2")
def test_http_request_succeeds_in_20_of_20_emulations(ackclock, line):
    server = f"{sys.executable} -m http.server 8000"
    argv = ["emulate", line, "--no-log", "--quiet", "--server", server, "--", sys.executable, "-c", GET]
    assert [ackclock(*argv).returncode for _ in range(20)] == [0] * 20


@pytest.mark.realtime
@pytest.mark.finding("L2")
def test_command_starts_with_a_warning_when_the_server_ends_before_it_listens(ackclock, line):
    done = ackclock("emulate", line, "--json", "--no-log", "--server", "sh -c 'exit 3'", "--", "true")
    assert done.returncode == 0
    note = (
        "the server's command ended with status 3 before it listened on any port; the client's "
        "command starts without it"
    )
    assert json.loads(done.stdout)["notes"] == [note]
    assert done.stderr.count(note) == 1


@pytest.mark.realtime
@pytest.mark.finding("L2")
def test_command_does_not_start_when_a_signal_arrives_before_the_server_listens(line, tmp_path):
    argv = [sys.executable, "-m", "ackclock", "emulate", str(line), "--no-log", "--out", "run"]
    argv += ["--server", f"sh -c 'touch {tmp_path}/serving; sleep 60'", "--", "touch", str(tmp_path / "ran")]
    running = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: (tmp_path / "serving").exists())
    os.killpg(running.pid, signal.SIGTERM)
    _, stderr = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "ended by a signal before its command started" in stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("L2")
def test_command_starts_with_a_warning_when_the_server_never_listens(ackclock, line):
    done = ackclock("emulate", line, "--json", "--no-log", "--server", "sleep 60", "--", "true")
    assert done.returncode == 0
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("the server's command has not listened on any port for 5 s")


@pytest.mark.realtime
@pytest.mark.finding("L2")
@pytest.mark.parametrize(
    ("server", "ready", "why"),
    [
        ("true", "80", "the server's command ended with status 0 before it listened on port 80"),
        ("no-such-server", "any", "the server's command could not be run: no-such-server: No such file or directory"),
    ],
)
def test_emulation_fails_when_the_server_cannot_become_ready(ackclock, line, tmp_path, server, ready, why):
    ran = tmp_path / "ran"
    done = ackclock("emulate", line, "--no-log", "--server", server, "--server-ready", ready, "--", "touch", ran)
    assert done.returncode == 1
    assert why in done.stderr
    assert not ran.exists()


def test_server_ready_is_refused_when_it_is_no_port(ackclock, line):
    done = ackclock("emulate", line, "--server-ready", "http", "--", "true")
    assert done.returncode == 2
    assert "--server-ready" in done.stderr


@pytest.mark.finding("L12")
def test_emulation_is_refused_when_the_process_has_several_threads(line):
    """Also as root: a forked child has copies of locks that other threads held."""
    script = (
        "import sys, threading\n"
        "from ackclock.emulation.config import EmulationConfig, emulate_here, emulation_scenario\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "emulate_here(emulation_scenario(sys.argv[1]), 1, EmulationConfig(['true']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(line)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "an emulation needs a process with one thread, this one has 2" in done.stderr


def test_background_process_of_the_command_ends_with_the_emulation(ackclock, line, tmp_path):
    survived = tmp_path / "survived"
    done = ackclock("emulate", line, "--", "sh", "-c", f"(sleep 1; touch {survived}) & exit 0")
    assert done.returncode == 0, done.stderr
    subprocess.run(["sleep", "1.5"], check=True)
    assert not survived.exists()


def test_nested_emulation_has_a_subnet_of_its_own(ackclock, line):
    inner = f"{sys.executable} -m ackclock emulate {line} --json -- sh -c 'echo $ACKCLOCK_SERVER >&2'"
    done = ackclock("emulate", line, "--json", "--", "sh", "-c", f"echo $ACKCLOCK_SERVER >&2; {inner}")
    assert done.returncode == 0, done.stderr
    assert "100.64.0.1" in done.stderr
    assert "100.66.0.1" in done.stderr


def test_simulate_refuses_a_live_flow_and_emulate_names_an_unknown_link(ackclock, write):
    scenario = write("live.toml", 'link = "dsl-16m"\nduration = "5 s"\n[[flow]]\nworkload = { kind = "live" }\n')
    done = ackclock("simulate", scenario)
    assert done.returncode == 2
    assert "emulate" in done.stderr
    done = ackclock("emulate", "no-such-link", "--", "true")
    assert done.returncode == 2
    assert "no-such-link" in done.stderr


@pytest.mark.finding("U6")
def test_recorded_rate_starts_where_a_simulation_with_the_same_seed_starts(ackclock, write, tmp_path):
    (tmp_path / "cell").write_text("".join(f"{time}\n" for time in range(1, 60_001, 3)))
    link = write(
        "recorded.toml",
        f"""title = "a recorded line"
source = "test"
[[hop]]
name = "line"
rate.down = {{ trace = "{tmp_path / "cell"}" }}
rate.up = "1 Mb/s"
queue = {{ packets = 100 }}
""",
    )
    starts = []
    for seed in (1, 2):
        done = ackclock("emulate", link, "--json", "--seed", seed, "--", "true")
        assert done.returncode == 0, done.stderr
        down, up = json.loads(done.stdout)["hops"]
        flows = [{"workload": {"kind": "bulk"}}]
        simulated = ackclock_package.simulate(link, flows, "1 s", seed=seed).summaries[0]["hops"][0]
        assert down["recording"] == simulated["recording"]
        assert "recording" not in up
        starts.append(down["recording"]["start_s"])
    assert starts[0] != starts[1]
