"""The run folder of an emulation: captures, fates and queue samples, and the agreement of an
analysis with the fates."""

from __future__ import annotations

import json
import os
import shlex
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.emulation.run import open_emulation
from ackclock.folder_damage import check_files
from tests.support.emulation import DOWNLOAD
from tests.support.namespaces import namespaces

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces"),
]

LOSSY = """title = "two hops with a short queue and random loss"
source = "test"
[[hop]]
name = "core"
rate = "20 Mb/s"
delay = "5 ms"
loss.down = { kind = "bernoulli", mean = 0.003 }
[[hop]]
name = "access"
rate = "8 Mb/s"
delay = "10 ms"
queue = { kind = "droptail", packets = 6 }
loss.up = { kind = "bernoulli", mean = 0.01 }
"""

SEND = """
import socket
with socket.create_server(("", 5001)) as listener:
    connection, _ = listener.accept()
connection.sendall(bytes(3_000_000))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""
FETCH = f"{DOWNLOAD}connection.close()\ntime.sleep(0.3)\n"


@pytest.fixture(scope="module")
def emulation(tmp_path_factory):
    """A download of 3 MB over the lossy link: its run folder."""
    folder = tmp_path_factory.mktemp("emulation")
    (folder / "link.toml").write_text(LOSSY, encoding="utf-8")

    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        "link.toml",
        "--json",
        "--out",
        "run",
        "--no-report",
        "--seconds",
        "30",
    ]
    argv += ["--server", shlex.join([sys.executable, "-c", SEND]), "--", sys.executable, "-c", FETCH]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), open_emulation(folder / "run")


def test_run_folder_has_all_files_and_one_fate_per_packet(emulation):
    document, run = emulation
    assert run.document == {**document, "folder": run.document["folder"]}
    assert [path.name for path in run.captures] == ["server.pcapng", "client.pcapng"]
    fates = run.fates
    assert fates["packet"].is_unique().all()
    assert len(fates) == document["packets_in"]
    assert (fates["fate"] == "delivered").sum() == document["packets_out"]
    dropped = fates.filter(~pl.col("fate").is_in(["delivered", "in_flight"]))
    assert set(dropped["fate"]) == {"loss", "queue_full"}
    counted = dropped.group_by("hop", "from").len()
    reported = {
        (hop["hop"], "server" if hop["direction"] == "down" else "client"): hop["drops"] for hop in document["hops"]
    }
    assert {(hop, by): n for hop, by, n in counted.iter_rows()} == {key: n for key, n in reported.items() if n}
    assert run.hops.filter(pl.col("hop") == "access")["queue_packets"].max() <= 6


def test_analysis_of_both_captures_finds_exactly_the_dropped_packets_of_the_log(emulation):
    document, run = emulation
    analysis = ackclock.analyze(*run.captures)
    # The first connection attempts may have been refused.
    flows: Any = analysis.document["flows"]
    for direction, sender in (("b2a", "server"), ("a2b", "client")):
        detected = sorted(packet["time_s"] for flow in flows for packet in flow[direction]["lost"]["packets"])
        sent = run.fates.filter(pl.col("from") == sender)
        lost = sent.filter(~pl.col("fate").is_in(["delivered", "in_flight"]))
        # A lost packet that no other follows may be in flight, by the captures.
        last = sent.filter(pl.col("fate") == "delivered")["sent_s"].max()
        lost = lost.filter(pl.col("sent_s") < last)
        dropped = sorted((lost["sent_s"] + document["started"]).to_list())
        assert len(dropped) > 5
        assert detected == pytest.approx(dropped, abs=1e-5, rel=0)


def test_captures_and_log_have_the_same_times_for_the_same_packet_numbers(emulation):
    document, run = emulation
    fields = ["-T", "fields", "-e", "frame.packet_id", "-e", "frame.time_epoch", "-e", "ip.src"]
    try:
        outputs = [
            subprocess.run(
                ["tshark", "-r", str(path), *fields], capture_output=True, text=True, check=True
            ).stdout.splitlines()
            for path in run.captures
        ]
    except FileNotFoundError:
        pytest.skip("tshark is not installed")
    times = [{int(n): float(t) for n, t, _ in (line.split("\t") for line in lines)} for lines in outputs]
    for row in run.fates.to_dicts():
        sender, receiver = times if row["from"] == "server" else reversed(times)
        assert sender[row["packet"]] == pytest.approx(row["sent_s"] + document["started"], abs=1e-5, rel=0)
        if row["fate"] == "delivered":
            assert receiver[row["packet"]] == pytest.approx(row["at_s"] + document["started"], abs=1e-5, rel=0)
        else:
            assert row["packet"] not in receiver


def test_flows_table_has_the_connection_and_the_report_has_the_validity(emulation):
    document, run = emulation
    flows = run.flows
    assert 1e6 < flows["b2a_goodput_bps"].max() < 8e6
    text = run.report().read_text("utf-8")
    assert {"exact": "Exact:", "usable": "Usable:", "invalid": "INVALID:"}[document["grade"]] in text
    assert "access" in text


SECRET = b"GET /private-payload"
REQUEST = f"""
import os, socket, threading
server = os.environ["ACKCLOCK_SERVER"]
connection = socket.create_connection((server, 5001))
connection.sendall({SECRET!r} * 40)
connection.shutdown(socket.SHUT_WR)
while connection.recv(1 << 16):
    pass
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.sendto({SECRET!r} * 40, (server, 5001))
udp.sendto({SECRET!r} * 100, (server, 5001))
"""
RESPOND = f"""
import socket
with socket.create_server(("", 5001)) as listener:
    connection, _ = listener.accept()
while connection.recv(1 << 16):
    pass
connection.sendall({SECRET!r} * 1000)
connection.close()
"""


def _ip_packets(content: bytes) -> Iterator[bytes]:
    """The captured bytes of the packets of a pcapng file (draft-ietf-opsawg-pcapng, 4.3), from the
    IP header on.
    """
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 1:  # an interface description
            link = struct.unpack_from("<H", content, at + 8)[0]
        elif kind == 6:  # an enhanced packet
            captured = struct.unpack_from("<I", content, at + 20)[0]
            yield content[at + 28 + {1: 14, 101: 0}[link] : at + 28 + captured]
        at += length


def _header_bytes(packet: bytes) -> int:
    """The length of the IPv4 header and that of TCP, UDP or ICMP."""
    ip = 4 * (packet[0] & 15)
    return ip + (4 * (packet[ip + 12] >> 4) if packet[9] == 6 else 8)


def _payload(packets: list[bytes], protocol: int) -> Iterator[int]:
    """The captured bytes after the headers of this protocol's packets."""
    return (len(packet) - _header_bytes(packet) for packet in packets if packet[9] == protocol)


QUESTIONS = """
import os, socket, time
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.connect((os.environ["ACKCLOCK_SERVER"], 5002))
udp.setblocking(False)
for number in range(500):
    try:
        udp.send(number.to_bytes(4, "big") * 100)
        udp.recv(2000)
    except (BlockingIOError, ConnectionRefusedError):
        pass
    time.sleep(0.003)
"""
ANSWERS = """
import socket
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.bind(("", 5002))
while True:
    data, client = udp.recvfrom(2000)
    if data[3] % 4 == 0:
        udp.sendto(data[:4] + b"answer" * 20, client)
"""


@pytest.mark.finding("C38")
def test_udp_of_both_captures_is_joined_by_the_hashes_of_its_payloads(tmp_path):
    # Not at the ends: before the first packet that arrives and after the last a capture shows none.
    loss = {"up": {"kind": "list", "packets": [30, 31, 77, 120, 121, 122, 123, 200, 333]}}
    hop = {"name": "line", "rate": "10 Mb/s", "delay": "15 ms", "loss": loss}
    server, client = ([sys.executable, "-c", text] for text in (ANSWERS, QUESTIONS))
    link = {"title": "a line", "source": "test", "hop": [hop]}
    run = ackclock.emulate(link, client, server=server, server_ready="none", out=tmp_path / "run")
    document = ackclock.analyze(*run.captures).document
    flow = max(document["udp_flows"], key=lambda flow: flow["a2b"]["packets"] + flow["b2a"]["packets"])
    direction = flow["a2b"] if flow["server"].endswith(":5002") else flow["b2a"]
    sent = run.fates.filter((pl.col("from") == "client") & (pl.col("bytes") == 428))
    lost = sent.filter(~pl.col("fate").is_in(["delivered", "in_flight"])).height
    assert direction["lost"]["between_captures"] == lost == len(loss["up"]["packets"])
    assert direction["one_way_delay_ms"]["min"] == pytest.approx(15.3, abs=0.6)


@pytest.mark.realtime
@pytest.mark.finding("L7")
def test_captures_have_no_payload_and_are_readable_by_the_owner_only(tmp_path):
    hop = {"name": "line", "rate": "10 Mb/s", "delay": "15 ms"}
    server, client = ([sys.executable, "-c", text] for text in (RESPOND, REQUEST))
    before = os.umask(0)
    try:
        run = ackclock.emulate(
            {"title": "a line", "source": "test", "hop": [hop]}, client, server=server, out=tmp_path / "run"
        )
    finally:
        os.umask(before)
    assert run.document["command"]["exit"] == 0
    assert len(run.captures) == 2
    for capture in run.captures:
        packets = list(_ip_packets(capture.read_bytes()))
        assert len(packets) > 20
        rest = {protocol: max(_payload(packets, protocol), default=0) for protocol in (1, 6, 17)}
        # Of UDP the first byte, and a hash of 16; the emulation may end before the datagrams pass.
        assert rest[1] == 0 and rest[6] <= 1 and rest[17] in (0, 17), rest
        assert SECRET[1:6] not in capture.read_bytes()
        assert stat.S_IMODE(capture.stat().st_mode) == 0o600
        assert stat.S_IMODE(capture.parent.stat().st_mode) == 0o700
    # A capture has the packets' original lengths: an analysis counts all bytes.
    flow = run.flows.to_dicts()[0]
    assert flow["b2a_unique_bytes"] == len(SECRET) * 1000
    assert flow["a2b_unique_bytes"] == len(SECRET) * 40
    # The RTT of each direction is that at its sender: the link's 30 ms and more.
    assert flow["a2b_rtt_ms_min"] >= 29
    assert flow["b2a_rtt_ms_min"] >= 29


def test_run_folder_has_no_captures_with_no_log(tmp_path):
    (tmp_path / "link.toml").write_text(LOSSY, encoding="utf-8")
    argv = [sys.executable, "-m", "ackclock", "emulate", "link.toml", "--no-log", "--out", "run", "--", "true"]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {"emulation.json", "environment.json", "scenario.toml"}
    check_files(tmp_path / "run")


def test_command_does_not_start_when_out_is_a_file(tmp_path):
    (tmp_path / "link.toml").write_text(LOSSY, encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        "link.toml",
        "--out",
        "file",
        "--",
        "touch",
        str(tmp_path / "ran"),
    ]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "--out" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_emulate_returns_frames_and_writes_nothing_in_python_without_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hop = {"name": "line", "rate": "1 Mb/s", "delay": "10 ms"}
    server, client = ([sys.executable, "-c", text] for text in (SEND.replace("3_000_000", "50_000"), FETCH))
    done = ackclock.emulate({"title": "a line", "source": "test", "hop": [hop]}, client, server=server, seconds=20)
    assert done.document["command"]["exit"] == 0
    assert done.folder is None
    assert done.captures == []
    assert not list(tmp_path.iterdir())
    assert done.flows["b2a_unique_bytes"].max() == 50_000
    assert set(done.fates["fate"]) <= {"delivered", "in_flight"}
    assert done.hops.columns[:4] == ["hop", "direction", "station", "time_s"]
    assert done.series.is_empty()


def test_emulate_raises_input_error_in_python_when_the_link_is_unknown():
    with pytest.raises(ackclock.InputError, match="no-such-link"):
        ackclock.emulate("no-such-link", ["true"])


BURST = """
import os, socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(8000):
    sender.sendto(bytes(50), (os.environ["ACKCLOCK_SERVER"], 9))
    if number % 10 == 0:
        time.sleep(0.0005)
"""


@pytest.mark.finding("L5", "U12")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system requires root")
def test_emulation_keeps_its_audit_and_the_written_log_when_the_disk_is_full(tmp_path):
    (tmp_path / "link.toml").write_text('[[hop]]\nname = "line"\nrate = "50 Mb/s"\ndelay = "2 ms"\n', "utf-8")
    (tmp_path / "disk").mkdir()
    (tmp_path / "copy").mkdir()
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        "link.toml",
        "--json",
        "--out",
        "disk/run",
        "--",
        sys.executable,
        "-c",
        BURST,
    ]
    script = 'mount -t tmpfs -o size=700k none disk; "$@"; status=$?; cp -r disk/run copy; exit $status'
    run = ["unshare", "-m", "sh", "-c", script, "sh", *argv]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["packets_in"] >= 8000
    assert document["log"]["complete"] is False
    assert 0 < document["log"]["until_s"] < document["seconds"]
    assert "the log is incomplete: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    saved = open_emulation(tmp_path / "copy" / "run")
    assert {**saved.document, "folder": ""} == {**document, "folder": ""}
    assert 100 < saved.fates.height < document["packets_in"]
    assert not saved.hops.is_empty()
    assert all(ackclock.analyze(capture).document["malformed"] == 0 for capture in saved.captures)
    assert not list((tmp_path / "copy").rglob("*.tmp"))


@pytest.mark.finding("R10")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system requires root")
@pytest.mark.parametrize(("free_kb", "ran"), [(16, False), (48, True), (64, True), (100, True)])
def test_command_keeps_its_status_when_the_disk_is_full_unless_it_was_not_run(tmp_path, free_kb, ran):
    """Below the space that emulation.json needs, the command is not run."""
    (tmp_path / "disk").mkdir()
    script = f'mount -t tmpfs -o size={free_kb}k none disk; exec "$@"'
    emulation = [sys.executable, "-m", "ackclock", "emulate", "dsl-16m", "--quiet", "--out", "disk/run", "--"]
    command = ["sh", "-c", "touch ran; exit 3"]
    words = ["unshare", "-m", "sh", "-c", script, "sh", *emulation, *command]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (tmp_path / "ran").exists() == ran, done.stderr
    assert done.returncode == (3 if ran else 1), done.stderr
    assert ("nothing was finished" in done.stderr) != ran


@pytest.mark.finding("L6")
def test_emulation_writes_no_folder_with_no_log_and_no_report(tmp_path):
    argv = [sys.executable, "-m", "ackclock", "emulate", "dsl-16m", "--no-log", "--no-report", "--json", "--", "true"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "folder" not in json.loads(done.stdout)
    assert not list(tmp_path.iterdir())


@pytest.mark.finding("U1")
def test_emulation_never_replaces_a_run_of_the_same_command(tmp_path):
    argv = [sys.executable, "-m", "ackclock", "emulate", "dsl-16m", "--no-log", "--quiet", "--json", "--out", "run"]
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, "check": False}
    assert subprocess.run([*argv, "--", "true"], **run).returncode == 0
    before = (tmp_path / "run" / "emulation.json").read_bytes()
    done = subprocess.run([*argv, "--", "touch", "ran"], **run)
    assert (done.returncode, (tmp_path / "ran").exists()) == (2, False)
    assert subprocess.run([*argv, "--force", "--", "true"], **run).returncode == 0
    assert (tmp_path / "run.1" / "emulation.json").read_bytes() == before
